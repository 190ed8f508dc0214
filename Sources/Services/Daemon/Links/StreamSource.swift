// How the dialling side gets a stream: sockets in a daemon, the in-process twin in tests. A value of two functions, so
// that nothing above it knows which one it is.

package import TandemReactor
package import TandemTransport

/// Makes connections.
package struct StreamSource {
    /// Ends an attempt whose outcome is not wanted any more.
    package typealias Cancel = () -> Void
    package typealias Completion = (Result<any ByteStream, ConnectError>) -> Void

    /// Begins an attempt; the completion comes once, never from inside the call, and not after the cancel.
    package let connect: (SocketAddress, @escaping Completion) -> Cancel

    package init(connect: @escaping (SocketAddress, @escaping Completion) -> Cancel) { self.connect = connect }

    /// Sockets of this loop.
    package static func sockets(on loop: EventLoop) -> StreamSource {
        StreamSource { address, completion in
            let connector = StreamConnector(to: address, loop: loop) { outcome in
                completion(outcome.map { $0 as any ByteStream })
            }
            return { connector.cancel() }
        }
    }
}
