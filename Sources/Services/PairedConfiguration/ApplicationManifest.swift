// App manifest: the property list Info.plist, with keys of Apple's bundles and of Appfigurate. It names the app
// for people, and has what must be known before any code of the app runs. A key with a wrong value is a mistake of the
// declaration, and never a silent default of a security switch.

import TandemBase
import TandemFiles
import TandemPages
public import TandemPropertyList
import TandemPropertyListXML
import TandemReactor
import TandemSession
public import TandemSettings
import TandemWire

/// The app manifest, `Info.plist` (Protocol/Settings.md SET-80 to SET-85 and SET-89).
public struct ApplicationManifest: Sendable, Equatable {
    /// `CFBundleIdentifier`: the application identifier, if neither the app nor the environment names one.
    public private(set) var identifier: String?
    /// `CFBundleDisplayName`, else `CFBundleName`; at most 128 bytes.
    public private(set) var name: String?
    /// `CFBundleShortVersionString`, else `CFBundleVersion`; at most 64 bytes.
    public private(set) var version: String?
    /// The name of the icon's file: the first of `CFBundleIcons`, `CFBundleIconFiles`, `CFBundleIconFile`; at most 255
    /// bytes.
    public private(set) var icon: String?
    /// `CFBundleDevelopmentRegion`: the tag of the language that the settings pages have for a reader whose languages
    /// they do not have, such as `en` or `pt-BR`; at most 64 bytes, nil for English.
    public private(set) var region: String?
    /// `APLLogging`: every event is logged, from before the app's first line on; false without the key.
    public private(set) var isLogging = false
    /// `APLKeychainAccessibility`; ``ProtectedAccessibility/always`` without the key, nil if its value is a mistake.
    public private(set) var accessibility: ProtectedAccessibility? = .always
    /// `APLKeychainAccessGroup`: the group that shares the protected store; nil for a store of the app's own.
    public private(set) var accessGroup: String?
    /// Whether the app's preferences are in a protected store: one of the two keys is there, or the file is unreadable.
    public private(set) var isProtected = false
    /// The mistakes; a key that one is about has no effect.
    public private(set) var problems: [DeclarationProblem] = []

    /// The app manifest of this process: `Info.plist` beside its executable. Without that file it is empty.
    public static let main =
        Linux.executablePath.map { path in
            ApplicationManifest(
                path: "\(path.parentPath)/\(fileName)", isOptional: true)
        } ?? ApplicationManifest([:])

    private static var fileName: String { "Info.plist" }

    /// Reads a file, such as that of the app which an extension belongs to. One that cannot be read is a mistake.
    public init(path: String) { self.init(path: path, isOptional: false) }

    private init(path: String, isOptional: Bool) {
        do {
            let bytes = try FileReading.read(
                path: path, limit: PropertyListXMLReader.maximumLength, trust: .ownOrRootsAndUnwritable)
            self.init(try PropertyListXMLReader.readAny(bytes))
        } catch FileError.missing where isOptional {
            self.init([:])
        } catch {
            self.init([:])
            accessibility = nil
            isProtected = true
            problems = [.manifest(key: path, reason: "\(error)")]
        }
    }

    /// The app manifest with these entries.
    public init(_ entries: PropertyListDictionary) {
        if let value = entries["CFBundleIdentifier"] {
            identifier = value.stringValue.flatMap { (try? ApplicationIdentifier($0))?.description }
            if identifier == nil {
                refuse("CFBundleIdentifier", "it is no application identifier: \(ApplicationIdentifier.rule)")
            }
        }
        name = text(["CFBundleDisplayName", "CFBundleName"], within: Limits.applicationName, in: entries)
        version = text(
            ["CFBundleShortVersionString", "CFBundleVersion"], within: Limits.applicationVersion, in: entries)
        icon = icons(in: entries)
        // Xcode replaces a build variable when it copies the file. Without Xcode it stays.
        let written = text(["CFBundleDevelopmentRegion"], within: StringsTables.regionLimit, in: entries)
        region = written.flatMap { $0.hasPrefix("$(") || $0.hasPrefix("${") ? nil : $0 }
        if let value = entries["APLLogging"] {
            isLogging = value.booleanValue ?? false
            if value.booleanValue == nil { refuse("APLLogging", "it is \(value.kind); write <true/> or <false/>") }
        }
        if let value = entries["APLKeychainAccessibility"] {
            accessibility = value.stringValue.flatMap { ProtectedAccessibility(word: $0) }
            if accessibility == nil {
                let names = ProtectedAccessibility.allCases.map(\.rawValue).joined(separator: ", ")
                refuse("APLKeychainAccessibility", "it is none of \(names)")
            }
        }
        if let value = entries["APLKeychainAccessGroup"] {
            accessGroup = value.stringValue.flatMap { (try? ApplicationIdentifier($0))?.description }
            if accessGroup == nil { refuse("APLKeychainAccessGroup", ApplicationPreferences.noGroup) }
        }
        isProtected = entries["APLKeychainAccessibility"] != nil || entries["APLKeychainAccessGroup"] != nil
        // A store that was to be shared must not become a private one, nor one with another protection.
        if accessGroup == nil, entries["APLKeychainAccessGroup"] != nil { accessibility = nil }
    }

    /// The name, version and icon as they travel to other devices.
    var identity: ApplicationIdentity { ApplicationIdentity(name: name, version: version, icon: icon) }

    private mutating func refuse(_ key: String, _ reason: String) {
        problems.append(.manifest(key: key, reason: reason))
    }

    /// The first text of these keys; one that is none is a mistake, and the next key counts.
    private mutating func text(_ keys: [String], within limit: Int, in entries: PropertyListDictionary) -> String? {
        for key in keys {
            guard let value = entries[key] else { continue }
            if let text = value.stringValue, text.isText(within: limit) { return text }
            refuse(key, "it must be a text of 1 to \(limit) bytes without NUL")
        }
        return nil
    }

    /// The first icon, wherever a bundle may name it.
    private mutating func icons(in entries: PropertyListDictionary) -> String? {
        let primary = entries["CFBundleIcons"]?.dictionaryValue?["CFBundlePrimaryIcon"]?.dictionaryValue ?? [:]
        let candidates = PropertyListDictionary(present: [
            "CFBundleIcons": primary["CFBundleIconFiles"]?.arrayValue?.first ?? primary["CFBundleIconName"],
            "CFBundleIconFiles": entries["CFBundleIconFiles"]?.arrayValue?.first,
            "CFBundleIconFile": entries["CFBundleIconFile"],
        ])
        return text(
            ["CFBundleIcons", "CFBundleIconFiles", "CFBundleIconFile"], within: Limits.applicationIcon, in: candidates)
    }
}

/// When protected values can be read, and whether a copy of them is of use on another device. Appfigurate's
/// `APLKeychainAccessibility`.
public enum ProtectedAccessibility: String, Sendable, Hashable, CaseIterable {
    /// While the device is unlocked.
    case whenUnlocked = "WhenUnlocked"
    /// The same, on this device only.
    case whenUnlockedThisDeviceOnly = "WhenUnlockedThisDeviceOnly"
    /// Once the device has been unlocked after a restart.
    case afterFirstUnlock = "AfterFirstUnlock"
    /// The same, on this device only.
    case afterFirstUnlockThisDeviceOnly = "AfterFirstUnlockThisDeviceOnly"
    /// Always.
    case always = "Always"
    /// The same, on this device only.
    case alwaysThisDeviceOnly = "AlwaysThisDeviceOnly"
    /// While the device is unlocked, and only where it has a passcode; on this device only.
    case whenPasscodeSetThisDeviceOnly = "WhenPasscodeSetThisDeviceOnly"
}
