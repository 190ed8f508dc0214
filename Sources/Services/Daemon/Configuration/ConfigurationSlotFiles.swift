// The files in the apps' own directories (CFG-36): copies of the slots' rows and key chains that the library reads
// without the daemon. Written on the loop's thread: a few milliseconds, once for each configuration that a verified
// signature lets through, and once for each burst of a chain's steps. Compared at each registration: no more bytes are
// read than the daemon has written.

import TandemBase
import TandemFiles
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration

/// Writes the files of the apps' present slots, from the state in force that the receiver passes in; confined to its
/// loop.
final class ConfigurationSlotFiles {
    /// The side of a commit on which a file changes.
    enum Moment {
        case beforeCommit
        case afterCommit
    }

    private struct Difference {
        /// Why a file could not be written or removed the last time; nil if no write has failed.
        var failure: FileError?
        /// The errors already logged. The attempts go on, so each is logged once until the problem ends (CTL-76).
        var logged: Set<String> = []
    }

    fileprivate enum Comparison {
        case same
        case different
        /// The file could not be read, and may be as it should be.
        case unread(FileError)

        var isSame: Bool { if case .same = self { true } else { false } }
    }

    /// The files of an app that were written or removed again, by their names.
    struct WrittenFiles {
        fileprivate var others: [String] = []
        /// Those that could not be read to compare them.
        fileprivate var unread: [String] = []
        /// Why the last of these could not be read.
        fileprivate var error: FileError?

        fileprivate var isEmpty: Bool { others.isEmpty && unread.isEmpty }

        fileprivate mutating func add(_ name: String, _ comparison: Comparison) {
            guard case .unread(let reason) = comparison else { return others.append(name) }
            unread.append(name)
            error = reason
        }
    }

    private let context: ConfigurationContext
    /// Has one directory for each app.
    private let applications: OwnedDirectory
    /// Subjects whose chain is not in their app's directory as it is in the store. Nothing is staged before it is: the
    /// library would refuse it.
    private var unwrittenChains: Set<KeySubject> = []
    /// Writes and removals of each app's chain since the start, also those that failed.
    private var chainWrites: [KeySubject: Int] = [:]
    /// The chain files that were written over the same bytes, as they were then.
    private var overwrittenChains: [KeySubject: FileStatus] = [:]
    /// Subjects whose files may not be those of the state in force.
    private var differing: [KeySubject: Difference] = [:]
    /// Subjects whose files were written again since the last tick, and whether another comparison was due since.
    private var rewritten: [KeySubject: Bool] = [:]
    /// Apps that have files to be written once their user is known.
    private var ownerlessApplications: Set<ApplicationIdentifier> = []

    init(_ context: ConfigurationContext, applications: OwnedDirectory) {
        self.context = context
        self.applications = applications
    }

    private var device: any ConfigurationHost { context.device }

    // MARK: directories

    /// The app's own directory, made if it is missing; nil if it cannot be.
    func directory(of app: ApplicationIdentifier) -> String? {
        try? directory(of: app, owner: device.owner(of: app)).path
    }

    private func directory(of app: ApplicationIdentifier, owner: UInt32?) throws(FileError) -> OwnedDirectory {
        try applications.directory(named: app.description, mode: 0o750, owner: owner)
    }

    /// The app's own directory, made if it is missing, and its user; nil for an app that has never registered, because
    /// a directory of the wrong user would be closed to it.
    private func ownedDirectory(
        of app: ApplicationIdentifier
    ) throws(FileError) -> (directory: OwnedDirectory, owner: UInt32)? {
        guard let owner = device.owner(of: app) else {
            ownerlessApplications.insert(app)
            return nil
        }
        return (try directory(of: app, owner: owner), owner)
    }

    // MARK: slots

    /// Changes the files that a slot's answer changes at this moment; returns whether they are as it says.
    func write(
        _ transition: ApplyTransition, of key: ConfigurationSlotKey, _ moment: Moment, in state: ReceiverState
    ) -> Bool {
        // Only the slot of the present target has files.
        guard transition.changes.contains(where: { $0.file != nil }), context.isShown(key) else { return true }
        if moment == .beforeCommit, transition.stages, unwrittenChains.contains(key.subject),
            !writeChain(of: key.subject, in: state)
        {
            return false
        }
        do throws(FileError) {
            guard let (directory, owner) = try ownedDirectory(of: key.application) else { return true }
            for change in transition.changes where change.isWrittenBeforeCommit == (moment == .beforeCommit) {
                if let file = change.file { try make(file, directory, owner) }
            }
            return true
        } catch {
            failed(error, key.subject, "configuration file not written")
            return false
        }
    }

    /// Makes the files of an app those of the present target; of an app of the other side there are none. After a write
    /// that failed also those with the right bytes: only a write shows that the next one will not fail.
    /// - Returns: those that were written or removed.
    @discardableResult
    func reconcile(_ subject: KeySubject, with state: ReceiverState) -> WrittenFiles {
        var files = WrittenFiles()
        guard context.isHere(subject) else {
            differing[subject] = nil
            return files
        }
        let hasFailed = differing[subject]?.failure != nil
        let slot = context.shownKey(of: subject).flatMap { state.slots[$0] }
        // The chain first: the library would refuse a configuration without its keys.
        let hasChain = writeChain(of: subject, in: state, noting: &files)
        if !hasChain, ConfigurationFile.allCases.contains(where: { slot?.content(of: $0) != nil }) {
            return WrittenFiles()
        }
        do throws(FileError) {
            if let (directory, owner) = try ownedDirectory(of: subject.application) {
                for file in ConfigurationFile.allCases {
                    let content = slot?.content(of: file)
                    let comparison = compare(content, file.rawValue, directory)
                    guard hasFailed && content != nil || !comparison.isSame else { continue }
                    try make((file, content), directory, owner)
                    files.add(file.rawValue, comparison)
                }
                if hasFailed, hasChain, files.isEmpty { try directory.checkWritable(Self.attributes(owner)) }
            }
            if hasChain { differing[subject] = nil }
        } catch {
            failed(error, subject, "configuration files not brought up to date")
        }
        return files
    }

    /// A file could not be written or removed.
    private func failed(_ error: FileError, _ subject: KeySubject, _ message: StaticString) {
        let text = error.textOfFixedPath
        var difference = differing[subject] ?? Difference()
        difference.failure = error
        let isNew = difference.logged.insert(text).inserted
        differing[subject] = difference
        guard isNew else { return }
        context.log(.error, message, .text("app", "\(subject.application)"), .text("error", text))
    }

    /// Whether some files may not be those of the state in force.
    var differ: Bool { !differing.isEmpty }

    /// The files of an app may be ahead of a commit that failed.
    func mayDiffer(_ subject: KeySubject) { differing[subject] = differing[subject] ?? Difference() }

    /// The files that could not be written or removed, by app, each with the reason.
    var unwritten: [String] {
        differing.compactMap { subject, difference in difference.failure.map { (subject, $0.textOfFixedPath) } }
            .sorted { ($0.0.application, $0.1) < ($1.0.application, $1.1) }
            .map { subject, reason in "\(subject.application): \(reason)" }
    }

    /// The operator has removed an app.
    func removed(_ subject: KeySubject) {
        (differing[subject], overwrittenChains[subject]) = (nil, nil)
        unwrittenChains.remove(subject)
    }

    /// Makes the files that may differ those of the state in force; those that still cannot be stay for the next call.
    func repair(with state: ReceiverState) {
        for subject in differing.keys { reconcile(subject, with: state) }
    }

    /// Makes the files of an app that has registered, or has loaded other bytes, those of the state in force (CFG-116):
    /// its user may have written them, or have restored the directory. Its first registration names the user that they
    /// have waited for. More than once in a tick it waits for the next one: the user could go on without end.
    /// - Returns: whether some were written: the app may have read others.
    func rewriteDiffering(_ subject: KeySubject, with state: ReceiverState) -> Bool {
        let app = subject.application
        let isNew = ownerlessApplications.remove(app) != nil
        if !isNew, putsOff(subject) { return false }
        // This daemon has not written all of them yet.
        let isBehind = isNew || differing[subject] != nil || unwrittenChains.contains(subject)
        // An app without configuration needs no directory.
        guard isBehind || hasFiles(subject, in: state) || directory(of: app) != nil else { return false }
        let files = reconcile(subject, with: state)
        if !files.isEmpty || differing[subject] != nil { rewritten[subject] = false }
        if !isBehind, !files.isEmpty { context.log(line(about: files, of: app), causedBy: app) }
        return !files.isEmpty
    }

    /// A file that cannot be read, as without a free descriptor, may be as this daemon has written it: the line must
    /// not send the operator after somebody who has changed it, nor hide that another one was changed.
    private func line(about files: WrittenFiles, of app: ApplicationIdentifier) -> LogEvent {
        var fields: [LogField] = [.text("app", "\(app)")]
        if !files.others.isEmpty { fields.append(.text("files", files.others.joined(separator: " "))) }
        if let error = files.error {
            fields += [
                .text("unread", files.unread.joined(separator: " ")), .text("error", error.textOfFixedPath),
            ]
        }
        return LogEvent(
            .warning,
            files.others.isEmpty
                ? "an app's files could not be read to compare them, and are written again"
                : "an app's files were not as this daemon had written them, and are written again",
            fields: fields)
    }

    /// Makes the files of an app that could not judge, or has loaded other bytes, those of the state in force (CFG-113,
    /// CFG-116), at most once in a tick, like those of an app that has registered.
    /// - Parameter writes: the value of `chainWrites` at which the same key sets are written, too; nil: never.
    /// - Returns: whether the app can read them now: they were compared, and its key sets are as they should be.
    func rewrite(_ subject: KeySubject, unwrittenSince writes: Int?, with state: ReceiverState) -> Bool {
        if putsOff(subject) { return false }
        let before = chainWrites(of: subject)
        guard writeChain(of: subject, in: state, always: writes == before) else {
            rewritten[subject] = false
            return false
        }
        _ = rewriteDiffering(subject, with: state)
        if chainWrites(of: subject) != before { rewritten[subject] = false }
        return true
    }

    /// Whether an app's files were written again since the last tick: they are compared at the next one.
    private func putsOff(_ subject: KeySubject) -> Bool {
        guard rewritten[subject] != nil else { return false }
        rewritten[subject] = true
        return true
    }

    /// A tick: returns the subjects whose files have waited for it.
    func takeDelayed() -> [KeySubject] {
        defer { rewritten = [:] }
        return rewritten.compactMap { subject, isDelayed in isDelayed ? subject : nil }
    }

    /// Whether the state has any file for an app.
    private func hasFiles(_ subject: KeySubject, in state: ReceiverState) -> Bool {
        let slot = context.shownKey(of: subject).flatMap { state.slots[$0] }
        let chain = state.anchors[subject]?.chain ?? []
        return !chain.isEmpty || ConfigurationFile.allCases.contains { slot?.content(of: $0) != nil }
    }

    /// The app's directory is gone with its former owner's files: the daemon's are written again if there are any, else
    /// the registration makes the directory.
    func ownerChanged(of subject: KeySubject, in state: ReceiverState) {
        if hasFiles(subject, in: state) { reconcile(subject, with: state) }
    }

    // MARK: chains

    /// A chain has grown: its file is written before anything is staged under it, and else when the caller says so.
    func chainHasGrown(_ subject: KeySubject) {
        if context.isHere(subject) { unwrittenChains.insert(subject) }
    }

    /// Writes the chain of key sets that the library follows from its own anchor (CFG-93), or removes it if there is
    /// none; the files of the other side's app are not here. Returns whether it is as the state says.
    /// - Parameter always: writes over the same bytes, too, because the app's user may not be able to read a file that
    ///   the daemon can. A file that has not changed since the last such write is left: a new one would be no better.
    @discardableResult
    func writeChain(of subject: KeySubject, in state: ReceiverState, always: Bool = false) -> Bool {
        var files = WrittenFiles()
        return writeChain(of: subject, in: state, always: always, noting: &files)
    }

    private func writeChain(
        of subject: KeySubject, in state: ReceiverState, always: Bool = false, noting files: inout WrittenFiles
    ) -> Bool {
        guard context.isHere(subject) else { return true }
        unwrittenChains.insert(subject)
        do throws(FileError) {
            if let (directory, owner) = try ownedDirectory(of: subject.application) {
                let content = chainFile(of: subject, in: state)
                let isWrittenOver = always && content != nil && !isOverwritten(subject, directory)
                let comparison = compare(content, KeySetChainFile.name, directory)
                if isWrittenOver || !comparison.isSame {
                    // Counted before the write, which may fail after it has replaced the file.
                    chainWrites[subject, default: 0] += 1
                    files.add(KeySetChainFile.name, comparison)
                    if let content {
                        try write(content, KeySetChainFile.name, directory, owner)
                    } else {
                        try directory.remove(KeySetChainFile.name)
                    }
                    overwrittenChains[subject] = nil
                    if isWrittenOver { overwrittenChains[subject] = Self.chainStatus(in: directory) }
                }
                unwrittenChains.remove(subject)
            }
            return true
        } catch {
            failed(error, subject, "key sets not written")
            return false
        }
    }

    /// Whether the app's chain file is the one that was written over the same bytes last: nobody has replaced it or
    /// changed its owner or its mode since.
    private func isOverwritten(_ subject: KeySubject, _ directory: OwnedDirectory) -> Bool {
        guard let written = overwrittenChains[subject] else { return false }
        return Self.chainStatus(in: directory) == written
    }

    private static func chainStatus(in directory: OwnedDirectory) -> FileStatus? {
        try? directory.status(of: KeySetChainFile.name)
    }

    /// How often the app's chain was written or removed: an answer may be about the file before the last time.
    func chainWrites(of subject: KeySubject) -> Int { chainWrites[subject] ?? 0 }

    /// Whether the app's directory has another chain than the state. Without an owner it has none yet, and its app
    /// cannot have read it.
    func chainDiffers(of subject: KeySubject, in state: ReceiverState) -> Bool {
        guard context.isHere(subject), device.owner(of: subject.application) != nil else { return false }
        guard let (directory, _) = try? ownedDirectory(of: subject.application) else { return true }
        return !compare(chainFile(of: subject, in: state), KeySetChainFile.name, directory).isSame
    }

    private func chainFile(of subject: KeySubject, in state: ReceiverState) -> PropertyListDictionary? {
        let chain = state.anchors[subject]?.chain ?? []
        return chain.isEmpty ? nil : KeySetChainFile(subject: subject, chain: chain).dictionary
    }

    /// Compares a file with its content in the state; without content there must be no file. One that can never be read
    /// is different: its app may not read it, either. A longer one is different unread: the app's user can make it as
    /// long as the disk. To find that there is none takes no descriptor.
    private func compare(
        _ content: PropertyListDictionary?, _ name: String, _ directory: OwnedDirectory
    ) -> Comparison {
        do throws(FileError) {
            guard let bytes = content?.ownBytes else {
                return try directory.status(of: name) == nil ? .same : .different
            }
            return try directory.read(name, limit: bytes.count) == bytes ? .same : .different
        } catch { return error.mayPass ? .unread(error) : .different }
    }

    // MARK: the library's account

    /// The library's account of its starts, empty if it has written none, or none that reads; nil for a slot whose
    /// files the app does not see now.
    func attempts(of key: ConfigurationSlotKey) -> LoadAttempts? {
        guard context.isShown(key), let (directory, _) = try? ownedDirectory(of: key.application) else { return nil }
        guard let bytes = try? directory.read(ConfigurationFile.attempts, limit: ConfigurationFile.limit),
            let fields = try? PropertyListReader.readDictionary(bytes)
        else { return LoadAttempts() }
        return (try? LoadAttempts(fields)) ?? LoadAttempts()
    }

    // MARK: bytes

    private func make(
        _ change: ConfigurationFileChange, _ directory: OwnedDirectory, _ owner: UInt32
    ) throws(FileError) {
        if let content = change.content {
            try write(content, change.file.rawValue, directory, owner)
        } else {
            try directory.remove(change.file.rawValue)
        }
    }

    private func write(
        _ content: PropertyListDictionary, _ name: String, _ directory: OwnedDirectory, _ owner: UInt32
    ) throws(FileError) {
        try directory.replace(name, with: content.ownBytes, Self.attributes(owner))
    }

    private static func attributes(_ owner: UInt32) -> FileAttributes { FileAttributes(mode: 0o600, owner: owner) }
}
