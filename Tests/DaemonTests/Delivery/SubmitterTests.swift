// Reports of an item to its submitters, and their number on one connection at once, in a simulator with several
// secondaries.

import TandemBase
import TandemDaemon
import TandemPropertyList
import TandemReactor
import TandemTestSupport
import TandemWire
import Testing

struct SubmitterTests {
    private func submit(
        _ id: UniqueIdentifier, _ body: PropertyListDictionary, _ channel: Channel, to pairing: UniqueIdentifier
    ) throws -> Envelope {
        try Envelope(
            .submit, app: ApplicationIdentifier("com.example.app"), pairing: pairing, id: id, channel: channel
        ).with(body: body)
    }

    @Test("SES-50: items of one identifier for two pairings are two items, and each tells its submitter")
    func oneIdentifierTwice() throws {
        let simulation = Simulation(secondaries: 2)
        let secondaries = [try simulation.app(.secondary, number: 1), try simulation.app(.secondary, number: 2)]
        let sender = try simulation.app(.primary, receives: false)
        let id = UniqueIdentifier.random()
        for pairing in simulation.simulator.pairings { try sender.send(submit(id, ["n": 1], .userInfo, to: pairing)) }
        simulation.scheduler.run()
        for (secondary, pairing) in zip(secondaries, simulation.simulator.pairings) {
            let delivery = try #require(secondary.received(.delivery).first)
            try secondary.send(
                Envelope(
                    .verdict, app: delivery.app, pairing: pairing, id: id, channel: .userInfo, name: "handled"))
            simulation.scheduler.run()
            try sender.send(
                Envelope(.finishedAck, app: delivery.app, pairing: pairing, id: id, channel: .userInfo))
            simulation.scheduler.run()
        }
        #expect(sender.received(.finished).map(\.pairing) == simulation.simulator.pairings)
    }

    @Test("SES-52, LIM-6: contexts of many pairings are told at the speed at which they are read")
    func manyContexts() throws {
        let simulation = Simulation(secondaries: 24)
        for number in 1...24 { try simulation.app(.secondary, number: number).disconnect() }
        let first = try simulation.app(.primary)
        for pairing in simulation.simulator.pairings {
            let body: PropertyListDictionary = ["d": .data(Array(repeating: 7, count: 250_000))]
            try first.send(submit(.random(), body, .context, to: pairing))
            simulation.scheduler.run()
        }
        first.disconnect()
        simulation.scheduler.run()
        let second = try simulation.app(.primary)
        simulation.scheduler.advance(by: .seconds(2))
        simulation.scheduler.run()
        #expect(!second.isClosed)
        #expect(Set(second.received(.context).map(\.pairing)) == Set(simulation.simulator.pairings))
    }

    @Test("SES-62: the list of outstanding items that an app asks for at once comes behind the contexts of before")
    func contextsFirst() throws {
        let simulation = Simulation(secondaries: 3)
        for number in 1...3 { try simulation.app(.secondary, number: number).disconnect() }
        let first = try simulation.app(.primary)
        for pairing in simulation.simulator.pairings {
            let body: PropertyListDictionary = ["d": .data(Array(repeating: 7, count: 250_000))]
            try first.send(submit(.random(), body, .context, to: pairing))
            simulation.scheduler.run()
        }
        first.disconnect()
        simulation.scheduler.run()
        let second = try simulation.greet(.primary)
        try second.register(ApplicationIdentifier("com.example.app"))
        for _ in 0..<2 {
            try second.send(
                Envelope(
                    .query, app: ApplicationIdentifier("com.example.app"), pairing: simulation.pairing, id: .random(),
                    channel: .userInfo, command: "outstanding"
                ).with(body: ["after": 0]))
        }
        simulation.scheduler.advance(by: .seconds(2))
        let kinds = second.envelopes.map(\.kind).filter { $0 == .context || $0 == .answer }
        #expect(kinds == [.context, .context, .context, .answer, .answer])
    }

    @Test("SES-50, LIM-41: 256 ends are told ahead of what the app has heard, and the others when it has, each once")
    func manyEnds() throws {
        let simulation = Simulation()
        let secondary = try simulation.app(.secondary)
        let first = try simulation.app(.primary)
        let ids = (0..<300).map { _ in UniqueIdentifier.random() }
        for id in ids { try first.send(submit(id, ["n": 1], .userInfo, to: simulation.pairing)) }
        simulation.scheduler.run()
        first.disconnect()
        for _ in ids {
            simulation.scheduler.run()
            let delivery = try #require(secondary.received(.delivery).last)
            try secondary.send(
                Envelope(
                    .verdict, app: delivery.app, pairing: delivery.pairing, id: delivery.id, channel: .userInfo,
                    name: "handled"))
        }
        simulation.scheduler.run()
        let second = try simulation.app(.primary)
        #expect(second.received(.finished).map(\.id) == ids.prefix(256).map(\.self))
        for finished in second.received(.finished) {
            #expect(second.received(.finished).count == 256)
            try second.send(
                Envelope(
                    .finishedAck, app: finished.app, pairing: finished.pairing, id: finished.id, channel: .userInfo))
            simulation.scheduler.run()
        }
        #expect(second.received(.finished).map(\.id) == ids.map(\.self))
    }

    @Test("SES-54, LIM-40: a list of outstanding items comes 512 at a time")
    func longList() throws {
        let simulation = Simulation()
        try simulation.app(.secondary).disconnect()
        let app = try simulation.app(.primary)
        let ids = (0..<513).map { _ in UniqueIdentifier.random() }
        for id in ids { try app.send(submit(id, ["n": 1], .userInfo, to: simulation.pairing)) }
        simulation.scheduler.run()
        var listed: [[UInt8]?] = []
        var pages: [Int] = []
        var after: PropertyListValue? = 0
        while let next = after {
            let question = Envelope(
                .query, app: try ApplicationIdentifier("com.example.app"), pairing: simulation.pairing, id: .random(),
                channel: .userInfo, command: "outstanding")
            try app.send(question.with(body: ["after": next]))
            simulation.scheduler.run()
            let body = try #require(app.received(.answer).last).dictionaryBody()
            let items = body["items"]?.arrayValue ?? []
            listed += items.map { $0.dictionaryValue?["id"]?.dataValue }
            pages.append(items.count)
            after = body["more"]
        }
        #expect(pages == [512, 1, 0] && listed == ids.map(\.bytes))
    }
}
