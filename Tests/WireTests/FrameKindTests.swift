// The table of kinds and keys (FRM-10), written here a second time and compared with what the code accepts: for each
// kind every key is tried, present and absent.

import TandemBase
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

@Suite struct FrameKindTests {
    /// Required keys, then optional ones, as Protocol/Frames.md lists them. `kind` and `sealing` are left out.
    static let table: [FrameKind: (String, String)] = [
        .hello: ("body", "pairing"), .refusal: ("name", "body"), .ping: ("", "id"), .pong: ("", "id"),
        .bye: ("", "name"), .register: ("app body", ""), .registered: ("app body", ""), .state: ("app body", ""),
        .message: ("app pairing id body", "reply deadline topic"),
        .messageData: ("app pairing id body", "reply deadline topic"),
        .reply: ("app pairing id body", ""), .failure: ("app pairing id code", "channel name body"),
        .configuration: ("app pairing id reply body", "deadline"), .control: ("id command", "body code name"),
        .result: ("id command", "body code name"), .application: ("app body", ""),
        .item: ("app pairing id channel sequence body", "nonce age attempt remaining topic revision"),
        .outcome: ("app pairing channel sequence name", "code"), .outcomeAck: ("app pairing channel sequence", ""),
        .gap: ("app pairing channel sequence name", ""), .stored: ("app pairing channel sequence", ""),
        .submit: ("app pairing id channel body", "topic key after remaining name"),
        .accepted: ("app pairing id channel", "name revision"),
        .progress: ("app pairing id channel name", "offset body"),
        .delivery: ("app pairing id channel attempt body", "topic age remaining revision"),
        .verdict: ("app pairing id channel name", "code body"), .finishedAck: ("app pairing id channel", ""),
        .finished: ("app pairing id channel name", "code body"), .context: ("app pairing name revision body", ""),
        .query: ("app id command", "pairing channel body"), .answer: ("app id command", "pairing code name body"),
        .chunk: ("app pairing id channel offset body", ""), .fetch: ("app pairing id channel offset", "name"),
        .join: ("body", ""), .joined: ("body", ""),
    ]

    static let values: PropertyListDictionary = [
        "app": "a.b", "pairing": .data(Array(1...16)), "id": .data(Array(1...16)), "channel": "configuration",
        "sequence": 1, "reply": true, "deadline": 1000, "age": 0, "remaining": 5, "attempt": 1,
        "nonce": .data(Array(1...16)),
        "topic": "alarms", "key": "state", "after": .data(Array(1...16)), "revision": 1, "offset": 0,
        "code": 7007, "name": "word", "command": "status", "body": .data([1]),
    ]

    static func words(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }

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
        let row = try #require(Self.table[kind])
        let (required, optional) = (Self.words(row.0), Self.words(row.1))
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
