// Messages on their way out. Each gets exactly one completion: at once if it must not leave (SES-13), else by its
// answer, its deadline or the loss of its way. While the daemon does not read, messages wait here, where a deadline
// still finds them, and not in the connection's queue.

package import TandemBase
import TandemReactor
import TandemSession
import TandemTransport
package import TandemWire

/// Completes one message.
package typealias ReplyWaiter = (Result<[UInt8], SessionError>) -> Void

/// One message to send.
package struct OutgoingMessage {
    package let id: UniqueIdentifier
    /// nil: the active pairing at the moment of sending.
    package let pairing: UniqueIdentifier?
    package let content: OutgoingContent
    package let timeout: Duration
    /// With a reply: called exactly once. Without: success when it was given to the daemon, else one failure.
    package let completion: ReplyWaiter
    /// Only without a reply: a failure that came back later, at most once.
    package let laterFailure: ((SessionError) -> Void)?
    package let wantsReply: Bool

    /// A message whose reply completes it.
    package init(
        id: UniqueIdentifier = .random(), to pairing: UniqueIdentifier?, _ content: OutgoingContent,
        timeout: Duration = Limits.standardDeadline, reply: @escaping ReplyWaiter
    ) {
        self.init(id, pairing, content, timeout, reply, nil, true)
    }

    /// A message without reply.
    package init(
        id: UniqueIdentifier = .random(), noteTo pairing: UniqueIdentifier?, _ content: OutgoingContent,
        given: @escaping ReplyWaiter, laterFailure: ((SessionError) -> Void)? = nil
    ) {
        self.init(id, pairing, content, Limits.standardDeadline, given, laterFailure, false)
    }

    private init(
        _ id: UniqueIdentifier, _ pairing: UniqueIdentifier?, _ content: OutgoingContent, _ timeout: Duration,
        _ completion: @escaping ReplyWaiter, _ laterFailure: ((SessionError) -> Void)?, _ wantsReply: Bool
    ) {
        self.id = id
        self.pairing = pairing
        self.content = content
        self.timeout = timeout
        self.completion = completion
        self.laterFailure = laterFailure
        self.wantsReply = wantsReply
    }
}

extension OutgoingMessage {
    /// The same message, whose errors say which message and which device they are about.
    fileprivate func explained(peer: UniqueIdentifier?) -> OutgoingMessage {
        let (id, completion, laterFailure) = (id, completion, laterFailure)
        return OutgoingMessage(
            id, pairing, content, timeout, { completion($0.mapError { $0.about(message: id, peer: peer) }) },
            laterFailure.map { later in { later($0.about(message: id, peer: peer)) } }, wantsReply)
    }
}

/// A frame that waits for the daemon to read.
struct Outgoing {
    let id: UniqueIdentifier
    /// Whose switch ends it; nil for what is bound to a pairing.
    var follows: UniqueIdentifier?
    var frame: Frame
    let wantsReply: Bool
    let given: ReplyWaiter?
}

extension SessionCore {
    package func send(_ message: OutgoingMessage) {
        let message = message.explained(peer: peer(of: message.pairing))
        var content = message.content
        if !Limits.deadline.contains(message.timeout) { content.badArgument = .timeout }
        var check = SendCheck(
            activation: machine.activation(of: message.pairing), counterpart: machine.counterpart(of: message.pairing),
            badArgument: content.badArgument, unsupportedKeyPath: content.unsupportedKeyPath,
            bodySize: content.body.count, bodyLimit: Limits.messageBody)
        check.isSupported = machine.isSupported
        if let refusal = check.refusal {
            return message.completion(.failure(SessionError(refusal, messageID: message.id)))
        }
        guard content.topic == nil || takesTopics else {
            return message.completion(.failure(.noTopics(message.id)))
        }
        guard let pairing = machine.situation?.pairing(message.pairing)?.pairing,
            let frame = try? frame(message, to: pairing)
        else { return message.completion(.failure(SessionError(.notPaired, messageID: message.id))) }
        guard remember(message, pairing) else {
            return message.completion(.failure(.tooManyRequests(message.id)))
        }
        put(
            Outgoing(
                id: message.id, follows: message.pairing == nil ? pairing : nil, frame: frame,
                wantsReply: message.wantsReply,
                given: message.wantsReply ? nil : message.completion))
    }

    /// The caller gives up: its request completes now, and an answer that still comes is dropped.
    package func abandon(_ id: UniqueIdentifier) {
        replies.abandoned(id)?(.failure(.cancelled(id)))
    }

    private func frame(_ message: OutgoingMessage, to pairing: UniqueIdentifier) throws(WireError) -> Frame {
        try Envelope(
            message.content.kind, app: settings.application, pairing: pairing, id: message.id,
            reply: message.wantsReply, deadline: message.timeout, topic: message.content.topic,
            body: message.content.body
        ).frame()
    }

    /// False if too much waits already. Of messages without reply the surplus is not remembered: its failure cannot be
    /// told any more.
    private func remember(_ message: OutgoingMessage, _ pairing: UniqueIdentifier) -> Bool {
        let deadline = scheduler.now + message.timeout
        watch(deadline: deadline)
        if message.wantsReply {
            return replies.open(
                message.id, to: pairing, deadline: deadline, followsActive: message.pairing == nil,
                token: message.completion)
        }
        let counts = counts
        let laterFailure = message.laterFailure ?? { _ in counts.countUnheardFailure() }
        let waiter: ReplyWaiter = { if case .failure(let error) = $0 { laterFailure(error) } }
        _ = notes.open(message.id, to: pairing, deadline: deadline, token: waiter)
        return true
    }

    // MARK: the outbox

    func put(_ outgoing: Outgoing) {
        guard let channel, !channel.isCongested, outbox.isEmpty else { return outbox.append(outgoing) }
        give(outgoing)
    }

    func drainOutbox() {
        let waiting = outbox
        outbox = []
        for outgoing in waiting { put(shortened(outgoing)) }
    }

    /// What has waited here tells the receiver the time that its sender still waits.
    private func shortened(_ outgoing: Outgoing) -> Outgoing {
        guard outgoing.wantsReply, let deadline = replies.deadline(of: outgoing.id), deadline > scheduler.now,
            var envelope = try? Envelope(reading: outgoing.frame)
        else { return outgoing }
        var outgoing = outgoing
        envelope.deadline = max(deadline.since(scheduler.now), Limits.deadline.lowerBound)
        if let frame = try? envelope.frame() { outgoing.frame = frame }
        return outgoing
    }

    private func give(_ outgoing: Outgoing) {
        guard !outgoing.wantsReply || replies.contains(outgoing.id) else { return }  // its deadline came first
        channel?.send(outgoing.frame)
        outgoing.given?(.success([]))
    }

    // MARK: ends without an answer

    /// Completes what waits for one pairing, or all of it.
    func fail(to pairing: UniqueIdentifier?, _ loss: ClientSession.RequestLoss) {
        let error = SessionError(loss, messageID: nil)
        // A lost daemon is dialled again, and what it has not accepted is submitted again.
        if loss == .ended || loss == .unpaired { failTransfers(to: pairing, error) }
        let waiters: [ReplyWaiter]
        if let pairing {
            waiters = loss == .switched ? lostBySwitch(from: pairing) : lost(pairing)
        } else {
            for waiter in questions.closedAll() { waiter(.failure(error)) }
            waiters = replies.closedAll() + notes.closedAll() + outbox.compactMap(\.given)
            outbox = []
            failBroadcasts(error)
        }
        for waiter in waiters { waiter(.failure(error)) }
    }

    private func lost(_ pairing: UniqueIdentifier) -> [ReplyWaiter] {
        let error = SessionError(.unpaired, messageID: nil)
        for waiter in questions.closed(pairing: pairing) { waiter(.failure(error)) }
        return replies.closed(pairing: pairing) + notes.closed(pairing: pairing)
    }

    /// What the default session asked, and what it has not even given to the daemon. Messages without reply that have
    /// left did not fail.
    private func lostBySwitch(from pairing: UniqueIdentifier) -> [ReplyWaiter] {
        let ungiven = outbox.filter { $0.follows == pairing }
        outbox.removeAll { $0.follows == pairing }
        for outgoing in ungiven { _ = notes.abandoned(outgoing.id) }
        return replies.left(pairing: pairing) + ungiven.compactMap(\.given)
    }

    /// Completes what has reached its deadline.
    func expire() {
        _ = notes.expired(now: scheduler.now)
        expireBroadcasts()
        let late = replies.expired(now: scheduler.now)
        for waiter in questions.expired(now: scheduler.now) { waiter(.failure(.timedOut(nil))) }
        if let next = [replies.nextDeadline, notes.nextDeadline, questions.nextDeadline, nextBroadcastDeadline]
            .compactMap(\.self).min()
        {
            watch(deadline: next)
        }
        for waiter in late { waiter(.failure(.timedOut(nil))) }
    }
}
