// Frames of a daemon on its local socket that the public library would hide from a case, or would never ask for.

import TandemBase
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemWire

enum FrameCases {
    static let all = [
        greeting, helloExpected, secondReceiver, unknownKind, unknownKeys, sealing, verdicts, misplaced,
        notYours, duplicateIdentifier, secondReply, otherReply, fileProgress, farewell,
    ]

    private static let greeting = Case(
        "SES-2", "a hello is answered with the version, the side, and capabilities that its client has named"
    ) { stage in
        let known: [String] = ["message", "messageData", "context", "userInfo", "urgent", "file", "topic"]
        let app = try stage.rawApp(at: .primary)
        try app.hello(known + ["telepathy"])
        try stage.wait("an answer") { try !app.received(.hello).isEmpty }
        let body = try app.only(.hello).dictionaryBody()
        try demand(body["version"] == .integer(1), "version 1: \(body)")
        try demand(body["role"] == .string("primary"), "its side: \(body)")
        let capabilities = body["capabilities"]?.arrayValue?.compactMap(\.stringValue) ?? []
        try demand(Set(capabilities).isSubset(of: known), "nothing that its client does not know: \(capabilities)")
        try demand(Set(capabilities).count == capabilities.count, "each once: \(capabilities)")
        // A daemon need not know the others (SES-3), but these cases send messages.
        try demand(capabilities.contains("message"), "messages: \(capabilities)")
    }

    private static let helloExpected = Case("SES-1", "a frame before hello is refused by that name") { stage in
        let app = try stage.rawApp(at: .primary)
        try app.register()
        try stage.expectRefusal("hello-expected", of: app)
    }

    private static let secondReceiver = Case(
        "SES-5", "a second connection that receives for an app is refused, and the first one goes on"
    ) { stage in
        let first = try stage.registered(at: .primary)
        let second = try stage.rawApp(at: .primary)
        try second.hello()
        try second.register()
        try stage.expectRefusal("already-receiving", of: second)
        try first.send(Envelope(.ping))
        try stage.wait("the first one is answered") { try !first.received(.pong).isEmpty }
    }

    private static let unknownKind = Case("FRM-11", "a frame of an unknown kind is refused by that name") { stage in
        let app = try stage.registered(at: .primary)
        try app.send(["kind": "teleport"])
        try stage.expectRefusal("unknown-kind", of: app)
    }

    private static let unknownKeys = Case(
        "FRM-9", "a key that is not known is refused by that name, and one that its frame lacks or must not have, too"
    ) { stage in
        let message = try stage.request(.random()).fields
        let faulty: [(frame: PropertyListDictionary, name: String)] = [
            (["kind": "ping", "colour": "red"], "unknown-key"), (message.with("colour", "red"), "unknown-key"),
            (["kind": "ping", "channel": "userInfo"], "envelope"), (message.with("deadline", "soon"), "envelope"),
            (message.with("id", nil), "envelope"),
        ]
        for (frame, name) in faulty {
            let app = try stage.registered(at: .primary, receives: false)
            try app.send(frame)
            try stage.expectRefusal(name, of: app)
        }
    }

    private static let sealing = Case(
        "FRM-14", "a sealed body is refused by that name, and one that says that it is plain arrives"
    ) { stage in
        let (primary, secondary) = try stage.rawPair()
        let message = try stage.request(.random())
        try primary.send(message.fields.with("sealing", 0))
        try stage.wait("the plain one") { try !secondary.received(.message).isEmpty }
        try demand(secondary.only(.message).id == message.id, "the plain one")
        let app = try stage.registered(at: .primary, receives: false)
        try app.send(stage.request(.random()).fields.with("sealing", 1))
        try stage.expectRefusal("unknown-sealing", of: app)
        try demand(secondary.received(.message).count == 1, "the plain one only")
    }

    private static let verdicts = Case(
        "FRM-10", "a verdict of an invented name, or with a code where none belongs, is refused", needs: [.durable]
    ) { stage in
        let faulty: [(name: String, code: Int?)] = [("unheard", nil), ("rejected", nil), ("handled", 7014)]
        for (name, code) in faulty {
            let app = try stage.registered(at: .primary, receives: false)
            let item = try stage.submission(on: .userInfo)
            try app.send(
                Envelope(
                    .verdict, app: item.app, pairing: item.pairing, id: item.id, channel: item.channel, code: code,
                    name: name))
            try stage.expectRefusal("envelope", of: app)
        }
    }

    private static let misplaced = Case(
        "SES-6", "a registered connection neither controls nor registers again, and one that controls registers nothing"
    ) { stage in
        let status = try Envelope(.control, id: .random(), command: ControlName.status.rawValue).with(body: [:])
        let (app, other) = (
            try stage.registered(at: .primary, receives: false), try stage.registered(at: .primary, receives: false)
        )
        try app.send(status)
        try other.register(receives: false)
        let console = try stage.greeted(at: .primary)
        try console.send(status)
        try stage.wait("an answer") { try !console.received(.result).isEmpty }
        try console.register(receives: false)
        let early = try stage.greeted(at: .primary)
        try early.send(stage.request(.random()))
        for each in [app, other, console, early] { try stage.expectRefusal("unexpected", of: each) }
    }

    private static let notYours = Case("FRM-13", "a frame that names another app is refused") { stage in
        let app = try stage.registered(at: .primary)
        let other = try ApplicationIdentifier("org.example.another")
        try app.send(stage.request(.random(), from: other))
        try stage.expectRefusal("not-yours", of: app)
    }

    private static let duplicateIdentifier = Case(
        "SES-10", "a request under the identifier of an open one fails with 7008, and the open one goes on"
    ) { stage in
        let (primary, secondary) = try stage.rawPair()
        let id = UniqueIdentifier.random()
        for _ in 0..<2 { try primary.send(stage.request(id)) }
        try stage.wait("a failure") { try !primary.received(.failure).isEmpty }
        let failure = try primary.only(.failure)
        try demand(failure.code == 7008 && failure.name == "duplicate-id", "7008 duplicate-id: \(failure)")
        try stage.wait("the request") { try !secondary.received(.message).isEmpty }
        try secondary.reply(to: secondary.only(.message))
        try stage.wait("a reply") { try !primary.received(.reply).isEmpty }
        try demand(primary.only(.reply).id == id, "the reply to the first")
    }

    private static let secondReply = Case("SES-9", "of two replies to one request its sender gets one") { stage in
        let (primary, secondary) = try stage.rawPair()
        let id = UniqueIdentifier.random()
        try primary.send(stage.request(id))
        try stage.wait("the request") { try !secondary.received(.message).isEmpty }
        for _ in 0..<2 { try secondary.reply(to: secondary.only(.message)) }
        try stage.wait("a reply") { try !primary.received(.reply).isEmpty }
        stage.linger(.seconds(2))
        try demand(primary.only(.reply).id == id, "once")
        try demand(primary.received(.failure).isEmpty, "and no failure")
    }

    private static let otherReply = Case(
        "SES-10", "only the connection that got a request answers it, and only once"
    ) { stage in
        let (primary, secondary) = try stage.rawPair()
        let other = try stage.registered(at: .secondary(0), receives: false)
        try primary.send(stage.request(.random()))
        try stage.wait("the request") { try !secondary.received(.message).isEmpty }
        let message = try secondary.only(.message)
        let failure = Envelope(
            .failure, app: message.app, pairing: message.pairing, id: message.id, code: 7014, name: "forged")
        try other.reply(to: message)
        try other.send(failure)
        try stage.expectAnswer(to: other)
        stage.linger(.seconds(2))
        try demand(primary.received(.reply).isEmpty && primary.received(.failure).isEmpty, "the request is open")
        try secondary.reply(to: message)
        try stage.wait("a reply") { try !primary.received(.reply).isEmpty }
        try secondary.send(failure)
        try stage.expectAnswer(to: secondary)
        stage.linger(.seconds(2))
        try demand(primary.only(.reply).id == message.id, "the reply, once")
        try demand(primary.received(.failure).isEmpty, "and no failure")
    }

    private static let fileProgress = Case(
        "FIL-10", "a sender is told that the other device has all bytes of a file before it is stored",
        needs: [.durable]
    ) { stage in
        let (primary, _) = try stage.rawPair()
        let (app, pairing) = (try ApplicationIdentifier(Stage.appName), stage.world.pairings[0])
        let id = UniqueIdentifier.random()
        let file = Envelope(.submit, app: app, pairing: pairing, id: id, channel: .file)
        try primary.send(file.with(body: ["name": "file", "size": 3]))
        try stage.wait("the daemon takes it") {
            try primary.received(.progress).contains { $0.name == "taking" }
        }
        try primary.send(
            Envelope(.chunk, app: app, pairing: pairing, id: id, channel: .file, offset: 0, body: [1, 2, 3]))
        try stage.wait("it is stored") { try primary.received(.progress).contains { $0.name == "stored" } }
        let told = try primary.received(.progress)
        let whole = told.firstIndex { $0.name == "transferred" && $0.offset == 3 }
        let stored = told.firstIndex { $0.name == "stored" }
        let steps = told.map { "\($0.name ?? "") \($0.offset ?? 0)" }
        guard let whole, let stored, whole < stored else { throw Violation("first the whole file: \(steps)") }
    }

    private static let farewell = Case("SES-18", "a daemon that stops in order says bye to its apps", needs: [.restart])
    {
        stage in
        let app = try stage.registered(at: .primary)
        try stage.restart(.primary, .orderly)
        try stage.wait("the connection ends") { app.isClosed }
        _ = try app.only(.bye)
    }
}
