// The control commands about durable items: draining the queues (CTL-14) and dead letters (CTL-16).

import TandemBase
import TandemDelivery
import TandemPropertyList
import TandemReactor
import TandemWire

/// `drain`: refuses new items and waits until the accepted ones have left. For a device that goes away for good or a
/// store that is moved. Messages are not affected: they are answered or fail at once anyway.
struct DrainCommand: ControlCommand {
    /// Between two looks at the queues.
    private static var interval: Duration { .milliseconds(100) }

    private let wait: Duration
    private let isEnd: Bool

    init(_ request: ControlRequest) throws(WireError) {
        wait = try request.fields.milliseconds("wait", absent: .zero)
        isEnd = try request.fields.boolean("end", absent: false)
    }

    func run(on node: Node) async -> PropertyListDictionary {
        node.delivery.submissions.isDraining = !isEnd
        var left = wait
        while left > .zero, node.delivery.submissions.isDraining,
            !node.delivery.pairings(where: { count, _, _ in count > 0 }).isEmpty
        {
            let pause = min(Self.interval, left)
            left = left - pause
            await node.loop.sleep(for: pause)
        }
        let queues = node.waitingQueues
        return [
            "drained": .boolean(queues.isEmpty), "draining": .boolean(node.delivery.submissions.isDraining),
            "queues": Node.describe(queues, node.pairings.uniqueNames),
        ]
    }
}

/// `dead-letters`: the items that failed too often and are kept until an operator decides.
struct DeadLettersCommand: ControlCommand {
    /// The most letters that an answer has room for: each takes 13 values, its dictionary and at least six keys with
    /// their values (LIM-12). Further ones are counted and not read.
    private static let limit = PropertyListLimits.standard.values / 13

    private let app: ApplicationIdentifier?

    init(_ request: ControlRequest) throws(WireError) { app = try request.fields.optionalApplication("app") }

    func run(on node: Node) -> PropertyListDictionary {
        let (letters, more) = node.delivery.deadLetters(of: app, atMost: Self.limit)
        let names = node.pairings.uniqueNames
        let rows = letters.map { PropertyListValue.dictionary($0.body(peerName: names[$0.queue.pairing])) }
        var body: PropertyListDictionary = ["letters": .array(rows)]
        if more > 0 { body[ControlAnswer.leftOut] = ["letters": .integer(Int64(more))] }
        return body
    }
}

/// `dead-letter-retry` sends or handles dead letters again, from the first attempt on; `dead-letter-drop` forgets them.
/// `id` names one, `all` means all, of an app if there is one.
struct DeadLetterActionCommand: ControlCommand {
    private let app: ApplicationIdentifier?
    private let id: UniqueIdentifier?
    private let action: DeadLetterAction

    init(_ request: ControlRequest) throws(WireError) {
        let fields = request.fields
        (app, id) = (try fields.optionalApplication("app"), try fields.optionalIdentifier("id"))
        let all = try fields.boolean("all", absent: false)
        guard id != nil || all else { throw .invalidValue(key: "id", expected: "an identifier, or 'all'") }
        action = request.command == ControlName.deadLetterDrop.rawValue ? .drop : .retry
    }

    /// Acts on one letter after the other, each durable before the next.
    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        let delivery = node.delivery
        let letters = delivery.deadLetters().filter { letter in
            (app == nil || letter.queue.app == app) && (id == nil || letter.id == id)
        }
        guard !letters.isEmpty || id == nil else {
            throw ControlFailure(.notFound, "no dead letter has this identifier")
        }
        var (count, outdated): (Int64, Int64) = (0, 0)
        for letter in letters {
            let result = await withUnsafeContinuation { continuation in
                delivery.act(action, on: letter.ordinal, in: letter.queue, letter.direction) {
                    continuation.resume(returning: $0)
                }
            }
            switch result {
            case .done: count += 1
            case .outdated: outdated += 1
            case .undone: break
            }
        }
        var answer: PropertyListDictionary = ["count": .integer(count)]
        if outdated > 0 { answer["outdated"] = .integer(outdated) }
        return answer
    }
}

extension DeadLetter {
    /// - Parameter peerName: the name of the other device, if no other one has it.
    fileprivate func body(peerName: String?) -> PropertyListDictionary {
        PropertyListDictionary(present: [
            "pairing": .data(queue.pairing.bytes), "app": .string(queue.app.description),
            "channel": .string(queue.channel.rawValue), "direction": .string(direction.rawValue),
            "attempts": .integer(Int64(attempts)), "size": .integer(Int64(size)),
            "peerName": peerName.map { .string($0) }, "id": id.map { .data($0.bytes) },
            "topic": topic.map { .string($0) }, "code": refusal.map { .integer($0.code) },
            "refusal": refusal?.name.map { .string($0) },
        ])
    }
}
