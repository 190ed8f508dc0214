// The control commands about dead letters (CTL-16): items that failed too often and are kept until an operator decides.

import TandemBase
import TandemDelivery
import TandemPropertyList
import TandemReactor
import TandemWire

extension Node {
    /// What an operator does with dead letters.
    enum DeadLetterAction {
        case retry
        case drop
    }

    func deadLetters(_ body: BodyFields, _ completion: @escaping Answering) throws(WireError) {
        let app = try body.optionalApplication("app")
        let letters = exchange.deadLetters().filter { app == nil || $0.queue.app == app }
        completion(.done(["letters": .array(letters.map { .dictionary($0.body) })]))
    }

    /// `id` names one, `all` means all, of an app if there is one.
    func settle(_ body: BodyFields, _ action: DeadLetterAction, _ completion: @escaping Answering) throws(WireError) {
        let (app, id) = (try body.optionalApplication("app"), try body.optionalIdentifier("id"))
        let all = try body.boolean("all", absent: false)
        guard id != nil || all else {
            throw .invalidValue(key: "id", expected: "an identifier, or 'all'")
        }
        let letters = exchange.deadLetters().filter { letter in
            (app == nil || letter.queue.app == app) && (id == nil || letter.id == id)
        }
        guard !letters.isEmpty || id == nil else {
            return completion(.failed(.notFound, text: "no dead letter has this identifier"))
        }
        settle(letters[...], action, 0, completion)
    }

    /// One after the other, each durable before the next.
    private func settle(
        _ letters: ArraySlice<DeadLetter>, _ action: DeadLetterAction, _ count: Int, _ completion: @escaping Answering
    ) {
        guard let letter = letters.first else { return completion(.done(["count": .integer(Int64(count))])) }
        let next = { [self] (isDone: Bool) in settle(letters.dropFirst(), action, count + (isDone ? 1 : 0), completion)
        }
        switch action {
        case .retry: exchange.retryDeadLetter(letter.ordinal, in: letter.queue, letter.direction, then: next)
        case .drop: exchange.dropDeadLetter(letter.ordinal, in: letter.queue, letter.direction, then: next)
        }
    }
}

extension DeadLetter {
    fileprivate var body: PropertyListDictionary {
        var body: PropertyListDictionary = [
            "pairing": .data(queue.pairing.bytes), "app": .string(queue.app.description),
            "channel": .string(queue.channel.rawValue), "direction": .string(direction == .outbound ? "out" : "in"),
            "attempts": .integer(Int64(attempts)), "size": .integer(Int64(size)),
        ]
        body["id"] = id.map { .data($0.bytes) }
        body["topic"] = topic.map { .string($0) }
        body["code"] = refusal.map { .integer($0.code) }
        body["refusal"] = refusal?.name.map { .string($0) }
        return body
    }
}

extension BodyFields {
    fileprivate func optionalApplication(_ key: String) throws(WireError) -> ApplicationIdentifier? {
        try optional(key, "an application identifier") { value in
            value.stringValue.flatMap { try? ApplicationIdentifier($0) }
        }
    }
}
