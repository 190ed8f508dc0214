// Lengths beyond a limit: of frames, bodies, texts and lists. A frame that is too long ends its connection; content
// that is too long fails by itself, and its connection goes on.

import TandemBase
import TandemPropertyList
import TandemTestSupport
import TandemWire

enum LengthCases {
    static let all = [headers, largestFrame, longMessage, padding, longReply, longItem, longDescription, longWord]

    private static let headers = Case(
        "FRM-2", "a length that no frame may have is refused as 'too-large', before any payload comes"
    ) { stage in
        for length in [0, UInt32(Limits.frame) + 1, UInt32.max] {
            let app = try stage.greeted(at: .primary)
            app.send(bytes: Bytes.bigEndian(length))
            try stage.expectRefusal("too-large", of: app)
        }
    }

    private static let largestFrame = Case("LIM-1", "a frame of the largest size is taken") { stage in
        let app = try stage.registered(at: .primary)
        func ping(_ count: Int) -> Envelope {
            var envelope = Envelope(.ping)
            envelope.extensions = ["x-fill": .data([UInt8](repeating: 0, count: count))]
            return envelope
        }
        let count = try filling(Limits.frame) { try ping($0).frame(limit: 2 * Limits.frame).payload.count }
        try app.send(ping(count))
        try stage.wait("a pong") { try !app.received(.pong).isEmpty }
    }

    private static let longMessage = Case(
        "LIM-2", "a message that is too large is 7009 with its size, and the largest one after it arrives"
    ) { stage in
        let (primary, secondary) = try stage.rawPair()
        for wantsReply in [true, false] {
            var message = try stage.data(Limits.messageBody + 1)
            message.reply = wantsReply
            try expectTooLarge(message, Limits.messageBody, by: primary, stage)
            var other = try stage.request(.random()).with(body: dictionary(Limits.messageBody + 1))
            other.reply = wantsReply
            try expectTooLarge(other, Limits.messageBody, by: primary, stage)
        }
        let largest = try stage.data(Limits.messageBody)
        try primary.send(largest)
        try stage.wait("the largest one") { try !secondary.received(.messageData).isEmpty }
        let message = try secondary.only(.messageData)
        try demand(message.id == largest.id && message.body == largest.body, "the largest one only, unchanged")
        try demand(secondary.received(.message).isEmpty, "nothing that is too large")
    }

    private static let padding = Case(
        "SES-68", "keys that nobody reads count as the body does where they are too long, and pass otherwise"
    ) { stage in
        let (primary, secondary) = try stage.rawPair()
        func message(_ count: Int) throws -> Envelope {
            var envelope = try stage.request(.random())
            envelope.extensions = ["x-fill": .data([UInt8](repeating: 7, count: count))]
            return envelope
        }
        let long = try message(2 * Limits.messageBody)
        try primary.send(long)
        let failure = try stage.failure(of: long, at: primary)
        let size = try failure.dictionaryBody()["actual"]?.integerValue ?? 0
        try demand(failure.code == 7009 && failure.name == "too-large", "7009 too-large: \(failure.fault)")
        try demand(size > Limits.messageBody && size <= 2 * Limits.messageBody, "a size without LIM-79: \(size)")
        let short = try message(10_000)
        try primary.send(short)
        try stage.wait("the shorter one") { try !secondary.received(.message).isEmpty }
        let passed = try secondary.only(.message)
        try demand(passed.id == short.id && passed.extensions == short.extensions, "the shorter one only, unchanged")
    }

    private static let longReply = Case(
        "SES-68", "a reply that is too large ends its request with 7011 and its size, and no connection"
    ) { stage in
        let (primary, secondary) = try stage.rawPair()
        for count in [Limits.messageBody + 1, Limits.messageBody] {
            let request = try stage.data(1)
            try primary.send(request)
            try stage.wait("the request") { try secondary.received(.messageData).contains { $0.id == request.id } }
            let body = [UInt8](repeating: 1, count: count)
            try secondary.send(
                Envelope(.reply, app: request.app, pairing: request.pairing, id: request.id, body: body))
            guard count > Limits.messageBody else { continue }
            let failure = try stage.failure(of: request, at: primary)
            try demand(
                failure.code == 7011 && failure.name == "reply-too-large", "7011 reply-too-large: \(failure.fault)")
            try expectSize(count, Limits.messageBody, in: failure)
        }
        try stage.wait("the largest one") { try !primary.received(.reply).isEmpty }
        try demand(primary.only(.reply).body?.count == Limits.messageBody, "the largest one only")
    }

    private static let longItem = Case(
        "LIM-2", "an item that is too large is 7009 with its size, and the largest one after it is accepted",
        needs: [.durable]
    ) { stage in
        let (primary, _) = try stage.rawPair()
        let limits: [(Channel, Int)] = [
            (.userInfo, Limits.userInfoBody), (.urgent, Limits.userInfoBody), (.context, Limits.contextBody),
            (.file, Limits.fileDescription),
        ]
        for (channel, limit) in limits {
            let long = try stage.submission(on: channel).with(body: dictionary(limit + 1))
            try expectTooLarge(long, limit, by: primary, stage)
            guard channel != .file else { continue }
            let count = try filling(limit) { try PropertyListWriter.write(dictionary($0)).count }
            let largest = try stage.submission(on: channel).with(body: dictionary(count))
            try primary.send(largest)
            try stage.wait("the largest one on \(channel)") {
                try primary.received(.accepted).contains { $0.id == largest.id }
            }
        }
        try demand(primary.received(.accepted).count == 3, "nothing that is too large is accepted")
    }

    private static let longDescription = Case(
        "SES-27", "texts and lists of a submission or a query that are too long fail by their names, and no connection",
        needs: [.durable]
    ) { stage in
        let (primary, _) = try stage.rawPair()
        let file: PropertyListDictionary = ["name": .string(text(Limits.fileName + 1)), "size": 1]
        var urgent = try stage.submission(on: .urgent).with(body: ["n": 1])
        urgent.name = text(Limits.shortText + 1)
        var (key, longest) = (try stage.submission(on: .userInfo), try stage.submission(on: .userInfo))
        key.body = dictionary(keyOf: 257)[...]
        longest.body = dictionary(keyOf: 256)[...]
        let expected: [(frame: Envelope, name: String)] = [
            (try stage.submission(on: .file).with(body: file), "malformed"), (urgent, "kind"), (key, "malformed"),
        ]
        for (frame, name) in expected {
            try primary.send(frame)
            let failure = try stage.failure(of: frame, at: primary)
            try demand(failure.code == 7008 && failure.name == name, "7008 \(name): \(failure.fault)")
            try demand(failure.channel == frame.channel, "its channel")
        }
        try primary.send(longest)
        try stage.wait("an item with the longest key") { try !primary.received(.accepted).isEmpty }
        try demand(primary.only(.accepted).id == longest.id, "that one only")
        let items = (0...Limits.pageItems).map { _ in PropertyListValue.data(UniqueIdentifier.random().bytes) }
        let query = Envelope(
            .query, app: urgent.app, pairing: urgent.pairing, id: .random(), channel: .userInfo, command: "subscribe")
        try primary.send(query.with(body: ["items": .array(items)]))
        try stage.wait("an answer") { try !primary.received(.answer).isEmpty }
        let answer = try primary.only(.answer)
        try demand(answer.code == 7008 && answer.name == "items", "7008 items: \(answer.fault)")
        try stage.expectAnswer(to: primary)
    }

    private static let longWord = Case(
        "SES-21", "a key of an envelope beyond its range is refused as 'envelope', and the longest text is not"
    ) { stage in
        let (primary, secondary) = try stage.rawPair()
        let message = try stage.request(.random()).fields
        let item = try stage.submission(on: .userInfo).with(body: ["n": 1]).fields
        let long = PropertyListValue.string(text(Limits.shortText + 1))
        var padded: PropertyListDictionary = ["kind": "ping"]
        for number in 0...Limits.extensions { padded["x-\(number)"] = 1 }
        let faulty: [PropertyListDictionary] = [
            message.with("topic", long), item.with("topic", long), item.with("key", long),
            message.with("deadline", .integer(Limits.deadlineMilliseconds + 1)), padded,
        ]
        for frame in faulty {
            let app = try stage.registered(at: .primary, receives: false)
            try app.send(frame)
            try stage.expectRefusal("envelope", of: app)
        }
        let app = try stage.greeted(at: .primary)
        let registration = try Envelope(.register).with(body: ["receives": false])
        try app.send([
            "kind": "register", "app": .string(text(129)), "body": .data(Array(registration.body ?? [])),
        ])
        try stage.expectRefusal("application", of: app)
        try primary.send(message.with("topic", .string(text(Limits.shortText))))
        try stage.wait("a message of the longest topic") { try !secondary.received(.message).isEmpty }
        try demand(secondary.only(.message).topic?.utf8.count == Limits.shortText, "its topic, unchanged")
    }

    // MARK: parts

    /// It fails with 7009, its size and the limit, and its connection goes on.
    private static func expectTooLarge(_ frame: Envelope, _ limit: Int, by app: RawApp, _ stage: Stage) throws {
        try app.send(frame)
        let failure = try stage.failure(of: frame, at: app)
        try demand(failure.code == 7009 && failure.name == "too-large", "7009 too-large: \(failure.fault)")
        try demand(failure.channel == frame.channel, "its channel")
        try expectSize(frame.body?.count ?? 0, limit, in: failure)
        try stage.expectAnswer(to: app)
    }

    private static func expectSize(_ size: Int, _ limit: Int, in failure: Envelope) throws {
        let body = try failure.dictionaryBody()
        try demand(
            body["actual"] == .integer(Int64(size)) && body["limit"] == .integer(Int64(limit)),
            "\(size) of \(limit): \(body)")
    }

    /// The count of filling bytes with which something is as large as its limit lets it be.
    /// - Parameter size: its size with that many.
    private static func filling(_ limit: Int, _ size: (Int) throws -> Int) rethrows -> Int {
        var count = limit
        while case let excess = try size(count) - limit, excess > 0 { count -= excess }
        while try size(count + 1) <= limit { count += 1 }
        return count
    }

    private static func text(_ count: Int) -> String { String(repeating: "a", count: count) }

    private static func dictionary(_ count: Int) -> PropertyListDictionary {
        ["fill": .data([UInt8](repeating: 7, count: count))]
    }

    /// The property list of a dictionary with one pair, whose key has that many bytes: the writer refuses a long one.
    private static func dictionary(keyOf count: Int) -> [UInt8] {
        func short(_ number: Int) -> [UInt8] { Array(Bytes.bigEndian(UInt32(number)).suffix(2)) }
        var bytes = Bytes.text("bplist00")
        // The dictionary, its key and its value, an integer.
        let offsets = [bytes.count, bytes.count + 3, bytes.count + 3 + 4 + count]
        bytes += [0xD1, 1, 2]
        bytes += [0x5F, 0x11] + short(count) + Bytes.text(text(count))
        bytes += [0x10, 1]
        let table = bytes.count
        for offset in offsets { bytes += short(offset) }
        // Offsets of two bytes, references of one; three objects, the first of them on top.
        bytes += [0, 0, 0, 0, 0, 0, 2, 1]
        for number in [3, 0, table] { bytes += Bytes.bigEndian(0) + Bytes.bigEndian(UInt32(number)) }
        return bytes
    }
}

extension Stage {
    /// A message of that many bytes that wants a reply.
    fileprivate func data(_ count: Int) throws -> Envelope {
        Envelope(
            .messageData, app: try ApplicationIdentifier(Self.appName), pairing: world.pairings[0], id: .random(),
            reply: true, body: [UInt8](repeating: 7, count: count))
    }
}
