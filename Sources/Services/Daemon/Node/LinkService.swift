// Links of one device: it accepts, dials and joins, connects the ready links with the router, and remembers why the
// last ones ended.

import TandemBase
import TandemCrypto
import TandemOperations
import TandemPairing
import TandemReactor
import TandemSession
import TandemTransport
import TandemWire

/// The links of one daemon; confined to its loop.
final class LinkService {
    /// The past of one pairing's links, since the start of the daemon.
    private struct History {
        /// The run of the peer's daemon (SES-2) that had the last link.
        var lastRun: UniqueIdentifier?
        /// The runs of the peer's daemon, as evidence that there are two of them (PAR-24).
        var runs = PeerRuns()
        /// When the last link was lost; nil if there was none.
        var downSince: MonotonicTime?
        /// Why the last link or attempt ended. A refusal counts until the operator may have ended its cause.
        var lastEnd: (text: String, isRefusal: Bool)?
        /// When the other device last said that it has no such pairing; nil once there is a link again, or one device
        /// refuses the other for another reason.
        var endedThere: MonotonicTime?
        /// The version of the device's last hello, where that was refused because it is older than before (SES-4).
        var lowered: ProtocolVersion?
    }

    private let context: LinkContext
    private let acceptor: LinkAcceptor
    private let pairings: PairingService
    private let own: PairingRegistry.OwnDevice
    private let relay: Relay
    private let delivery: DurableDelivery
    private let router: DeviceRouter
    private let network: any NodeNetwork
    /// Spreads the waits between attempts.
    private let random: () -> UInt64
    private var dialers: [UniqueIdentifier: (dialer: LinkDialer, address: SocketAddress)] = [:]
    private var histories: [UniqueIdentifier: History] = [:]
    private var joins: [ObjectIdentifier: JoinClient] = [:]
    /// For each primary that is being joined by trust: fulfilled to make the next attempt at once.
    private var trustJoins: [KeyIdentifier: Expectation<Void>] = [:]
    private var isStopping = false
    /// Since the start.
    private(set) var hasBeenLinked = false
    /// Called with the pairing whose link has come or gone.
    var whenChanged: (UniqueIdentifier) -> Void = { _ in }
    /// Called for each link that is ready.
    var whenReady: () -> Void = {}

    init(
        _ context: LinkContext, own: PairingRegistry.OwnDevice, pairings: PairingService, relay: Relay,
        delivery: DurableDelivery, router: DeviceRouter, network: any NodeNetwork, random: @escaping () -> UInt64
    ) {
        self.context = context
        self.own = own
        self.pairings = pairings
        self.relay = relay
        self.delivery = delivery
        self.router = router
        self.network = network
        self.random = random
        acceptor = LinkAcceptor(context: context)
        context.wrapping = network.wrapping
        context.host = self
    }

    // MARK: life

    /// Accepts links at an address; returns the address in effect.
    func listen(at address: SocketAddress) throws(ListenError) -> SocketAddress {
        try network.listen(at: address, for: acceptor)
    }

    /// Dials the primaries of this device and joins the trusted ones.
    func start() {
        for record in pairings.all { dial(record) }
        for device in pairings.trusted(as: .primary) { joinByTrust(device.pin) }
    }

    /// Accepts, dials and joins no longer; the ready links stay until ``endAll(_:)``.
    func stop() {
        isStopping = true
        stopListening()
        for (dialer, _) in dialers.values { dialer.stop() }
        for join in joins.values { join.cancel() }
    }

    func stopListening() { acceptor.close() }

    func endAll(_ name: ByeName) { context.links.endAll(name) }

    // MARK: one pairing

    /// The ready link of a pairing.
    subscript(pairing: UniqueIdentifier) -> Link? { context.links[pairing] }

    /// When the pairing lost its link; nil if it had none since the start.
    func downSince(_ pairing: UniqueIdentifier) -> MonotonicTime? { histories[pairing]?.downSince }

    /// Why the pairing's last link or attempt ended (CTL-10).
    func lastError(of pairing: UniqueIdentifier) -> String? {
        guard case .unreachable(let text)? = dialers[pairing]?.dialer.lastFailure else {
            return histories[pairing]?.lastEnd?.text
        }
        return "unreachable: \(text)".cutForAnswer(to: 256)
    }

    /// Whether the pairing's last link or attempt ended because one device refused the other.
    func wasRefused(_ pairing: UniqueIdentifier) -> Bool { histories[pairing]?.lastEnd?.isRefusal == true }

    /// How long ago the other device last said that it has no such pairing; nil if it has not, or if that no longer
    /// counts (CTL-10).
    func endedThere(_ pairing: UniqueIdentifier) -> Duration? {
        histories[pairing]?.endedThere.map { context.scheduler.now.since($0) }
    }

    /// Why the pairing has no link.
    func unreachableReason(_ record: PairingRecord) -> String {
        if let version = histories[record.pairing]?.lowered {
            return "\(RefusalName.versionLowered.rawValue): it now speaks version \(version.number), older than "
                + "before; if this is intended, run 'tandem allow-version \(record.pairing) \(version.number)'"
        }
        let unknown: ReachabilityReason = record.state == .pending ? .pending : .noLink
        return dialers[record.pairing]?.dialer.lastFailure?.description ?? histories[record.pairing]?.lastEnd?.text
            ?? unknown.rawValue
    }

    /// Whether another device than the paired one answers at the address that is dialled.
    func meetsOtherDevice(_ pairing: UniqueIdentifier) -> Bool {
        guard case .ended(let reason)? = dialers[pairing]?.dialer.lastFailure else { return false }
        return reason.isOtherDevice
    }

    /// The address at which the primary of a linked pairing is dialled now, because the link is still one of its former
    /// address (PAR-19), and why the last attempt made no link; nil if the link is at the address in force.
    func move(of pairing: UniqueIdentifier) -> (address: SocketAddress, failure: LinkDialer.Failure?)? {
        guard context.links[pairing] != nil, let known = dialers[pairing], known.dialer.isTrying else { return nil }
        return (known.address, known.dialer.lastFailure)
    }

    /// The device whose key two daemons use (PAR-24).
    enum SharedKey {
        case own, peer
    }

    /// The device whose key two daemons use; nil if nothing shows that.
    func sharedKey(in pairing: UniqueIdentifier) -> SharedKey? {
        if dialers[pairing]?.dialer.isContested == true { return .own }
        return histories[pairing]?.runs.showTwoDaemons(at: context.scheduler.now) == true ? .peer : nil
    }

    /// Ends the link; a dialler connects again.
    func restart(_ pairing: UniqueIdentifier) { context.links.end(pairing, .replaced) }

    /// The pairing is gone.
    func forget(_ pairing: UniqueIdentifier) {
        dialers.removeValue(forKey: pairing)?.dialer.stop()
        context.links.end(pairing, .unpaired)
        // After the link, whose end is noted there.
        histories[pairing] = nil
    }

    // MARK: dialling and joining

    /// Forgets why the last hello was refused, and dials a primary at once, because its address or that reason may have
    /// changed. The present link stays until the new one replaces it.
    func dialAgain(_ pairing: UniqueIdentifier) {
        guard let record = pairings[pairing] else { return }
        histories[pairing]?.lowered = nil
        if wasRefused(pairing) { histories[pairing]?.lastEnd = nil }
        dial(record)
        dialers[pairing]?.dialer.hurry()
    }

    /// Dials the primary of a pairing in which this device is the secondary.
    private func dial(_ record: PairingRecord) {
        guard record.role == .secondary, !isStopping, let address = record.address.flatMap({ try? SocketAddress($0) }),
            dialers[record.pairing]?.address != address
        else { return }
        if let former = dialers[record.pairing] {
            former.dialer.stop()
            context.log(
                .info, "primary is dialled at another address", .text("pairing", "\(record.pairing)"),
                .outside("peer", record.name), .outside("former", "\(former.address)"),
                .outside("address", "\(address)"))
        }
        let dialer = LinkDialer(
            pairing: record.pairing, at: address, context: context, source: network.dialling, random: random,
            record: { [pairings] in pairings[record.pairing] })
        dialers[record.pairing] = (dialer, address)
        dialer.start()
    }

    /// Joins a primary, stores the pending pairing and dials it.
    /// - Parameter mayReplace: whether a new pairing may end an earlier one that the primary no longer knows.
    func join(
        _ credential: JoinAttempt.Credential, mayReplace: Bool = false
    ) async throws(JoinFailure) -> PairingRecord {
        let client = JoinClient(credential, own: own, context: context)
        joins[ObjectIdentifier(client)] = client
        defer { joins[ObjectIdentifier(client)] = nil }
        let byTrust = if case .trust = credential { true } else { false }
        let record = try await client.join(over: network.dialling) { [pairings] record async throws(JoinFailure) in
            try await pairings.add(record, mayReplace: mayReplace, byTrust: byTrust)
        }
        histories[record.pairing]?.lastRun = nil
        dialAgain(record.pairing)
        return record
    }

    /// Joins a primary that is trusted by hand, and tries again until the primary has trusted this device as well, or
    /// this one trusts it no longer. If that is under way, the next attempt is made at once: the address may be another
    /// one now.
    func joinByTrust(_ primary: KeyIdentifier) {
        if let next = trustJoins[primary] { return next.fulfil(()) }
        trustJoins[primary] = Expectation(on: context.scheduler)
        context.scheduler.start { [self] in
            var backoff = Backoff()
            var reported: LogField?
            while !isStopping, let device = pairings.toBeJoined(primary) {
                do throws(JoinFailure) { _ = try await join(.trust(device)) } catch {
                    if isStopping { break }
                    // Each reason once: otherwise every attempt would be a line until the other operator acts (CTL-71).
                    if reported != error.reasonByTrust {
                        context.log(
                            .info, "trusted primary not joined yet", .text("peer", primary.fingerprint),
                            .outside("address", device.address ?? "-"), error.reasonByTrust)
                    }
                    reported = error.reasonByTrust
                    let isHurried = await trustJoins[primary]?.value(within: backoff.next(random: random())) != nil
                    if isHurried {
                        backoff.reset()
                        // The operator asked for this attempt, perhaps at another address, and sees its result in any
                        // case.
                        reported = nil
                    }
                    trustJoins[primary] = Expectation(on: context.scheduler)
                }
            }
            trustJoins[primary] = nil
        }
    }
}

extension JoinFailure {
    /// Why a primary that is trusted by hand is not joined: no person has used a link.
    var reasonByTrust: LogField {
        switch self {
        case .connection(.refusedByPeer(.joinRefused)):
            .text("reason", "it does not trust this device's fingerprint: run 'tandem trust-device' there, too")
        case .wouldReplace: .text("reason", "\(self); 'tandem unpair' here discards that")
        default: .outside("reason", description)
        }
    }
}

extension LinkService: LinkHost {
    package func isPinned(_ pin: KeyIdentifier) -> Bool { pairings.isPinned(pin) }

    package func positions(of pairing: UniqueIdentifier) -> LinkPositions? {
        guard let record = pairings[pairing] else { return nil }
        let known = delivery.positions(of: pairing)
        let mark = { (position: (key: QueueKey, sequence: UInt64)) in
            SequenceMark(app: position.key.app, channel: position.key.channel, sequence: position.sequence)
        }
        return LinkPositions(epoch: record.epoch, received: known.received.map(mark), sent: known.sent.map(mark))
    }

    package func judge(_ hello: PairingRegistry.PeerHello) async -> HelloVerdict {
        let verdict = await pairings.judge(hello)
        // A stranger has no history, and neither has a pairing that has ended meanwhile.
        if pairings[hello.pairing]?.peer == hello.peer {
            histories[hello.pairing, default: History()].lowered =
                verdict == .refused(.versionLowered) ? hello.version : nil
        }
        return verdict
    }

    package func judge(_ join: JoinRequest, peer: KeyIdentifier, exporter: [UInt8]) async -> JoinVerdict {
        let verdict = await pairings.judge(join, peer: peer, exporter: exporter)
        // The peer may have ended the pairing meanwhile, and know nothing of its sequences.
        if case .joined(let answer) = verdict { histories[answer.pairing]?.lastRun = nil }
        return verdict
    }

    package func contradicts(
        _ peer: PeerGreeting, in pairing: UniqueIdentifier, capabilities: Set<Capability>
    ) -> Bool {
        delivery.contradicts(
            pairing, received: peer.positions.received, channels: Set(capabilities.compactMap(\.channel)),
            isSameRun: histories[pairing]?.lastRun == peer.instance)
    }

    package func linkDidBecomeReady(_ link: Link) {
        hasBeenLinked = true
        whenReady()
        let isSameRun = noteRun(of: link)
        whenChanged(link.pairing)
        let endpoint = LinkEndpoint(link, queue: context.queue, number: relay.nextNumber())
        let port = relay.linkUp(
            endpoint, pairing: link.pairing, role: link.role, capabilities: Array(link.agreement.capabilities))
        link.forwarder = port
        router.open(
            link.pairing, over: link, port: port, received: link.peer.positions.received,
            capabilities: link.agreement.capabilities, isSameRun: isSameRun)
    }

    /// Returns whether the same run of the peer's daemon had the pairing's last link.
    private func noteRun(of link: Link) -> Bool {
        let run = link.peer.instance
        var history = histories[link.pairing] ?? History()
        let isSameRun = history.lastRun == run
        let isFirstEvidence = history.runs.linked(run, at: context.scheduler.now)
        history.lastRun = run
        history.endedThere = nil
        histories[link.pairing] = history
        if isFirstEvidence {
            context.log(
                .warning, "two daemons use the key of one device; is a copy of its state directory running?",
                .text("pairing", "\(link.pairing)"), .outside("peer", link.peer.name))
        }
        return isSameRun
    }

    package func link(_ link: Link, didReceive envelope: Envelope, in frame: Frame) {
        guard let breach = router.receive(envelope, in: frame, from: link.pairing) else { return }
        link.refuse(breach.name, breach.text)
    }

    package func linkDidDrain(_ link: Link) { router.drained(link.pairing) }

    package func link(_ link: Link, didCloseWith reason: LinkCloseReason) {
        histories[link.pairing, default: History()].downSince = context.scheduler.now
        ended(link.pairing, reason)
        whenChanged(link.pairing)
        router.close(link.pairing, reason.reachabilityReason)
        guard case .endedByPeer(.unpaired) = reason else { return }
        context.log(.warning, "the other device has ended the pairing", .text("pairing", "\(link.pairing)"))
    }

    package func connectionDidFail(_ failure: LinkFailure) {
        let record = failure.pairing.flatMap { pairings[$0] }
        // A device may claim a pairing of another one.
        let isClaim = failure.isAccepted && record?.peer != failure.pin
        context.log(
            failure.logLevel, "device connection ended before it became a link",
            .text("pairing", isClaim ? "-" : failure.pairing?.description ?? "-"),
            .text("peer", failure.pin?.fingerprint ?? "-"), failure.reason.logField)
        guard !isClaim, let record else { return }
        ended(record.pairing, failure.reason)
        relay.setLinkDown(failure.reason.reachabilityReason, pairing: record.pairing, role: record.role)
    }

    /// Remembers why a pairing's link or attempt has ended.
    private func ended(_ pairing: UniqueIdentifier, _ reason: LinkCloseReason) {
        var history = histories[pairing] ?? History()
        if case .refused(.versionLowered, _) = reason {} else { history.lowered = nil }
        // Cut later than other texts of peers, because this one may end with what to do.
        let error = "\(reason)".cutForAnswer(to: 256)
        history.lastEnd = (error, reason.isRefusal)
        if [.endedByPeer(.unpaired), .refusedByPeer(.notPaired)].contains(reason) {
            history.endedThere = context.scheduler.now
        } else if reason.isRefusal {
            history.endedThere = nil
        }
        histories[pairing] = history
    }
}

/// The relay's end of a ready link; confined to the loop. Messages and their answers have a part of the link's queue of
/// their own (LIM-60): beyond it they wait in turns, however much durable delivery has in the queue.
private final class LinkEndpoint: RelayEndpoint {
    let number: ConnectionNumber
    private let link: Link
    private let frames: FrameChannel
    /// Bytes queued for the peers of all links.
    private let queue: QueueAccount
    private var forwardedBytes: UInt64 = 0
    /// The end of the last frame in the bytes accepted, and the bytes since the queue had none of these frames.
    private var lastEnd: UInt64 = 0
    private var backlog = 0
    /// Bytes that wait in turns in front of the queue.
    private var waiting = 0

    init(_ link: Link, queue: QueueAccount, number: ConnectionNumber) {
        self.link = link
        frames = link.frames
        self.queue = queue
        self.number = number
    }

    var queuedBytes: Int { frames.queuedBytes }

    /// With nothing in turns, a burst that the system may take whole goes ahead.
    var isCongested: Bool {
        backlog >= (waiting > 0 || frames.isBlocked ? Limits.linkBacklog : Limits.linkBurst) && !hasLeft
    }

    /// Whether all of these frames have certainly left the queue: it counts enciphered bytes, and those are more.
    private var hasLeft: Bool { lastEnd + UInt64(frames.queuedBytes) <= acceptedBytes }

    func awaitRoom() { frames.awaitDrain() }

    func frontWaits(_ change: Int) {
        waiting += change
        queue.charge(change)
    }

    /// Frames that wait in turns are not counted here: the daemon's own, which do not wait, find room beside them.
    func isWritable(_ count: Int) -> Bool {
        LinkRoom.admits(count, queued: frames.queuedBytes, queuedInAll: queue.byteCount)
    }

    func isWaitingPossible(_ count: Int) -> Bool {
        LinkRoom.admits(count, waiting: waiting, queuedInAll: queue.byteCount)
    }

    /// All frames of the link, in the order in which they leave: those of items lie between the forwarded ones.
    var acceptedBytes: UInt64 { forwardedBytes + link.sentBytes }

    /// Queued bytes are enciphered and at most twice as many as the accepted ones: half of them surely have not left. A
    /// link that ends in order flushes its queue. The figure is never too low, because a sender that hears "not sent"
    /// may send again.
    var departedBytes: UInt64 {
        if link.isFlushing { return acceptedBytes }
        let queued = UInt64(clamping: queuedBytes) / 2
        return acceptedBytes > queued ? acceptedBytes - queued : 0
    }

    func send(_ frame: Frame) {
        count(frame.count)
        frames.send(frame)
    }

    func write(_ bytes: RawSpan) {
        count(bytes.byteCount)
        frames.write(bytes)
    }

    private func count(_ bytes: Int) {
        if backlog > 0, hasLeft { backlog = 0 }
        backlog += bytes
        forwardedBytes += UInt64(bytes)
        lastEnd = acceptedBytes
    }

    func overflowed() {
        // The link's own quota closes it as a slow consumer; the relay has reported that to the sender.
    }

    func pauseReading() { frames.pauseReading() }

    func resumeReading() { frames.resumeReading() }

    func awaitAnswer(_ answered: @escaping () -> Void) { link.ask(then: answered) }
}

extension RelayPort: LinkForwarder {}

extension LinkFailure {
    /// Debug for strangers, who can cause any number of failures. A key other than the pinned one is a warning, because
    /// the operator has to act. A pairing is dialled again and again, so there the dialler itself warns, once (CTL-71).
    fileprivate var logLevel: LogLevel {
        if pairing == nil, reason.isOtherDevice { return .warning }
        return isStranger ? .debug : .info
    }
}

extension LinkCloseReason {
    /// The reason for being unreachable that host apps see.
    fileprivate var reachabilityReason: ReachabilityReason {
        switch self {
        case .noHeartbeat: .noHeartbeat
        case .refused(.version, _), .refused(.versionLowered, _), .refusedByPeer(.version),
            .refusedByPeer(.versionLowered):
            .version
        case .ended(.stopping), .endedByPeer(.stopping): .stopping
        default: .noLink
        }
    }
}
