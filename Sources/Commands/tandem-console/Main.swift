// Entry point of the console: arguments, one loop on this thread, and the printed address. It talks to the daemon as
// any command does, and ends at a signal.

import Glibc
import PairedSession
import Synchronization
import TandemControl
import TandemReactor
import TandemTransport

@main enum Main {
    static func main() {
        var missing: [CInt] = []
        do { missing = try Linux.fillUsualDescriptors() } catch { exit(1) }
        do {
            try run(Array(CommandLine.arguments.dropFirst()), hasOutput: !missing.contains(STDOUT_FILENO))
        } catch let failure as CommandFailure {
            fail(failure)
        } catch {
            fail(.refused("\(error)"))
        }
    }

    private static func fail(_ failure: CommandFailure) -> Never {
        var text = "tandem-console: \(failure.text)\n"
        if case .usage = failure { text += "Try: tandem-console --help\n" }
        if let advice = failure.advice { text += advice + "\n" }
        put(text, on: STDERR_FILENO)
        exit(failure.exitCode)
    }

    /// At once, and without the memory of buffered output, which the console would need once in its life.
    private static func put(_ text: String, on descriptor: CInt = STDOUT_FILENO) {
        var text = text
        _ = text.withUTF8 { write(descriptor, $0.baseAddress, $0.count) }
    }

    /// Whether the first address could not be printed.
    private static let hasFailed = Atomic<Bool>(false)

    /// - Parameter hasOutput: whether the process was started with a standard output.
    private static func run(_ arguments: [String], hasOutput: Bool) throws {
        if arguments.contains("--help") { return put(ConsoleOptions.help + "\n") }
        if arguments.contains("--version") { return put("tandem-console \(Version.text)\n") }
        let options = try ConsoleOptions(arguments)
        guard hasOutput else {
            throw CommandFailure.refused("cannot print the address: standard output is closed")
        }
        if !SocketAddress.isServed(path: options.daemon) {
            let path = options.daemon
            put(
                "tandem-console: no daemon takes connections of this user at \(path); pages say so until one does\n",
                on: STDERR_FILENO)
        }
        // Before anything that could start a thread.
        try ProcessSignal.prepareProcess()
        try Linux.closeToOthers()
        let loop = try EventLoop()
        let output = NewestLine(descriptor: STDOUT_FILENO) { error, isFirst in
            put("tandem-console: cannot print the address: \(error)\n", on: STDERR_FILENO)
            guard isFirst else { return }
            // Without its first address the console can let no browser in.
            hasFailed.store(true, ordering: .releasing)
            loop.stop()
        }
        let warnings = NewestLine(descriptor: STDERR_FILENO) { _, _ in }
        let console = try ConsoleService(options, loop: loop) {
            warnings.put("tandem-console: \($0)\n")
        } print: {
            output.put($0 + "\n")
        }
        let signals = try SignalSource(loop: loop) { signal in if signal != .hangUp { loop.stop() } }
        loop.schedule(after: .milliseconds(200)) { Linux.giveBackHeap() }
        loop.afterBursts { Linux.giveBackHeap() }
        loop.run()
        signals.cancel()
        console.stop()
        if hasFailed.load(ordering: .acquiring) { exit(1) }
    }
}

enum Version {
    static let text = PairedSession.version + BuildCommit.suffix
}
