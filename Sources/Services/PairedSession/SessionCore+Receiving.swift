// Frames from the daemon. What does not fit the phase, or is not for this application, is the daemon's fault and ends
// the connection with a named refusal; it is never guessed at.

import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemWire

extension SessionCore {
    func received(_ envelope: Envelope) throws(WireError) {
        if let app = envelope.app, app != settings.application {
            return refuse(Refusal(.notYours, "this session is another application's"))
        }
        switch envelope.kind {
        case .hello: try greeted(Hello(body: envelope.dictionaryBody()))
        case .refusal: try refused(Refusal(envelope))
        case .registered:
            let answer = try RegistrationAnswer(body: envelope.dictionaryBody(), now: scheduler.now)
            perform(machine.registered(answer))
        case .state:
            perform(machine.situationArrived(try Situation(body: envelope.dictionaryBody(), now: scheduler.now)))
        case .message, .messageData, .configuration: try messageArrived(envelope)
        case .reply, .failure: try answerArrived(envelope)
        case .ping: send(Envelope(.pong, id: envelope.id))
        case .pong: pongArrived(envelope.id)
        case .bye:
            isDaemonLeaving = true
            leaveWithDaemon()
        case .accepted, .progress, .delivery, .finished, .context, .answer: try itemArrived(envelope)
        case .register, .control, .result, .application, .item, .gap, .stored, .outcome, .settled, .chunk, .want,
            .submit, .verdict, .heard, .query, .join, .joined:
            refuse(Refusal(.unexpected, "\(envelope.kind.rawValue) is not sent to host apps"))
        }
    }

    private func greeted(_ hello: Hello) {
        guard machine.phase == .greeting else { return refuse(Refusal(.unexpected, "hello is sent once")) }
        let own = HelloOffer(capabilities: Set(Capability.allCases))
        guard case .chosen(let version) = hello.versions,
            (try? HelloNegotiation(own: own).accept(version: version, capabilities: Set(hello.capabilities))) != nil
        else { return refuse(Refusal(.version)) }
        takesTopics = hello.capabilities.contains(.topic)
        perform(machine.greeted())
    }

    private func refused(_ refusal: Refusal) {
        guard let name = refusal.name else { return lost() }
        lastRefusalText = refusal.text
        perform(machine.refused(name, now: scheduler.now, random: random()))
    }

    // MARK: messages

    /// Adds a receiver of all messages, called on the scheduler, in order; it decides later what becomes of each.
    /// - Parameters:
    ///   - pairing: only those of this pairing.
    ///   - topic: only those of this topic.
    package func receive(
        pairing: UniqueIdentifier? = nil, topic: String? = nil, _ take: @escaping (ReceivedMessage) -> Void
    ) {
        _ = inbox.add(Inbox.Interest(pairing: pairing, topic: topic), now: scheduler.now, take: take)
        watchInbox()
    }

    private func arrived(_ message: ReceivedMessage) {
        inbox.arrived(message, now: scheduler.now)
        watchInbox()
    }

    /// Lets what nobody takes wait no longer than it may (SES-34).
    func watchInbox() {
        guard let due = inbox.nextExpiry else { return }
        if let inboxTimer {
            if inboxTimer.due <= due { return }
            scheduler.cancel(inboxTimer.timer)
        }
        let timer = scheduler.schedule(after: due.since(scheduler.now)) { [weak self] in
            guard let self else { return }
            inboxTimer = nil
            inbox.expire(now: scheduler.now)
            watchInbox()
        }
        inboxTimer = (due, timer)
    }

    private func messageArrived(_ envelope: Envelope) throws(WireError) {
        guard machine.phase == .active, let pairing = envelope.pairing, let id = envelope.id, let body = envelope.body
        else { return refuse(Refusal(.unexpected, "a message before registered")) }
        let isConfiguration = envelope.kind == .configuration
        let token = replyToken(for: envelope, id: id, pairing: pairing)
        let content: ReceivedMessage.Content
        if envelope.kind == .messageData {
            content = .data(Array(body))
        } else {
            guard let dictionary = try? PropertyListReader.readDictionary(body) else {
                return _ = token.answer(.failure(.malformedMessage))
            }
            guard isConfiguration || !dictionary.hasReservedKey else {
                return _ = token.answer(.failure(.reservedKey))
            }
            content = .dictionary(dictionary)
        }
        arrived(
            ReceivedMessage(
                id: id, pairing: pairing, content: content, topic: envelope.topic, peer: peer(of: pairing),
                isConfiguration: isConfiguration,
                deadline: envelope.deadline, wantsReply: envelope.wantsReply, token: token))
    }

    /// The way back for one message: good for this connection only.
    private func replyToken(for envelope: Envelope, id: UniqueIdentifier, pairing: UniqueIdentifier) -> ReplyToken {
        let core = LoopBound(self, to: scheduler)
        let asked = LoopBound(channel, to: scheduler)
        let scheduler = scheduler
        return ReplyToken(wantsReply: envelope.wantsReply, topic: envelope.topic) { answer in
            scheduler.submit {
                guard let channel = asked.value, channel === core.value.channel else { return }
                core.value.send(answer, to: id, pairing: pairing)
            }
        }
    }

    private func send(_ answer: MessageAnswer, to id: UniqueIdentifier, pairing: UniqueIdentifier) {
        switch answer {
        case .reply(let body):
            send(Envelope(.reply, app: settings.application, pairing: pairing, id: id, body: body))
        case .failure(let error):
            if let envelope = try? error.failure(app: settings.application, pairing: pairing, id: id) {
                send(envelope)
            }
        }
    }

    // MARK: answers

    /// A daemon that stops answers what it has taken before it closes (SES-18): who still waits lets it.
    private func leaveWithDaemon() {
        if isDaemonLeaving, replies.count == 0 { lost() }
    }

    private func answerArrived(_ envelope: Envelope) throws(WireError) {
        defer { leaveWithDaemon() }
        guard let pairing = envelope.pairing, let id = envelope.id else { return }
        if envelope.kind == .failure, envelope.channel != nil {
            guard transfers[id]?.phase == .submitted else { return }
            return submissionFailed(id, (try? SessionError(failure: envelope)) ?? .malformedMessage)
        }
        if envelope.kind == .failure, let broadcast = broadcasts[id] != nil ? id : broadcastParts[id] {
            return broadcastFailed(broadcast, pairing, try SessionError(failure: envelope))
        }
        if envelope.kind == .failure, let note = notes.answered(id, from: pairing) {
            return note(.failure(try SessionError(failure: envelope)))
        }
        guard let waiter = replies.answered(id, from: pairing) else { return counts.countLateReply() }
        guard envelope.kind == .failure else { return waiter(.success(Array(envelope.body ?? []))) }
        waiter(.failure((try? SessionError(failure: envelope)) ?? .malformedMessage))
    }
}

extension SessionError {
    fileprivate static var malformedMessage: SessionError {
        SessionError(
            .deliveryFailed, name: "malformed", reason: "the body is not a property list of the strict profile")
    }

    fileprivate static var reservedKey: SessionError {
        SessionError(
            .deliveryFailed, name: "reserved-key", reason: "top-level keys that start with 'tandem.' are reserved")
    }
}
