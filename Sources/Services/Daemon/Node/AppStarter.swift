// Starts host apps for which durable items wait (CTL-22): the schedule decides when, this starts, reaps and says so. An
// app runs as the user that owns it: root's daemon becomes that user, another daemon starts its own user's apps only.

import TandemBase
import TandemOperations
import TandemReactor

/// The wake-up hook of one daemon; confined to its loop.
final class AppStarter {
    private let commands: WakeCommands
    private let socket: String
    private let loop: EventLoop
    private let log: LogHandler
    private let owner: (ApplicationIdentifier) -> UInt32?
    private var schedule: WakeSchedule
    private var timer: TimerToken?
    private var isStopping = false

    /// - Parameters:
    ///   - socket: where the app finds this daemon.
    ///   - owner: the user that an installed app belongs to.
    init(
        _ commands: WakeCommands, socket: String, loop: EventLoop, log: @escaping LogHandler,
        owner: @escaping (ApplicationIdentifier) -> UInt32?
    ) {
        self.commands = commands
        self.socket = socket
        self.loop = loop
        self.log = log
        self.owner = owner
        schedule = WakeSchedule(commands.applications)
    }

    /// Tells for which apps durable items wait.
    func workChanged(_ waits: Set<ApplicationIdentifier>) {
        for app in commands.applications {
            start(schedule.work(for: app, waits: waits.contains(app), at: loop.now))
        }
    }

    func connected(_ app: ApplicationIdentifier) {
        schedule.connected(app)
        setTimer()
    }

    func handled(_ app: ApplicationIdentifier) { schedule.handled(app) }

    func disconnected(_ app: ApplicationIdentifier) { start(schedule.disconnected(app, at: loop.now)) }

    /// Starts nothing any more.
    func stop() {
        isStopping = true
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    private func start(_ apps: [ApplicationIdentifier]) {
        for app in apps where !isStopping { start(app) }
        setTimer()
    }

    private func setTimer() {
        if let timer { loop.cancel(timer) }
        timer = nil
        guard !isStopping, let deadline = schedule.nextDeadline else { return }
        timer = loop.schedule(after: deadline.since(loop.now)) { [weak self] in
            guard let self else { return }
            start(schedule.timeAdvanced(to: loop.now))
        }
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
            // In a later turn, as the end of a program that runs: the schedule has only now been told that it does.
            loop.atEndOfTurn { [weak self] in self?.ended(app, nil) }
        }
    }

    /// - Parameter code: nil for a program that could not be started.
    private func ended(_ app: ApplicationIdentifier, _ code: Int32?) {
        if let code {
            log(LogEvent(.info, "app's program has ended", .text("app", "\(app)"), .integer("code", code)))
        }
        start(schedule.ended(app, well: code == 0, at: loop.now))
    }

    private func call(_ app: ApplicationIdentifier) throws -> ProgramCall {
        guard let arguments = commands[app], let owner = owner(app) else { throw Obstacle.neverRegistered }
        guard owner == Linux.user || Linux.user == 0 else { throw Obstacle.otherUser(owner) }
        let user = try ProgramUser(owner)
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

        var description: String {
            switch self {
            case .neverRegistered: "it has never registered here, so it has no user to run as"
            case .otherUser(let user): "it belongs to user \(user), and only root's daemon can start another user's app"
            }
        }
    }
}
