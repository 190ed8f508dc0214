// A device connection from accept to its first answer (SES-1, SES-4, PAR-6 to PAR-12). Until TLS has proved a pin the
// peer is nobody; an unknown pin may send one small `join` and nothing else; a known one says hello and becomes a link.
// While the device judges, nothing more is read.

import TandemBase
import TandemCrypto
import TandemPairing
import TandemSession
package import TandemTransport
package import TandemWire

/// The server's side of a connection that is not a link yet; confined to the loop's thread.
package final class AcceptedConnection {
    private enum Phase {
        case securing
        case greeting(KeyIdentifier, isPinned: Bool)
        case judging
        case over
    }

    private let context: LinkContext
    private let channel: SecuredChannel
    private var phase = Phase.securing
    private var pin: KeyIdentifier?
    private var isStranger = true
    /// Told once: the peer is a paired device, or the connection is over.
    private var onKnown: ((AcceptedConnection) -> Void)?

    init(
        over stream: any ByteStream, context: LinkContext, onKnown: @escaping (AcceptedConnection) -> Void
    ) throws(TLSError) {
        self.context = context
        self.onKnown = onKnown
        channel = try SecuredChannel(over: stream, side: .server, peer: .any, context: context)
    }

    func start() {
        channel.frames.delegate = self
        channel.frames.start()
    }

    /// Gives way to newer connections.
    func crowdOut() { channel.cut(.crowdedOut) }

    private func noLongerUnknown() {
        onKnown?(self)
        onKnown = nil
    }

    private func refuse(_ name: RefusalName, _ text: String) {
        phase = .over
        channel.refuse(name, text)
    }

    /// Waits for the device's judgement; what comes later than the connection's end is dropped.
    private func judging<Verdict>(_ answer: @escaping (Verdict) -> Void) -> (Verdict) -> Void {
        phase = .judging
        channel.frames.pauseReading()
        return { [self] verdict in
            guard case .judging = phase else { return }
            answer(verdict)
        }
    }
}

// MARK: - hello

extension AcceptedConnection {
    private func greeted(_ envelope: Envelope, by pin: KeyIdentifier) throws(WireError) {
        guard let pairing = envelope.pairing else { throw .missingKey(.pairing, .hello) }
        let hello = try PeerGreeting(Hello(body: envelope.dictionaryBody()), at: context.wallNow)
        judge(hello, pairing: pairing, pin: pin)
    }

    private func judge(_ hello: PeerGreeting, pairing: UniqueIdentifier, pin: KeyIdentifier) {
        guard let authority = context.authority else { return refuse(.stopping, "this device is stopping") }
        guard case .offered(let versions) = hello.versions else {
            return refuse(.envelope, "a client's hello offers 'minimum' and 'maximum'")
        }
        let agreement: HelloAgreement
        do throws(HelloFailure) {
            let offer = HelloOffer(versions: versions, capabilities: hello.capabilities)
            agreement = try HelloNegotiation(own: context.device.offer).choose(for: offer)
        } catch { return refuse(error.refusal, "\(error)") }
        authority.judge(
            hello.judged(
                pairing: pairing, peer: pin, version: agreement.version,
                place: .opening(ownHasNoSequences: authority.situation(of: pairing)?.isEmpty ?? true)),
            peerSituation: hello.situation,
            completion: judging { [self] verdict in answer(verdict, to: hello, agreement) })
    }

    private func answer(_ verdict: HelloVerdict, to hello: PeerGreeting, _ agreement: HelloAgreement) {
        switch verdict {
        case .refused(let name): refuse(name, "the hello was refused")
        case .accepted(let record, let situation):
            phase = .over
            let own = context.device.hello(
                .chosen(agreement.version), role: record.role, situation, capabilities: agreement.capabilities,
                clock: context.wallNow)
            guard let envelope = try? Envelope(.hello, pairing: record.pairing).with(body: own.body) else {
                return refuse(.unexpected, "this device's hello cannot be written")
            }
            channel.send(envelope)
            let peer = hello.counting(in: record.epoch)
            let link = Link(record: record, peer: peer, agreement: agreement, channel: channel, context: context)
            link.begin()
            channel.frames.resumeReading()
        }
    }
}

// MARK: - join

extension AcceptedConnection {
    private func asked(_ envelope: Envelope, by pin: KeyIdentifier) throws(WireError) {
        judge(try JoinRequest(body: envelope.dictionaryBody()), pin: pin)
    }

    private func judge(_ request: JoinRequest, pin: KeyIdentifier) {
        guard let authority = context.authority else { return refuse(.stopping, "this device is stopping") }
        guard let exporter = channel.tls.channelBinding else { return refuse(.unexpected, "no channel binding") }
        guard ProtocolVersion.chosen(from: request.versions, and: context.device.offer.versions) != nil else {
            return refuse(.version, "no protocol version in common")
        }
        do throws(KeyError) {
            _ = try PublicKey(subjectPublicKeyInfo: request.claim.reportKey)
        } catch { return refuse(.envelope, "join: reportKey: \(error)") }
        authority.judge(
            request, peer: pin, exporter: exporter, completion: judging { [self] verdict in answer(verdict) })
    }

    private func answer(_ verdict: JoinVerdict) {
        switch verdict {
        case .refused(let name): refuse(name, "the join was refused")
        case .joined(let answer):
            phase = .over
            guard let envelope = try? Envelope(.joined).with(body: answer.body) else { return }
            channel.send(envelope)
            channel.end(.joined)
        }
    }
}

// MARK: - the channel

extension AcceptedConnection: FrameChannelDelegate {
    package func channelDidOpen(_ frames: FrameChannel) {
        guard let pin = channel.tls.peerPin else { return channel.cut(.notSecured(.noCertificate)) }
        let isPinned = context.authority?.isPinned(pin) ?? false
        self.pin = pin
        phase = .greeting(pin, isPinned: isPinned)
        guard isPinned else { return }
        isStranger = false
        channel.allowLargeFrames()
        noLongerUnknown()
    }

    package func channel(_ frames: FrameChannel, didReceive frame: Frame) {
        guard case .greeting(let pin, let isPinned) = phase else { return }
        do throws(WireError) {
            let envelope = try Envelope(reading: frame)
            switch envelope.kind {
            case .join: try asked(envelope, by: pin)
            case .hello where isPinned: try greeted(envelope, by: pin)
            case .hello: refuse(.notPaired, "this device has no pairing with the key that TLS showed")
            case .bye, .refusal: channel.end(SecuredChannel.farewell(envelope))
            default: refuse(.helloExpected, "the first frame was '\(envelope.kind.rawValue)'")
            }
        } catch { refuse(error.refusalName, "\(error)") }
    }

    package func channelDidDrain(_ channel: FrameChannel) {}

    package func channel(_ frames: FrameChannel, didCloseWith reason: CloseReason) {
        phase = .over
        noLongerUnknown()
        context.handshakeEnded()
        let reason = channel.reason(for: reason)
        guard reason != .joined else { return }
        let failure = LinkFailure(pairing: nil, pin: pin, isStranger: isStranger, reason: reason)
        context.delegate?.connectionDidFail(failure)
    }
}
