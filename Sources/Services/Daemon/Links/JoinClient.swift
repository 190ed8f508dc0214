// Join client: the joining side of a pairing (PAR-6, PAR-9, PAR-11). One connection with the link's pin, one `join`,
// one answer, and the record is committed before the caller learns of success. Each failure has a case; a device that
// joins again with the same link gets the same answer.

import TandemCrypto
package import TandemPairing
import TandemReactor
import TandemTLS
package import TandemTransport
package import TandemWire

/// Contents of a pairing on this device: items accepted for its peer or received from it that have not ended, dead
/// letters included.
package struct PairingContents: Sendable, Equatable {
    var items = 0
    var files = 0
    /// Configurations on their way, waiting or applied.
    var configurations = 0

    var isEmpty: Bool { self == PairingContents() }

    static func + (left: Self, right: Self) -> Self {
        PairingContents(
            items: left.items + right.items, files: left.files + right.files,
            configurations: left.configurations + right.configurations)
    }
}

extension PairingContents: CustomStringConvertible {
    package var description: String {
        "\(items) items, \(files) files and \(configurations) configurations"
    }
}

/// Why a join did not come about.
package enum JoinFailure: Error, Sendable, Equatable {
    case address(SocketAddressError)
    case unreachable(String)
    /// The connection ended: a refusal by the primary (`join-refused`, or `stopping` if it stores nothing now), a wrong
    /// pin, a timeout.
    case connection(LinkCloseReason)
    /// The primary's answer does not prove itself.
    case answer(JoinAnswerError)
    /// The primary's answer cannot be read.
    case malformed(String)
    /// The primary does not know the pairing of before; a new one would end it with this in it.
    case wouldReplace(PairingContents)
    /// This device trusts the primary no longer.
    case notTrusted
    /// The pairing could not be stored.
    case notStored(String)
}

extension JoinFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .address(let error): "\(error)"
        case .unreachable(let text): text
        case .connection(.refusedByPeer(.joinRefused)):
            "the primary refused this device: the link was used, was changed or has expired by the primary's clock, or "
                + "it is another primary's; or the fingerprint is not trusted there"
        case .connection(.refusedByPeer(.stopping)):
            "the primary takes no join now: it is stopping, or its store takes nothing, as its log says"
        case .connection(let reason) where reason.isInterruption:
            "the connection to the primary ended before its answer (\(reason))"
        case .connection(let reason): "\(reason)"
        case .answer(let error): "\(error)"
        case .malformed(let text): "the primary's answer cannot be read: \(text)"
        case .wouldReplace(let contents):
            "the primary has removed the previous pairing; joining discards what is queued for it here: \(contents)"
        case .notTrusted: "this device no longer trusts the primary; to join it, run 'tandem trust-device'"
        case .notStored(let text): "the pairing could not be stored: \(text)"
        }
    }

    /// The text for a person who has used a link. The primary may have taken it already, for this device (PAR-8 b), or
    /// the address may be of something else.
    /// - Parameter address: where the link says that the primary is.
    package func text(afterLinkTo address: String) -> String {
        let again = "join again: a join link stays good for this device until it expires"
        return switch self {
        case .unreachable: "\(self); \(Self.remedy(at: address))"
        case .connection(.refusedByPeer(.joinRefused)):
            "the primary refused this device: the link was used, was changed when it was copied, has expired by the "
                + "primary's clock, or is another primary's; run 'tandem pair' again there"
        case .connection(.refusedByPeer(.stopping)): "\(self); \(again)"
        case .connection(let reason) where reason.isInterruption: "\(self); if the primary is at \(address), \(again)"
        case .wouldReplace: "\(self). To discard that, join with the same link and --replace"
        default: description
        }
    }

    /// The next step of a person whose link names an address where nothing answers.
    private static func remedy(at address: String) -> String {
        guard let address = try? SocketAddress(address), address.isLoopback else {
            return "does the primary's daemon run and listen there ('tandem status' on the primary)? "
                + "The same link can be used again"
        }
        return "the link names this machine itself; if the primary is another machine, start its daemon with "
            + "--advertise HOST and run 'tandem pair' again there"
    }
}

extension LinkCloseReason {
    /// The connection ended although neither end had refused the other: the next one may go well.
    fileprivate var isInterruption: Bool {
        switch self {
        case .ended, .endedByPeer, .crowdedOut, .noHeartbeat, .notSecured(.truncated): true
        case .stream(.closedByPeer), .stream(.truncatedFrame), .stream(.frameTooSlow), .stream(.failed): true
        case .stream, .notSecured, .refused, .refusedByPeer, .joined: false
        }
    }
}

/// One join; confined to the loop's thread.
package final class JoinClient {
    /// Commits the pending pairing; returns when it is durable.
    package typealias Commit = (PairingRecord) async throws(JoinFailure) -> Void

    private enum Event {
        case connected(any ByteStream)
        case unreachable(String)
        case secured
        case received(Frame)
        case closed(LinkCloseReason)
    }

    private let credential: JoinAttempt.Credential
    private let own: PairingRegistry.OwnDevice
    private let context: LinkContext
    private var channel: SecuredChannel?
    private var cancelConnect: StreamSource.Cancel?
    /// Events that the exchange has not taken yet.
    private var events: [Event] = []
    private var waiting: UnsafeContinuation<Void, Never>?

    package init(_ credential: JoinAttempt.Credential, own: PairingRegistry.OwnDevice, context: LinkContext) {
        self.credential = credential
        self.own = own
        self.context = context
    }

    /// Connects, asks, and commits the answer; once.
    package func join(over source: StreamSource, commit: Commit) async throws(JoinFailure) -> PairingRecord {
        do throws(JoinAnswerError) { try credential.checkPeer(of: own) } catch { throw .answer(error) }
        defer { channel?.end(.joined) }
        let channel = try await connect(over: source)
        let attempt = try await ask(over: channel)
        let answer = try await answer(over: channel)
        let record: PairingRecord
        do throws(KeyError) { try answer.claim.checkKey() } catch {
            let text = "joined: reportKey: \(error)"
            channel.refuse(.envelope, text)
            throw .malformed(text)
        }
        do throws(JoinAnswerError) { record = try attempt.accept(answer, now: context.scheduler.wallNow) } catch {
            throw .answer(error)
        }
        channel.frames.pauseReading()
        try await commit(record)
        return record
    }

    /// Gives up: the join fails as a connection that stops.
    package func cancel() {
        cancelConnect?()
        cancelConnect = nil
        channel?.cut(.ended(.stopping))
        post(.closed(.ended(.stopping)))
    }

    // MARK: steps

    private func connect(over source: StreamSource) async throws(JoinFailure) -> SecuredChannel {
        let address: SocketAddress
        do throws(SocketAddressError) { address = try SocketAddress(credential.address ?? "") } catch {
            throw .address(error)
        }
        cancelConnect = source.connect(address) { [self] outcome in
            cancelConnect = nil
            switch outcome {
            case .success(let stream): post(.connected(stream))
            case .failure(let error): post(.unreachable("\(error)"))
            }
        }
        let stream: any ByteStream
        switch await next() {
        case .connected(let connected): stream = connected
        case .unreachable(let text): throw .unreachable(text)
        case .closed(let reason): throw .connection(reason)
        case .secured, .received: preconditionFailure("a frame before the connection")
        }
        do throws(TLSError) {
            let channel = try SecuredChannel(
                over: stream, side: .client, peer: .pinned(credential.pin), context: context)
            self.channel = channel
            channel.frames.delegate = self
            channel.frames.start()
            return channel
        } catch {
            throw .connection(.notSecured(error))
        }
    }

    /// Sends the `join`, which is bound to this connection by its exporter.
    private func ask(over channel: SecuredChannel) async throws(JoinFailure) -> JoinAttempt {
        if case .closed(let reason) = await next() { throw .connection(reason) }
        guard let exporter = channel.tls.channelBinding, let peer = channel.tls.peerPin else {
            throw .connection(.notSecured(.noCertificate))
        }
        let attempt = JoinAttempt(credential: credential, own: own, exporter: exporter)
        let request: JoinRequest
        do throws(JoinAnswerError) { request = try attempt.request(peer: peer) } catch {
            throw .answer(error)
        }
        channel.send(JoinFrame(.join, request.body))
        return attempt
    }

    private func answer(over channel: SecuredChannel) async throws(JoinFailure) -> JoinAnswer {
        var isRefused = false
        while true {
            let frame: Frame
            switch await next() {
            case .received where isRefused: continue
            case .received(let received): frame = received
            case .closed(let reason): throw .connection(reason)
            case .connected, .unreachable, .secured: preconditionFailure("connected twice")
            }
            let envelope: Envelope
            do throws(WireError) {
                envelope = try Envelope(reading: frame)
                if envelope.kind == .joined { return try JoinAnswer(body: JoinFrame(envelope).body) }
            } catch {
                channel.refuse(error.refusalName, "\(error)")
                throw .malformed("\(error)")
            }
            switch envelope.kind {
            case .bye, .refusal: throw .connection(SecuredChannel.farewell(envelope))
            default:
                isRefused = true
                channel.refuse(.unexpected, "the answer to a join was '\(envelope.kind.rawValue)'")
            }
        }
    }

    // MARK: events

    private func post(_ event: Event) {
        events.append(event)
        waiting?.resume()
        waiting = nil
    }

    private func next() async -> Event {
        if events.isEmpty { await withUnsafeContinuation { waiting = $0 } }
        return events.removeFirst()
    }
}

extension JoinClient: FrameChannelDelegate {
    package func channelDidOpen(_ frames: FrameChannel) { post(.secured) }

    package func channel(_ frames: FrameChannel, didReceive frame: Frame) { post(.received(frame)) }

    package func channelDidDrain(_ channel: FrameChannel) {}

    package func channel(_ frames: FrameChannel, didCloseWith reason: CloseReason) {
        post(.closed(channel?.reason(for: reason) ?? .stream(reason)))
    }
}
