// The program that started this service and watches it, such as systemd: it is notified by datagrams, as sd_notify(3)
// has them, that the service is ready, that it ends, and that its loop turns. The service never waits for it.

internal import Glibc
internal import TandemBase

/// The supervisor of this process; confined to its loop.
package final class Supervisor {
    /// A change that the supervisor is notified of.
    package enum State: Sendable {
        /// Serves its clients.
        /// - Parameter status: one line for people.
        case ready(status: String)
        /// Finishes what it has accepted.
        case stopping

        fileprivate var text: String {
            switch self {
            case .ready(let status): "READY=1\nSTATUS=" + status
            case .stopping: "STOPPING=1\nSTATUS=finishing what it has accepted"
            }
        }
    }

    /// Before the next attempt when the supervisor reads more slowly than it is written to.
    private static var pause: Duration { .milliseconds(100) }
    /// A shorter one would be all that the loop does.
    private static var shortestPeriod: Duration { .milliseconds(1) }

    /// The variables that it reads.
    package static var variables: [String] { ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] }

    private let name: String
    private let address: NetworkAddress
    private let socket: OwnedDescriptor
    private let loop: any Scheduler
    private let log: LogSink
    /// In their order; any only while the supervisor does not read.
    private var unsent: [State] = []

    /// The supervisor that the environment names; nil if none does.
    /// - Parameters:
    ///   - variable: the value of a variable of the environment.
    ///   - log: has a line for what cannot be sent.
    /// - Throws: why no datagram can be sent to the address.
    package init?(
        _ variable: (String) -> String?, on loop: any Scheduler, log: LogSink
    ) throws(SystemError) {
        guard let name = variable("NOTIFY_SOCKET") else { return nil }
        switch name.first {
        case "@": address = try NetworkAddress(abstract: String(name.dropFirst()))
        case "/": address = try NetworkAddress(path: name)
        default: throw SystemError(call: "sockaddr_un", errno: EINVAL)
        }
        socket = try Linux.datagramSocket(for: address)
        self.name = name
        self.loop = loop
        self.log = log
        if let period = Self.period(variable) { prove(every: period) }
    }

    /// Tells the supervisor, now or as soon as it reads.
    package func tell(_ state: State) {
        unsent.append(state)
        // With others before it, their timer runs.
        if unsent.count == 1 { send() }
    }

    private func send() {
        while let state = unsent.first {
            guard post(state.text) else {
                loop.schedule(after: Self.pause) { [self] in send() }
                return
            }
            unsent.removeFirst()
        }
    }

    /// Half of the time after which the supervisor takes a silent service for hung; nil if it does not watch this
    /// process.
    private static func period(_ variable: (String) -> String?) -> Duration? {
        guard let microseconds = variable("WATCHDOG_USEC").flatMap(Int64.init), microseconds > 0 else { return nil }
        if let process = variable("WATCHDOG_PID"), process != "\(getpid())" { return nil }
        return max(.microseconds(microseconds / 2), shortestPeriod)
    }

    /// A timer of the loop fires only if that turns. A proof for which there is no space has the next one behind it.
    private func prove(every period: Duration) {
        loop.schedule(after: period) { [self] in
            _ = post("WATCHDOG=1")
            prove(every: period)
        }
    }

    /// False if there is no space for it now.
    private func post(_ text: String) -> Bool {
        do throws(SystemError) {
            return try Linux.send(text, to: address, on: socket.raw)
        } catch {
            log.write(
                LogEvent(.warning, "supervisor not told", .outside("socket", name), .text("error", "\(error)")))
            return true
        }
    }
}
