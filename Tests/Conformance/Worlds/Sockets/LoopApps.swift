// Host apps on an event loop that the case's thread runs: for worlds with real sockets, whoever serves them.

import PairedSession
import TandemReactor
import TandemTestSupport
import TandemTransport

/// Dials one socket, and can break what it dialled.
final class LoopDialer: Dialer {
    private let path: String
    private let loop: EventLoop
    private var attempt: StreamConnector?
    private var stream: SocketStream?

    init(to path: String, on loop: EventLoop) { (self.path, self.loop) = (path, loop) }

    func dial(_ completion: @escaping ((any ByteStream)?) -> Void) {
        attempt = StreamConnector(to: .unix(path: path), loop: loop) { [weak self] outcome in
            self?.stream = try? outcome.get()
            completion(try? outcome.get())
        }
    }

    func cancel() {
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

extension EventLoop {
    /// Runs the loop until the condition holds, but no longer than that; whether it holds.
    func wait(within limit: Duration, until condition: () throws -> Bool) rethrows -> Bool {
        let end = Linux.bootTime + limit
        while try !condition() {
            guard Linux.bootTime < end else { return false }
            oneTurn()
        }
        return true
    }

    /// A connection to a local socket.
    func connect(to path: String) throws -> SocketStream {
        var outcome: Result<SocketStream, ConnectError>?
        StreamConnector(to: .unix(path: path), loop: self) { outcome = $0 }
        _ = wait(within: .seconds(11)) { outcome != nil }
        guard case .success(let stream)? = outcome else {
            throw Violation("no daemon serves \(path): \(outcome as Any)")
        }
        return stream
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

    /// Ends an app as its process would end; it is gone when this returns.
    func end(_ app: App, _ dialer: LoopDialer, _ ending: Ending) {
        let ended = Later<Void>()
        switch ending {
        case .orderly: app.run { core in core.end { ended.add(()) } }
        case .killed:
            dialer.kill()
            // Nobody hears this farewell; it stops what the session would try next.
            app.run { core in
                core.end()
                ended.add(())
            }
        }
        _ = wait(within: .seconds(10)) { !ended.values.isEmpty }
    }
}
