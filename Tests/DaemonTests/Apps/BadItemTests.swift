// Items and verdicts of an app that break the rules of their kind (SES-48, SES-49, FRM-10).

import TandemBase
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

@Suite struct BadItemTests {
    private let simulation = Simulation()
    private let queue: QueueKey

    init() throws { queue = try simulation.queue() }

    @Test(
        "FRM-10: a verdict that breaks the rules of its kind is refused, whatever item it names",
        arguments: [("rejected", nil), ("handled", 7014), ("unheard", nil)] as [(String, Int?)], [false, true])
    func verdicts(verdict: (name: String, code: Int?), isItemKnown: Bool) throws {
        let (primary, secondary) = (try simulation.app(.primary), try simulation.app(.secondary))
        try primary.deliver(
            Envelope(.submit, app: queue.app, pairing: queue.pairing, id: .random(), channel: queue.channel)
                .with(body: ["n": 1]))
        var envelope = try #require(secondary.received(.delivery).first).verdict(verdict.name, code: verdict.code)
        if !isItemKnown { envelope.id = .random() }
        try secondary.deliver(envelope)
        #expect(secondary.refusal == "envelope" && secondary.isClosed)
    }

    @Test("SES-51: a verdict on an item that the connection does not have changes nothing")
    func strayVerdict() throws {
        let app = try simulation.app(.secondary)
        try app.deliver(
            Envelope(
                .verdict, app: queue.app, pairing: queue.pairing, id: .random(), channel: queue.channel,
                name: "handled"))
        #expect(app.refusal == nil && !app.isClosed)
    }
}
