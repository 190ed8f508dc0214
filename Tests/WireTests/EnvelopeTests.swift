// The envelope's rules (FRM-8 to FRM-14), each with the name of its refusal.

import TandemBase
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

@Suite struct EnvelopeTests {
    static let app = try? ApplicationIdentifier("com.example.app")
    static let uuid = UniqueIdentifier(bytes: Array(1...16))

    static let message: PropertyListDictionary = [
        "kind": "message", "app": "com.example.app", "pairing": .data(Array(1...16)), "id": .data(Array(1...16)),
        "body": .data([1, 2, 3]),
    ]

    static func envelope(_ pairs: PropertyListDictionary) throws -> Envelope {
        try Envelope(reading: Frame(payload: PropertyListWriter.write(pairs)))
    }

    /// The fault of a message with one more or another pair.
    static func fault(_ key: String, _ value: PropertyListValue?) -> WireError? {
        var pairs = message
        pairs[key] = value
        return fault(pairs)
    }

    static func fault(_ pairs: PropertyListDictionary) -> WireError? {
        do {
            _ = try envelope(pairs)
            return nil
        } catch {
            return error as? WireError
        }
    }

    @Test func theKeysAreInTheOrderOfTheirWords() {
        let words = EnvelopeKey.allCases.map(\.rawValue)
        #expect(words == words.sorted())
    }

    @Test func aMessageComesOutAsItWentIn() throws {
        var envelope = Envelope(
            .message, app: Self.app, pairing: Self.uuid, id: Self.uuid, reply: true, deadline: .seconds(30),
            body: [1, 2, 3])
        envelope.extensions["x-trace"] = "abc"
        let frame = try envelope.frame()
        #expect(try Envelope(reading: frame) == envelope)
        #expect(try Envelope(reading: frame).frame() == frame)
        #expect(envelope.wantsReply)
        #expect(try !Self.envelope(Self.message).wantsReply)
    }

    @Test func anItemComesOutAsItWentIn() throws {
        let item = Envelope(
            .item, app: Self.app, pairing: Self.uuid, id: Self.uuid, channel: .configuration, sequence: 7,
            age: .milliseconds(1500), attempt: 2, nonce: Array(0..<16), body: [])
        #expect(try Envelope(reading: item.frame()) == item)
    }

    @Test func theBodyIsAPieceOfTheFrameAndIsNotOpened() throws {
        let garbage = Array("not a property list".utf8)
        let frame = try Envelope(.message, app: Self.app, pairing: Self.uuid, id: Self.uuid, body: garbage).frame()
        let envelope = try Envelope(reading: frame)
        let body = try #require(envelope.body)
        #expect(Array(body) == garbage)
        #expect(Array(frame.payload.copied()[body.startIndex..<body.endIndex]) == garbage)
        #expect(throws: WireError.self) { try envelope.dictionaryBody() }
    }

    @Test func unknownKeysAreRefusedUnlessTheyAreExtensions() throws {
        #expect(Self.fault("extra", 1) == .unknownKey("extra"))
        #expect(Self.fault("X-extra", 1) == .unknownKey("X-extra"))
        #expect(Self.fault("x", 1)?.refusalName == .unknownKey)
        #expect(Self.fault("x-extra", [1])?.refusalName == .envelope)
        #expect(Self.fault("x-extra", 1.5)?.refusalName == .envelope)
        var pairs = Self.message
        pairs["x-extra"] = "kept"
        #expect(try Self.envelope(pairs).extensions == ["x-extra": "kept"])
    }

    @Test func unknownKindsAreRefusedByName() {
        #expect(Self.fault("kind", "massage") == .unknownKind("massage"))
        #expect(Self.fault("kind", "massage")?.refusalName == .unknownKind)
        #expect(Self.fault("kind", nil) == .missingKind)
        #expect(Self.fault("kind", 1)?.refusalName == .envelope)
        #expect(Self.fault([:]) == .missingKind)
    }

    @Test("FRM-8: a text of marks is no kind, channel or key")
    func marks() {
        for word in ["ping\u{301}\u{316}", "p\u{FF49}ng", String(repeating: "\u{301}\u{316}", count: 2000)] {
            #expect(Self.fault("kind", .string(word)) == .unknownKind(word))
            #expect(Self.fault("channel", .string(word))?.refusalName == .envelope)
        }
        #expect(Self.fault("kind\u{301}", 1) == .unknownKey("kind\u{301}"))
    }

    @Test("FRM-8, LIM-155: a failure leaves out a name that is too long for a frame")
    func longName() throws {
        let id = try #require(Self.uuid)
        let app = try #require(Self.app)
        func name(_ count: Int) throws -> String? {
            let error = SessionError(.genericError, name: String(repeating: "n", count: count), reason: "")
            return try Envelope(reading: FailureFrame(app: app, pairing: id, id: id, error).frame())[.name]
        }
        #expect(try name(256)?.utf8.count == 256)
        #expect(try name(257) == nil)
    }

    @Test("FRM-8, LIM-155: a failure of an earlier release with a longer name is one without a name")
    func longNameOfAnEarlierRelease() throws {
        func failure(_ kind: PropertyListValue, _ count: Int) -> PropertyListDictionary {
            var pairs = Self.message
            pairs["kind"] = kind
            pairs["code"] = kind == "failure" ? 7 : nil
            pairs["name"] = .string(String(repeating: "n", count: count))
            return pairs
        }
        for (count, kept) in [(256, 256), (257, nil), (300, nil)] as [(Int, Int?)] {
            let envelope = try Self.envelope(failure("failure", count))
            let name: String? = envelope[.name]
            let code: Int64? = envelope[.code]
            #expect(name?.utf8.count == kept && envelope.has(.name) == (kept != nil) && code == 7)
            let error = try FailureFrame(envelope)
            #expect(error.name?.utf8.count == kept)
        }
        var refusal: PropertyListDictionary = ["kind": "bye"]
        refusal["name"] = .string(String(repeating: "n", count: 257))
        #expect(Self.fault(refusal)?.refusalName == .envelope, "of another kind")
    }

    @Test func unknownSealingIsRefused() {
        #expect(Self.fault("sealing", 0) == nil)
        #expect(Self.fault("sealing", 1) == .unknownSealing(1))
        #expect(Self.fault("sealing", -1)?.refusalName == .unknownSealing)
        #expect(Self.fault(["kind": "ping", "sealing": 0]) == .unlistedKey(.sealing, .ping))
    }

    @Test(
        arguments: [
            ("app", 1), ("app", ".hidden"), ("app", "a/b"), ("app", ""), ("pairing", "text"), ("pairing", .data([1])),
            ("id", .data(Array(0...16))), ("id", 5), ("reply", 1), ("reply", "true"), ("deadline", 0),
            ("deadline", 600_001),
            ("deadline", -1), ("deadline", .integer(.max)), ("deadline", 1.0), ("body", "text"), ("body", [1]),
            ("body", ["a": 1]),
        ] as [(String, PropertyListValue)])
    func valuesOfTheWrongTypeOrRangeAreRefusedByKey(key: String, value: PropertyListValue) {
        let fault = Self.fault(key, value)
        #expect(fault?.refusalName == .envelope)
        #expect(fault?.description.contains("'\(key)'") == true)
    }

    @Test func bytesThatAreNoPropertyListAreMalformed() throws {
        for text in ["{}", "<?xml version=\"1.0\"?>", "bplist00", "bplist15........................................"] {
            let error = #expect(throws: WireError.self) { try Envelope(reading: Frame(payload: Array(text.utf8))) }
            #expect(error?.refusalName == .malformed)
        }
        let array = try Frame(payload: PropertyListWriter.write([1]))
        let error = #expect(throws: WireError.self) { try Envelope(reading: array) }
        #expect(error?.refusalName == .malformed)
    }

    @Test func textOfAPeerIsEscapedAndCutInErrors() {
        let key = "evil\n\u{1B}[31m" + String(repeating: "k", count: 200)
        let text = WireError.unknownKey(key).description
        #expect(text.hasPrefix("unknown key 'evil??[31mkkk"))
        #expect(text.hasSuffix("k'..."))
        #expect(text.utf8.count < 160)
    }
}
