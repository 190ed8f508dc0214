// The app's manifest: which key counts, what is a mistake, and where the file is.

import Glibc
import PairedConfiguration
import TandemFiles
import TandemPropertyList
import TandemTestSupport
import Testing

@Suite struct ManifestTests {
    private func problems(_ entries: PropertyListDictionary) -> [String] {
        ApplicationManifest(entries).problems.map(\.description)
    }

    @Test func `SET-80: a file is XML or binary, and one that is named and cannot be read is a mistake`() throws {
        let place = TemporaryDirectory()
        let entries: PropertyListDictionary = ["CFBundleName": "Kiosk"]
        place.write(try PropertyListWriter.write(.dictionary(entries)), to: "Info.plist", mode: 0o600)
        #expect(ApplicationManifest(path: place.path + "/Info.plist") == ApplicationManifest(entries))
        place.write(
            Array("<plist><dict><key>CFBundleName</key><string>Kiosk</string></dict></plist>".utf8), to: "xml",
            mode: 0o600)
        #expect(ApplicationManifest(path: place.path + "/xml").name == "Kiosk")
        let missing = ApplicationManifest(path: place.path + "/none")
        #expect(missing.problems.first?.description.contains("does not exist") == true)
        #expect(missing.accessibility == nil, "no protected store is opened without its manifest")
        place.write(Array("<plist><dict>".utf8), to: "broken", mode: 0o600)
        #expect(ApplicationManifest(path: place.path + "/broken").problems.count == 1)
        place.write(Array("<plist><dict/></plist>".utf8), to: "loose", mode: 0o600)
        chmod(place.path + "/loose", 0o666)
        #expect(ApplicationManifest(path: place.path + "/loose").problems.count == 1)
        // The test's executable has none beside it.
        #expect(ApplicationManifest.main == ApplicationManifest([:]))
    }

    @Test func `SET-81: the name and the version for people go before those of the bundle`() {
        let all: PropertyListDictionary = [
            "CFBundleDisplayName": "Shown", "CFBundleName": "Bundle", "CFBundleShortVersionString": "1.2",
            "CFBundleVersion": "345", "CFBundleIdentifier": "org.example.kiosk",
        ]
        let manifest = ApplicationManifest(all)
        #expect(manifest.name == "Shown" && manifest.version == "1.2" && manifest.identifier == "org.example.kiosk")
        let bundle = ApplicationManifest(["CFBundleName": "Bundle", "CFBundleVersion": "345"])
        #expect(bundle.name == "Bundle" && bundle.version == "345")
        #expect(ApplicationManifest([:]).name == nil)
        let long = PropertyListValue.string(String(repeating: "x", count: 129))
        let wrong = ApplicationManifest(["CFBundleDisplayName": long, "CFBundleName": "Bundle", "CFBundleVersion": 345])
        #expect(wrong.name == "Bundle" && wrong.version == nil && wrong.problems.count == 2)
    }

    @Test func `SET-81 SET-85: an identifier that is none is a mistake, and has no effect`() {
        for wrong in ["../x", "a b", ".hidden", "", "$(PRODUCT_BUNDLE_IDENTIFIER)", 1] as [PropertyListValue] {
            let manifest = ApplicationManifest(["CFBundleIdentifier": wrong])
            #expect(manifest.identifier == nil && manifest.problems.count == 1)
            #expect(
                "\(manifest.problems)".contains("CFBundleIdentifier in the manifest: it is no application identifier"))
        }
    }

    @Test func `SET-81: the icon is that of the bundle's icons, then of its files, then of its file`() {
        var entries: PropertyListDictionary = [
            "CFBundleIcons": ["CFBundlePrimaryIcon": ["CFBundleIconFiles": ["first.png", "large.png"]]],
            "CFBundleIconFiles": ["second.png"], "CFBundleIconFile": "third.png",
        ]
        #expect(ApplicationManifest(entries).icon == "first.png")
        entries["CFBundleIcons"] = ["CFBundlePrimaryIcon": ["CFBundleIconName": "named"]]
        #expect(ApplicationManifest(entries).icon == "named")
        entries["CFBundleIcons"] = nil
        #expect(ApplicationManifest(entries).icon == "second.png")
        entries["CFBundleIconFiles"] = nil
        #expect(ApplicationManifest(entries).icon == "third.png")
        #expect(problems(["CFBundleIconFile": ""]).count == 1)
    }

    @Test func `SET-89: the language of the app's pages is a text of 1 to 64 bytes, and no build variable`() {
        let longest = String(repeating: "x", count: 64)
        for region in ["de", longest] {
            let manifest = ApplicationManifest(["CFBundleDevelopmentRegion": .string(region)])
            #expect(manifest.region == region && manifest.problems.isEmpty)
        }
        for wrong in [1, "", .string(longest + "x")] as [PropertyListValue] {
            let manifest = ApplicationManifest(["CFBundleDevelopmentRegion": wrong])
            #expect(manifest.region == nil && manifest.problems.count == 1)
        }
        for variable in ["$(DEVELOPMENT_LANGUAGE)", "${DEVELOPMENT_LANGUAGE}"] {
            let manifest = ApplicationManifest(["CFBundleDevelopmentRegion": .string(variable)])
            #expect(manifest.region == nil && manifest.problems.isEmpty)
        }
        #expect(ApplicationManifest([:]).region == nil)
    }

    @Test func `SET-82 SET-85: logging is off without its key, on if it is true, and a text is a mistake`() {
        #expect(!ApplicationManifest([:]).isLogging)
        #expect(ApplicationManifest(["APLLogging": true]).isLogging)
        let wrong = ApplicationManifest(["APLLogging": "yes"])
        #expect(!wrong.isLogging)
        #expect(
            wrong.problems.map(\.description) == [
                "APLLogging in the manifest: it is a string; write <true/> or <false/>"
            ])
    }

    @Test func `SET-83: the accessibility is one of seven, and any other is a mistake that protects`() {
        #expect(ApplicationManifest([:]).accessibility == .always)
        #expect(ProtectedAccessibility.allCases.count == 7)
        for accessibility in ProtectedAccessibility.allCases {
            let manifest = ApplicationManifest(["APLKeychainAccessibility": .string(accessibility.rawValue)])
            #expect(manifest.accessibility == accessibility && manifest.problems.isEmpty)
        }
        let wrong = ApplicationManifest(["APLKeychainAccessibility": "Sometimes"])
        #expect(wrong.accessibility == nil)
        #expect(wrong.problems.first?.description.contains("WhenUnlocked, WhenUnlockedThisDeviceOnly") == true)
    }

    @Test
    func
        `SET-83: an access group that is no identifier is a mistake; without one the store is the app's own`()
    {
        #expect(ApplicationManifest([:]).accessGroup == nil)
        #expect(
            ApplicationManifest(["APLKeychainAccessGroup": "org.example.shared"]).accessGroup == "org.example.shared")
        for wrong in ["", 1, "a b", "../other", ".hidden"] as [PropertyListValue] {
            let manifest = ApplicationManifest(["APLKeychainAccessGroup": wrong])
            #expect(manifest.problems.count == 1 && manifest.accessGroup == nil && manifest.isProtected)
            #expect(manifest.accessibility == nil, "a store that was to be shared is not opened as a private one")
        }
    }

    @Test func `SET-85: mistakes in the manifest are mistakes in the declaration`() {
        /// `@unchecked`: its property is a wrapper around state behind a mutex.
        final class WrongManifest: Configuration, @unchecked Sendable {
            @Toggle("Logging") var logging = false

            override class var manifest: ApplicationManifest { ApplicationManifest(["APLLogging": "yes"]) }

            init(collecting: Void) { super.init(problems: .collect) }

            required convenience init() { self.init(collecting: ()) }
        }
        let problems = WrongManifest().declarationProblems
        #expect(problems == [.manifest(key: "APLLogging", reason: "it is a string; write <true/> or <false/>")])
    }
}
