// Messages on their way out. Each gets exactly one completion: at once if it must not leave (SES-13), else by its
// answer, its deadline or the loss of its way. While the daemon does not read, messages wait here, where a deadline
// still finds them, and not in the connection's queue.

package import TandemIdentity
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

/// A frame that waits for the daemon to read.
struct Outgoing {
    let id: UniqueIdentifier
    let frame: Frame
    let wantsReply: Bool
    let given: ReplyWaiter?
}

extension SessionCore {
    package func send(_ message: OutgoingMessage) {
        var content = message.content
        if !Limits.deadline.contains(message.timeout) { content.badArgument = .timeout }
        let check = SendCheck(
            activation: machine.activation, counterpart: machine.counterpart(of: message.pairing),
            badArgument: content.badArgument, unsupportedKeyPath: content.unsupportedKeyPath,
            bodySize: content.body.count, bodyLimit: Limits.messageBody)
        if let refusal = check.refusal {
            return message.completion(.failure(SessionError(refusal, messageID: message.id)))
        }
        guard let pairing = machine.situation?.pairing(message.pairing)?.pairing,
            let frame = try? frame(message, to: pairing)
        else { return message.completion(.failure(SessionError(.notPaired, messageID: message.id))) }
        guard remember(message, pairing) else {
            return message.completion(.failure(.tooManyRequests(message.id)))
        }
        put(
            Outgoing(
                id: message.id, frame: frame, wantsReply: message.wantsReply,
                given: message.wantsReply ? nil : message.completion))
    }

    /// The caller gives up: its request completes now, and an answer that still comes is dropped.
    package func abandon(_ id: UniqueIdentifier) {
        replies.abandoned(id)?(.failure(.cancelled(id)))
    }

    private func frame(_ message: OutgoingMessage, to pairing: UniqueIdentifier) throws(WireError) -> Frame {
        try Envelope(
            message.content.kind, app: settings.application, pairing: pairing, id: message.id,
            reply: message.wantsReply, deadline: message.timeout, body: message.content.body
        ).frame()
    }

    /// False if too much waits already. Of messages without reply the surplus is not remembered: its failure cannot be
    /// told any more.
    private func remember(_ message: OutgoingMessage, _ pairing: UniqueIdentifier) -> Bool {
        let deadline = scheduler.now + message.timeout
        watch(deadline: deadline)
        if message.wantsReply {
            return replies.open(message.id, to: pairing, deadline: deadline, token: message.completion)
        }
        guard let laterFailure = message.laterFailure else { return true }
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
        for outgoing in waiting { put(outgoing) }
    }

    private func give(_ outgoing: Outgoing) {
        guard !outgoing.wantsReply || replies.contains(outgoing.id) else { return }  // its deadline came first
        channel?.send(outgoing.frame)
        outgoing.given?(.success([]))
    }

    // MARK: ends without an answer

    /// Completes what waits for one pairing, or all of it.
    func fail(to pairing: UniqueIdentifier?, _ loss: ClientSession.RequestLoss) {
        let lostNotes = pairing.map { notes.closed(pairing: $0) } ?? notes.closedAll()
        let lostReplies = pairing.map { replies.closed(pairing: $0) } ?? replies.closedAll()
        let error = SessionError(loss, messageID: nil)
        // A lost daemon is dialled again, and what it has not accepted is submitted again.
        if loss == .ended || loss == .unpaired { failTransfers(to: pairing, error) }
        let lostQuestions = pairing.map { questions.closed(pairing: $0) } ?? questions.closedAll()
        for waiter in lostQuestions { waiter(.failure(error)) }
        let ungiven = pairing == nil ? outbox.compactMap(\.given) : []
        if pairing == nil {
            outbox = []
            failBroadcasts(error)
        }
        for waiter in lostReplies + lostNotes + ungiven { waiter(.failure(error)) }
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
