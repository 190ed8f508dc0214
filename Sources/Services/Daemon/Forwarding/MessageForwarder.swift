// Message forwarder: the path of a message to its receiver and of the answer back to its caller (SES-8 to SES-11). It
// authorises by the connection, finds the way, enters the request in the ledger and passes the frame on as it came. No
// allocation, no lookup by a String and no look at a body when all is well.

import TandemBase
import TandemOperations
import TandemReactor
import TandemSession
import TandemWire

/// Forwards the messages and answers of one relay; confined to its loop.
final class MessageForwarder {
    let scheduler: any Scheduler
    let counts: RelayCounters
    let log: LogHandler
    let publisher: StatePublisher
    let broadcaster: Broadcaster
    // Unchecked, because nothing that these call comes back here: each frame touches them several times.
    @exclusivity(unchecked) private var ledger: ForwardedRequests
    /// Every connection that an answer may have to go to, by its party's number in the ledger.
    ///
    /// Unchecked, because nothing is called while it is touched.
    @exclusivity(unchecked) private var parties: [RelayPort?] = []
    /// Every app of a side, by its number in the ledger, with the sides that it is on.
    private var apps: [ApplicationIdentifier] = []
    private var appNumbers: [ApplicationIdentifier: (number: ApplicationNumber, sides: Int)] = [:]
    /// Numbers of former apps; the next apps get them.
    private var freeNumbers: [ApplicationNumber] = []
    private var isSweepScheduled = false
    /// Stopping: nothing new is passed on, what is open may be answered (SES-18). Unchecked, because it is one byte.
    @exclusivity(unchecked) private var isStopping = false
    /// Set only while somebody traces messages: otherwise a frame costs one look at this. Unchecked, because it is one
    /// word.
    @exclusivity(unchecked) var trace: TraceLog?
    private var whenIdle: (() -> Void)?
    private var stopTimer: TimerToken?

    init(scheduler: any Scheduler, publisher: StatePublisher, counts: RelayCounters, log: @escaping LogHandler) {
        self.scheduler = scheduler
        self.publisher = publisher
        self.counts = counts
        self.log = log
        broadcaster = Broadcaster(scheduler: scheduler, counts: counts)
        var generator = SystemRandomNumberGenerator()
        ledger = ForwardedRequests(
            capacity: Limits.openRequests, capacityInAll: Limits.openRequestsInAll, seed: HashSeed(using: &generator))
    }

    // MARK: connections and apps

    /// A party for a new connection of a user's app, or for a new link.
    func enter(of user: UInt32? = nil) -> RequestParty { ledger.enter(of: user) }

    func attach(_ port: RelayPort) {
        broadcaster.attach(port)
        if port.party.index == parties.count { parties.append(port) } else { parties[port.party.index] = port }
    }

    /// The connection is gone; what it should have answered fails.
    func detach(_ port: RelayPort, reason: ReachabilityReason) {
        broadcaster.detach(port)
        parties[port.party.index] = nil
        let owed = ledger.left(port.party)
        publisher.detached(port, reason: reason)
        broadcaster.failBroadcasts(to: port)
        fail(owed, of: port)
    }

    /// The number of an app that is added to a side; the same on all sides.
    func take(numberOf app: ApplicationIdentifier) -> ApplicationNumber {
        if let known = appNumbers[app] {
            appNumbers[app]?.sides += 1
            return known.number
        }
        let number = freeNumbers.popLast() ?? ApplicationNumber(apps.count)
        if number.index == apps.count { apps.append(app) } else { apps[number.index] = app }
        appNumbers[app] = (number, 1)
        return number
    }

    /// The app is gone from a side, with all its connections, and so with all requests that have its number there.
    func giveBack(numberOf app: ApplicationIdentifier) {
        guard let known = appNumbers[app] else { return }
        guard known.sides == 1 else {
            appNumbers[app]?.sides -= 1
            return
        }
        appNumbers[app] = nil
        freeNumbers.append(known.number)
    }

    private func app(_ number: ApplicationNumber) -> ApplicationIdentifier { apps[number.index] }

    /// The port of a party; nil for one that has left.
    private func port(_ party: RequestParty) -> RelayPort? { parties[party.index] }

    // MARK: messages

    /// Passes on what an app's own connection sent, or answers with a failure.
    func forward(
        _ frame: Frame, _ header: RoutingHeader, of application: LocalApplication, from origin: RelayPort
    ) {
        guard let destination = application.routes.port(header.pairing) else {
            return forwardElsewhere(frame, header, of: application, from: origin)
        }
        pass(frame, header, of: application, from: origin, to: destination)
    }

    /// There is no way, or all ways are meant. Here, so that the look costs other messages nothing.
    @inline(never)
    private func forwardElsewhere(
        _ frame: Frame, _ header: RoutingHeader, of application: LocalApplication, from origin: RelayPort
    ) {
        if let route = application.routes[header.pairing] {
            fail(frame, header, of: application, route.failure, to: origin)
        } else if header.pairing == .zero, !header.wantsReply {
            let isOpen = ledger.isOpen(header.id, from: origin.party)
            broadcaster.broadcast(frame, header, application, isOpen: isOpen, from: origin)
        } else {
            fail(frame, header, of: application, .notPaired, to: origin)
        }
    }

    /// Passes on to the app on this device what came from a link that may send it.
    func forward(
        _ frame: Frame, _ header: RoutingHeader, toLocal application: LocalApplication?, from link: RelayPort
    ) {
        guard let application else {
            return fail(frame, header, of: nil, .notInstalled(on: link.side.role), to: link)
        }
        guard let destination = application.receiver else {
            return fail(frame, header, of: application, .notReachable(.counterpartAbsent), to: link)
        }
        pass(frame, header, of: application, from: link, to: destination)
    }

    private func pass(
        _ frame: Frame, _ header: RoutingHeader, of application: LocalApplication, from origin: RelayPort,
        to destination: RelayPort
    ) {
        if let failure = obstacle(header, to: destination) {
            return fail(frame, header, of: application, failure, to: origin)
        }
        if destination.mustWait { return wait(frame, header, of: application, from: origin, for: destination) }
        let endpoint = destination.endpoint
        guard endpoint.isWritable(frame.count) else {
            return shed(frame, header, of: application, from: origin, to: destination)
        }
        let endOffset = endpoint.acceptedBytes + UInt64(frame.count)
        let opening = open(header, of: application, from: origin, to: destination, endOffset)
        guard case .opened = opening else {
            return refuse(frame, header, of: application, opening, to: origin)
        }
        if !isSweepScheduled { scheduleSweep() }
        endpoint.send(frame)
        counts.forwarded.add()
        if trace != nil { traced(header, application, to: destination) }
        if !destination.isLink, endpoint.isCongested { destination.backpressure.hold(origin, scheduler) }
    }

    @inline(__always)
    private func open(
        _ header: RoutingHeader, of application: LocalApplication, from origin: RelayPort, to destination: RelayPort,
        _ endOffset: UInt64
    ) -> ForwardedRequests.Opening {
        ledger.open(
            OpenRequest(
                id: header.id, app: application.number, pairing: header.pairing, origin: origin.party,
                destination: destination.party, wantsReply: header.wantsReply,
                deadline: scheduler.now.adding(milliseconds: header.deadline), endOffset: endOffset))
    }

    /// The link takes no more for now: the message waits for its app's turn. Until it is written it has not left.
    @inline(never)
    private func wait(
        _ frame: Frame, _ header: RoutingHeader, of application: LocalApplication, from origin: RelayPort,
        for link: RelayPort
    ) {
        guard link.hasRoom(for: frame.count, from: origin) else {
            return shed(frame, header, of: application, from: origin, to: link)
        }
        let opening = open(header, of: application, from: origin, to: link, OpenRequest.unwritten)
        guard case .opened = opening else { return refuse(frame, header, of: application, opening, to: origin) }
        if !isSweepScheduled { scheduleSweep() }
        frame.bytes.withBytes { link.wait($0, header.id, .request, from: origin) }
        counts.forwarded.add()
        if trace != nil { traced(header, application, to: link) }
    }

    /// A message that waited is in its link's queue.
    func wrote(_ id: UniqueIdentifier, to link: RelayPort) {
        ledger.wrote(id, to: link.party, endOffset: link.endpoint.acceptedBytes)
    }

    func broadcastNeverLeft(_ id: UniqueIdentifier, of number: ApplicationNumber, to link: RelayPort) {
        broadcaster.neverLeft(id, app(number), to: link)
    }

    private func obstacle(_ header: RoutingHeader, to destination: RelayPort) -> RelayFailure? {
        if isStopping { return .notReachable(.stopping) }
        guard destination.takes(header.needs) else { return .unsupportedKind }
        return header.oversize
    }

    // Not inlined, here and above: what only failures need would be copied beforehand on the way of every frame.

    @inline(never)
    private func refuse(
        _ frame: Frame, _ header: RoutingHeader, of application: LocalApplication, _ opening: ForwardedRequests.Opening,
        to origin: RelayPort
    ) {
        let failure: RelayFailure = opening == .tooMany ? .tooManyRequests : .duplicateIdentifier
        fail(frame, header, of: application, failure, to: origin)
    }

    @inline(never)
    private func shed(
        _ frame: Frame, _ header: RoutingHeader, of application: LocalApplication, from origin: RelayPort,
        to destination: RelayPort
    ) {
        counts.shed.add()
        fail(frame, header, of: application, .slowConsumer, to: origin)
        destination.endpoint.overflowed()
    }

    /// - Parameter application: nil if the app that the frame names is not known here.
    @inline(never)
    private func fail(
        _ frame: Frame, _ header: RoutingHeader, of application: LocalApplication?, _ failure: RelayFailure,
        to origin: RelayPort
    ) {
        guard let app = application?.app ?? (try? Envelope(reading: frame).required(.app)) else { return }
        let failure = first(failure, against: header, from: origin)
        if trace != nil { traced(header, failure, app, to: origin) }
        origin.fail(Message(app: app, pairing: header.pairing, id: header.id), failure)
    }

    /// The failure that SES-13 puts first. Here and not before a message is passed on, so that one that goes pays
    /// nothing for the order.
    private func first(_ failure: RelayFailure, against header: RoutingHeader, from origin: RelayPort) -> RelayFailure {
        switch failure {
        case .notReachable, .tooLarge:
            if ledger.isOpen(header.id, from: origin.party) { return .duplicateIdentifier }
            return header.oversize ?? failure
        default: return failure
        }
    }

    // MARK: answers

    /// Passes an answer to its caller. Only the connection that was asked may answer, and only once (SES-9, SES-10);
    /// everything else is counted and dropped.
    /// - Parameter application: the app that the frame names; nil if it is none of this device's.
    func answer(_ frame: Frame, _ header: RoutingHeader, of application: LocalApplication?, from port: RelayPort) {
        let answered = ledger.answered(header.id, by: port.party, isReply: header.isReply)
        guard let request = answered else { return stray(frame, header, of: application, from: port) }
        if let failure = fault(of: header, from: application, to: request) {
            fail(request, failure)
        } else if let caller = self.port(request.origin) {
            if caller.deliver(frame, from: port) {
                counts.answered.add()
                if trace != nil { traced(header, request, to: caller) }
            } else {
                // The handler has run: nothing may say that it can run again (SES-11).
                fail(request, .linkLost)
            }
        }
        checkIdle()
    }

    @inline(never)
    private func stray(_ frame: Frame, _ header: RoutingHeader, of application: LocalApplication?, from port: RelayPort)
    {
        if !broadcaster.failed(frame, header, of: application, by: port) { counts.stray.add() }
    }

    @inline(__always)
    private func fault(
        of answer: RoutingHeader, from application: LocalApplication?, to request: OpenRequest
    ) -> RelayFailure? {
        guard application?.number == request.app, answer.pairing == request.pairing else { return .mismatchedAnswer }
        guard answer.size > Limits.messageBody else { return nil }
        return .replyTooLarge(actual: answer.size, limit: Limits.messageBody)
    }

    /// Requests whose answer will not come (SES-11).
    private func fail(_ owed: [OpenRequest], of port: RelayPort) {
        let departed = port.endpoint.departedBytes
        for request in owed {
            switch port.source {
            case .application: if request.wantsReply { fail(request, .counterpartGone) }
            // The link still sends what is in its queue: of messages without reply only those fail that waited for it.
            case .link where port.side.pairings[request.pairing] == nil:
                if request.wantsReply || !request.isWritten { fail(request, .notPaired) }
            case .link where request.endOffset > departed: fail(request, .notReachable(.noLink))
            case .link: if request.wantsReply { fail(request, .linkLost) }
            }
        }
        checkIdle()
    }

    private func fail(_ request: OpenRequest, _ failure: RelayFailure) {
        guard let caller = port(request.origin) else { return }
        if trace != nil { traced(request, failure) }
        caller.fail(Message(app: app(request.app), pairing: request.pairing, id: request.id), failure)
    }

    /// Forgets requests whose caller has stopped waiting: coarse, because the caller's own timer is the exact one.
    private func scheduleSweep() {
        isSweepScheduled = true
        // Not weakly: a weak reference would make each later use of the forwarder slower.
        scheduler.schedule(after: .seconds(1)) { [self] in sweep() }
    }

    private func sweep() {
        isSweepScheduled = false
        counts.expired.add(UInt64(ledger.expire(now: scheduler.now)))
        checkIdle()
        if ledger.count > 0 { scheduleSweep() }
    }

    // MARK: stopping

    /// The requests that still wait for an answer.
    var openRequestCount: Int { ledger.waitingCount }

    /// Forwards no new message from now on (SES-18); calls back once: when no request is open any longer, at once if
    /// none is, or when the time is over.
    func stop(within time: Duration, whenIdle: @escaping () -> Void) {
        broadcaster.stop()
        isStopping = true
        self.whenIdle = whenIdle
        stopTimer = scheduler.schedule(after: time) { [weak self] in self?.becomeIdle() }
        checkIdle()
    }

    private func checkIdle() {
        if isStopping, ledger.waitingCount == 0 { becomeIdle() }
    }

    private func becomeIdle() {
        guard let whenIdle else { return }
        self.whenIdle = nil
        if let stopTimer { scheduler.cancel(stopTimer) }
        for port in parties { port?.handOverAll() }
        whenIdle()
    }

    // MARK: trace (CTL-20)

    // Never inlined, so that untraced messages pay for a look at one word and nothing else.

    /// A message was passed on.
    @inline(never)
    private func traced(_ header: RoutingHeader, _ application: LocalApplication, to destination: RelayPort) {
        let (sent, delivered) = (destination.isLink, !destination.isLink)
        trace?.note(
            TraceEvent(
                delivered ? .delivered : .sent, id: header.id, pairing: header.pairing, app: application.app,
                isOutbound: sent))
    }

    /// A message could not be passed on.
    @inline(never)
    private func traced(
        _ header: RoutingHeader, _ failure: RelayFailure, _ app: ApplicationIdentifier, to origin: RelayPort
    ) {
        trace?.note(
            TraceEvent(
                .failed, id: header.id, pairing: header.pairing, app: app, isOutbound: !origin.isLink,
                detail: failure.error.name))
    }

    /// A reply or failure was passed back.
    @inline(never)
    private func traced(_ header: RoutingHeader, _ request: OpenRequest, to caller: RelayPort) {
        trace?.note(
            TraceEvent(
                header.isReply ? .answered : .failed, id: header.id, pairing: header.pairing,
                app: app(request.app), isOutbound: !caller.isLink))
    }

    /// An open request will have no answer.
    @inline(never)
    private func traced(_ request: OpenRequest, _ failure: RelayFailure) {
        trace?.note(
            TraceEvent(
                .failed, id: request.id, pairing: request.pairing, app: app(request.app),
                isOutbound: port(request.origin)?.isLink == false, detail: failure.error.name))
    }
}

/// The relay's counters, looked up once.
struct RelayCounters {
    let forwarded: Counter
    let answered: Counter
    let failed: Counter
    let stray: Counter
    let shed: Counter
    let expired: Counter

    init(_ counters: Counters) {
        forwarded = counters.counter("relay.forwarded")
        answered = counters.counter("relay.answered")
        failed = counters.counter("relay.failed")
        stray = counters.counter("relay.stray")
        shed = counters.counter("relay.shed")
        expired = counters.counter("relay.expired")
    }
}
