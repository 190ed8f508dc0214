// Host apps on an event loop that the case's thread runs: for worlds with real sockets, whoever serves them.

import PairedSession
package import TandemReactor
package import TandemTransport

/// Dials one socket, and can break what it dialled.
package final class LoopDialer: Dialer {
    private let path: String
    private let loop: EventLoop
    private var attempt: StreamConnector?
    private var stream: SocketStream?

    package init(to path: String, on loop: EventLoop) { (self.path, self.loop) = (path, loop) }

    package func dial(_ completion: @escaping ((any ByteStream)?) -> Void) {
        attempt = StreamConnector(to: .unix(path: path), loop: loop) { [weak self] outcome in
            self?.stream = try? outcome.get()
            completion(try? outcome.get())
        }
    }

    package func cancel() {
        attempt?.cancel()
        attempt = nil
    }

    /// The process is gone: the socket closes, and nobody here hears of it.
    func kill() {
        cancel()
        stream?.delegate = nil
        stream?.close(.closedHere)
    }
}

extension App {
    package convenience init(
        _ name: String, at place: Place, on loop: EventLoop, _ dialer: LoopDialer, seed: UInt64
    ) throws {
        let settings = try SessionSettings(PairedSessionOptions(application: name), environment: { _ in nil })
        let draws = Draws(seed: seed)
        self.init(
            name, at: place, settings: settings, scheduler: loop, dialer: dialer, random: { draws.next() })
    }
}

extension EventLoop {
    /// Runs the loop until the condition holds, but no longer than that; whether it holds.
    package func wait(within limit: Duration, until condition: () throws -> Bool) rethrows -> Bool {
        let end = Linux.bootTime + limit
        while try !condition() {
            guard Linux.bootTime < end else { return false }
            oneTurn()
        }
        return true
    }

    /// A turn that waits for events, but not for long.
    private func oneTurn() {
        let tick = schedule(after: .milliseconds(5)) {}
        var hasTurned = false
        run(until: {
            defer { hasTurned = true }
            return hasTurned
        })
        cancel(tick)
    }

    package func end(_ app: App, _ dialer: LoopDialer, _ ending: Ending) {
        if ending == .killed { dialer.kill() }
        var hasEnded = false
        app.run { core in core.end { hasEnded = true } }
        _ = wait(within: .seconds(10)) { hasEnded }
    }
}
