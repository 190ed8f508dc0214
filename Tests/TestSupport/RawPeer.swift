// The bare other end of a socket, for peers that do not keep the rules: it sends what a test says, when it says it, and
// reads only when asked.

import TandemBase
package import TandemReactor
package import TandemTransport

/// A non-blocking socket without any protocol.
package final class RawPeer {
    private var descriptor: OwnedDescriptor?
    /// Whether the other side has ended.
    package private(set) var isEnded = false

    package init(takingOwnership descriptor: consuming OwnedDescriptor) {
        self.descriptor = consume descriptor
    }

    /// Connects to a socket file; the connection waits there until it is accepted.
    package convenience init(connectingTo path: String) throws {
        let address = try NetworkAddress(path: path)
        let socket = try Linux.socket(for: address)
        _ = try Linux.connect(socket.raw, to: address)
        self.init(takingOwnership: socket)
    }

    /// A stream on the loop and the bare other end of it.
    package static func joined(
        to loop: EventLoop, marks: WaterMarks = .standard
    ) throws -> (stream: SocketStream, peer: RawPeer) {
        let pair = try DescriptorPair.socketPair()
        let credentials = try Linux.peerCredentials(pair.first.raw)
        return pair.split { first, second in
            let stream = SocketStream(takingOwnership: first, loop: loop, peer: .local(credentials), marks: marks)
            return (stream, RawPeer(takingOwnership: second))
        }
    }

    /// Sends as many of the bytes as fit now; returns how many.
    @discardableResult
    package func send(_ bytes: [UInt8]) throws -> Int {
        guard case .bytes(let count) = try Linux.send(descriptor?.raw ?? -1, [ByteSlice(copying: bytes)]) else {
            return 0
        }
        return count
    }

    /// The bytes received so far.
    package func receiveAvailable() throws -> [UInt8] {
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while let raw = descriptor?.raw, !isEnded {
            let transfer = try buffer.withUnsafeMutableBytes { try Linux.receive(raw, into: $0) }
            switch transfer {
            case .bytes(let count): received += buffer[..<count]
            case .wouldBlock: return received
            case .ended: isEnded = true
            }
        }
        return received
    }

    /// Ends its sending, and can still receive.
    package func finish() throws { try Linux.shutdownWriting(descriptor?.raw ?? -1) }

    /// Is gone without a word.
    package func disappear() { descriptor = nil }
}
