// Configuration files as an app loads them: which file counts, what it may be, its entries in the layer of files, edits
// while the app runs, and an override that takes the entries itself.

import Glibc
import PairedConfiguration
import TandemTestSupport
import Testing

/// The properties of the README that these files are modelled on, and a few with rules.
///
/// `@unchecked`: every property is a wrapper around state behind a mutex.
private final class ShopConfiguration: Configuration, @unchecked Sendable {
    @Preference var baseUrl: SettingURL?
    @Preference private(set) var mySuperSecret: String?
    @Preference private(set) var myAPISecret: String?
    @Preference var apiKeyGoogle: String?
    @Preference var loading: Double?
    @Preference var expires: PropertyListDate?
    @Slider("Volume", in: 0...100) var volume = 50
    @Toggle("Logging") var logging = false
}

/// Another type, for which `shared` must be another instance.
///
/// `@unchecked`: its property is a wrapper around state behind a mutex.
private final class OtherConfiguration: Configuration, @unchecked Sendable {
    @Preference var baseUrl: SettingURL?
}

/// Takes the entries of a file by hand, or lets the library do it and adds to that.
///
/// `@unchecked`: every property is a wrapper around state behind a mutex, and so is `calls`.
private final class ManualConfiguration: Configuration, @unchecked Sendable {
    @Preference var home = "none"
    @Preference var name = "none"
    @Slider("Volume", in: 0...100) var volume = 50

    override var dateFormat: String { "d.M.yyyy" }

    override func setProperties(withContentsOf file: PropertyListDictionary) {
        if file["automatic"]?.booleanValue == true { super.setProperties(withContentsOf: file) }
        home = file["base_url"]?.stringValue ?? ""
        volume = Int(file["loud"]?.integerValue ?? 50)
    }
}

/// An event came that another one was expected for.
private struct OtherEvent: Error {}

@Suite struct EnvironmentFileTests {
    private let place = TemporaryDirectory()

    private func write(_ name: String, _ content: String, mode: UInt32 = 0o600) {
        let text =
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\"><dict>\(content)</dict></plist>\n"
        place.write(Array(text.utf8), to: name, mode: mode)
    }

    private func volume(_ volume: Int) -> String { "<key>volume</key><integer>\(volume)</integer>" }

    private func load(_ app: Configuration, _ environment: String? = "debug") -> ConfigurationFileLoad {
        app.loadFiles(in: place.path, environment: environment, watching: false)
    }

    // MARK: which file

    @Test("SET-11: the file of the environment counts, in lower case and whole, and the others are not opened")
    func theFileOfTheEnvironment() {
        write("config.adhoc.plist", volume(1))
        write("config.default.plist", volume(2) + "<key>logging</key><true/>")
        // Not even readable as a file: it would be a fault.
        mkdir(place.path("config.plist"), 0o700)
        let app = ShopConfiguration()
        let load = load(app, "Adhoc")
        #expect(load.file == "config.adhoc.plist" && load.failure == nil)
        #expect(app.volume == 1 && !app.logging)
        #expect(app.configurationName == "adhoc" && load.configurationName == "adhoc")
        unlink(place.path("config.adhoc.plist"))
        #expect(self.load(app, "Adhoc").file == "config.default.plist")
        #expect(app.volume == 2 && app.logging)
    }

    @Test("SET-11, SET-12: an environment may have any name that a file can have", arguments: ["Ad Hoc", "Prüfung"])
    func anyName(_ environment: String) {
        write("config.\(environment.lowercased()).plist", volume(1))
        write("config.default.plist", volume(2))
        let app = ShopConfiguration()
        #expect(load(app, environment).failure == nil && app.volume == 1)
        unlink(place.path("config.\(environment.lowercased()).plist"))
        #expect(load(app, environment).failure == nil && app.volume == 2)
    }

    @Test("SET-11: without the others config.plist counts, and without any file everything has its default")
    func withoutFiles() {
        let app = ShopConfiguration()
        let none = load(app)
        #expect(none.file == nil && none.failure == nil && none.report == LoadReport())
        #expect(app.volume == 50 && app.$volume.layer == .declaredDefault)
        write("config.plist", volume(3))
        #expect(load(app).file == "config.plist" && app.volume == 3)
        unlink(place.path("config.plist"))
        #expect(load(app).file == nil && app.volume == 50)
        let missing = app.loadFiles(in: place.path("missing"), watching: false)
        #expect(missing.file == nil && missing.failure == nil)
    }

    @Test("SET-12: the environment is the argument, else the variable, else the build's own")
    func theEnvironment() async {
        // In a process of its own, because all tests of this one share its variables.
        await #expect(processExitsWith: .success) { [directory = place.path as String] in
            let app = ShopConfiguration()
            #if DEBUG
                #expect(app.configurationName == "debug")
            #else
                #expect(app.configurationName == "release")
            #endif
            setenv("TANDEM_ENVIRONMENT", "Staging", 1)
            #expect(app.configurationName == "staging")
            #expect(app.loadFiles(in: directory, watching: false).configurationName == "staging")
            let named = app.loadFiles(in: directory, environment: "BETA", watching: false)
            #expect(named.configurationName == "beta" && app.configurationName == "beta")
        }
    }

    // MARK: what it may be

    @Test("SET-13: the README's own example is read, and a key that is absent leaves the default")
    func theExample() {
        write(
            "config.plist",
            "<key>myAPISecret</key><string>api-secret-1</string><key>base_url</key><string>localhost:8080</string>")
        let app = ShopConfiguration()
        #expect(load(app).report == LoadReport(loaded: ["baseUrl", "myAPISecret"]))
        #expect(app.baseUrl == "localhost:8080" && app.myAPISecret == "api-secret-1")
        #expect(app.loading == nil && app.apiKeyGoogle == nil)
        #expect(app.$baseUrl.layer == .file && app.$loading.layer == .declaredDefault)
    }

    @Test("SET-13: a binary file is read by its content")
    func aBinaryFile() throws {
        let bytes = try PropertyListWriter.write(
            ["volume": 7, "expires": "2017-05-24 15:31:29 UTC"] as PropertyListDictionary)
        place.write(bytes, to: "config.plist")
        let app = ShopConfiguration()
        #expect(load(app).report.loaded == ["expires", "volume"])
        #expect(app.volume == 7)
        #expect(app.expires == PropertyListDate(millisecondsSinceReferenceDate: 517_332_689_000))
    }

    @Test("SET-13: a file that cannot be read is told by its name, no other one is read, and no value changes")
    func aFileThatCannotBeRead() throws {
        write("config.plist", volume(1))
        let app = ShopConfiguration()
        #expect(load(app).failure == nil)
        write("config.plist", volume(9))
        func failure() throws -> String {
            let load = load(app)
            let failure = try #require(load.failure)
            #expect(failure.rejection.name == "damaged" && load.file == failure.file && load.report == LoadReport())
            return "\(failure.file): \(failure.rejection.detail)"
        }
        write("config.default.plist", "<key>volume</key>")
        #expect(
            try failure().hasPrefix("config.default.plist: line 2, column 45: key 'volume' has no value"))
        place.write(Array("bplist00".utf8), to: "config.default.plist")
        #expect(try failure().contains("too few"))
        place.write([UInt8](repeating: 10, count: 524_289), to: "config.default.plist")
        #expect(try failure().contains("larger than the 524288 bytes"))
        write("config.default.plist", volume(2), mode: 0o600)
        chmod(place.path("config.default.plist"), 0o666)
        #expect(try failure().contains("may be written by others"))
        unlink(place.path("config.default.plist"))
        symlink(place.path("config.plist"), place.path("config.default.plist"))
        #expect(try failure().contains("symbolic link"))
        unlink(place.path("config.default.plist"))
        chmod(place.path, 0o777)
        #expect(try failure().contains("may be written by others"))
        chmod(place.path, 0o700)
        let named = app.loadFiles(in: place.path, environment: "../etc", watching: false)
        #expect(named.failure?.file == "config.../etc.plist")
        #expect(app.volume == 1)
        #expect(load(app).failure == nil && app.volume == 9)
    }

    // MARK: the layer

    @Test("SET-16: a file fills its layer as one batch with one notification, of the origin file")
    func oneBatch() async {
        write("config.plist", volume(7) + "<key>logging</key><true/><key>speed</key><integer>1</integer>")
        let app = ShopConfiguration()
        let (seen, events) = (app.observedChanges(), app.observedEvents())
        let loaded = load(app)
        #expect(loaded.report.skipped == [LoadReport.Skipped(key: "speed", reason: .noProperty)])
        #expect(seen.all.map(\.origin) == [.file])
        #expect(seen.all.first?.changes.map(\.name) == ["volume", "logging"])
        #expect(events.all == [.fileLoaded(loaded)])
        app.volume = 8
        // The library's thread, which stores it, could otherwise be the one that delivers what follows.
        await ConfigurationThread.rest()
        write("config.plist", volume(9))
        _ = load(app)
        #expect(app.volume == 8 && !app.logging)
        #expect(seen.all.last?.changes.map(\.name) == ["logging"])
        app.$volume.remove()
        #expect(app.volume == 9)
    }

    @Test("SET-7: the command line wins over the environment, and that over the file")
    func theCommandLineWins() throws {
        write("config.plist", volume(1) + "<key>logging</key><true/>")
        let app = ShopConfiguration()
        let seen = app.observedChanges()
        _ = load(app)
        #expect(try app.load(environment: ["SHOP_VOLUME": "2"], prefix: "SHOP").loaded == ["volume"])
        #expect(app.volume == 2 && app.$volume.layer == .environment)
        #expect(try app.load(arguments: ["--volume", "3", "--no-logging"]).loaded == ["volume", "logging"])
        #expect(app.volume == 3 && !app.logging && app.$logging.layer == .commandLine)
        #expect(seen.all.map(\.origin) == [.file, .environment, .commandLine])
        _ = try app.load(environment: ["SHOP_VOLUME": "4"], prefix: "SHOP")
        _ = try app.load(arguments: [])
        #expect(app.volume == 4)
    }

    @Test("SET-7: without an argument the variables of the process count")
    func theProcessEnvironment() async {
        await #expect(processExitsWith: .success) {
            setenv("TANDEM_TEST_SHOP_VOLUME", "4", 1)
            let app = ShopConfiguration()
            let report = try app.load(environment: nil, prefix: "TANDEM_TEST_SHOP")
            #expect(report.loaded == ["volume"] && app.volume == 4)
        }
    }

    @Test("SET-17: a variable that the process was started with, and that no property has, is reported")
    func aVariableWithoutAProperty() throws {
        let started = try #require(TemporaryDirectory.read("/proc/self/environ")).split(separator: 0)
        let names = started.map { String(decoding: $0.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self) }
        // Any variable with a prefix; a bare environment may have none.
        guard let name = names.first(where: { $0.dropFirst().contains("_") && !$0.hasPrefix("_") }) else { return }
        let prefix = String(name.prefix { $0 != "_" })
        let report = try ShopConfiguration().load(environment: nil, prefix: prefix)
        #expect(report.skipped.contains(LoadReport.Skipped(key: name, reason: .noProperty)))
        #expect(report.skipped.allSatisfy { $0.key.hasPrefix(prefix + "_") })
    }

    // MARK: the override

    @Test("SET-14: an override takes the entries itself, as values of the file, and calls super for the rest")
    func anOverride() {
        write("config.plist", "<key>base_url</key><string>a</string><key>name</key><string>n</string>")
        let app = ManualConfiguration()
        let seen = app.observedChanges()
        #expect(load(app).report == LoadReport(loaded: ["home", "volume"]))
        #expect(app.home == "a" && app.name == "none" && app.$home.layer == .file)
        #expect(seen.all.map(\.origin) == [.file])
        write("config.plist", "<key>automatic</key><true/><key>name</key><string>n</string>")
        #expect(
            load(app).report
                == LoadReport(
                    loaded: ["home", "name", "volume"],
                    skipped: [
                        LoadReport.Skipped(key: "automatic", reason: .noProperty)
                    ]))
        #expect(app.home.isEmpty && app.name == "n")
    }

    @Test("SET-14: an override reads what super has loaded, and what it has assigned itself")
    func readingInAnOverride() {
        /// `@unchecked`: every property is a wrapper around state behind a mutex.
        final class Derived: Configuration, @unchecked Sendable {
            @Preference var home = "none"
            @Preference var shop = "none"
            @Slider("Volume", in: 0...100) var volume = 50

            override func setProperties(withContentsOf file: PropertyListDictionary) {
                super.setProperties(withContentsOf: file)
                shop = home + "/shop"
                volume += 1
                volume += 1
            }
        }
        write("config.plist", "<key>home</key><string>a</string>" + volume(7))
        let app = Derived()
        #expect(load(app).report == LoadReport(loaded: ["home", "shop", "volume"]))
        #expect(app.shop == "a/shop" && app.volume == 9)
    }

    @Test("SET-14: a value that an override assigns and that breaks its rule is skipped, and traps in no build")
    func anInvalidValueOfAnOverride() {
        write("config.plist", "<key>loud</key><integer>101</integer>")
        let app = ManualConfiguration()
        let error = SettingError(property: "volume", value: "101", rule: .maximum("100"))
        #expect(load(app).report.skipped == [LoadReport.Skipped(key: "volume", reason: .invalid(error))])
        #expect(app.volume == 50 && app.$volume.layer == .declaredDefault)
    }

    @Test("SET-6: a format of dates that means nothing is a mistake of the declaration")
    func aFormatThatMeansNothing() {
        /// `@unchecked`: its property is a wrapper around state behind a mutex.
        final class Odd: Configuration, @unchecked Sendable {
            @Preference var date: PropertyListDate?
            required init() { super.init(problems: .collect) }
            override var dateFormat: String { "hh:mm" }
            override var timeZone: String { "Mars" }
        }
        #expect(
            Odd().declarationProblems.map(\.description) == [
                "'Mars' is no time zone; write GMT, UTC, Z, an offset such as +01:00, or a name that the system's "
                    + "time zone database has",
                "'hh' means nothing in a date format; use y or yyyy, M, d, H, m, s (one or two each), S, z, Z, X, "
                    + "and quote text as 'text'",
            ])
    }

    @Test(
        "SET-6: the zone may have a name of the system's time zone database",
        .enabled(if: access("/usr/share/zoneinfo/Europe/Berlin", R_OK) == 0))
    func aZoneByName() {
        /// `@unchecked`: its property is a wrapper around state behind a mutex.
        final class Local: Configuration, @unchecked Sendable {
            @Preference var date: PropertyListDate?
            override var dateFormat: String { "yyyy-MM-dd HH:mm:ss" }
            override var timeZone: String { "Europe/Berlin" }
        }
        write("config.plist", "<key>date</key><string>2017-05-24 17:31:29</string>")
        let app = Local()
        #expect(load(app).failure == nil && app.declarationProblems.isEmpty)
        #expect(app.date == PropertyListDate(millisecondsSinceReferenceDate: 517_332_689_000))
    }

    // MARK: types

    @Test("SET-15: each type has one instance of its own, whichever is asked for first")
    func eachTypeHasItsInstance() async {
        let first = ShopConfiguration.shared
        let other = OtherConfiguration.shared
        #expect(type(of: other) == OtherConfiguration.self)
        #expect(first === ShopConfiguration.shared && other === OtherConfiguration.shared)
        write("config.plist", "<key>base_url</key><string>a:1</string>")
        _ = load(other)
        #expect(other.baseUrl == "a:1" && first.baseUrl == nil)
        await withTaskGroup(of: ObjectIdentifier.self) { group in
            for _ in 0..<8 { group.addTask { ObjectIdentifier(BareConfiguration.shared) } }
            var found: Set<ObjectIdentifier> = []
            for await identity in group { found.insert(identity) }
            #expect(found.count == 1)
        }
    }

    // MARK: edits

    @Test("SET-20: an edit is read while the app runs, a broken one keeps the last good values and is an event")
    func edits() async throws {
        write("config.plist", volume(1))
        let app = ShopConfiguration()
        let (events, continuation) = AsyncStream.makeStream(of: ConfigurationEvent.self)
        let observation = app.observeEvents { continuation.yield($0) }
        var event = events.makeAsyncIterator()
        app.loadFiles(in: place.path, environment: "debug")
        _ = await event.next()
        write("draft", volume(2))
        rename(place.path("draft"), place.path("config.plist"))
        guard case .fileLoaded(let renamed)? = await event.next() else { throw OtherEvent() }
        #expect(renamed.report.loaded == ["volume"] && app.volume == 2)
        write("draft", "<key>")
        rename(place.path("draft"), place.path("config.plist"))
        guard case .fileRefused(let refused)? = await event.next() else { throw OtherEvent() }
        #expect(refused.file == "config.plist" && app.volume == 2)
        write("draft", volume(3))
        rename(place.path("draft"), place.path("config.debug.plist"))
        guard case .fileLoaded(let other)? = await event.next() else { throw OtherEvent() }
        #expect(other.file == "config.debug.plist" && app.volume == 3)
        unlink(place.path("config.debug.plist"))
        guard case .fileRefused? = await event.next() else { throw OtherEvent() }
        unlink(place.path("config.plist"))
        guard case .fileLoaded(let none)? = await event.next() else { throw OtherEvent() }
        #expect(none.file == nil && app.volume == 50)
        withExtendedLifetime(observation) {}
    }

    @Test("SET-20: a reload reads the files again, and nothing is reported where nothing has changed")
    func reload() {
        write("config.plist", volume(1))
        let app = ShopConfiguration()
        let events = app.observedEvents()
        _ = load(app)
        app.reload()
        #expect(events.all.count == 1)
        write("config.plist", volume(2))
        app.reload()
        #expect(app.volume == 2 && events.all.count == 2)
    }
}
