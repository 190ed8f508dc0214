// A hundred pairs of apps that talk through one relay at the same time, both ways: a message or a reply never reaches
// another pair.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

@Suite(.timeLimit(.minutes(10))) struct ManyPairsTests {
    private static let pairCount = 100

    /// The messages of all pairs: what is on its way, and what has arrived.
    private final class Traffic {
        let simulation = Simulation(secondaries: ManyPairsTests.pairCount)
        let primary: Client
        let secondaries: [Client]
        private let places: [UniqueIdentifier: Int]
        /// The bodies of the messages without a reply, by their identifiers.
        private var open: [UniqueIdentifier: ArraySlice<UInt8>] = [:]
        private(set) var sent = 0
        private(set) var arrived = 0
        private(set) var answered = 0
        private(set) var strange = 0

        init() throws {
            let simulation = simulation
            primary = try simulation.app(.primary)
            secondaries = try (1...ManyPairsTests.pairCount).map { try simulation.app(.secondary, number: $0) }
            let numbered = simulation.simulator.pairings.enumerated().map { ($1, $0) }
            places = Dictionary(uniqueKeysWithValues: numbered)
            listen(at: primary, of: nil)
            for (place, secondary) in secondaries.enumerated() { listen(at: secondary, of: place) }
        }

        /// - Parameter place: the one pair of a secondary; nil for the primary, which has all of them.
        private func listen(at client: Client, of place: Int?) {
            client.keepsFrames = false
            client.onFrame = { [unowned self] client, _, envelope in
                do { try take(envelope, at: client, of: place) } catch { Issue.record(error) }
            }
        }

        private func take(_ envelope: Envelope, at client: Client, of place: Int?) throws {
            guard [.message, .reply, .failure].contains(envelope.kind) else { return }
            let (body, pair) = (try envelope.dictionaryBody(), envelope.pairing.flatMap { places[$0] })
            // A message's body names its pair and its receiver.
            let isOwn = pair != nil && body["pair"]?.integerValue == pair.map(Int64.init) && (place ?? pair) == pair
            let isToPrimary = body["toPrimary"]?.booleanValue
            switch envelope.kind {
            case .message where isOwn && isToPrimary == (place == nil):
                arrived += 1
                try client.send(
                    Envelope(.reply, app: envelope.app, pairing: envelope.pairing, id: envelope.id).with(body: body))
            case .reply where isOwn && isToPrimary == (place != nil) && isAwaited(envelope): answered += 1
            default: strange += 1
            }
        }

        /// Whether it answers an open message with that one's own body; closes the message.
        private func isAwaited(_ reply: Envelope) -> Bool {
            guard let id = reply.id, let body = open.removeValue(forKey: id) else { return false }
            return body == reply.body
        }

        func send(_ pair: Int, toPrimary: Bool) throws {
            let id = UniqueIdentifier.random()
            var message = try simulation.message(id: id).with(body: [
                "pair": .integer(Int64(pair)), "toPrimary": .boolean(toPrimary), "n": .integer(Int64(sent)),
            ])
            message.pairing = simulation.simulator.pairings[pair]
            open[id] = message.body
            try (toPrimary ? secondaries[pair] : primary).send(message)
            sent += 1
        }
    }

    @Test func `SES-22: of all messages between 100 pairs each reaches its own pair alone, as does its reply`() throws {
        let traffic = try Traffic()
        var random = SeededGenerator(seed: 100)
        for number in 1...Repetition.times(5_000, long: 200_000) {
            try traffic.send(Int.random(in: 0..<Self.pairCount, using: &random), toPrimary: .random(using: &random))
            if number.isMultiple(of: 200) { traffic.simulation.scheduler.run() }
        }
        traffic.simulation.scheduler.run()
        #expect(traffic.strange == 0 && traffic.arrived == traffic.sent && traffic.answered == traffic.sent)
    }
}
