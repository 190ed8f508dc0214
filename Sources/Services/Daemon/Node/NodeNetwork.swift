// How a daemon meets the others: sockets of its loop. The tests' networks are of in-process streams, with the faults of
// a real one and without its timing, so that whole daemons run on a clock that a test moves.

package import TandemReactor
package import TandemTransport

/// The connections of a daemon; confined to its scheduler.
package protocol NodeNetwork: AnyObject {
    /// How the devices that it joined are dialled.
    var dialling: StreamSource { get }

    /// Takes device connections there from now on, until the acceptor closes; returns the address in effect.
    func listen(at address: SocketAddress, for links: LinkAcceptor) throws(ListenError) -> SocketAddress

    /// Puts something between frames and their TLS; the identity but for tests that lose whole frames.
    var wrapping: (any StreamFilter) -> any StreamFilter { get }

    /// Takes host apps there from now on, until the endpoint stops.
    func listen(at address: SocketAddress, access: SocketAccess, for apps: LocalEndpoint) throws(ListenError)
}

extension NodeNetwork {
    package var wrapping: (any StreamFilter) -> any StreamFilter { { $0 } }
}

/// The sockets of an event loop.
package final class SocketNetwork: NodeNetwork {
    private let loop: EventLoop

    package init(on loop: EventLoop) { self.loop = loop }

    package var dialling: StreamSource { .sockets(on: loop) }

    package func listen(at address: SocketAddress, for links: LinkAcceptor) throws(ListenError) -> SocketAddress {
        try links.listen(at: address, on: loop)
    }

    package func listen(
        at address: SocketAddress, access: SocketAccess, for apps: LocalEndpoint
    ) throws(ListenError) { try apps.listen(at: address, access: access, loop: loop) }
}
