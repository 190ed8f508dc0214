// The wake-up hook beside a real loop: when a program starts, with which environment and user, and when none does. The
// pacing is the schedule's and is tested there.

import Glibc
import TandemBase
import TandemDaemonTestSupport
import TandemOperations
import TandemReactor
import TandemTestSupport
import Testing

@testable import TandemDaemon

@Suite(.timeLimit(.minutes(10))) struct AppStarterTests {
    /// The daemon's state as the starter reads it.
    private final class Daemon {
        var waiting: Set<ApplicationIdentifier> = []
        /// How often the queues of an app were looked at.
        private(set) var looks = 0
        var owner: UInt32? = Linux.user
        var role = DeviceRole.secondary
        var notes: [LogEvent] = []

        func hasItems(_ app: ApplicationIdentifier) -> Bool {
            looks += 1
            return waiting.contains(app)
        }
    }

    private let directory = TemporaryDirectory()
    private let loop: EventLoop
    private let app: ApplicationIdentifier
    private let daemon = Daemon()

    init() throws {
        loop = try EventLoop()
        app = try ApplicationIdentifier("org.example.lamp")
        daemon.waiting = [app]
    }

    /// A starter whose program is a script; each run leaves a line in `starts`.
    /// - Parameter others: further apps that have a command, and for which nothing waits.
    private func starter(_ script: String, others: Int = 0) throws -> AppStarter {
        directory.write(
            Array("echo started >>\(directory.path("starts"))\n\(script)\n".utf8), to: "script", mode: 0o755)
        let names = [app.description] + (0..<others).map { "\(app).a\($0)" }
        let lines = names.map { "\($0) /bin/sh \(directory.path("script"))" }
        let commands = try WakeCommands(text: lines.joined(separator: "\n"), path: "wake")
        return AppStarter(
            commands, sockets: PerRole(primary: nil, secondary: "/run/kiosk.sock"), loop: loop,
            log: { [daemon] in daemon.notes.append($0) }, hasItems: { [daemon] in daemon.hasItems($0) },
            ownership: { [daemon] _ in daemon.owner.map { ApplicationOwnership(user: $0, role: daemon.role) } })
    }

    private func lines(_ name: String) -> [Substring] {
        String(decoding: TemporaryDirectory.read(directory.path(name)) ?? [], as: UTF8.self).split(separator: "\n")
    }

    private func count(_ message: String) -> Int { daemon.notes.count { "\($0.message)" == message } }

    private func pass(_ time: Duration) {
        var isOver = false
        loop.schedule(after: time) { isOver = true }
        loop.run(until: { isOver })
    }

    @Test func `SES-83, CTL-22: an app of a side without a socket is not started, and the log says why`() throws {
        daemon.role = .primary
        let starter = try starter("true")
        starter.itemsMayWait()
        loop.run(until: { count("items wait, app not started") == 1 })
        #expect(lines("starts").isEmpty)
        #expect(daemon.notes.contains { "\($0)".contains("--local-other") })
    }

    @Test(.enabled(if: geteuid() == 0, "only root's daemon starts apps of others"))
    func `CTL-22: the log says what to do about an app whose user is gone`() throws {
        daemon.owner = 4_000_000_000
        let starter = try starter("true")
        starter.itemsMayWait()
        loop.run(until: { count("items wait, app not started") == 1 })
        #expect(daemon.notes.contains { "\($0)".contains("user 4000000000 no longer exists: 'tandem apps assign'") })
    }

    @Test func `CTL-22: an absent app is started once, with the hook's environment and nothing of the daemon's`() throws
    {
        let starter = try starter("env >\(directory.path("environment"))")
        for _ in 0..<3 { starter.itemsMayWait() }
        loop.run(until: { count("app's program has ended") == 1 })
        starter.itemsMayWait()
        pass(.milliseconds(50))
        #expect(lines("starts").count == 1)
        let environment = lines("environment")
        #expect(environment.contains("TANDEM_SOCKET=/run/kiosk.sock"))
        #expect(environment.contains("TANDEM_APPLICATION=org.example.lamp"))
        let names = Set(environment.compactMap { $0.split(separator: "=").first.map(String.init) })
        #expect(names.subtracting(["PATH", "HOME", "TANDEM_SOCKET", "TANDEM_APPLICATION"]).isSubset(of: ["PWD", "_"]))
    }

    @Test func `CTL-22: no program starts for a connected app, without items, or once the daemon stops`() throws {
        let starter = try starter("exit 1")
        starter.connected(app)
        starter.itemsMayWait()
        pass(.milliseconds(20))
        daemon.waiting = []
        starter.disconnected(app)
        starter.itemsMayWait()
        pass(.milliseconds(20))
        daemon.waiting = [app]
        starter.stop()
        starter.itemsMayWait()
        pass(.milliseconds(20))
        #expect(lines("starts").isEmpty && daemon.notes.isEmpty)
    }

    @Test func `CTL-22: an item for an app that is there, or for which others wait already, costs no look at queues`()
        throws
    {
        let starter = try starter("true", others: 3)
        func arrive(for app: ApplicationIdentifier) -> Int {
            let before = daemon.looks
            for _ in 0..<10 {
                starter.itemsMayWait(for: app)
                pass(.milliseconds(1))
            }
            return daemon.looks - before
        }
        starter.connected(app)
        #expect(arrive(for: app) == 0)
        #expect(arrive(for: try ApplicationIdentifier("org.example.unlisted")) == 0)
        starter.disconnected(app)
        loop.run(until: { count("app's program has ended") == 1 })
        #expect(arrive(for: app) == 0, "it waits for its next start")
        daemon.waiting = []
        starter.itemsMayWait()
        pass(.milliseconds(1))
        #expect(arrive(for: app) == 10, "its own queues, once in each turn")
        starter.stop()
    }

    @Test func `CTL-22: an app that has never registered has no user to run as; once it has, the next try starts it`()
        throws
    {
        daemon.owner = nil
        let starter = try starter("")
        starter.itemsMayWait()
        loop.run(until: { count("items wait, app not started") == 1 })
        #expect("\(daemon.notes)".contains("never registered"))
        daemon.owner = Linux.user
        loop.run(until: { count("app's program has ended") == 1 })
        #expect(lines("starts").count == 1)
        starter.stop()
    }

    @Test func `CTL-22: an app runs as its owner, which only root's daemon can become`() throws {
        chmod(directory.path, 0o777)
        daemon.owner = 65534
        let starter = try starter("id -u >\(directory.path("user"))")
        starter.itemsMayWait()
        loop.run(until: { count("app's program has ended") + count("items wait, app not started") == 1 })
        if Linux.user == 0 {
            #expect(lines("user") == ["65534"])
        } else {
            #expect("\(daemon.notes)".contains("only root's daemon"))
        }
        starter.stop()
    }
}
