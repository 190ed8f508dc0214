// Configuration from files, the environment and the command line, as CRUConfig's users know it.

import PairedConfiguration

// snippet.environmentFiles
/// `@unchecked`: every property is a wrapper around state behind a lock, which the base class checks.
final class ShopConfiguration: Configuration, @unchecked Sendable {
    @Preference private(set) var baseUrl: SettingURL?
    @Preference("The shop's own secret", secret: true) private(set) var myAPISecret: String?
    @Edit("Articles on a page", in: 1...100) var pageSize = 20
}
// snippet.end

// snippet.sources
func load(_ configuration: ShopConfiguration) throws(SettingNameCollision) {
    // config.debug.plist or config.release.plist, by the build; else config.default.plist, else config.plist
    let load = configuration.loadFiles(in: "/etc/shop")
    for skipped in load.report.skipped { print(skipped) }
    if let failure = load.failure { print("\(failure.file): \(failure.rejection)") }
    try configuration.load(environment: nil, prefix: "SHOP")  // SHOP_BASE_URL, SHOP_PAGE_SIZE
    try configuration.load(arguments: ["--page-size", "50"])
    print(configuration.configurationName, configuration.baseUrl?.text ?? "no shop", configuration.pageSize)
}
// snippet.end

// snippet.byhand
/// `@unchecked`: every property is a wrapper around state behind a lock, which the base class checks.
final class ManualConfiguration: Configuration, @unchecked Sendable {
    @Preference var home = ""

    override func setProperties(withContentsOf file: PropertyListDictionary) {
        home = file["base_url"]?.stringValue ?? ""  // the file's value, of the layer of files
        super.setProperties(withContentsOf: file)  // and everything else as usual
    }
}
// snippet.end
