// Files of a page in the order in which they are looked for (PAG-1).

/// The candidates for a page's file.
package enum PageFileOrder {
    /// The two directories, the first of which hides the other's files.
    package static let bundles = ["InAppSettings.bundle", "Settings.bundle"]

    /// The names of a page's files in one directory, the first existing one of which counts.
    package static func names(for page: String, device: DeviceKind) -> [String] {
        ["~\(device.suffix).inApp", ".inApp", "~\(device.suffix)", ""].map { "\(page)\($0).plist" }
    }

    /// The eight paths of a page, and before each that in a language's directory.
    package static func candidates(for page: String, device: DeviceKind, language: String? = nil) -> [String] {
        bundles.flatMap { bundle in
            names(for: page, device: device).flatMap { name in
                (language.map { ["\(bundle)/\($0).lproj/\(name)"] } ?? []) + ["\(bundle)/\(name)"]
            }
        }
    }

    /// The languages of a process: of `LC_ALL`, `LC_MESSAGES` and `LANG` the first that is set, as its whole tag, and
    /// as its language alone; none for `C` and `POSIX`.
    package static func preferredLanguages(_ variable: (String) -> String?) -> [String] {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap(variable).first { !$0.isEmpty } ?? ""
        let tag = String(locale.prefix { $0 != "." && $0 != "@" })
        guard !tag.isEmpty, tag != "C", tag != "POSIX" else { return [] }
        let language = String(tag.prefix { $0 != "_" && $0 != "-" })
        let whole = tag.split(separator: "_").joined(separator: "-")
        return whole == language ? [language] : [whole, language]
    }
}
