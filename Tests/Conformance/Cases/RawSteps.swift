// Steps of cases whose apps speak frames without the public library: greetings, registrations, requests, verdicts.

import TandemBase
import TandemPropertyList
import TandemTestSupport
import TandemWire

extension RawApp {
    func hello(_ capabilities: [String] = Capability.allCases.map(\.rawValue)) throws {
        let body: PropertyListDictionary = [
            "minimum": 1, "maximum": 1, "software": "conformance",
            "capabilities": .array(capabilities.map { .string($0) }),
        ]
        try send(Envelope(.hello).with(body: body))
    }

    /// - Parameter facts: what the app declares besides.
    func register(
        _ name: String = Stage.appName, receives: Bool = true, declaring facts: PropertyListDictionary = [:]
    ) throws {
        let app = try ApplicationIdentifier(name)
        try send(Envelope(.register, app: app).with(body: facts.with("receives", .boolean(receives))))
    }

    func reply(to message: Envelope) throws {
        let answer = Envelope(.reply, app: message.app, pairing: message.pairing, id: message.id)
        try send(answer.with(body: [:]))
    }

    func judge(_ delivery: Envelope, _ verdict: String) throws {
        try send(
            Envelope(
                .verdict, app: delivery.app, pairing: delivery.pairing, id: delivery.id, channel: delivery.channel,
                name: verdict))
    }

    /// The failures of the message or the item of a frame.
    func failures(of frame: Envelope) throws -> [Envelope] { try received(.failure).filter { $0.id == frame.id } }

    /// Whether the daemon's `hello` has named the capability.
    func hasDaemon(with capability: Capability) throws -> Bool {
        let named = try only(.hello).dictionaryBody()["capabilities"]?.arrayValue ?? []
        return named.contains(.string(capability.rawValue))
    }
}

extension Stage {
    /// A connection that has said hello, and nothing else.
    func greeted(at place: Place) throws -> RawApp {
        let app = try rawApp(at: place)
        try app.hello()
        try wait("\(place)'s daemon answers a hello") { try !app.received(.hello).isEmpty }
        return app
    }

    func registered(at place: Place, receives: Bool = true) throws -> RawApp {
        let app = try rawApp(at: place)
        try app.hello()
        try app.register(receives: receives)
        try wait("\(place)'s app is registered") { try !app.received(.registered).isEmpty }
        return app
    }

    func rawPair() throws -> (primary: RawApp, secondary: RawApp) {
        let (primary, secondary) = (try registered(at: .primary), try registered(at: .secondary(0)))
        try wait("the apps reach each other") { try primary.isReachable && secondary.isReachable }
        return (primary, secondary)
    }

    /// A message that wants a reply, for as long as a daemon may keep it (LIM-8).
    func request(_ id: UniqueIdentifier, from app: ApplicationIdentifier? = nil) throws -> Envelope {
        let sender = try app ?? ApplicationIdentifier(Self.appName)
        let message = Envelope(
            .message, app: sender, pairing: world.pairings[0], id: id, reply: true, deadline: Limits.deadline.upperBound
        )
        return try message.with(body: ["n": 1])
    }

    /// An item for the counterpart, without its body.
    func submission(on channel: Channel) throws -> Envelope {
        let app = try ApplicationIdentifier(Self.appName)
        return Envelope(.submit, app: app, pairing: world.pairings[0], id: .random(), channel: channel)
    }

    /// The daemon refuses with this name, and closes.
    func expectRefusal(_ name: String, of app: RawApp) throws {
        try wait("the connection ends") { app.isClosed }
        let refusal = try app.only(.refusal)
        try demand(refusal.name == name, "\(name): \(refusal.name ?? "")")
    }

    /// The connection goes on, and all that was sent before is answered.
    func expectAnswer(to app: RawApp) throws {
        let before = try app.received(.pong).count
        try app.send(Envelope(.ping))
        try wait("the connection goes on") { try app.received(.pong).count > before }
    }

    /// The only failure of the message or the item of a frame.
    func failure(of frame: Envelope, at app: RawApp) throws -> Envelope {
        try wait("a failure") { try !app.failures(of: frame).isEmpty }
        let found = try app.failures(of: frame)
        try demand(found.count == 1, "one failure: \(found.map(\.fault))")
        return found[0]
    }

    /// The delivery of this number, from 0, that has come on a connection.
    /// - Parameter pauses: as in ``wait(_:within:pauses:until:)``.
    func delivery(_ number: Int, at app: RawApp, pauses: Duration = .zero) throws -> Envelope {
        try wait("delivery \(number)", pauses: pauses) { try app.received(.delivery).count > number }
        return try app.received(.delivery)[number]
    }
}

extension Envelope {
    /// Code and name of a `failure`, for a violation.
    var fault: String { "\(code ?? 0) \(name ?? "-")" }

    /// Its keys and values, to be changed into an envelope that is not valid.
    var fields: PropertyListDictionary {
        get throws { try PropertyListReader.readDictionary(frame().payload.copied()) }
    }
}

extension PropertyListDictionary {
    /// With this value of the key; nil: without the key.
    func with(_ key: String, _ value: PropertyListValue?) -> PropertyListDictionary {
        var changed = self
        changed[key] = value
        return changed
    }
}
