// The table of kinds and keys (FRM-10), as the reference has it, compared with the code: for each kind every key is
// tried, present and absent.

import TandemBase
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

@Suite struct FrameKindTests {
    static let values: PropertyListDictionary = [
        "app": "a.b", "pairing": .data(Array(1...16)), "id": .data(Array(1...16)), "channel": "configuration",
        "sequence": 1, "reply": true, "deadline": 1000, "age": 0, "remaining": 5, "attempt": 1,
        "nonce": .data(Array(1...16)),
        "topic": "alarms", "key": "state", "after": .data(Array(1...16)), "revision": 1, "offset": 0,
        "code": 7007, "name": "word", "command": "status", "body": .data([1]),
    ]

    static func fault(_ kind: FrameKind, _ keys: some Sequence<String>) -> WireError? {
        var pairs: PropertyListDictionary = ["kind": .string(kind.rawValue)]
        for key in keys { pairs[key] = values[key] }
        do {
            let envelope = try EnvelopeTests.envelope(pairs)
            #expect(try EnvelopeTests.envelope(pairs).frame() == envelope.frame())
            return nil
        } catch {
            return error as? WireError
        }
    }

    @Test(arguments: FrameKind.allCases)
    func aKindHasItsKeysAndNoOthers(kind: FrameKind) throws {
        let (required, optional) = try #require(ReferenceEnvelope.kinds[kind.rawValue])
        #expect(Self.fault(kind, required) == nil)
        #expect(Self.fault(kind, required + optional) == nil)
        for key in required {
            let name = try #require(EnvelopeKey(rawValue: key))
            #expect(Self.fault(kind, required.filter { $0 != key }) == .missingKey(name, kind))
        }
        for key in Self.values.keys where !required.contains(key) && !optional.contains(key) {
            let name = try #require(EnvelopeKey(rawValue: key))
            #expect(Self.fault(kind, required + [key]) == .unlistedKey(name, kind))
        }
    }

    @Test("FRM-8: every key of the table has a value here, so that the other tests try it")
    func allKeys() {
        let keys = EnvelopeKey.allCases.map(\.rawValue).filter { $0 != "kind" && $0 != "sealing" }
        #expect(Set(keys) == Set(Self.values.keys))
    }

    @Test func writingFollowsTheSameTable() {
        #expect(throws: WireError.missingKey(.body, .hello)) { try Envelope(.hello).frame() }
        #expect(throws: WireError.unlistedKey(.code, .ping)) { try Envelope(.ping, code: 1).frame() }
        let long = Envelope(
            .message, app: EnvelopeTests.app, pairing: EnvelopeTests.uuid, id: EnvelopeTests.uuid,
            deadline: .seconds(601), body: [])
        #expect(throws: WireError.self) { try long.frame() }
        let large = Envelope(.hello, body: [UInt8](repeating: 0, count: Limits.frame))
        #expect(throws: WireError.self) { try large.frame() }
    }
}
