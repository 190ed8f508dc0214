// The `retry` of failures: whether the same call may succeed later. It is told, and it is true.

import TandemBase
import TandemPropertyList
import TandemTestSupport
import TandemWire

enum RetryCases {
    static let all = [noWay, pointless, counterpartGone, tooMany, passedOn]

    /// The promise of a failure that a retry makes sense, or its denial; nil if it says nothing.
    private static func retry(_ failure: Envelope) throws -> Bool? {
        guard let value = try failure.dictionaryBody()["retry"] else { return nil }
        guard let isWorthwhile = value.booleanValue else { throw Violation("'retry' is a boolean: \(value)") }
        return isWorthwhile
    }

    private static let noWay = Case(
        "SES-90", "a message without a way is a 7007 that does not rule out a retry, and one that follows arrives"
    ) { stage in
        let (primary, secondary) = try stage.rawPair()
        secondary.close()
        try stage.wait("the loss is seen") { try !primary.isReachable }
        let lost = try stage.request(.random())
        try primary.send(lost)
        let failure = try stage.failure(of: lost, at: primary)
        try demand(failure.code == 7007, "7007: \(failure.fault)")
        try demand(retry(failure) != false, "it may be tried again")
        let next = try stage.registered(at: .secondary(0))
        try stage.wait("the counterpart is back") { try primary.isReachable }
        let again = try stage.request(.random())
        try primary.send(again)
        try stage.wait("the message") { try !next.received(.message).isEmpty }
        try demand(next.only(.message).id == again.id, "the one that follows only")
    }

    private static let pointless = Case(
        "SES-90", "a failure that no retry cures promises none", needs: [.durable]
    ) { stage in
        let (primary, _) = try stage.rawPair()
        let open = try stage.request(.random())
        try primary.send(open)
        var stranger = try stage.request(.random())
        stranger.pairing = .random()
        var long = try stage.request(.random())
        long.body = ArraySlice(repeating: 0, count: Limits.messageBody + 1)
        var broken = try stage.submission(on: .userInfo)
        broken.body = [1, 2, 3]
        let expected: [(frame: Envelope, code: Int)] = [(open, 7008), (stranger, 7005), (long, 7009), (broken, 7008)]
        for (frame, code) in expected {
            try primary.send(frame)
            let failure = try stage.failure(of: frame, at: primary)
            try demand(failure.code == code, "\(code): \(failure.fault)")
            try demand(retry(failure) != true, "no promise: \(failure.fault)")
        }
    }

    private static let counterpartGone = Case(
        "SES-90", "a request whose counterpart leaves is a 7011 that may be tried again"
    ) { stage in
        let (primary, secondary) = try stage.rawPair()
        let request = try stage.request(.random())
        try primary.send(request)
        try stage.wait("the request") { try !secondary.received(.message).isEmpty }
        secondary.close()
        let failure = try stage.failure(of: request, at: primary)
        try demand(
            failure.code == 7011 && failure.name == "counterpart-disconnected",
            "7011 counterpart-disconnected: \(failure.fault)")
        try demand(retry(failure) == true, "it may be tried again")
    }

    private static let tooMany = Case(
        "LIM-7", "one open request too many is a 7001 that may be tried again, and is taken when another has its reply"
    ) { stage in
        let (primary, secondary) = try stage.rawPair()
        for _ in 0..<Limits.openRequests { try primary.send(stage.request(.random())) }
        let over = try stage.request(.random())
        try primary.send(over)
        let failure = try stage.failure(of: over, at: primary)
        try demand(
            failure.code == 7001 && failure.name == "too-many-requests", "7001 too-many-requests: \(failure.fault)")
        try demand(retry(failure) == true, "it may be tried again")
        try demand(primary.received(.failure).count == 1, "the others are open")
        try stage.wait("the requests") { try !secondary.received(.message).isEmpty }
        try secondary.reply(to: secondary.received(.message)[0])
        try stage.wait("a reply") { try !primary.received(.reply).isEmpty }
        let next = try stage.request(.random())
        try primary.send(next)
        try stage.expectAnswer(to: primary)
        try demand(primary.failures(of: next).isEmpty, "there is room for one")
    }

    private static let passedOn = Case(
        "FRM-12", "a failure of the counterpart's app reaches the sender with all that it says"
    ) { stage in
        let (primary, secondary) = try stage.rawPair()
        for mayRetry in [true, false] {
            let request = try stage.request(.random())
            try primary.send(request)
            try stage.wait("the request") { try secondary.received(.message).contains { $0.id == request.id } }
            let facts: PropertyListDictionary = [
                "text": "not now", "actual": 256, "limit": 256, "retry": .boolean(mayRetry),
            ]
            let answer = Envelope(
                .failure, app: request.app, pairing: request.pairing, id: request.id, code: 7014, name: "inbox-full")
            try secondary.send(answer.with(body: facts))
            let failure = try stage.failure(of: request, at: primary)
            try demand(failure.code == 7014 && failure.name == "inbox-full", "7014 inbox-full: \(failure.fault)")
            let told = try failure.dictionaryBody()
            try demand(told == facts, "what it was given: \(told)")
        }
    }
}
