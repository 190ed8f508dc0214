// Durable items between two whole daemons: what a stop, a repeated submission and a file's end look like to apps.

import Glibc
import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@Suite(.timeLimit(.minutes(10))) struct NodeDeliveryTests {
    private let nodes: TwoNodes

    init() throws { nodes = try TwoNodes(paired: true) }

    /// An app of the secondary that handles every item at once.
    private func startHandler() throws -> Client {
        try nodes.connect(to: .secondary) { $0.handleItems() }
    }

    /// Submits a file, whose bytes follow when the daemon takes them.
    private func send(_ bytes: [UInt8], from sender: Client) throws {
        let file = try nodes.item(on: .file)
        sender.onFrame = { client, _, envelope in
            guard envelope.kind == .progress, envelope.name == "taking", envelope.offset == 0 else { return }
            try? client.send(
                Envelope(
                    .chunk, app: file.app, pairing: file.pairing, id: file.id, channel: .file, offset: 0, body: bytes))
        }
        try sender.send(file.with(body: ["name": "a", "size": .integer(Int64(bytes.count))]))
    }

    @Test func `DEL-35: an orderly stop marks only what a handler may have seen`() throws {
        let app = try nodes.startApp()
        let sender = try nodes.startApp(at: .primary, .init())
        let pairing = try nodes.pairingIdentifier()
        for _ in 0..<3 { try sender.send(nodes.item(through: pairing)) }
        nodes.run(until: { sender.received(.progress).count == 3 })
        #expect(app.received(.delivery).count == 1, "its handler has one, and has not answered")
        try nodes.restart(.secondary)
        let again = try startHandler()
        nodes.run(until: { again.received(.delivery).count == 3 })
        #expect(again.received(.delivery).map(\.attempt) == [2, 1, 1])
    }

    @Test func `DEL-34: what is stored over the old link while a new one says hello starts no epoch and comes once`()
        throws
    {
        let handler = try startHandler()
        let sender = try nodes.startSender()
        let pairing = try nodes.pairingIdentifier()
        func submit(_ count: Int) throws {
            for _ in 0..<count { try sender.send(nodes.item(through: pairing)) }
        }
        try submit(1)
        nodes.run(until: { handler.received(.delivery).count == 1 && sender.received(.finished).count == 1 })
        let moved = SocketAddress.unix(path: nodes.directory.path("moved.sock"))
        nodes.network.alias(moved, of: .unix(path: nodes.directory.path(nodes.linkName)))
        // The hello of the new link says 1 and is half a second on its way.
        nodes.network.faults.delay = .milliseconds(500) ... .milliseconds(500)
        let connections = nodes.network.connections
        let body: PropertyListDictionary = [
            "pairing": try nodes.pairing(of: nodes.secondary), "address": .string(moved.description),
        ]
        #expect(nodes.ask(nodes.secondary, "address", body).code == 0)
        nodes.run(until: { nodes.network.connections == connections + 1 })
        nodes.clock.advance(by: .milliseconds(1200))
        let links = nodes.notes.count { "\($0.message)" == "link ready" }
        try submit(2)
        nodes.run(until: { sender.received(.finished).count == 3 })
        #expect(nodes.notes.count { "\($0.message)" == "link ready" } == links, "the old link has carried them")
        nodes.run(until: { nodes.notes.count { "\($0.message)" == "link ready" } == links + 2 })
        #expect(!nodes.hasNoted("a new epoch begins: a store was restored, or the other device joined again"))
        try submit(1)
        nodes.run(until: { sender.received(.finished).count == 4 })
        #expect(handler.received(.delivery).map(\.attempt) == [1, 1, 1, 1])
        #expect(nodes.network.connections == connections + 1)
    }

    @Test func `DEL-33, CTL-14: an item that is submitted again after its end was heard is the same item`() throws {
        let receiver = try startHandler()
        let item = try nodes.item()
        for run in 1...2 {
            let sender = try nodes.startSender()
            // A daemon that takes nothing new has taken this one.
            if run == 2 { #expect(nodes.ask(nodes.primary, "drain", ["wait": 1]).code == 0) }
            try sender.send(item)
            nodes.run(until: { sender.received(.finished).count == 1 })
            #expect(sender.received(.accepted).count == 1 && sender.received(.finished).first?.name == "handled")
            try sender.send(item.acknowledgement)
            nodes.clock.advance(by: .seconds(1))
            sender.disconnect()
            if run == 1 { try nodes.restart(.primary) }
            nodes.waitForLink()
        }
        #expect(receiver.received(.delivery).count == 1)
    }

    @Test func `FIL-10: the sender of a file hears that all of it is there, before it is stored`() throws {
        let receiver = try startHandler()
        let sender = try nodes.startSender()
        try send([1, 2, 3], from: sender)
        nodes.run(until: { !sender.received(.finished).isEmpty })
        let progress = sender.received(.progress).filter { $0.name != "taking" }
        #expect(progress.last?.name == "stored")
        #expect(progress.dropLast().last?.name == "transferred" && progress.dropLast().last?.offset == 3)
        #expect(receiver.received(.delivery).count == 1)
    }

    @Test func `CTL-76: a file that cannot be given to its app is a problem of health until it is given`() throws {
        func problem() -> String? {
            nodes.ask(nodes.secondary, "health").body.rows("problems").first { $0["name"] == "app-files" }?["text"]?
                .stringValue
        }
        let receiver = try startHandler()
        let inbox = "\(nodes.folder)/inbox"
        nodes.directory.write([1], to: "secondary-state/apps/\(nodes.app)/inbox")
        try send([1, 2, 3], from: nodes.startSender())
        nodes.run(until: { problem() != nil })
        let text = try #require(problem())
        #expect(text.contains("\(nodes.app): \(inbox) is not a directory") && receiver.received(.delivery).isEmpty)
        try #require(unlink(inbox) == 0)
        nodes.run(until: { !receiver.received(.delivery).isEmpty })
        #expect(problem() == nil)
    }

    @Test func `DEL-10, LIM-54: each restored store is logged, with the items that its new epoch loses`() throws {
        let receiver = try nodes.connect(to: .secondary)
        let sender = try nodes.startSender()
        let pairing = try nodes.pairingIdentifier()
        receiver.disconnect()
        let backup = nodes.backUp(.secondary)
        try nodes.start(.secondary)
        for round in 1...3 {
            for _ in 0..<3 { try sender.send(nodes.item(through: pairing)) }
            nodes.run(until: { sender.received(.progress).count == 3 * round })
            nodes.restore(backup, at: .secondary)
            try nodes.start(.secondary)
            nodes.run(until: { sender.received(.finished).count == 3 * round })
        }
        #expect(sender.received(.finished).allSatisfy { $0.name == "lost" })
        let begun = nodes.lines("a new epoch begins: a store was restored, or the other device joined again")
        #expect(begun.count == 3)
        let queues = nodes.lines("items that the other device had stored count as lost")
        #expect(queues.count == 3 && queues.allSatisfy { $0.hasSuffix("app=\(nodes.app) channel=userInfo lost=3") })
    }

    @Test func `SES-87, CTL-3: a file has the size of the file, not that of its manifest, until it has ended`() throws {
        let receiver = try nodes.connect(to: .secondary)
        let sender = try nodes.startSender()
        let pairing = try nodes.pairingIdentifier()
        receiver.disconnect()
        nodes.stop(.secondary)
        try send([UInt8](repeating: 7, count: 5_000), from: sender)
        nodes.run(until: { !sender.received(.accepted).isEmpty })
        func outstanding(_ client: Client) throws -> [OutstandingPage.Item] {
            let count = client.received(.answer).count
            let query = QueryFrame(
                .outstanding(after: 0), id: .random(), app: nodes.app, pairing: pairing, channel: .file)
            try client.send(query.envelope)
            nodes.run(until: { client.received(.answer).count > count })
            return OutstandingPage(try AnswerFrame(try #require(client.received(.answer).last)).body).items
        }
        #expect(try outstanding(sender).map(\.size) == [5_000])
        let queue = try nodes.rows("queues", of: nodes.primary).first { $0["channel"] == "file" }
        #expect(queue?["waiting"] == 1 && queue?["bytes"] == 5_000)
        try nodes.restart(.primary)
        // The other device has it, and no app takes it: its bytes are gone here.
        try nodes.start(.secondary)
        let again = try nodes.connect(to: .primary)
        nodes.run(until: { (try? outstanding(again))?.first?.isStored == true })
        #expect(try outstanding(again).map(\.size) == [5_000])
        #expect(try nodes.rows("queues", of: nodes.primary).first { $0["channel"] == "file" }?["bytes"] == 5_000)
    }
}
