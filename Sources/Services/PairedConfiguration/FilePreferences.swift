// Preferences in one property-list file: XML for people to read and edit, replaced whole so that a crash at any point
// leaves the old file or the new one. Processes of ours take turns; a person's editor takes none, so that the file is
// looked at once more in the last moment before its replacement. It is the owner's file and may hold anything.

import TandemBase
package import TandemFiles
public import TandemPropertyList
import TandemPropertyListXML
import TandemReactor
public import TandemSettings

/// Preferences in a file of at most 512 KiB (524,288 bytes, SET-3), in which bytes take four thirds of their number. A
/// value without room in it is refused where it is set (``SettingError/Rule-swift.enum/notStorable(_:)``).
public final class FilePreferences: PreferenceStore, BoundedPreferenceStore {
    private let place: PreferencePlace
    private let form: PreferenceForm
    private let patience: Duration
    /// The content where none is stored (SET-21).
    private let memory: MemoryPreferences?

    /// The path of the file; without a meaning if none is stored.
    public var path: String { place.path }

    /// A file, which is made with its directories when there is something to store.
    /// - Parameter path: its last part is 1-180 of `A-Z a-z 0-9 . _ -` without a leading dot. The directory is the
    ///   user's own, and no other user may write it. A relative path counts from the working directory at this moment.
    public convenience init(_ path: String) { self.init(path, .propertyList) }

    /// As ``init(_:)``, for a test of another wait.
    package convenience init(_ path: String, patience: Duration) {
        self.init(path, .propertyList, patience: patience)
    }

    /// As ``init(_:)``, in another form.
    init(
        _ path: String, _ form: PreferenceForm, patience: Duration = FilePreferences.patience, isStored: Bool = true
    ) {
        place = PreferencePlace(path)
        self.form = form
        self.patience = patience
        memory = isStored ? nil : MemoryPreferences()
    }

    /// Whether there is a file at all.
    var isStored: Bool { memory == nil }

    public func observe(_ changed: @escaping @Sendable () -> Void) -> ConfigurationObservation? {
        if let memory { return memory.observe(changed) }
        guard let lookout = FileLookout(in: place.directory, of: [place.name], changed: changed) else { return nil }
        lookout.start()
        return ConfigurationObservation { lookout.stop() }
    }

    public func update(_ change: (PropertyListDictionary?) -> PreferenceEdit) throws(PreferenceStoreError) {
        if let memory { return try memory.update(change) }
        for _ in 0..<Self.attempts {
            if try updateOnce(change) { return }
        }
        throw PreferenceStoreError(.inUse, store: path, detail: "another program writes the file all the time")
    }

    /// Times that another writer may come between the reading and the writing.
    private static var attempts: Int { 8 }

    /// The longest wait for another process's turn, which takes milliseconds (LIM-97).
    package static var patience: Duration { .seconds(2) }

    /// - Returns: false if there is more to read by now: nothing is written then.
    private func updateOnce(
        _ change: (PropertyListDictionary?) -> PreferenceEdit
    ) throws(PreferenceStoreError) -> Bool {
        guard let directory = try place.opened() else {
            guard !change([:]).isEmpty else { return true }
            _ = try place.trying { () throws(FileError) in try OwnedDirectory(path: place.directory) }
            return false
        }
        let turn = try place.trying { () throws(FileError) in try directory.turn(within: patience) }
        defer { withExtendedLifetime(turn) {} }
        let content = try read(in: directory)
        let edit = change(content.damage == nil ? content.entries : nil)
        guard !edit.isEmpty else {
            if let damage = content.damage { throw damage }
            return true
        }
        let bytes = try formed(edit.applied(to: content.entries))
        var aside: String?
        if content.damage != nil {
            aside = try place.trying { () throws(FileError) in try directory.keepAside(place.name) }
        }
        do throws(FileError) {
            if content.damage == nil || content.bytes != nil {
                try directory.replace(place.name, with: bytes, insteadOf: content.bytes, limit: form.limit)
            } else {
                // One that was too large to be read cannot be compared.
                try directory.replace(place.name, with: bytes)
            }
        } catch .changedMeanwhile {
            return false
        } catch {
            throw PreferenceStoreError(error, store: path)
        }
        guard let damage = content.damage else { return true }
        throw PreferenceStoreError(damage.reason, store: path, detail: damage.detail, aside: aside)
    }

    private struct Content {
        /// nil for no file, and for one that is too large.
        var bytes: [UInt8]?
        var entries: PropertyListDictionary = [:]
        var damage: PreferenceStoreError?
    }

    private func read(in directory: OwnedDirectory) throws(PreferenceStoreError) -> Content {
        var content = Content()
        do throws(FileError) {
            content.bytes = try directory.read(place.name, limit: form.limit, trust: .ownOrRootsAndUnwritable)
        } catch {
            guard case .tooLarge = error else { throw PreferenceStoreError(error, store: path) }
            content.damage = PreferenceStoreError(.damaged, store: path, detail: error.description)
        }
        guard let bytes = content.bytes else { return content }
        do throws(PreferenceFault) {
            content.entries = try form.read(bytes)
        } catch {
            let found = PreferenceStoreError(error.reason, store: path, detail: error.detail)
            guard error.reason == .damaged else { throw found }
            content.damage = found
        }
        return content
    }

    private func formed(_ entries: PropertyListDictionary) throws(PreferenceStoreError) -> [UInt8] {
        do throws(PreferenceFault) {
            let bytes = try form.write(entries)
            // More would be damage to the next reader.
            try form.check(bytes.count)
            return bytes
        } catch {
            throw PreferenceStoreError(error.reason, store: path, detail: error.detail)
        }
    }

    package var byteLimit: Int { form.limit - form.margin }

    package func fault(of entries: PropertyListDictionary) -> String? {
        do throws(PreferenceFault) {
            try form.check(form.content(entries).count + form.margin)
            return nil
        } catch {
            return error.detail
        }
    }
}

extension PreferenceStoreError {
    package init(_ error: FileError, store: String) {
        let reason: Reason =
            switch error {
            case .full: .full
            case .inUse, .changedMeanwhile: .inUse
            default: .unavailable
            }
        self.init(reason, store: store, detail: error.description)
    }
}

struct PreferenceFault: Error {
    let reason: PreferenceStoreError.Reason
    let detail: String
}

/// The way between entries and the bytes of a file.
struct PreferenceForm: Sendable {
    /// The largest file in bytes.
    let limit: Int
    /// The most bytes of a file beside its content.
    private(set) var margin = 0
    let read: @Sendable ([UInt8]) throws(PreferenceFault) -> PropertyListDictionary
    /// The bytes of the entries, which are a file's content.
    let content: @Sendable (PropertyListDictionary) throws(PreferenceFault) -> [UInt8]
    let write: @Sendable (PropertyListDictionary) throws(PreferenceFault) -> [UInt8]

    func check(_ count: Int) throws(PreferenceFault) {
        guard count > limit else { return }
        throw PreferenceFault(reason: .notStorable, detail: PreferenceStoreError.tooLarge(count, limit: limit))
    }

    /// A property list: XML, but binary as long as it holds a text with characters that XML has not.
    static let propertyList = PreferenceForm(
        limit: PropertyListXMLReader.maximumLength,
        read: { bytes throws(PreferenceFault) in
            do {
                return try PropertyListXMLReader.readAny(bytes)
            } catch {
                throw PreferenceFault(reason: .damaged, detail: "\(error)")
            }
        },
        content: bytes, write: bytes)

    private static func bytes(of entries: PropertyListDictionary) throws(PreferenceFault) -> [UInt8] {
        do throws(PropertyListXMLError) {
            return try PropertyListXMLWriter.write(.dictionary(entries))
        } catch {
            switch error.reason {
            case .character, .fraction: return try binary(entries)
            case .tooLarge(let count, let limit):
                throw PreferenceFault(reason: .notStorable, detail: PreferenceStoreError.tooLarge(count, limit: limit))
            default: throw PreferenceFault(reason: .notStorable, detail: "\(error)")
            }
        }
    }

    /// The bytes of a binary property list.
    static func binary(_ entries: PropertyListDictionary) throws(PreferenceFault) -> [UInt8] {
        do {
            return try PropertyListWriter.write(entries)
        } catch {
            throw PreferenceFault(reason: .notStorable, detail: "\(error)")
        }
    }
}

/// Where an app's own preferences are kept.
package struct ApplicationPreferences {
    fileprivate static var fileName: String { "preferences.plist" }
    /// The name of a file that the manifest protects.
    static var protectedName: String { "protected.plist" }

    /// An app's own directory for what its library keeps.
    package enum Storage: Equatable {
        case directory(String)
        /// `TANDEM_PREFERENCES` is `memory`: nothing is kept.
        case memory
        /// The reason.
        case none(String)

        var path: String? { if case .directory(let path) = self { path } else { nil } }
    }

    /// The store: `preferences.plist` in the app's ``Storage``, or the protected one that its manifest asks for.
    package static func store(
        of manifest: ApplicationManifest = ApplicationManifest([:]),
        variable: (String) -> String? = Linux.environment, program: String? = CommandLine.arguments.first
    ) -> any PreferenceStore {
        let storage =
            manifest.accessGroup.map { self.storage(ofGroup: $0, variable) }
            ?? storage(of: manifest.identifier, variable: variable, program: program)
        switch (storage, manifest.isProtected, manifest.accessibility) {
        case (.memory, _, _): return MemoryPreferences()
        case (.none(let detail), _, _): return NoPreferences(detail: detail)
        case (.directory(let path), false, _): return FilePreferences(path + "/" + fileName)
        case (.directory(let path), true, let accessibility?):
            return ProtectedPreferences(path + "/" + protectedName, accessibility: accessibility)
        case (.directory, true, nil):
            return NoPreferences(detail: "the manifest, which says how they are protected, has a mistake")
        }
    }

    /// The directory that the apps of a group share.
    private static func storage(ofGroup group: String, _ variable: (String) -> String?) -> Storage {
        guard let name = try? ApplicationIdentifier(group) else { return .none(noGroup) }
        if variable("TANDEM_PREFERENCES") == "memory" { return .memory }
        // A person's: a service's state directory is its own.
        let home = directory(of: name) { $0 == "STATE_DIRECTORY" ? nil : variable($0) }
        return home.map(Storage.directory) ?? .none(noGroupHome)
    }

    private static let noGroupHome = "neither XDG_CONFIG_HOME nor HOME is set"

    static let noGroup = "an access group is \(ApplicationIdentifier.rule)"

    /// The directory that `TANDEM_PREFERENCES` names, else the app's own: it has the same name however the app was
    /// started, by a person or by a daemon.
    /// - Parameters:
    ///   - identifier: that of the app's manifest.
    ///   - variable: the environment.
    ///   - program: the path that the process was started by, whose last part names an app without an identifier.
    package static func storage(
        of identifier: String?, variable: (String) -> String? = Linux.environment,
        program: String? = CommandLine.arguments.first
    ) -> Storage {
        if let choice = variable("TANDEM_PREFERENCES") {
            return choice == "memory" ? .memory : .directory(AbsolutePath.ofVariable(choice))
        }
        let file = program?.lastPathPart
        guard let name = (identifier ?? file).flatMap({ try? ApplicationIdentifier($0) }) else {
            return .none("the program's name is no application identifier; set CFBundleIdentifier in Info.plist")
        }
        return directory(of: name, variable).map(Storage.directory) ?? .none(noHome)
    }

    private static let noHome =
        "none of STATE_DIRECTORY, XDG_CONFIG_HOME and HOME is set; set TANDEM_PREFERENCES to a directory"

    /// The directory of an app of this name, in a service's state directory or a person's configuration; nil without
    /// either. It is the app's own and closed to others: whoever can open one can hold its turn.
    private static func directory(of name: ApplicationIdentifier, _ variable: (String) -> String?) -> String? {
        // Several state directories of a service have colons between them. The specification of the others ignores a
        // relative one.
        let homes = [
            variable("STATE_DIRECTORY")?.split(separator: ":").first.map(String.init), variable("XDG_CONFIG_HOME"),
            variable("HOME").map { $0 + "/.config" },
        ]
        guard let home = homes.compactMap(\.self).first(where: { $0.hasPrefix("/") }) else { return nil }
        return "\(home)/\(name)"
    }

    /// A file in the directory of a group.
    /// - Returns: its path; nil if nothing is stored (SET-21).
    static func path(
        ofGroup group: String, _ file: String, _ variable: (String) -> String?
    ) throws(PreferenceStoreError) -> String? {
        switch storage(ofGroup: group, variable) {
        case .directory(let directory): return directory + "/" + file
        case .memory: return nil
        case .none(let detail):
            throw PreferenceStoreError(.unavailable, store: "the access group '\(group.prefix(64))'", detail: detail)
        }
    }
}

extension FilePreferences {
    /// The unprotected store that several apps of one user share: that of an app of this name. It is another one than
    /// that of a manifest with `APLKeychainAccessGroup`, which ``ProtectedPreferences`` opens.
    /// - Throws: the name is no application identifier, or there is no configuration directory.
    public convenience init(accessGroup: String) throws(PreferenceStoreError) {
        try self.init(accessGroup: accessGroup, variable: Linux.environment)
    }

    package convenience init(
        accessGroup: String, variable: (String) -> String?
    ) throws(PreferenceStoreError) {
        let path = try ApplicationPreferences.path(ofGroup: accessGroup, ApplicationPreferences.fileName, variable)
        self.init(path ?? accessGroup, .propertyList, isStored: path != nil)
    }
}

/// No storage for preferences: each use says why.
private struct NoPreferences: PreferenceStore {
    let detail: String

    func update(_ change: (PropertyListDictionary?) -> PreferenceEdit) throws(PreferenceStoreError) {
        throw PreferenceStoreError(.unavailable, store: "no file", detail: detail)
    }
}
