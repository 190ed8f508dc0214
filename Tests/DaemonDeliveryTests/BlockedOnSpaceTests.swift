// An item that the peer has no room for, as its app and an operator see it meanwhile.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

struct BlockedOnSpaceTests {
    private let device: OneDevice
    private let app: Client
    private let id = UniqueIdentifier.random()

    init() throws {
        device = try OneDevice()
        app = try device.simulation.app(.primary)
        try device.submit(id, from: app)
        device.run()
    }

    private func refuse(_ code: Int, _ name: String, retry: Bool, pause: Int) throws {
        let failure = try Envelope(
            .failure, app: device.queue.app, pairing: device.queue.pairing, id: id, channel: device.queue.channel,
            code: code, name: name
        ).with(body: ["retry": .boolean(retry)])
        #expect(device.delivery.take(try FailureFrame(failure)))
        device.run()
        device.simulation.scheduler.advance(by: .seconds(pause))
    }

    private func outstanding() throws -> PropertyListDictionary? {
        try app.deliver(device.queue.query("outstanding"))
        let body = try #require(app.received(.answer).last).dictionaryBody()
        return body["items"]?.arrayValue?.first?.dictionaryValue
    }

    @Test(
        "FIL-13, DEL-12: what the peer has no room for waits, and its app and the operator see for what",
        arguments: [(7015, "insufficient-space"), (7001, "queue-full")])
    func waits(code: Int, name: String) throws {
        for number in 0..<20 { try refuse(code, name, retry: true, pause: min(1 << number, 60)) }
        #expect(app.received(.finished).isEmpty && device.delivery.deadLetters().isEmpty)
        #expect(device.sent.filter { $0.kind == .item }.count == 21, "sent again after each pause, once")
        let item = try #require(try outstanding())
        #expect(item["code"] == .integer(Int64(code)) && item["refusal"] == .string(name))
        let queue = try #require(device.delivery.queues.first)
        #expect(queue.refusal == ItemRefusal(code: Int64(code), name: name) && queue.count == 1)
        device.handled(1...1)
        #expect(app.received(.finished).map(\.name) == ["handled"])
    }

    @Test(
        "FIL-13, DEL-12, DEL-24: what no making of room would help is a dead letter after its attempts, and in the log")
    func neverFits() throws {
        for number in 0..<5 { try refuse(7015, "insufficient-space", retry: false, pause: 1 << number) }
        #expect(device.sent.last?.kind == .gap && device.sent.last?.name == "dead")
        let outcome = Envelope(
            .outcome, app: device.queue.app, pairing: device.queue.pairing, channel: device.queue.channel,
            sequence: 1, name: "dead")
        #expect(device.delivery.receive(outcome))
        device.run()
        let line = try #require(device.log.all.last { $0.level == .warning })
        #expect("\(line.message)" == "item failed too often, kept as a dead letter")
        let facts: [LogField] = [
            .text("direction", "out"), .text("id", "\(id)"), .outside("refusal", "insufficient-space"),
        ]
        #expect(line.fields.suffix(3) == facts[...])
    }
}
