// A connection as bytes in and bytes out, confined to one scheduler's thread: what sockets and the in-process twin
// share. Writes are queued and leave together at the end of the turn. It knows no frames, and has no opinion on how
// much may queue: it says how much does.

package import TandemBase
package import TandemReactor
package import TandemWire

/// Receives what happens on a stream; on the scheduler's thread.
package protocol ByteStreamDelegate: AnyObject {
    /// Bytes came, in a block that other connections share. A receiver that retains them beyond this turn calls `keep`.
    func stream(_ stream: any ByteStream, didReceive bytes: ByteSlice)

    /// Where the next bytes belong, because they end what is unfinished there; nil if anywhere, such as the end of the
    /// block. The stream delivers them first, then those at the end of the block.
    func stream(_ stream: any ByteStream, roomForBytesBefore block: ByteBlock) -> ByteSlice?

    /// The receiver must copy its slices of this block away. Nothing else may happen in this call.
    func stream(_ stream: any ByteStream, mustLeave block: ByteBlock)

    /// The queue was over the high-water mark and has fallen to the low-water mark, or was awaited and has moved on.
    func streamDidDrain(_ stream: any ByteStream)

    /// The stream is over, whichever end closed it. Called exactly once for a started stream, never from inside a call
    /// to it.
    func stream(_ stream: any ByteStream, didCloseWith reason: CloseReason)
}

/// A two-way stream of bytes.
package protocol ByteStream: AnyObject {
    /// Kept alive until the stream has closed.
    var delegate: (any ByteStreamDelegate)? { get set }

    var peer: PeerDescription { get }

    var scheduler: any Scheduler { get }

    /// The bytes accepted by `send` and not given to the system: not yet, or never when the stream is closed.
    var queuedBytes: Int { get }

    /// Whether more is queued than the high-water mark; `streamDidDrain` will follow.
    var isCongested: Bool { get }

    /// Whether the system takes no more for now.
    var isBlocked: Bool { get }

    /// `streamDidDrain` follows once, when the system has taken more of what is queued.
    func awaitDrain()

    /// Charged with the bytes that wait because the peer does not read; it may close the stream. Set before the start.
    var account: QueueAccount? { get set }

    /// Begins to read. The stream stays alive by itself until it is closed.
    func start()

    /// Queues the bytes; they leave at the end of the turn, together with all others. Nothing after a close.
    func send(_ bytes: ByteSlice)

    /// Gives bytes that are only lent to the system now, behind what is queued; what it does not take is copied into
    /// the queue. For bytes that many streams get in turn. Nothing after a close.
    func write(_ bytes: RawSpan)

    /// Bytes in this block stay needed for now; `mustLeave` may follow.
    func keep(_ block: ByteBlock)

    /// Stops reading, so that backpressure reaches the peer. Delivered bytes stay delivered.
    func pauseReading()

    func resumeReading()

    /// Ends the stream now; what is queued is lost.
    func close(_ reason: CloseReason)

    /// Ends the stream when the queue has been written and the peer had a moment to read it. Nothing more is received.
    func closeAfterFlush(_ reason: CloseReason)
}

/// The other end of a stream, as far as the kernel knows it: the address that was dialled, or the process or the
/// address that has dialled. It identifies no device: trust comes from keys, and from the user identifier of a local
/// process.
package enum PeerDescription: Hashable, Sendable {
    /// A process that has dialled a Unix socket here.
    case local(PeerCredentials)
    /// Boxed, so that the many local ones stay small.
    indirect case remote(SocketAddress)
    case inProcess

    /// The other end of a connected socket, as the kernel reports it.
    init(descriptor: CInt, address: NetworkAddress) throws(SystemError) {
        if let (host, port) = address.hostAndPort {
            self = .remote(.tcp(host: host, port: port))
        } else {
            self = .local(try Linux.peerCredentials(descriptor))
        }
    }

    /// The origin of a connection, for shares among strangers: a user, an IPv4 address, or the network of an IPv6
    /// address, of which one host has many.
    package enum Source: Hashable, Sendable {
        case user(UInt32)
        case host(String)
        case inProcess
    }

    package var source: Source {
        switch self {
        case .local(let credentials): .user(credentials.user)
        case .remote(.tcp(let host, _)): .host(NetworkAddress.network(of: host))
        case .remote(.unix(let path)): .host(path)
        case .inProcess: .inProcess
        }
    }

    /// The credentials of a local process.
    package var credentials: PeerCredentials? {
        guard case .local(let credentials) = self else { return nil }
        return credentials
    }
}

extension PeerDescription: CustomStringConvertible {
    package var description: String {
        switch self {
        case .local(let credentials): "uid \(credentials.user) pid \(credentials.process)"
        case .remote(let address): address.description
        case .inProcess: "in process"
        }
    }
}

/// Fill levels of a send queue, in bytes: above the high one a writer should pause, at the low one it may resume. Two,
/// so that a queue that hovers around one level does not switch its writers on and off with each frame.
package struct WaterMarks: Sendable, Hashable {
    private let lowMark: UInt32
    private let highMark: UInt32

    package init(low: Int, high: Int) {
        precondition(0 <= low && low <= high, "the low mark is not above the high one")
        lowMark = UInt32(clamping: low)
        highMark = UInt32(clamping: high)
    }

    package var low: Int { Int(lowMark) }
    package var high: Int { Int(highMark) }

    /// High: two of the largest frames, so that one in flight never stops a writer. Low: half a frame, so that a fast
    /// reader never runs dry.
    package static var standard: Self { Self(low: 256 * 1024, high: 1024 * 1024) }
}

/// Why a stream or channel ended; the first reason stays. A closed list with stable names, because logs, status and
/// tests compare them.
package indirect enum CloseReason: Error, Equatable, Sendable {
    /// This side closed it.
    case closedHere
    /// The peer closed it, between two frames.
    case closedByPeer
    /// The peer closed it in the middle of a frame.
    case truncatedFrame
    /// The peer sent what is no frame.
    case invalidFrame(WireError)
    /// A frame did not come in time or came too slowly.
    case frameTooSlow
    /// The peer did not read what was queued for it.
    case slowConsumer
    /// The filter (TLS) refused the peer's bytes; the text is for logs.
    case filterFailed(String)
    /// The system reported an error of the connection.
    case failed(SystemError)

    /// The stable name.
    package var name: String {
        switch self {
        case .closedHere: "closed-here"
        case .closedByPeer: "closed-by-peer"
        case .truncatedFrame: "truncated-frame"
        case .invalidFrame: "invalid-frame"
        case .frameTooSlow: "too-slow"
        case .slowConsumer: "slow-consumer"
        case .filterFailed: "tls-failed"
        case .failed: "connection-failed"
        }
    }
}

extension CloseReason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .invalidFrame(let error): "\(name): \(error)"
        case .filterFailed(let text): "\(name): \(text)"
        case .failed(let error): "\(name): \(error)"
        default: name
        }
    }
}
