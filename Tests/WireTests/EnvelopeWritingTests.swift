// Envelopes are written straight into their frame (FRM-7, FRM-8): byte for byte what the writer of dictionaries makes
// of the same pairs, whatever the values have in common, and nothing that the other end would refuse.

import TandemBase
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

@Suite struct EnvelopeWritingTests {
    /// An item and its pairs, with values that are often equal to each other or to a key.
    private static func item(_ generator: inout SeededGenerator) throws -> (Envelope, PropertyListDictionary) {
        func pick<Value>(_ values: [Value]) -> Value { values.randomElement(using: &generator) ?? values[0] }
        let identifiers = [Array(1...16), Array(repeating: UInt8(0), count: 16), generator.bytes(16)] as [[UInt8]]
        let bodies = identifiers + [[], generator.bytes(pick([1, 14, 15, 200, 255, 256, 5000, 70_000]))]
        let (pairing, id, body) = (pick(identifiers), pick(identifiers), pick(bodies))
        let (app, age) = (pick(["app", "id", "org.example.lamp"]), pick([0, 7, 255, 256, 70_000, 1 << 40]) as Int64)
        var envelope = Envelope(
            .item, app: try ApplicationIdentifier(app), pairing: UniqueIdentifier(bytes: pairing),
            id: UniqueIdentifier(bytes: id), channel: .configuration, sequence: 7, age: .milliseconds(age), attempt: 7,
            body: body)
        var pairs: PropertyListDictionary = [
            "kind": "item", "app": .string(app), "pairing": .data(pairing), "id": .data(id),
            "channel": "configuration", "sequence": 7, "age": .integer(age), "attempt": 7, "body": .data(body),
        ]
        if pick([true, false]) {
            envelope.nonce = pick(identifiers)
            pairs["nonce"] = envelope.nonce.map { .data($0) }
        }
        for index in 0..<pick([0, 0, 1, 3, 100, 130, 300]) {
            let value: PropertyListValue = pick([
                true, 7, -1, .string("é\(index)"), "x-1", .data(pick(bodies)), .data(body), .data(id),
            ])
            envelope.extensions["x-\(index)"] = value
            pairs["x-\(index)"] = value
        }
        return (envelope, pairs)
    }

    @Test(arguments: Repetition.seeds(100, long: 300))
    func aFrameHoldsTheCanonicalBytesOfItsPairs(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let (envelope, pairs) = try Self.item(&generator)
        let expected = Result { () throws(PropertyListError) in try PropertyListWriter.write(pairs) }
        let found = Result { () throws(WireError) in try envelope.frame(limit: 1 << 26) }
        switch (expected, found) {
        case (.success(let payload), .success(let frame)):
            #expect(frame.payload.copied() == payload)
            #expect(Array(frame.bytes.copied().prefix(4)) == Bytes.bigEndian(UInt32(payload.count)))
        case (.failure(let error), .failure(.malformed(let other))): #expect(error == other)
        default: Issue.record("written by one way only")
        }
    }

    @Test(
        arguments: [
            ("trace", 1, RefusalName.unknownKey), ("x-a", 1.5, .envelope), ("x-a", [1], .envelope),
            ("x-a", [:], .envelope), ("x-a\0", 1, .malformed),
        ] as [(String, PropertyListValue, RefusalName)])
    func extensionsThatTheOtherEndWouldRefuseAreNotWritten(
        key: String, value: PropertyListValue, refusal: RefusalName
    ) throws {
        var envelope = Envelope(.ping)
        envelope.extensions[key] = value
        #expect { try envelope.frame() } throws: { ($0 as? WireError)?.refusalName == refusal }
        let payload = try? PropertyListWriter.write(["kind": "ping", key: value] as PropertyListDictionary)
        if let payload {
            #expect { try Envelope(reading: Frame(payload: payload)) } throws: {
                ($0 as? WireError)?.refusalName == refusal
            }
        }
    }

    @Test func aFrameOfExactlyTheLimitIsWrittenAndOneByteMoreIsNot() throws {
        let size = try Envelope(.ping).frame().payload.count
        #expect(try Envelope(.ping).frame(limit: size).payload.count == size)
        #expect { try Envelope(.ping).frame(limit: size - 1) } throws: { ($0 as? WireError)?.refusalName == .tooLarge }
    }
}
