// Reading the files that the daemon keeps in the app's directory, and the library's own one beside them (CFG-65). They
// are claims: what they hold is verified like anything else. A damaged or unreadable file is reported by its name and
// ignored.

import TandemFiles
import TandemPropertyList
import TandemSignedConfiguration

struct ConfigurationFiles {
    private(set) var staged: StagedConfiguration?
    private(set) var waived: ActiveConfiguration?
    private(set) var active: ActiveConfiguration?
    private(set) var trial: ConfigurationTrial?
    /// The library's own account.
    private(set) var attempts = LoadAttempts()
    private(set) var failures: [ConfigurationFileFailure] = []
    /// The faults of the files that could not be read, by name; of the directory by its path.
    private var unreadFiles: [String: String] = [:]
    /// The verdict on what the daemon has as applied, if it does not load.
    private(set) var refusal: OfferReply?
    private var directory: OwnedDirectory?
    /// The path of the directory; nil where nothing is kept.
    private let path: String?
    /// Whether the directory could be opened; otherwise its path is the name of the only failure.
    var isOpen: Bool { directory != nil }

    /// Why it is not known what the daemon has as applied (CFG-115): the directory cannot be read, or the file that
    /// counts cannot; nil if it is known.
    var unread: String? {
        if let path, let fault = unreadFiles[path] { return fault }
        if let fault = unreadFiles[ConfigurationFile.waived.rawValue] { return fault }
        return waived == nil ? unreadFiles[ConfigurationFile.active.rawValue] : nil
    }

    init(_ home: SignedHome) {
        path = home.directory
        guard let path else { return }
        do {
            let directory = try OwnedDirectory(existing: path)
            self.directory = directory
            staged = read(ConfigurationFile.staged.rawValue, in: directory, StagedConfiguration.init)
            waived = read(ConfigurationFile.waived.rawValue, in: directory, ActiveConfiguration.init)
            active = read(ConfigurationFile.active.rawValue, in: directory, ActiveConfiguration.init)
            trial = read(ConfigurationFile.trial.rawValue, in: directory, ConfigurationTrial.init)
            attempts = read(ConfigurationFile.attempts, in: directory, LoadAttempts.init) ?? LoadAttempts()
        } catch {
            cannotRead(path, error)
        }
        dropForeign(home)
    }

    private mutating func read<Record>(
        _ name: String, in directory: OwnedDirectory,
        _ make: (PropertyListDictionary) throws(FieldError) -> Record
    ) -> Record? {
        do {
            guard let bytes = try directory.read(name, limit: ConfigurationFile.limit) else { return nil }
            return try make(try PropertyListReader.readDictionary(bytes))
        } catch {
            cannotRead(name, error)
            return nil
        }
    }

    /// A file that the system or its permissions keep from the app is not damaged.
    private mutating func cannotRead(_ file: String, _ error: any Error) {
        fail(file, "\(error)", name: error is FileError ? "unreadable" : "damaged")
        // A file's error has its path.
        unreadFiles[file] = error is FileError ? "\(error)" : "\(file): \(error)"
    }

    /// A record of another application or side has no business in this directory.
    private mutating func dropForeign(_ home: SignedHome) {
        let isForeign = { (key: ConfigurationSlotKey) in
            key.application != home.application || key.role != home.role
        }
        if let key = staged?.record.key, isForeign(key) { staged = nil }
        if let key = waived?.record.key, isForeign(key) { waived = nil }
        if let key = active?.record.key, isForeign(key) { active = nil }
        if let key = trial?.previous?.record.key, isForeign(key) { trial = nil }
    }

    /// Whether the staged configuration has to wait for the end of another one's trial (CFG-61). A daemon of an earlier
    /// release has written it all the same.
    var holdsBackStaged: Bool {
        guard let staged, staged.isWaived, let trial else { return false }
        return !trial.covers(staged.record.digest)
    }

    /// Whether a configuration waits for its proof: it is staged or on trial, and the app has not lived with it.
    func isUnproven(_ digest: [UInt8]) -> Bool {
        let waits = staged?.record.digest == digest || trial?.covers(digest) == true
        return waits && !attempts.isHealthy(digest)
    }

    /// Changes the library's account, durably when this returns; nothing without a directory, or without a change.
    mutating func note(
        _ digest: [UInt8], _ change: (inout LoadAttempts) -> Void
    ) throws(FileError) {
        var next = attempts
        change(&next)
        guard let directory, next != attempts else { return }
        let known = [staged?.record, waived?.record, active?.record, trial?.previous?.record].compactMap { $0?.digest }
        next.keep(known + [digest])
        do {
            try directory.replace(ConfigurationFile.attempts, with: try PropertyListWriter.write(next.dictionary))
        } catch let error as FileError {
            throw error
        } catch {
            preconditionFailure("the account can always be written: \(error)")
        }
        attempts = next
    }

    /// Notes the fault of a configuration that was applied and does not load.
    mutating func refuse(_ record: ConfigurationRecord, in file: ConfigurationFile, _ failure: VerificationFailure) {
        fail(file.rawValue, failure.detail, name: failure.rejection.rawValue)
        if file != .trial { refusal = OfferReply(failure, of: record.envelope) }
    }

    mutating func fail(_ file: String, _ detail: String, name: String = "damaged") {
        failures.append(ConfigurationFileFailure(file, detail, name: name))
    }
}

/// An anchor with the key sets that followed it, as far as they could be read.
struct FollowedAnchor {
    let anchor: ConfigurationAnchor
    /// Why the chain, or the rest of it, does not count.
    private(set) var failure: VerificationFailure?
    /// Whether there may be key sets that could not be read: a configuration under one of them is not wrong then.
    private(set) var isUnread = false
}

extension ConfigurationAnchor {
    /// The anchor with the key sets and revocations that followed it (CFG-93). The file is a claim: each step is
    /// verified from the compiled anchor on, and the first that does not follow ends it. Without the file the anchor
    /// stands alone.
    func followed(in home: SignedHome) -> FollowedAnchor {
        guard var history = trusted, let path = home.directory else { return FollowedAnchor(anchor: self) }
        let file: KeySetChainFile
        do {
            let directory = try OwnedDirectory(existing: path)
            guard let bytes = try directory.read(KeySetChainFile.name, limit: KeySetChainFile.limit) else {
                return FollowedAnchor(anchor: self)
            }
            file = try KeySetChainFile(try PropertyListReader.readDictionary(bytes))
        } catch {
            return FollowedAnchor(anchor: self, failure: VerificationFailure(.malformed, "\(error)"), isUnread: true)
        }
        guard file.subject == KeySubject(application: home.application, role: home.role) else {
            let failure = VerificationFailure(.wrongApplication, "it is for '\(file.subject.application)'")
            return FollowedAnchor(anchor: self, failure: failure)
        }
        let failure = history.follow(file.chain)
        return FollowedAnchor(anchor: .trusted(history), failure: failure)
    }
}

/// A file that was not applied at load.
public struct ConfigurationFileFailure: Error, Sendable, Hashable {
    /// The file's name, or the directory's path if that cannot be read.
    public let file: String
    /// Why it was not applied; `unreadable` for one of the daemon's files, or their directory, that the app may not
    /// read or that is of another kind, and `damaged` for any other file that does not read.
    public let rejection: ConfigurationRejection
}

extension ConfigurationFileFailure {
    init(_ file: String, _ detail: String, name: String = "damaged") {
        self.init(file: file, rejection: ConfigurationRejection(name: name, detail: detail))
    }
}

/// The result of a load.
public struct ConfigurationLoad: Sendable {
    /// The signed configuration that is applied now; nil for none.
    public let applied: AppliedConfiguration?
    /// The files that were not applied.
    public let failures: [ConfigurationFileFailure]
}
