// Service runner: a loop on this thread until a signal. The first signal lets the service finish what it has accepted,
// the second ends it at once. A stop, also one that waits for a disk, has a time limit. Logs go to standard error; one
// line on standard output reports that the service is ready.

import Glibc
import TandemBase
import TandemControl
import TandemCrypto
import TandemReactor

/// A service as a command runs it.
struct Service {
    /// The line to print when the service is ready.
    let readiness: String
    /// Lets the service finish; calls back once, when nothing is left to do.
    let stop: (@escaping () -> Void) -> Void
    /// Reads the configuration again, at SIGHUP. A closed terminal must not end a service silently.
    private(set) var reload: () -> Void = {}
}

/// One run of a service, from its start to its end.
enum ServiceRun {
    /// More than any limit of connections needs; the system's own limit stays if it is lower.
    private static let descriptors: UInt64 = 65_536

    /// After a time in which the first clients have come and been served.
    private static let rest = Duration.milliseconds(200)

    /// The variable that names the stream which the journal reads.
    private static let journal = "JOURNAL_STREAM"

    /// The mark of each line that says why a service has ended: the journal finds it as an error (CTL-65).
    static var failureMark: String {
        LogSink(lending: STDERR_FILENO, journal: try? Environment().value(journal)).mark(of: .error)
    }

    /// Starts the service and returns when it has stopped.
    /// - Parameter start: calls its last argument when the service cannot continue; the run then throws that error.
    static func run(
        log level: LogLevel, on console: Console,
        _ start: (EventLoop, LogSink, @escaping (any Error) -> Void) throws -> Service
    ) throws {
        // Before anything that could start a thread.
        try ProcessSignal.prepareProcess()
        try Linux.closeToOthers()
        let clearsMemory = OpenSSLMemory.clearOnFree()
        try? Linux.setDescriptorLimit(descriptors)
        let environment = Environment()
        let log = LogSink(
            lending: STDERR_FILENO, threshold: level, journal: try environment.value(journal))
        if !clearsMemory {
            log.write(LogEvent(.warning, "OpenSSL's memory is not cleared: keys of ended links may stay in it"))
        }
        let loop = try EventLoop()
        let supervisor = try supervisor(environment, on: loop, log)
        var failure: (any Error)?
        let service = try start(loop, log) { error in
            failure = error
            loop.stop()
        }
        var isStopping = false
        let signals = try SignalSource(loop: loop) { signal in
            if signal == .hangUp { return service.reload() }
            if isStopping { return loop.stop() }
            isStopping = true
            supervisor?.tell(.stopping)
            endIfLate(log)
            service.stop { loop.stop() }
        }
        console.announce(service.readiness)
        supervisor?.tell(.ready(status: service.readiness))
        loop.schedule(after: rest) { Linux.giveBackHeap() }
        loop.afterBursts { Linux.giveBackHeap() }
        loop.run()
        signals.cancel()
        if let failure { throw failure }
    }

    /// Time for a stop, also for what it waits for (LIM-151).
    private static let longestStop = Duration.seconds(20)

    /// Ends the process if the stop takes too long, from a separate thread: the loop may be waiting for a thread that
    /// waits for the disk. A change that is not stored was not acknowledged, so nothing is lost.
    private static func endIfLate(_ log: LogSink) {
        let thread = try? LoopThread(named: "tandem-stop") {
            var seconds = UInt32(clamping: longestStop.components.seconds)
            while seconds > 0 { seconds = sleep(seconds) }
            log.write(
                LogEvent(
                    .error,
                    """
                    the stop did not end in time, probably because the disk does not answer; nothing acknowledged is \
                    lost; a frozen disk may keep the process
                    """, .integer("seconds", longestStop.components.seconds)))
            _exit(1)
        }
        thread?.detach()
    }

    /// The supervisor, if there is one. An address that cannot be used ends the start: a supervisor that is never told
    /// would end the service after its time limit.
    private static func supervisor(
        _ environment: Environment, on loop: EventLoop, _ log: LogSink
    ) throws(CommandFailure) -> Supervisor? {
        var variables: [String: String] = [:]
        for name in Supervisor.variables { variables[name] = try environment.value(name) }
        do {
            return try Supervisor({ variables[$0] }, on: loop, log: log)
        } catch {
            throw .usage("NOTIFY_SOCKET '\(variables["NOTIFY_SOCKET"] ?? "")': \(error)")
        }
    }
}

/// The option `--log` of a service that is no daemon.
enum LogOption {
    static let option = DaemonOption.log.option

    static func level(_ arguments: Arguments) throws(CommandFailure) -> LogLevel {
        guard let word = arguments.value("log") else { return .info }
        guard let level = LogLevel(name: word) else {
            throw .usage("--log '\(word)' is none of \(DaemonOption.log.words)")
        }
        return level
    }
}
