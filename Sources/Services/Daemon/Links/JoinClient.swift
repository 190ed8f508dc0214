// The joining side of a pairing (PAR-6, PAR-9, PAR-11): one connection with the link's pin, one `join`, one answer, and
// the record committed before the caller hears of success. Everything that can go wrong has a case; whoever joins again
// with the same link gets the same answer.

import TandemBase
import TandemCrypto
package import TandemPairing
import TandemReactor
package import TandemTransport
package import TandemWire

/// Why a join did not come about.
package enum JoinFailure: Error, Sendable, Equatable {
    case address(SocketAddressError)
    case unreachable(String)
    /// The connection ended: a refusal by the primary (`join-refused`), a wrong pin, a timeout.
    case connection(LinkCloseReason)
    /// The primary's answer does not prove itself.
    case answer(JoinAnswerError)
    /// What the primary sent cannot be read.
    case malformed(String)
    /// The pairing could not be stored.
    case notStored(String)
}

extension JoinFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .address(let error): "\(error)"
        case .unreachable(let text): text
        case .connection(.refusedByPeer(.joinRefused)):
            "the primary refused this device: the link was used, has expired or is another primary's (run 'tandem pair' "
                + "again there), or the fingerprint is not trusted there"
        case .connection(let reason): "\(reason)"
        case .answer(let error): "\(error)"
        case .malformed(let text): "the primary's answer cannot be read: \(text)"
        case .notStored(let text): "the pairing could not be stored: \(text)"
        }
    }
}

/// One join; confined to the loop's thread. Alive until its completion.
package final class JoinClient {
    /// Commits the pending pairing; the answer comes on the loop's thread when it is durable.
    package typealias Commit = (PairingRecord, @escaping (Result<Void, JoinFailure>) -> Void) -> Void
    package typealias Completion = (Result<PairingRecord, JoinFailure>) -> Void

    private let credential: JoinAttempt.Credential
    private let own: PairingRegistry.OwnDevice
    private let pin: KeyIdentifier
    private let context: LinkContext
    private let commit: Commit
    private var completion: Completion?
    private var channel: SecuredChannel?
    private var attempt: JoinAttempt?
    private var cancelConnect: StreamSource.Cancel?

    package init(
        _ credential: JoinAttempt.Credential, own: PairingRegistry.OwnDevice, context: LinkContext,
        commit: @escaping Commit, completion: @escaping Completion
    ) {
        self.credential = credential
        self.own = own
        self.context = context
        self.commit = commit
        self.completion = completion
        pin = JoinAttempt(credential: credential, own: own, exporter: []).expectedPin
    }

    /// Connects and joins; the completion comes once.
    package func start(over source: StreamSource) {
        do throws(SocketAddressError) {
            let address = try SocketAddress(credential.address ?? "")
            cancelConnect = source.connect(address) { [self] outcome in
                cancelConnect = nil
                switch outcome {
                case .success(let stream): open(stream)
                case .failure(let error): finish(.failure(.unreachable("\(error)")))
                }
            }
        } catch { finish(.failure(.address(error))) }
    }

    /// Gives up; the completion is not called any more.
    package func cancel() {
        completion = nil
        cancelConnect?()
        channel?.cut(.ended(.stopping))
    }

    private func open(_ stream: any ByteStream) {
        do throws(TLSError) {
            let channel = try SecuredChannel(over: stream, side: .client, peer: .pinned(pin), context: context)
            self.channel = channel
            channel.frames.delegate = self
            channel.frames.start()
        } catch { finish(.failure(.connection(.notSecured(error)))) }
    }

    private func finish(_ outcome: Result<PairingRecord, JoinFailure>) {
        completion?(outcome)
        completion = nil
        channel?.end(.joined)
    }

    private func answered(_ envelope: Envelope) throws(WireError) {
        guard let attempt else { return }
        accept(try JoinAnswer(body: envelope.dictionaryBody()), attempt)
    }

    private func accept(_ answer: JoinAnswer, _ attempt: JoinAttempt) {
        do throws(KeyError) {
            _ = try PublicKey(subjectPublicKeyInfo: answer.claim.reportKey)
        } catch { return finish(.failure(.malformed("joined: reportKey: \(error)"))) }
        do throws(JoinAnswerError) {
            let record = try attempt.accept(answer, now: context.scheduler.wallNow)
            channel?.frames.pauseReading()
            commit(record) { [self] stored in finish(stored.map { record }) }
        } catch { finish(.failure(.answer(error))) }
    }
}

extension JoinClient: FrameChannelDelegate {
    package func channelDidOpen(_ frames: FrameChannel) {
        guard let channel, let exporter = channel.tls.channelBinding, let peer = channel.tls.peerPin else { return }
        let attempt = JoinAttempt(credential: credential, own: own, exporter: exporter)
        self.attempt = attempt
        do throws(JoinAnswerError) {
            let request = try attempt.request(peer: peer, now: context.scheduler.wallNow)
            guard let envelope = try? Envelope(.join).with(body: request.body) else {
                return finish(.failure(.malformed("this device's join cannot be written")))
            }
            channel.send(envelope)
        } catch { finish(.failure(.answer(error))) }
    }

    package func channel(_ frames: FrameChannel, didReceive frame: Frame) {
        guard completion != nil, let channel else { return }
        do throws(WireError) {
            let envelope = try Envelope(reading: frame)
            switch envelope.kind {
            case .joined: try answered(envelope)
            case .bye, .refusal: finish(.failure(.connection(SecuredChannel.farewell(envelope))))
            default: channel.refuse(.unexpected, "the answer to a join was '\(envelope.kind.rawValue)'")
            }
        } catch { finish(.failure(.malformed("\(error)"))) }
    }

    package func channelDidDrain(_ channel: FrameChannel) {}

    package func channel(_ frames: FrameChannel, didCloseWith reason: CloseReason) {
        finish(.failure(.connection(channel?.reason(for: reason) ?? .stream(reason))))
    }
}

extension JoinAttempt.Credential {
    fileprivate var address: String? {
        switch self {
        case .link(let link): link.address
        case .trust(let device): device.address
        }
    }
}
