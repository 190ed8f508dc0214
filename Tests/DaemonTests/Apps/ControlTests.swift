// Control requests on the local socket (CTL-1, CTL-2): who may ask what, and each answered once under its identifier.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemOperations
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

private final class Responder: ControlResponder {
    private(set) var requests: [ControlRequest] = []
    private(set) var completions: [(ControlAnswer) -> Void] = []

    func respond(to request: ControlRequest, completion: @escaping (ControlAnswer) -> Void) {
        requests.append(request)
        completions.append(completion)
    }
}

@Suite struct ControlTests {
    private let device = TestDevice(.primary)
    private let responder = Responder()

    init() { device.endpoint.controlResponder = responder }

    @Test(arguments: [Simulation.user, 0])
    func `CTL-1: the daemon's own user and root ask, and get the answer under their identifier`(user: UInt32) throws {
        let client = try device.greet(user: user)
        let id = try client.ask("pair", ["seconds": 60])
        let request = try #require(responder.requests.first)
        #expect(request.command == "pair" && request.caller.isOperator)
        #expect(try request.fields.unsigned("seconds") == 60)
        #expect(client.received(.result).isEmpty)
        responder.completions[0](.done(["link": "tandem:join/1"]))
        device.scheduler.run()
        let result = try #require(client.received(.result).first)
        #expect(result.id == id && result.command == "pair" && result.code == 0 && result.name == nil)
        #expect(try result.dictionaryBody()["link"]?.stringValue == "tandem:join/1")
    }

    @Test func `CTL-1: several requests are open at once and answered in any order, each once`() throws {
        let client = try device.greet()
        let ids = try (0..<3).map { try client.ask("status \($0)") }
        for index in [2, 0, 1, 0] { responder.completions[index](.failed(ControlFailure(.store, "disk full"))) }
        device.scheduler.run()
        #expect(client.received(.result).map(\.id) == [2, 0, 1].map { ids[$0] })
        #expect(client.received(.result).allSatisfy { $0.code == 1 && $0.name == "store" })
    }

    @Test("CTL-63: of a list that does not fit an answer the last rows are missing, and the answer says how many")
    func leftOut() throws {
        let client = try device.greet()
        try client.ask("status")
        let rows = (0..<30_000).map { PropertyListValue.dictionary(["app": "org.example", "waiting": .integer($0)]) }
        // The command itself has not made 7 of one list and 3 of another.
        let own: PropertyListValue = ["queues": 7, "links": 3]
        responder.completions[0](.done(["name": "hub", "queues": .array(rows), "links": [1, 2], "leftOut": own]))
        device.scheduler.run()
        let result = try #require(client.received(.result).first)
        let body = try result.dictionaryBody()
        let shown = try #require(body["queues"]?.arrayValue)
        #expect(result.code == 0 && body["name"]?.stringValue == "hub" && body["links"]?.arrayValue?.count == 2)
        #expect(!shown.isEmpty && shown == Array(rows.prefix(shown.count)))
        let missing = Int64(rows.count - shown.count)
        #expect(body["leftOut"]?.dictionaryValue == ["queues": .integer(missing + 7), "links": 3])
    }

    @Test("CTL-63: one long row costs its own list, and none of many short rows")
    func longRow() throws {
        let client = try device.greet()
        try client.ask("status")
        let rows = (0..<200).map { PropertyListValue.dictionary(["app": "org.example", "waiting": .integer($0)]) }
        let long = PropertyListValue.string(String(repeating: "x", count: 600_000))
        responder.completions[0](.done(["applications": .array(rows), "pairings": ["hub", long]]))
        device.scheduler.run()
        let body = try #require(client.received(.result).first).dictionaryBody()
        #expect(body["applications"] == .array(rows) && body["pairings"] == ["hub"])
        #expect(body["leftOut"]?.dictionaryValue == ["pairings": 1])
    }

    @Test func `CTL-2: a request carries its user, and whether that is the daemon's or root`() throws {
        let client = try device.greet(user: 1001)
        try client.ask("status")
        #expect(responder.requests.map(\.caller.isOperator) == [false])
        #expect(responder.requests.first?.caller.user == 1001)
        #expect(!client.isClosed)
    }

    @Test func `CTL-4: a body that is no property list is a bad-request`() throws {
        let client = try device.greet()
        try client.deliver(Envelope(.control, id: .random(), command: "pair", body: [1, 2, 3]))
        #expect(client.received(.result).first?.name == "bad-request" && responder.requests.isEmpty)
    }

    @Test func `an identifier that is still open is refused`() throws {
        let client = try device.greet()
        let request = Envelope(.control, id: .random(), command: "status")
        try client.send(request)
        try client.deliver(request)
        #expect(client.refusal == "unexpected" && client.isClosed)
    }

    @Test("SES-6, FRM-10: a control connection may send ping and pong between its requests")
    func upkeep() throws {
        let client = try device.greet()
        try client.ask("status")
        let id = UniqueIdentifier.random()
        try client.send(Envelope(.pong))
        try client.send(Envelope(.ping, id: id))
        device.scheduler.run()
        #expect(client.received(.pong).map(\.id) == [id] && client.refusal == nil && !client.isClosed)
        responder.completions[0](.done())
        device.scheduler.run()
        #expect(client.received(.result).count == 1)
    }

    @Test func `LIM-18: request 65 of a connection is full, and the others are still answered`() throws {
        let client = try device.greet()
        for _ in 0..<65 { try client.ask("status") }
        #expect(client.received(.result).map(\.name) == ["full"])
        responder.completions.forEach { $0(.done()) }
        device.scheduler.run()
        #expect(client.received(.result).count == 65)
    }

    @Test func `an answer that comes after its client has gone is dropped`() throws {
        let client = try device.greet()
        try client.ask("pair")
        client.disconnect()
        device.scheduler.run()
        responder.completions[0](.done())
        device.scheduler.run()
        #expect(device.endpoint.connectionCount == 0 && client.received(.result).isEmpty)
    }

    @Test func `a control connection registers nothing, and a registered one controls nothing`() throws {
        let client = try device.greet()
        try client.ask("status")
        try client.register(try ApplicationIdentifier("app.a"))
        device.scheduler.run()
        #expect(client.refusal == "unexpected")
        let app = try device.app("app.a")
        try app.ask("status")
        #expect(app.refusal == "unexpected" && responder.requests.count == 1)
    }

    @Test func `CTL-8: the simulator refuses the commands that it does not have`() throws {
        let simulation = Simulation()
        let client = try simulation.greet(.primary)
        try client.deliver(Envelope(.control, id: .random(), command: "pair"))
        #expect(client.received(.result).first?.name == "unknown-command")
    }
}
