// Frames inside TLS: the channel, the filter below it, and the few things that every phase of a device connection says
// to its peer. The delegate of the channel changes with the phase; this object stays.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemReactor
import TandemTransport
import TandemWire

/// One device connection's channel; confined to the loop's thread.
final class SecuredChannel {
    let frames: FrameChannel
    let tls: TLSFilter
    /// What this side decided about the end, if it did.
    private(set) var ownReason: LinkCloseReason?

    private static let options = FrameChannelOptions(
        limit: Limits.unpinnedFrame, firstFrameTime: Limits.firstFrameTime)

    /// A channel over a stream that has not started. An unknown peer gets small frames and little time (LIM-1, LIM-4).
    init(over stream: any ByteStream, side: TLSSession.Side, peer: TLSPeerRule, context: LinkContext) throws(TLSError) {
        tls = try TLSFilter(side: side, identity: context.identity(), peer: peer, memory: context.memory)
        frames = FrameChannel(stream: stream, filter: context.wrapping(tls), options: Self.options)
    }

    /// The peer is a paired one: frames may have their full size.
    func allowLargeFrames() { frames.limit = Limits.frame }

    /// Sends an envelope of our own making.
    func send(_ envelope: Envelope) {
        do throws(WireError) {
            frames.send(try envelope.frame())
        } catch {
            end(.refused(.unexpected, "a frame of ours cannot be written: \(error)"))
        }
    }

    /// Tells the peer why, and closes.
    func refuse(_ name: RefusalName, _ text: String) {
        let facts: PropertyListDictionary = ["text": .string(text)]
        if let frame = try? Envelope(.refusal, name: name.rawValue).with(body: facts).frame() { frames.send(frame) }
        end(.refused(name, text))
    }

    /// Says goodbye, and closes.
    func bye(_ name: ByeName) {
        if let frame = try? Envelope(.bye, name: name.rawValue).frame() { frames.send(frame) }
        end(.ended(name))
    }

    /// Closes after what was queued has left.
    func end(_ reason: LinkCloseReason) {
        guard ownReason == nil else { return }
        ownReason = reason
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

    /// What the peer's `refusal` or `bye` says.
    static func farewell(_ envelope: Envelope) -> LinkCloseReason {
        guard envelope.kind == .refusal else { return .endedByPeer(envelope.name.flatMap(ByeName.init)) }
        return .refusedByPeer(envelope.name.flatMap(RefusalName.init))
    }
}
