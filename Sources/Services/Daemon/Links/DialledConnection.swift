// A device connection from connect to hello and back, on the side that dialled (SES-1 to SES-4). TLS has already
// refused every key but the pinned one; what is left is to agree on a version that is not lowered, and to commit that
// the pairing is alive before anything is sent on it.

import TandemBase
import TandemCrypto
import TandemPairing
import TandemSession
package import TandemTransport
package import TandemWire

/// The client's side of a connection that is not a link yet; confined to the loop's thread.
package final class DialledConnection {
    /// How it ended: a link, or the reason why not.
    enum Outcome {
        case linked(Link)
        case failed(LinkCloseReason)
    }

    private let record: PairingRecord
    private let context: LinkContext
    private let channel: SecuredChannel
    private var isJudging = false
    private var completion: ((Outcome) -> Void)?

    init(
        to record: PairingRecord, over stream: any ByteStream, context: LinkContext,
        completion: @escaping (Outcome) -> Void
    ) throws(TLSError) {
        self.record = record
        self.context = context
        self.completion = completion
        channel = try SecuredChannel(over: stream, side: .client, peer: .pinned(record.peer), context: context)
    }

    func start() {
        channel.frames.delegate = self
        channel.frames.start()
    }

    /// Gives up; the outcome is not told any more.
    func cancel() {
        completion = nil
        channel.cut(.ended(.stopping))
    }

    private func finish(_ outcome: Outcome) {
        completion?(outcome)
        completion = nil
    }

    private func answered(_ envelope: Envelope) throws(WireError) {
        judge(try PeerGreeting(Hello(body: envelope.dictionaryBody()), at: context.wallNow))
    }

    private func judge(_ hello: PeerGreeting) {
        guard let authority = context.authority else { return channel.refuse(.stopping, "this device is stopping") }
        guard case .chosen(let version) = hello.versions else {
            return channel.refuse(.envelope, "a server's hello names one 'version'")
        }
        let agreement: HelloAgreement
        do throws(HelloFailure) {
            let negotiation = HelloNegotiation(own: context.device.offer)
            agreement = try negotiation.accept(version: version, capabilities: hello.capabilities)
        } catch { return channel.refuse(error.refusal, "\(error)") }
        isJudging = true
        channel.frames.pauseReading()
        authority.judge(
            hello.judged(pairing: record.pairing, peer: record.peer, version: version, place: .answer),
            peerSituation: hello.situation
        ) { [self] verdict in
            guard isJudging, completion != nil else { return }
            isJudging = false
            judged(verdict, hello, agreement)
        }
    }

    private func judged(_ verdict: HelloVerdict, _ hello: PeerGreeting, _ agreement: HelloAgreement) {
        switch verdict {
        case .refused(let name): channel.refuse(name, "the hello was refused")
        case .accepted(let record, _):
            let link = Link(record: record, peer: hello, agreement: agreement, channel: channel, context: context)
            finish(.linked(link))
            link.begin()
            channel.frames.resumeReading()
        }
    }
}

extension DialledConnection: FrameChannelDelegate {
    package func channelDidOpen(_ frames: FrameChannel) {
        guard let situation = context.authority?.situation(of: record.pairing) else {
            return channel.cut(.ended(.unpaired))
        }
        channel.allowLargeFrames()
        let offer = context.device.offer
        let hello = context.device.hello(
            .offered(offer.versions), role: record.role, situation, capabilities: offer.capabilities,
            clock: context.wallNow)
        guard let envelope = try? Envelope(.hello, pairing: record.pairing).with(body: hello.body) else {
            return channel.cut(.ended(.stopping))
        }
        channel.send(envelope)
    }

    package func channel(_ frames: FrameChannel, didReceive frame: Frame) {
        guard !isJudging else { return }
        do throws(WireError) {
            let envelope = try Envelope(reading: frame)
            switch envelope.kind {
            case .hello where envelope.pairing ?? record.pairing == record.pairing: try answered(envelope)
            case .hello: channel.refuse(.notYours, "the answer names another pairing")
            case .bye, .refusal: channel.end(SecuredChannel.farewell(envelope))
            default: channel.refuse(.helloExpected, "the first frame was '\(envelope.kind.rawValue)'")
            }
        } catch { channel.refuse(error.refusalName, "\(error)") }
    }

    package func channelDidDrain(_ channel: FrameChannel) {}

    package func channel(_ frames: FrameChannel, didCloseWith reason: CloseReason) {
        isJudging = false
        let reason = channel.reason(for: reason)
        let failure = LinkFailure(
            pairing: record.pairing, pin: channel.tls.peerPin, isStranger: false, reason: reason)
        context.delegate?.connectionDidFail(failure)
        finish(.failed(reason))
    }
}
