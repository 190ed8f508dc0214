// Hostile bodies in a counterpart's frames: none of them ends the session.

import PairedSession
import TandemBase
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

struct HostileBodyTests {
    /// The kinds whose bodies another app writes, and the words that they need.
    private static let kinds: [(FrameKind, [String])] = [
        (.message, []), (.messageData, []), (.reply, []), (.failure, []),
        (.delivery, []), (.finished, ["handled", "rejected", "dead"]), (.progress, ["stored", "transferred"]),
        (.context, ["sent", "received"]),
    ]

    private let fixture: SessionFixture
    private let pairing: UniqueIdentifier

    init() throws {
        fixture = try SessionFixture()
        pairing = fixture.daemon.pair()
        fixture.daemon.answerPings()
        fixture.activate()
    }

    private func envelope(_ kind: FrameKind, _ random: inout SeededGenerator) -> Envelope {
        var envelope = Envelope(kind)
        envelope[.app] = fixture.daemon.app
        envelope[.pairing] = pairing
        envelope[.id] = UniqueIdentifier.random()
        let words = Self.kinds.first { $0.0 == kind }?.1 ?? []
        if let word = words.randomElement(using: &random) { envelope[.name] = word }
        let channel = Channel.allCases.randomElement(using: &random)
        switch kind {
        case .message, .messageData: envelope[.reply] = Bool.random(using: &random)
        case .failure: envelope[.code] = Int.random(in: 7001...7020, using: &random)
        case .delivery:
            envelope[.channel] = channel
            envelope[.attempt] = 1
        case .finished, .progress:
            envelope[.channel] = channel
            envelope[.offset] = kind == .progress ? UInt64.random(in: 0...9, using: &random) : nil
        case .context: envelope[.revision] = UInt64.random(in: 1...9, using: &random)
        default: break
        }
        return envelope
    }

    /// Random bytes, or a valid dictionary with a byte changed.
    private func body(_ random: inout SeededGenerator) throws -> [UInt8] {
        if Bool.random(using: &random) {
            return (0..<Int.random(in: 0..<64, using: &random)).map { _ in .random(in: .min ... .max, using: &random) }
        }
        let facts: PropertyListDictionary = [
            "code": 7, "name": "n", "size": -1, "text": "t", "tandem.verdict": "applied", "retry": true,
            "limit": [1, "x"],
        ]
        var bytes = try PropertyListWriter.write(facts)
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: .min ... .max, using: &random)
        return bytes
    }

    @Test(arguments: [UInt64(1), 2, 3]) func `SES-57: no body of a counterpart ends the session`(seed: UInt64) throws {
        fixture.receive()
        var random = SeededGenerator(seed: seed)
        let dials = fixture.daemon.dials
        for _ in 0..<400 {
            for (kind, _) in Self.kinds {
                var envelope = envelope(kind, &random)
                envelope.body = try body(&random)[...]
                guard let frame = try? envelope.frame() else { continue }
                fixture.daemon.channel?.send(frame)
            }
            fixture.scheduler.run()
            try #require(fixture.daemon.dials == dials && fixture.daemon.channel != nil, "the connection stays")
        }
        #expect(fixture.daemon.received.allSatisfy { $0.kind != .refusal })
    }
}
