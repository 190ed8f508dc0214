// Interactive messages: each gets exactly one of reply and error.

import PairedSession
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemWire

enum MessageCases {
    static let all = [answered, dataAnswered, noHandler, dropped, late, replyAfterLeaving, order, unreachable]

    private static let answered = Case("SES-9", "a message is answered by the counterpart's handler, both ways") {
        stage in
        let (primary, secondary) = try stage.pair()
        for (sender, receiver) in [(primary, secondary), (secondary, primary)] {
            receiver.receive { message in
                try? message.reply(["twice": .integer((message.number ?? 0) * 2)])
                return false
            }
            let answer = sender.send(["n": 21])
            try stage.wait("an answer") { answer.value != nil }
            try demand(answer.value?.dictionary == ["twice": 42], "the handler's answer: \(answer.values)")
            try demand(receiver.messages.map(\.number) == [21], "one message: \(receiver.messages)")
        }
    }

    private static let dataAnswered = Case("SES-9", "data is answered with data, byte for byte") { stage in
        let (primary, secondary) = try stage.pair()
        secondary.receive { message in
            try? message.reply(data: Array((message.data ?? []).reversed()))
            return false
        }
        for size in [0, 1, 4096, 65_536] {
            let data = stage.generator.bytes(size)
            let answer = primary.send(data: data)
            try stage.wait("an answer to \(size) bytes") { answer.value != nil }
            try demand(try answer.value?.get() == data.reversed(), "\(size) bytes come back")
        }
    }

    private static let noHandler = Case(
        "SES-12", "a message that no handler there takes is 7014 'unhandled' for its sender, before its deadline"
    ) {
        stage in
        let (primary, secondary) = try stage.pair()
        secondary.receive()
        let answer = primary.send(["n": 1])
        // Before its deadline, and when the app has had time for its handlers (LIM-33).
        try stage.wait("an answer", within: .seconds(29), pauses: Limits.startingTime) { answer.value != nil }
        let error = answer.value?.error
        try demand(error?.code == .deliveryFailed && error?.name == "unhandled", "7014: \(answer.values)")
    }

    private static let dropped = Case(
        "SES-12", "a reply that is dropped is 7011 'reply-dropped' for its sender, before its deadline"
    ) { stage in
        let (primary, secondary) = try stage.pair()
        secondary.receive { message in
            message.claim()
            return false
        }
        let answer = primary.send(["n": 1])
        try stage.wait("an answer", within: .seconds(29)) { answer.value != nil }
        let error = answer.value?.error
        try demand(error?.code == .messageReplyFailed && error?.name == "reply-dropped", "7011: \(answer.values)")
    }

    private static let late = Case("SES-9", "a message that nobody answers is 7012 at its deadline, once") { stage in
        let (primary, secondary) = try stage.pair()
        secondary.receive { _ in true }
        let start = stage.world.now
        let answer = primary.send(["n": 1], timeout: .seconds(2))
        try stage.wait("an answer", pauses: .seconds(2)) { answer.value != nil }
        try demand(answer.value?.error?.code == .messageReplyTimedOut, "7012: \(answer.values)")
        try demand(stage.world.now.since(start) >= .milliseconds(1990), "not before its deadline")
        secondary.dropKept()
        stage.pass(.milliseconds(200))
        try demand(answer.values.count == 1, "once: \(answer.values)")
    }

    private static let replyAfterLeaving = Case(
        "SES-11", "when the counterpart leaves, its open requests fail", needs: [.killApps]
    ) {
        stage in
        let (primary, secondary) = try stage.pair()
        secondary.receive { _ in true }
        let answer = primary.send(["n": 1])
        try stage.wait("the message is there") { secondary.messages.count == 1 }
        stage.world.end(secondary, .killed)
        try stage.wait("an answer", within: .seconds(29)) { answer.value != nil }
        try demand(answer.value?.error?.code == .messageReplyFailed, "7011: \(answer.values)")
        try stage.wait("the loss is seen") { !primary.isReachable }
        let next = primary.send(["n": 2])
        try stage.wait("an answer") { next.value != nil }
        try demand(next.value?.error?.code == .notReachable, "7007: \(next.values)")
    }

    private static let order = Case(
        "SES-14", "messages arrive in the order of their sending, and each request gets its own reply"
    ) { stage in
        let (primary, secondary) = try stage.pair()
        secondary.receive { message in
            if message.wantsReply { try? message.reply(["n": .integer(message.number ?? -1)]) }
            return false
        }
        var told: [Later<Result<[UInt8], SessionError>>] = []
        var requests: [(message: PropertyListDictionary, answer: Later<Result<[UInt8], SessionError>>)] = []
        for number in 0..<200 {
            let message: PropertyListDictionary = ["n": .integer(Int64(number))]
            if Bool.random(using: &stage.generator) {
                requests.append((message, primary.send(message)))
            } else {
                told.append(primary.tell(message))
            }
        }
        try stage.wait("all are there") {
            secondary.messages.count == 200 && told.allSatisfy { $0.value != nil }
                && requests.allSatisfy { $0.answer.value != nil }
        }
        try demand(secondary.messages.map(\.number) == (0..<200).map { Int64($0) }, "in order")
        for request in requests {
            try demand(
                request.answer.value?.dictionary == request.message, "\(request.message): \(request.answer.values)")
        }
    }

    private static let unreachable = Case(
        "SES-13", "without a link a message is 7007, and goes again when it is back", needs: [.cut]
    ) { stage in
        let (primary, secondary) = try stage.pair()
        secondary.receive { message in
            try? message.reply([:])
            return false
        }
        try stage.unlink(primary)
        let lost = primary.send(["n": 1])
        try stage.wait("an answer") { lost.value != nil }
        try demand(lost.value?.error?.code == .notReachable, "7007: \(lost.values)")
        stage.relink()
        try stage.wait("the link is back") { primary.isReachable && secondary.isReachable }
        let answer = primary.send(["n": 2])
        try stage.wait("an answer") { answer.value != nil }
        try demand(answer.value?.isSuccess == true, "answered: \(answer.values)")
    }
}
