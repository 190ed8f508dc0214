// Starts host apps for which durable items wait (CTL-22): the schedule decides when; the starter runs the programs,
// waits for their ends and logs both. An app runs as the user that owns it: root's daemon becomes that user, another
// daemon starts its own user's apps only.

import TandemBase
import TandemFiles
import TandemOperations
import TandemReactor

/// The wake-up hook of one daemon; confined to its loop.
final class AppStarter {
    private var commands: WakeCommands
    /// The absolute paths of the device's local sockets, by side; nil for a side without one.
    private var sockets: PerRole<String?>
    private let loop: EventLoop
    private let log: LogHandler
    private let hasItems: (ApplicationIdentifier) -> Bool
    private let ownership: (ApplicationIdentifier) -> ApplicationOwnership?
    private var schedule: WakeSchedule
    private var isLooking = false
    /// The apps whose queues are looked at when the turn ends.
    private var awaited: Set<ApplicationIdentifier> = []
    private var timer: TimerToken?
    private var isStopping = false

    /// - Parameters:
    ///   - sockets: where the apps find this daemon.
    ///   - hasItems: whether durable items wait for an app. Configuration does not count: the daemon itself takes it.
    ///   - ownership: the user and the side that an installed app belongs to.
    init(
        _ commands: WakeCommands, sockets: PerRole<String?>, loop: EventLoop, log: @escaping LogHandler,
        hasItems: @escaping (ApplicationIdentifier) -> Bool,
        ownership: @escaping (ApplicationIdentifier) -> ApplicationOwnership?
    ) {
        self.commands = commands
        self.sockets = sockets
        self.loop = loop
        self.log = log
        self.hasItems = hasItems
        self.ownership = ownership
        schedule = WakeSchedule(commands.applications)
    }

    /// Follows other commands from now on.
    /// - Parameter isConnected: whether an app has a receiving connection.
    func follow(_ next: WakeCommands, sockets: PerRole<String?>, isConnected: (ApplicationIdentifier) -> Bool) {
        guard next != commands else { return }
        (commands, self.sockets) = (next, sockets)
        schedule.follow(next.applications, isConnected: isConnected)
        log(LogEvent(.info, "wake-up commands read again", .integer("apps", next.applications.count)))
        itemsMayWait()
    }

    /// An item for an app may have come. The daemon calls this for each item, also for one that it drops: so only the
    /// queues of the app are looked at, once at the end of the turn, and none if it is connected or has work anyway.
    func itemsMayWait(for app: ApplicationIdentifier) {
        guard commands[app] != nil, schedule.isIdle(app), awaited.insert(app).inserted else { return }
        loop.atEndOfTurn { [self] in
            awaited.remove(app)
            look(at: app)
            start(schedule.timeAdvanced(to: loop.now))
        }
    }

    /// Items may have come: looks once, at the end of the turn.
    func itemsMayWait() {
        guard !isLooking else { return }
        isLooking = true
        loop.atEndOfTurn { [self] in
            isLooking = false
            look()
        }
    }

    private func look() {
        guard !commands.isEmpty else { return }
        start(schedule.work(for: Set(commands.applications.filter(hasItems)), at: loop.now))
    }

    private func look(at app: ApplicationIdentifier) {
        if commands[app] != nil { schedule.setWork(hasItems(app), of: app) }
    }

    func connected(_ app: ApplicationIdentifier) {
        schedule.connected(app)
        setTimer()
    }

    func handled(_ app: ApplicationIdentifier) { schedule.handled(app) }

    func disconnected(_ app: ApplicationIdentifier) {
        // The schedule learns first whether items wait for it: an app that has handled everything is not started again.
        look(at: app)
        start(schedule.disconnected(app, at: loop.now))
    }

    /// Starts no further app.
    func stop() {
        isStopping = true
        setTimer()
    }

    private func start(_ apps: [ApplicationIdentifier]) {
        for app in apps where !isStopping { start(app) }
        setTimer()
    }

    private func setTimer() {
        if let timer { loop.cancel(timer) }
        timer = nil
        guard !isStopping, let deadline = schedule.nextDeadline else { return }
        // Looks again, because the items that waited may have ended meanwhile.
        timer = loop.schedule(after: deadline.since(loop.now)) { [weak self] in self?.look() }
    }

    private func start(_ app: ApplicationIdentifier) {
        do {
            let program = try ChildProgram(try call(app), loop: loop) { [weak self] code in self?.ended(app, code) }
            log(
                LogEvent(
                    .info, "items wait, app started", .text("app", "\(app)"), .integer("pid", program.process)))
        } catch {
            log(
                LogEvent(
                    .error, "items wait, app not started", .text("app", "\(app)"), .outside("reason", "\(error)")))
            // In a later turn, as the end of a program that runs: the schedule has recorded its start only now.
            loop.atEndOfTurn { [weak self] in self?.ended(app, nil) }
        }
    }

    /// - Parameter code: nil for a program that could not be started.
    private func ended(_ app: ApplicationIdentifier, _ code: Int32?) {
        if let code {
            log(LogEvent(.info, "app's program has ended", .text("app", "\(app)"), .integer("code", code)))
        }
        look(at: app)
        start(schedule.ended(app, well: code == 0, at: loop.now))
    }

    private func call(_ app: ApplicationIdentifier) throws -> ProgramCall {
        guard let arguments = commands[app], let ownership = ownership(app), let role = ownership.role else {
            throw Obstacle.neverRegistered
        }
        guard let socket = sockets[role] else { throw Obstacle.noSocket(role) }
        let owner = ownership.user
        guard owner == Linux.user || Linux.user == 0 else { throw Obstacle.otherUser(owner) }
        let user: ProgramUser
        do throws(SystemError) { user = try ProgramUser(owner) } catch {
            if error.name == "ENOENT" { throw Obstacle.noUser(owner) }
            throw error
        }
        return ProgramCall(
            arguments: arguments,
            environment: [
                "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=\(user.home)", "TANDEM_SOCKET=\(socket)",
                "TANDEM_APPLICATION=\(app)",
            ],
            user: owner == Linux.user ? nil : user)
    }

    private enum Obstacle: Error, CustomStringConvertible {
        case neverRegistered
        case otherUser(UInt32)
        case noSocket(DeviceRole)
        case noUser(UInt32)

        var description: String {
            switch self {
            case .neverRegistered: "it has never registered here, so it has no user to run as"
            case .noSocket(let role): "this daemon has no socket for its \(role) side; see --local-other"
            case .noUser(let user):
                "its user \(user) no longer exists: 'tandem apps assign' or 'tandem apps remove'"
            case .otherUser(let user):
                "it belongs to user \(user), and only root's daemon can start another user's app; see 'tandem apps assign'"
            }
        }
    }
}

/// The operator's file of wake-up commands: each line an application identifier and a command. There is no shell: words
/// are split at blanks, nothing is quoted or expanded, and the program is named by its absolute path, so that no
/// variable decides which one runs.
package struct WakeCommands: Sendable, Equatable {
    /// Bytes of the file (LIM-140): far above one line for each app that a device may have.
    private static let longestFile = 256 * 1024

    private let commands: [ApplicationIdentifier: [String]]

    /// Starts no app.
    package init() { commands = [:] }

    /// Reads the file, which must be this user's or root's and not writable by others.
    package init(path: String) throws(NodeError) {
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try FileReading.read(path: path, limit: Self.longestFile, trust: .ownOrRootsAndUnwritable)
        } catch {
            throw .file(error)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .wake(path: path, line: 1, reason: "not UTF-8")
        }
        try self.init(text: text, path: path)
    }

    init(text: String, path: String) throws(NodeError) {
        var commands: [ApplicationIdentifier: [String]] = [:]
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let words = line.split { $0 == " " || $0 == "\t" || $0 == "\r" }.map(String.init)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            if let reason = Self.fault(in: words) { throw .wake(path: path, line: index + 1, reason: reason) }
            guard let app = try? ApplicationIdentifier(first), commands[app] == nil else {
                throw .wake(path: path, line: index + 1, reason: "no application identifier, or one named before")
            }
            commands[app] = Array(words.dropFirst())
        }
        self.commands = commands
    }

    private static func fault(in words: [String]) -> String? {
        guard words.count > 1 else { return "the command is missing" }
        if !words[1].hasPrefix("/") { return "the program must be named by its absolute path" }
        return words.contains { $0.utf8.contains(0) } ? "a NUL byte" : nil
    }

    var isEmpty: Bool { commands.isEmpty }

    /// The apps that have a command.
    var applications: [ApplicationIdentifier] { commands.keys.sorted() }

    /// The program and its arguments.
    subscript(app: ApplicationIdentifier) -> [String]? { commands[app] }
}
