// Secured channel: frames inside TLS, with the refusals and farewells that every phase of a device connection can send.
// The delegate of its frames changes with the phase; this object stays.

import TandemBase
import TandemCrypto
import TandemReactor
import TandemTLS
import TandemTransport
import TandemWire

/// One device connection's channel; confined to the loop's thread.
final class SecuredChannel {
    let frames: FrameChannel
    let tls: TLSFilter
    /// The reason of the end, if this side decided it.
    private var ownReason: LinkCloseReason?
    /// The bytes of the frames that ``send(_:)`` has queued.
    private(set) var sentBytes: UInt64 = 0
    /// The channel ends in order: what was queued still leaves.
    private(set) var isFlushing = false

    private static let options = FrameChannelOptions(
        limit: Limits.unpinnedFrame, firstFrameTime: Limits.firstFrameTime)

    /// A channel over a stream that has not started. An unknown peer gets small frames and little time (LIM-1, LIM-4).
    init(over stream: any ByteStream, side: TLSSession.Side, peer: TLSPeerRule, context: LinkContext) throws(TLSError) {
        tls = try TLSFilter(side: side, identity: context.identity(), peer: peer, memory: context.memory)
        stream.account = context.queue
        frames = FrameChannel(stream: stream, filter: context.wrapping(tls), options: Self.options)
    }

    /// The peer is a paired one: frames may have their full size.
    func allowLargeFrames() { frames.limit = Limits.frame }

    /// Sends a frame of our own making.
    func send(_ frame: some TypedFrame) {
        do throws(WireError) {
            let bytes = try frame.frame()
            sentBytes += UInt64(bytes.count)
            frames.send(bytes)
        } catch {
            end(.refused(.unexpected, "a frame of ours cannot be written: \(error)"))
        }
    }

    /// Tells the peer why, and closes.
    func refuse(_ name: RefusalName, _ text: String) {
        if let frame = try? Refusal(name, text).frame() { frames.send(frame) }
        end(.refused(name, text))
    }

    /// Says goodbye, and closes.
    func bye(_ name: ByeName) {
        if let frame = try? ByeFrame(name).frame() { frames.send(frame) }
        end(.ended(name))
    }

    /// Closes after what was queued has left.
    func end(_ reason: LinkCloseReason) {
        guard ownReason == nil else { return }
        ownReason = reason
        isFlushing = true
        frames.closeAfterFlush()
    }

    /// Closes at once.
    func cut(_ reason: LinkCloseReason) {
        guard ownReason == nil else { return }
        ownReason = reason
        frames.close()
    }

    /// The whole reason, once the stream below has ended.
    func reason(for streamReason: CloseReason) -> LinkCloseReason {
        ownReason ?? tls.error.map { .notSecured($0) } ?? .stream(streamReason)
    }

    /// The reason in the peer's `refusal` or `bye`.
    static func farewell(_ envelope: Envelope) -> LinkCloseReason {
        envelope.kind == .refusal ? .refusedByPeer(envelope[.name]) : .endedByPeer(ByeFrame(envelope).name)
    }
}

/// One connection's TLS between its stream and its frames. It keeps the typed error, because a closed connection is
/// reported by its cause (wrong pin, no TLS at all), not by a text. Confined to the connection's loop.
final class TLSFilter: StreamFilter {
    private let session: TLSSession
    private let memory: LinkMemory
    /// Why TLS ended, if it failed.
    private(set) var error: TLSError?
    /// Called once, when the peer has sent its first bytes.
    var onFirstInput: (() -> Void)?

    init(side: TLSSession.Side, identity: TLSIdentity, peer: TLSPeerRule, memory: LinkMemory) throws(TLSError) {
        session = try TLSSession(side: side, identity: identity, peer: peer, workspace: memory.workspace)
        self.memory = memory
    }

    var isEstablished: Bool { session.isEstablished }

    /// The pin of the peer once TLS has proved it.
    var peerPin: KeyIdentifier? { session.isEstablished ? session.peerPin : nil }

    /// The channel binding of this connection; nil before the handshake is done.
    var channelBinding: [UInt8]? { try? session.channelBinding() }

    func start() throws(StreamFilterError) {
        try named { () throws(TLSError) in try session.start() }
    }

    func withInput(_ bytes: ByteSlice, _ body: () -> Void) {
        if let onFirstInput {
            self.onFirstInput = nil
            onFirstInput()
        }
        session.withInput(bytes.unsafeBytes, body)
        withExtendedLifetime(bytes.block) {}
    }

    func read(_ room: (ByteBlock) -> ByteSlice?) throws(StreamFilterError) -> StreamFilterProgress {
        guard session.canRead else { return .needsMore }
        let block = memory.blocks.block
        if let room = room(block) {
            return try read(into: room.block, room.start..<room.end) { room.prefix($0) }
        }
        return try read(into: block, block.filled..<ReadBlocks.readSize) { block.take($0) }
    }

    private func read(
        into block: ByteBlock, _ range: Range<Int>, _ slice: (Int) -> ByteSlice
    ) throws(StreamFilterError) -> StreamFilterProgress {
        let room = UnsafeMutableRawBufferPointer(rebasing: block.bytes[range])
        return switch try named({ () throws(TLSError) in try session.read(into: room) }) {
        case .established: .established
        case .plaintext(let count): .plaintext(slice(count))
        case .needsMore: .needsMore
        case .ended: .ended
        }
    }

    func receiveEnd() throws(StreamFilterError) {
        guard session.isEstablished else { return }
        try named { () throws(TLSError) in try session.receiveEnd() }
    }

    func write(_ frames: [ByteSlice]) throws(StreamFilterError) {
        try named { () throws(TLSError) in
            for frame in frames.dropLast() { try session.write(frame.unsafeBytes) }
            if let last = frames.last { try session.write(last: last.unsafeBytes) }
        }
    }

    func write(_ frames: RawSpan) throws(StreamFilterError) {
        try named { () throws(TLSError) in
            try frames.withUnsafeBytes { (bytes) throws(TLSError) in try session.write(last: bytes) }
        }
    }

    func takeOutput(_ body: (ByteSlice) -> Void) { session.takeOutput(body) }

    func finish() { session.close() }

    private func named<Result>(_ body: () throws(TLSError) -> Result) throws(StreamFilterError) -> Result {
        do throws(TLSError) {
            return try body()
        } catch {
            self.error = self.error ?? error
            throw StreamFilterError("\(error.name): \(error)")
        }
    }
}
