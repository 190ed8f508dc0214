// A connection at the relay: what the relay needs of its endpoint, its entry with everything looked up when it was
// attached, and back-pressure between connections. A frame is authorised and routed from its port without asking whose
// connection it was. The owner of the endpoint keeps its port.

package import TandemBase
import TandemReactor
package import TandemSession
package import TandemWire

/// One end of the forwarding path: a host app's connection, a device link or a test double. Confined to the relay's
/// loop. The relay never asks for the kind of stream below, and never writes bytes that are not a frame.
package protocol RelayEndpoint: NumberedConnection {
    /// The bytes accepted and not yet given to the system.
    var queuedBytes: Int { get }

    /// Whether a frame of this many bytes fits what may wait for this end (LIM-6).
    func isWritable(_ count: Int) -> Bool

    /// Whether a frame of this many bytes may wait in front of a link's queue: all links share that room (LIM-49).
    func isWaitingPossible(_ count: Int) -> Bool

    /// Whether senders to this end should pause, or their frames wait for a link; ``RelayPort/drained()`` must follow
    /// once it no longer holds, for a link only after ``awaitRoom()``.
    var isCongested: Bool { get }

    /// ``RelayPort/drained()`` follows when frames have left a link's queue.
    func awaitRoom()

    /// Frames wait in front of a link's queue, or do no longer: the change of their bytes.
    func frontWaits(_ change: Int)

    /// The bytes accepted by ``send(_:)`` and ``write(_:)`` since the connection began. Only a link's count: what an
    /// app has not answered fails in the same way whether it left or not (SES-11), so its connection may say 0.
    var acceptedBytes: UInt64 { get }

    /// How many of the accepted bytes may have left, also after the connection has closed. An endpoint that cannot know
    /// counts all of them: a caller that reads "not sent" may send again.
    var departedBytes: UInt64 { get }

    /// Queues the frame as the bytes it is; they leave with the others of this turn. Nothing after a close.
    func send(_ frame: Frame)

    /// Sends whole frames in memory that is only lent: they are given to the system, or copied behind what is queued,
    /// before this returns. Otherwise as ``send(_:)``.
    func write(_ frames: RawSpan)

    /// A frame did not fit the quota (LIM-6) and was not sent. The end closes itself as `slow-consumer` if it should;
    /// it does not call back into the relay before the end of the turn.
    func overflowed()

    /// Stops reading frames from this end's peer, because their destination is congested. Not reentrant: pausing twice
    /// and resuming once resumes.
    func pauseReading()

    func resumeReading()

    /// Asks the device at the other end of a link, and calls back once when its answer is here: all that it sent before
    /// is here then, too. Not after the end of the link, nor if another question follows.
    func awaitAnswer(_ answered: @escaping () -> Void)
}

extension RelayEndpoint {
    package func isWritable(_ count: Int) -> Bool { queuedBytes + count <= Limits.queuedBytes }

    package func isWaitingPossible(_ count: Int) -> Bool { true }

    package func awaitRoom() {}

    package func frontWaits(_ change: Int) {}

    package func awaitAnswer(_ answered: @escaping () -> Void) { answered() }
}

/// The relay's side of one attached connection.
package final class RelayPort: NumberedConnection {
    /// The origin that the connection proved when it was attached (FRM-13).
    enum Source {
        case application(LocalApplication)
        case link(PairingEnd)
    }

    /// Facts that only a link needs: a separate object, because links are few. Moved eagerly, as ``LocalApplication``.
    @_eagerMove
    private final class LinkSource {
        let end: PairingEnd
        let side: RoleContext
        /// The frames that wait; nil while there are none.
        var turns: LinkTurns?
        /// The end of the last broadcast among the bytes that the link accepts.
        var broadcastEnd: UInt64 = 0
        /// The apps of which the device is to hear once there is room.
        var unannounced: [LocalApplication] = []

        init(_ end: PairingEnd, _ side: RoleContext) {
            self.end = end
            self.side = side
        }
    }

    /// The abilities of a connection (SES-3), or those that a frame needs its receiver to have. In one byte: with a
    /// second one the port would need another 16 bytes.
    struct Abilities: OptionSet {
        let rawValue: UInt8

        /// It is the one that takes the app's messages.
        static let receives = Self(rawValue: 1)
        static let messages = Self(rawValue: 2)
        static let data = Self(rawValue: 4)
        static let topics = Self(rawValue: 8)
    }

    package let endpoint: any RelayEndpoint
    /// The app whose connection this is; nil for a link.
    let application: LocalApplication?
    /// The link's facts; nil for an app's connection.
    private let link: LinkSource?
    /// Made when it is first needed: most connections never pause a sender.
    var backpressure: Backpressure {
        if let ownBackpressure { return ownBackpressure }
        let made = Backpressure()
        ownBackpressure = made
        return made
    }
    private var ownBackpressure: Backpressure?
    private let forwarder: MessageForwarder
    // Properties smaller than a word come last, so that an idle connection is small.
    /// Its number in the ledger; another's after it has closed.
    let party: RequestParty
    private let abilities: Abilities
    private(set) var isClosed = false
    /// Broadcasts of this connection wait for the end of the turn.
    private(set) var hasWaitingBroadcasts = false

    init(
        endpoint: any RelayEndpoint, side: RoleContext, source: Source, receives: Bool, capabilities: [Capability],
        party: RequestParty, forwarder: MessageForwarder
    ) {
        self.endpoint = endpoint
        switch source {
        case .application(let application): (self.application, link) = (application, nil)
        case .link(let end): (application, link) = (nil, LinkSource(end, side))
        }
        var abilities: Abilities = receives ? .receives : []
        if capabilities.contains(.message) { abilities.insert(.messages) }
        if capabilities.contains(.messageData) { abilities.insert(.data) }
        if capabilities.contains(.topic) { abilities.insert(.topics) }
        self.abilities = abilities
        self.party = party
        self.forwarder = forwarder
    }

    package var number: ConnectionNumber { endpoint.number }

    /// Whether this is the connection that takes the app's messages.
    package var receives: Bool { abilities.contains(.receives) }

    /// The app whose connection this is; nil for a link.
    package var app: ApplicationIdentifier? { application?.app }

    var isLink: Bool { application == nil }

    /// The app's way through a pairing; nil for a pairing that its side does not have, and for a link.
    func route(through pairing: UniqueIdentifier) -> Route? { application?.routes[pairing] }

    var source: Source { if let application { .application(application) } else { .link(itsLink.end) } }

    var side: RoleContext { if let application { application.side } else { itsLink.side } }

    private var itsLink: LinkSource {
        guard let link else { preconditionFailure("a connection is an app's or a link") }
        return link
    }

    /// Whether it may get frames with these needs: an end that did not agree to one would refuse the kind or the key,
    /// and close the connection (SES-3).
    func takes(_ needs: Abilities) -> Bool { abilities.isSuperset(of: needs) }

    /// Takes a `message`, `messageData`, `reply` or `failure` whose head could be read in place. A frame that cannot be
    /// forwarded is answered with `failure`.
    /// - Returns: false if nothing has been done with it: the full reading shows what it is. So it is with an app that
    ///   is not the connection's own or, from a link, not known here.
    package func receive(_ frame: Frame, _ head: EnvelopeHead) -> Bool {
        guard !isClosed else { return true }
        let header = RoutingHeader(head, frameCount: frame.count)
        if let application {
            guard frame.withPayload({ application.isNamed($0.extracting(head.app)) }) else { return false }
            return take(frame, header, of: application) == nil
        }
        let side = itsLink.side
        guard let application = frame.withPayload({ side.application(named: $0.extracting(head.app)) }) else {
            return false
        }
        return takeFromLink(frame, header, of: application) == nil
    }

    /// Takes any valid frame of those kinds, and from a link `application` too.
    /// - Returns: the refusal that the connection has earned and must be closed with; nil if all is well.
    package func receive(_ frame: Frame, _ envelope: Envelope) -> RefusalName? {
        guard !isClosed else { return nil }
        if envelope.kind == .application { return forwarder.publisher.announced(envelope, from: self) }
        do throws(WireError) {
            let app: ApplicationIdentifier = try envelope.required(.app)
            let header = try RoutingHeader(envelope, frameCount: frame.count)
            guard let application else { return takeFromLink(frame, header, of: side.applications[app]) }
            return application.app == app ? take(frame, header, of: application) : .notYours
        } catch {
            return .envelope
        }
    }

    /// The refusal by a name that this port has returned. Its text has the kind of the frame and the first key that is
    /// wrong (SES-21). The envelope is read once more for it: the connection ends here, and frames that are taken pay
    /// nothing for the texts of refusals.
    package func refusal(_ name: RefusalName, of envelope: Envelope) -> Refusal {
        switch name {
        case .notYours: Refusal(foreign: isLink ? .pairing : .app, in: envelope.kind)
        case .tooManyApplications:
            Refusal(
                name,
                "\(Refusal.text(in: envelope.kind, nil)): over \(Limits.applications) apps are installed, or new ones come "
                    + "too fast; remove some")
        default: Refusal(name, in: envelope.kind, Self.fault(of: envelope))
        }
    }

    /// The fault for which the relay does not take a frame; nil if no key is to blame.
    private static func fault(of envelope: Envelope) -> WireError? {
        do throws(WireError) {
            if envelope.kind == .application {
                _ = try ApplicationAnnouncement(body: try ApplicationFrame(envelope).body)
            } else {
                let _: ApplicationIdentifier = try envelope.required(.app)
                _ = try RoutingHeader(envelope, frameCount: 0)
            }
            return nil
        } catch { return error }
    }

    /// Takes a frame that names the connection's own app (FRM-13).
    private func take(_ frame: Frame, _ header: RoutingHeader, of application: LocalApplication) -> RefusalName? {
        // Only another broadcast may join those that wait.
        if hasWaitingBroadcasts, header.pairing != .zero || header.wantsReply { sendBroadcasts() }
        switch header.kind {
        case .message, .messageData: forwarder.forward(frame, header, of: application, from: self)
        case .reply, .failure: forwarder.answer(frame, header, of: application, from: self)
        default: return .unexpected
        }
        return nil
    }

    /// - Parameter application: the app that the frame names; nil if it is none of this device's.
    private func takeFromLink(
        _ frame: Frame, _ header: RoutingHeader, of application: LocalApplication?
    ) -> RefusalName? {
        guard link?.end.known.pairing == header.pairing else { return .notYours }
        switch header.kind {
        case .message, .messageData: forwarder.forward(frame, header, toLocal: application, from: self)
        case .reply, .failure: forwarder.answer(frame, header, of: application, from: self)
        default: return .unexpected
        }
        return nil
    }

    /// Broadcasts of this connection that wait for the end of the turn leave now, before what it sends next is
    /// answered.
    package func sendBroadcasts() {
        if hasWaitingBroadcasts { forwarder.broadcaster.send() }
    }

    func broadcastsWait(_ wait: Bool) { hasWaitingBroadcasts = wait }

    /// A broadcast to this link ends there among the bytes that it accepts.
    func noteBroadcast(endingAt end: UInt64) {
        let link = itsLink
        link.broadcastEnd = max(link.broadcastEnd, end)
    }

    /// The end of the last broadcast to this link; 0 without one, and for an app's connection.
    var broadcastEnd: UInt64 { link?.broadcastEnd ?? 0 }

    // MARK: turns at a link

    /// Whether a frame to this link waits for its app's turn.
    var mustWait: Bool {
        guard let link else { return false }
        return link.turns != nil || endpoint.isCongested
    }

    /// Whether a frame of the origin's app may wait for this link.
    func hasRoom(for count: Int, from origin: RelayPort) -> Bool {
        guard let app = origin.application, endpoint.isWaitingPossible(count) else { return false }
        return itsLink.turns?.hasRoom(for: count, of: app.number) ?? true
    }

    /// Keeps a frame of the origin's app for its turn.
    @inline(never)
    func wait(_ frame: RawSpan, _ id: UniqueIdentifier, _ purpose: LinkTurns.Purpose, from origin: RelayPort) {
        guard let app = origin.application else { preconditionFailure("a link gets frames of apps") }
        let turns = itsLink.turns ?? LinkTurns(forwarder.scheduler)
        itsLink.turns = turns
        if turns.isEmpty { endpoint.awaitRoom() }
        turns.append(frame, id, purpose, of: app.number, from: origin)
        endpoint.frontWaits(frame.byteCount)
    }

    /// Hands frames over in turn until the link takes no more.
    private func handOver(_ turns: LinkTurns) {
        while !endpoint.isCongested, let next = turns.next() { handOver(next.waiting) }
        if turns.isEmpty { itsLink.turns = nil } else { endpoint.awaitRoom() }
    }

    private func handOver(_ waiting: LinkTurns.Waiting) {
        endpoint.frontWaits(-waiting.frame.count)
        endpoint.send(waiting.frame)
        if waiting.purpose == .request { forwarder.wrote(waiting.id, to: self) }
    }

    /// Hands all frames over: the link is about to end in order, and sends what is in its queue.
    func handOverAll() {
        guard let turns = link?.turns else { return }
        while endpoint.queuedBytes + Limits.frame <= Limits.queuedBytes, let next = turns.next() {
            handOver(next.waiting)
        }
        if turns.isEmpty { itsLink.turns = nil }
    }

    /// The frames that wait never leave. Requests among them fail with those that the link owes.
    private func dropWaiting() {
        guard let turns = link?.turns else { return }
        itsLink.turns = nil
        endpoint.frontWaits(-turns.byteCount)
        while let next = turns.next() {
            if next.waiting.purpose == .broadcast {
                forwarder.broadcastNeverLeft(next.waiting.id, of: next.app, to: self)
            }
        }
    }

    // MARK: sending

    /// Sends within the quota; a frame that does not fit is dropped, and the endpoint is notified.
    /// - Returns: whether it fitted.
    @discardableResult
    func deliver(_ frame: Frame) -> Bool {
        guard endpoint.isWritable(frame.count) else {
            forwarder.counts.shed.add()
            endpoint.overflowed()
            return false
        }
        endpoint.send(frame)
        return true
    }

    /// Sends the newest announcement of an app to the device at the other end of a link. Without room it follows when
    /// there is: nothing else would repeat it, and changes that follow each other become one.
    func announce(_ application: LocalApplication) {
        guard let frame = forwarder.publisher.announcement(of: application, to: self) else { return }
        if endpoint.isWritable(frame.count) { return endpoint.send(frame) }
        let link = itsLink
        if !link.unannounced.contains(where: { $0.app == application.app }) { link.unannounced.append(application) }
        endpoint.awaitRoom()
    }

    private func announceRest(_ link: LinkSource) {
        let rest = link.unannounced
        link.unannounced = []
        // Another one may have taken the place of an app that was removed meanwhile.
        for application in rest { announce(link.side.applications[application.app] ?? application) }
    }

    /// Sends an answer of an app; at a link in the app's turn.
    /// - Returns: false if the link has no room for it.
    func deliver(_ answer: Frame, from origin: RelayPort) -> Bool {
        // A full connection of an app is closed, and its requests end with it. A full link stays.
        guard mustWait else { return deliver(answer) || link == nil }
        guard hasRoom(for: answer.count, from: origin) else {
            forwarder.counts.shed.add()
            return false
        }
        answer.bytes.withBytes { wait($0, .zero, .answer, from: origin) }
        return true
    }

    /// Reports to the sender of a message that it goes no further.
    func fail(_ message: Message, _ failure: RelayFailure) {
        forwarder.counts.failed.add()
        guard endpoint.isWritable(Self.usualFailure) else {
            // Not even written: a caller that is full, or closed for that, gets no more of them.
            forwarder.counts.shed.add()
            return endpoint.overflowed()
        }
        do throws(WireError) {
            let frame = FailureFrame(app: message.app, pairing: message.pairing, id: message.id, failure.error)
            deliver(try frame.frame())
        } catch {
            forwarder.log(.frameNotWritten(.failure, error))
        }
    }

    /// Bytes of a failure, about.
    private static var usualFailure: Int { 512 }

    // MARK: reading

    /// Reads no more from the connection until ``resumeReading()``. Several may hold it back at once.
    func pauseReading() {
        backpressure.holders += 1
        if backpressure.holders == 1 { endpoint.pauseReading() }
    }

    func resumeReading() {
        backpressure.holders -= 1
        if backpressure.holders == 0, !isClosed { endpoint.resumeReading() }
    }

    // MARK: the endpoint's events

    /// The endpoint's queue has drained: resumes the senders that were paused.
    package func drained() {
        ownBackpressure?.end(forwarder.scheduler)
        guard let link else { return }
        if !link.unannounced.isEmpty { announceRest(link) }
        guard let turns = link.turns else { return }
        turns.linkMoved()
        handOver(turns)
    }

    /// The connection is gone; requests that it should have answered fail (SES-11). A second call does nothing.
    /// - Parameter reason: for a link, what host apps see as the reason.
    package func closed(_ reason: ReachabilityReason = .noLink) {
        guard !isClosed else { return }
        // Its broadcasts were accepted.
        sendBroadcasts()
        isClosed = true
        ownBackpressure?.end(forwarder.scheduler)
        dropWaiting()
        forwarder.detach(self, reason: reason)
    }
}

/// Back-pressure inside one device: the senders that are not read while one receiver is congested, and how many
/// receivers hold back this connection itself. A receiver that never reads must not silence apps that have others to
/// send to. So after a moment they are read again, and what does not fit the receiver's quota (LIM-6) fails. Links are
/// never held back: they carry other apps too. A class, because reading on may deliver frames that come back here at
/// once.
final class Backpressure {
    /// How long senders wait for a receiver (LIM-17, LIM-62): time for a busy process to be scheduled and to read a
    /// full queue.
    static var patience: Duration { .seconds(1) }

    private var held: [RelayPort] = []
    private var timer: TimerToken?
    private var isPatienceOver = false
    private var hasProgressed = false
    /// Receivers, and the disk, that hold back this connection itself.
    fileprivate var holders = 0

    /// `sender` has just sent to the receiver whose backpressure this is.
    func hold(_ sender: RelayPort, _ scheduler: any Scheduler) {
        guard case .application = sender.source, !isPatienceOver, !sender.isClosed,
            !held.contains(where: { $0 === sender })
        else { return }
        held.append(sender)
        sender.pauseReading()
        if timer == nil { beginPatience(scheduler) }
    }

    /// The receiver still has too much, and takes more: patience begins again, also for those that are read by now.
    func progressed() {
        hasProgressed = true
        isPatienceOver = false
    }

    private func beginPatience(_ scheduler: any Scheduler) {
        timer = scheduler.schedule(after: Self.patience) { [weak self] in self?.patienceEnded(scheduler) }
    }

    /// The receiver has drained, or is gone.
    func end(_ scheduler: any Scheduler) {
        if let timer { scheduler.cancel(timer) }
        timer = nil
        isPatienceOver = false
        release()
    }

    private func patienceEnded(_ scheduler: any Scheduler) {
        timer = nil
        if hasProgressed {
            hasProgressed = false
            return beginPatience(scheduler)
        }
        isPatienceOver = true
        release()
    }

    private func release() {
        let released = held
        held = []
        for sender in released { sender.resumeReading() }
    }
}

extension LogEvent {
    /// A frame of this device's own was not written: only more pairings than a frame can name lead here.
    static func frameNotWritten(_ kind: FrameKind, _ error: WireError) -> LogEvent {
        LogEvent(.error, "frame not written", .text("kind", kind.rawValue), .text("error", "\(error)"))
    }
}
