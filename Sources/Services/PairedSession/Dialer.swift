// How a session gets its connection: one attempt at a time, over whatever a test or the kernel offers.

import TandemReactor
package import TandemTransport

/// Makes connections to the daemon; confined to the session's scheduler.
package protocol Dialer: AnyObject {
    /// Tries once; the completion is called once, never from inside this call, with nil if there is no daemon.
    func dial(_ completion: @escaping ((any ByteStream)?) -> Void)

    /// Ends an attempt; its completion is not called any more.
    func cancel()
}

/// Dials the daemon's socket at the first of some places that answers.
final class SocketDialer: Dialer {
    private let addresses: [SocketAddress]
    private let loop: EventLoop
    private var attempt: StreamConnector?

    init(addresses: [SocketAddress], loop: EventLoop) {
        self.addresses = addresses
        self.loop = loop
    }

    func dial(_ completion: @escaping ((any ByteStream)?) -> Void) { dial(addresses[...], completion) }

    func cancel() {
        attempt?.cancel()
        attempt = nil
    }

    private func dial(_ places: ArraySlice<SocketAddress>, _ completion: @escaping ((any ByteStream)?) -> Void) {
        guard let place = places.first else { return completion(nil) }
        attempt = StreamConnector(to: place, loop: loop) { [weak self] outcome in
            switch outcome {
            case .success(let stream): completion(stream)
            case .failure: self?.dial(places.dropFirst(), completion)
            }
        }
    }
}
