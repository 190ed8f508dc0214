// Link acceptor: takes device connections on any number of addresses, TCP and Unix alike, and authenticates their
// peers. Unknown peers share a small budget (LIM-4): beyond it one of them is closed, so that a flood of strangers
// costs a paired device nothing. Nor may a paired device open more than a few connections that are no links (LIM-52).

import TandemBase
import TandemCrypto
import TandemOperations
import TandemPairing
package import TandemReactor
import TandemSession
import TandemTLS
package import TandemTransport
import TandemWire

/// Accepts device connections; confined to the loop's thread.
package final class LinkAcceptor {
    /// Connections of all kinds at once (LIM-4): bounded by descriptors, far above use.
    package static var connectionLimit: Int { 4096 }

    private let context: LinkContext
    private let budget: ConnectionBudget
    private var listeners: [StreamListener] = []
    private var floodPace = LogPace()
    private var seats = UnknownPeers<PeerDescription.Source>(limit: Limits.unpinnedConnections)
    private var unknown: [UInt64: AcceptedConnection] = [:]
    /// Connections of each pin that are no links yet, oldest first.
    private var unlinked: [KeyIdentifier: [AcceptedConnection]] = [:]
    /// Connections that gave way to newer ones.
    package private(set) var crowdedOutConnections: UInt64 = 0
    /// Connections whose peer is not known yet.
    package var unknownConnections: Int { unknown.count }
    /// Connections whose peer is known by its pin and that are no links yet.
    package var unlinkedConnections: Int { unlinked.values.reduce(0) { $0 + $1.count } }

    /// - Parameter connections: another limit than ``connectionLimit``, for a test.
    package init(context: LinkContext, connections: Int = LinkAcceptor.connectionLimit) {
        self.context = context
        budget = ConnectionBudget(limit: connections)
    }

    /// Listens from now on; returns the address in effect (port 0 has become the system's choice).
    @discardableResult
    package func listen(at address: SocketAddress, on loop: EventLoop) throws(ListenError) -> SocketAddress {
        let listener = try StreamListener(at: address, loop: loop, budget: budget, log: context.log) {
            [weak self] stream in
            self?.take(stream)
        }
        listeners.append(listener)
        return listener.address
    }

    /// Takes a connected stream that has not started.
    package func take(_ stream: any ByteStream) {
        let (number, displaced) = seats.enter(from: stream.peer.source)
        if let displaced { crowdOut(displaced) }
        do throws(TLSError) {
            let connection = try AcceptedConnection(over: stream, number: number, acceptor: self, context: context)
            unknown[number] = connection
            connection.start()
        } catch {
            seats.leave(number)
            context.log(.error, "device connection not taken", .text("error", "\(error)"))
            stream.start()
            stream.close(.closedHere)
        }
    }

    /// Takes no more connections and drops those that are not links yet; links stay.
    package func close() {
        for listener in listeners { listener.close() }
        listeners = []
        for connection in Array(unknown.values) + unlinked.values.joined() { connection.cut(.ended(.stopping)) }
    }

    private func crowdOut(_ number: UInt64) {
        crowdedOutConnections += 1
        unknown.removeValue(forKey: number)?.cut(.crowdedOut)
        let event = LogEvent(
            .warning, "unknown peers crowd each other out",
            .integer("limit", Limits.unpinnedConnections), .integer("so far", crowdedOutConnections))
        // The lines of a flood would be part of the attack.
        if let line = floodPace.admit(event, at: context.scheduler.now) { context.log(line) }
    }

    // MARK: events of connections

    fileprivate func hasSent(_ number: UInt64) { seats.sent(number) }

    /// A connection's peer is pinned: it is no stranger, and displaces the oldest of too many connections of its pin.
    fileprivate func pinned(_ connection: AcceptedConnection, _ pin: KeyIdentifier) {
        forget(connection.number)
        unlinked[pin, default: []].append(connection)
        guard let all = unlinked[pin], all.count > Limits.unlinkedConnections, let oldest = all.first else { return }
        unlinked[pin]?.removeFirst()
        oldest.cut(.crowdedOut)
    }

    /// A connection is over, or has become a link.
    fileprivate func left(_ connection: AcceptedConnection, _ pin: KeyIdentifier?) {
        forget(connection.number)
        guard let pin, var others = unlinked[pin] else { return }
        others.removeAll { $0 === connection }
        unlinked[pin] = others.isEmpty ? nil : others
    }

    private func forget(_ number: UInt64) {
        seats.leave(number)
        unknown[number] = nil
    }
}

/// The server's side of a connection that is not a link yet (SES-1, SES-4, PAR-6 to PAR-12). Until TLS has proved a pin
/// the peer is a stranger. An unknown pin may send one small `join` and nothing else; a known one says hello and
/// becomes a link. While the device judges, nothing more is read. Confined to the loop's thread.
private final class AcceptedConnection {
    private enum Phase { case securing, greeting, judging, over }

    let number: UInt64
    private let context: LinkContext
    private let channel: SecuredChannel
    /// Nil once the connection is over, or has become a link.
    private weak var acceptor: LinkAcceptor?
    private var phase = Phase.securing
    /// The peer's, once TLS has proved it.
    private var pin: KeyIdentifier?
    /// The pairing that the peer's hello names.
    private var claimed: UniqueIdentifier?
    private var isStranger = true

    init(
        over stream: any ByteStream, number: UInt64, acceptor: LinkAcceptor, context: LinkContext
    ) throws(TLSError) {
        self.number = number
        self.acceptor = acceptor
        self.context = context
        channel = try SecuredChannel(over: stream, side: .server, peer: .any, context: context)
    }

    func start() {
        channel.frames.delegate = self
        channel.tls.onFirstInput = { [weak self] in if let self { acceptor?.hasSent(number) } }
        channel.frames.start()
    }

    /// Closes at once.
    func cut(_ reason: LinkCloseReason) {
        phase = .over
        channel.cut(reason)
    }

    private func leave() {
        acceptor?.left(self, pin)
        acceptor = nil
    }

    private func refuse(_ name: RefusalName, _ text: String) {
        phase = .over
        channel.refuse(name, text)
    }

    /// Lets the device judge; a verdict that comes after the connection's end is dropped.
    private func judge<Verdict>(_ judgement: @escaping () async -> Verdict, then answer: @escaping (Verdict) -> Void) {
        phase = .judging
        channel.frames.pauseReading()
        context.scheduler.start { [self] in
            let verdict = await judgement()
            if phase == .judging { answer(verdict) }
        }
    }

    // MARK: hello

    private func greeted(_ envelope: Envelope, by pin: KeyIdentifier) throws(WireError) {
        let pairing: UniqueIdentifier = try envelope.required(.pairing)
        claimed = pairing
        let hello = try HelloFrame(envelope).hello(from: .client)
        judge(try PeerGreeting(hello, at: context.scheduler.now), pairing: pairing, pin: pin)
    }

    private func judge(_ hello: PeerGreeting, pairing: UniqueIdentifier, pin: KeyIdentifier) {
        guard let host = context.host else { return refuse(.stopping, "this device is stopping") }
        guard case .offered(let versions) = hello.versions else {
            return refuse(.envelope, "a client's hello offers 'minimum' and 'maximum'")
        }
        let agreement: HelloAgreement
        do throws(HelloFailure) {
            let offer = HelloOffer(versions: versions, capabilities: hello.capabilities)
            agreement = try context.device.offer.choose(for: offer)
        } catch { return refuse(.version, "\(error)") }
        let phase = PairingRegistry.PeerHello.Phase.opening(
            ownHasNoSequences: host.positions(of: pairing)?.isEmpty ?? true)
        judge(
            { await host.judge(hello, in: pairing, from: pin, agreement, phase: phase) },
            then: { [self] in answer($0, to: hello, agreement) })
    }

    private func answer(_ verdict: HelloVerdict, to hello: PeerGreeting, _ agreement: HelloAgreement) {
        switch verdict {
        case .refused(let name): refuse(name, name.inWords)
        case .accepted(let record):
            // The registry may have changed again since the commit.
            guard let positions = context.host?.positions(of: record.pairing) else {
                return refuse(.notPaired, "the pairing has ended")
            }
            phase = .over
            let reading = context.reading
            let own = context.device.hello(
                .chosen(agreement.version), role: record.role, positions, capabilities: agreement.capabilities,
                clock: reading.wall)
            channel.send(HelloFrame(own, pairing: record.pairing))
            leave()
            let peer = hello.counting(in: positions.epoch)
            let link = Link(
                record: record, peer: peer, clocks: LinkClocks(told: reading, heard: peer.clock),
                agreement: agreement, channel: channel, context: context)
            link.begin()
            channel.frames.resumeReading()
        }
    }

    // MARK: join

    private func judge(_ request: JoinRequest, pin: KeyIdentifier) {
        guard let host = context.host else { return refuse(.stopping, "this device is stopping") }
        guard let exporter = channel.tls.channelBinding else { return refuse(.unexpected, "no channel binding") }
        guard ProtocolVersion.chosen(from: request.versions, and: context.device.offer.versions) != nil else {
            return refuse(.version, "no protocol version in common")
        }
        do throws(KeyError) { try request.claim.checkKey() } catch {
            return refuse(.envelope, "join: reportKey: \(error)")
        }
        judge({ await host.judge(request, peer: pin, exporter: exporter) }, then: { [self] in self.answer($0) })
    }

    private func answer(_ verdict: JoinVerdict) {
        switch verdict {
        case .refused(let name): refuse(name, name.inWords)
        case .joined(let answer):
            phase = .over
            channel.send(JoinFrame(.joined, answer.body))
            channel.end(.joined)
        }
    }
}

extension AcceptedConnection: FrameChannelDelegate {
    func channelDidOpen(_ frames: FrameChannel) {
        guard let pin = channel.tls.peerPin else { return channel.cut(.notSecured(.noCertificate)) }
        self.pin = pin
        phase = .greeting
        isStranger = context.host?.isPinned(pin) != true
        if isStranger { return }
        channel.frames.limit = Limits.helloFrame
        acceptor?.pinned(self, pin)
    }

    func channel(_ frames: FrameChannel, didReceive frame: Frame) {
        guard phase == .greeting, let pin else { return }
        let envelope: Envelope
        do throws(WireError) { envelope = try Envelope(reading: frame) } catch {
            return refuse(error.refusalName, "\(error)")
        }
        do throws(WireError) {
            switch envelope.kind {
            case .join: judge(try JoinRequest(body: JoinFrame(envelope).body), pin: pin)
            case .hello where !isStranger: try greeted(envelope, by: pin)
            case .hello: refuse(.notPaired, "this device has no pairing with the key that TLS showed")
            case .bye, .refusal: channel.end(SecuredChannel.farewell(envelope))
            default: refuse(.helloExpected, "the first frame was '\(envelope.kind.rawValue)'")
            }
        } catch { refuse(error.refusalName, Refusal.text(in: envelope.kind, error)) }
    }

    func channelDidDrain(_ channel: FrameChannel) {}

    func channel(_ frames: FrameChannel, didCloseWith reason: CloseReason) {
        phase = .over
        leave()
        context.handshakeEnded()
        let reason = channel.reason(for: reason)
        guard reason != .joined else { return }
        let failure = LinkFailure(
            pairing: claimed, isAccepted: true, pin: pin, isStranger: isStranger, reason: reason)
        context.host?.connectionDidFail(failure)
    }
}
