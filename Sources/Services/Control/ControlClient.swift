// Control client: one request to a running daemon (Protocol/Control.md) on the calling thread, under a deadline, so
// that a daemon that hangs cannot hang a shell.

package import TandemPropertyList
import TandemReactor
package import TandemWire

/// Asks a daemon and waits.
package enum ControlClient {
    /// A signal came before the answer.
    package struct Interruption: Error {}

    /// Sends one command and waits for its result.
    /// - Parameters:
    ///   - path: the daemon's local socket.
    ///   - time: how long the command itself may take in the daemon.
    ///   - patience: how long all the rest may take.
    ///   - software: the name and version of the program, for the daemon's log.
    ///   - isInterruptible: whether a signal ends it with ``Interruption``; the process is prepared for that.
    /// - Throws: ``ControlError`` if the daemon refuses the request or does not answer, ``Interruption`` after a
    ///   signal.
    package static func ask(
        at path: String, _ command: ControlName, _ body: PropertyListDictionary, time: Duration,
        patience: Duration = ControlExchange.patience, software: String, isInterruptible: Bool = false
    ) throws -> PropertyListDictionary {
        let loop = try EventLoop()
        var isInterrupted = false
        var answer: ControlExchange.Answer?
        let signals = isInterruptible ? try SignalSource(loop: loop) { _ in isInterrupted = true } : nil
        defer { signals?.cancel() }
        let exchange = ControlExchange(
            command, body, time: time, patience: patience, path: path, software: software, loop: loop
        ) { answer = $0 }
        loop.run { answer != nil || isInterrupted }
        exchange.cancel()
        guard let answer else { throw Interruption() }
        return try answer.get()
    }
}
