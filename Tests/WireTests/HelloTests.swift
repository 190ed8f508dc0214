// Hello (SES-2 to SES-4): what each end says, and that a version is agreed on or there is none.

import TandemBase
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

@Suite struct HelloTests {
    static func version(_ number: UInt32) throws -> ProtocolVersion { try #require(ProtocolVersion(number)) }

    @Test func aClientsHelloComesOutAsItWentIn() throws {
        let hello = Hello.offer(software: "test 1")
        #expect(hello.body["minimum"] == 1)
        #expect(try Hello(body: hello.body, from: .client) == hello)
    }

    @Test func `SES-2: the bytes of the protocol's first page are a hello`() throws {
        let text = try #require(TemporaryDirectory.read(Checkout.path("Protocol/README.md")))
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
        let digits = lines.filter { line in
            line.split(separator: " ").allSatisfy { $0.count == 8 && $0.allSatisfy { $0.isHexDigit } }
        }
        var decoder = FrameDecoder(limit: 512)
        decoder.append(try #require(Hexadecimal.decode(digits.joined().filter { $0 != " " }))[...])
        let envelope = try Envelope(payload: try #require(try decoder.next()).payload.copied()[...])
        #expect(envelope.kind == .hello)
        let hello = try Hello(body: Body.dictionary(try #require(envelope.body)[...]), from: .client)
        #expect(hello.capabilities == [.message])
        #expect(hello.software == "peer 1")
    }

    @Test func aLinksHelloComesOutAsItWentIn() throws {
        let uuid = UniqueIdentifier.random()
        let mark = SequenceMark(app: try ApplicationIdentifier("a.b"), channel: .configuration, sequence: 9)
        let hello = Hello(
            .chosen(.first), capabilities: [.message], software: "test 1", role: .secondary, device: uuid,
            link: LinkHello(name: "kitchen", epoch: 2, instance: uuid, received: [mark], sent: []))
        #expect(try Hello(body: Body.dictionary(Body.bytes(hello.body)[...]), from: .server) == hello)
    }

    @Test func unknownCapabilitiesAndKeysOfANewerPeerAreIgnored() throws {
        var body = Hello.offer(software: "newer 9").body
        body["capabilities"] = ["message", "telepathy"]
        body["future"] = 1
        #expect(try Hello(body: body, from: .client).capabilities == [.message])
    }

    @Test func `SES-3: the queues of a newer peer in a channel that this end does not know are ignored`() throws {
        let uuid = UniqueIdentifier.random()
        let mark = SequenceMark(app: try ApplicationIdentifier("a.b"), channel: .context, sequence: 9)
        let link = LinkHello(name: "kitchen", epoch: 2, instance: uuid, received: [mark], sent: [mark])
        var body = Hello(.chosen(.first), software: "newer 9", role: .secondary, device: uuid, link: link).body
        let stray: PropertyListValue = ["app": "a.b", "channel": "telepathy", "sequence": 4]
        for key in ["received", "sent"] { body[key] = .array((body[key]?.arrayValue ?? []) + [stray]) }
        #expect(try Hello(body: body, from: .server).link == link)
    }

    @Test func `SES-2, LIM-156: of a peer's software 128 bytes are kept, in whole characters`() throws {
        var body = Hello.offer(software: String(repeating: "x", count: 128)).body
        #expect(try Hello(body: body, from: .client).software.utf8.count == 128)
        body["software"] = .string("x" + String(repeating: "\u{E9}", count: 250_000))
        let software = try Hello(body: body, from: .client).software
        #expect(software == "x" + String(repeating: "\u{E9}", count: 63))
    }

    @Test(
        arguments: [
            ("minimum", 0), ("minimum", 2), ("maximum", "1"), ("maximum", nil), ("minimum", 4_294_967_296),
            ("software", nil),
            ("capabilities", ["message", 1]), ("capabilities", "message"), ("role", "tertiary"), ("device", .data([1])),
            ("instance", .data(Array(1...16))),
        ] as [(String, PropertyListValue?)])
    func aHelloWithAWrongFieldIsRefusedByKey(key: String, value: PropertyListValue?) {
        var body = Hello.offer(software: "test").body
        body[key] = value
        let error = #expect(throws: WireError.self) { try Hello(body: body, from: .client) }
        #expect(error?.refusalName == .envelope)
    }

    @Test func `SES-24: a version key that the other end says is ignored, and one's own is required`() throws {
        var offer = Hello.offer(software: "test").body
        offer["version"] = 0
        #expect(try Hello(body: offer, from: .client).versions == .offered(ProtocolVersion.supported))
        #expect(throws: WireError.self) { try Hello(body: offer, from: .server) }
        var answer = Hello(.chosen(.first), software: "test").body
        (answer["minimum"], answer["maximum"]) = ("one", 0)
        #expect(try Hello(body: answer, from: .server).versions == .chosen(.first))
        #expect(throws: WireError.self) { try Hello(body: answer, from: .client) }
    }

    @Test func `SES-24: what a daemon or a device on a link says is ignored in the hello of an app`() throws {
        var offer = Hello.offer(software: "test").body
        (offer["role"], offer["device"], offer["instance"]) = (5, "panel", .data(Array(1...16)))
        #expect(try Hello(body: offer, from: .app) == Hello.offer(software: "test"))
        #expect(throws: WireError.self) { try Hello(body: offer, from: .client) }
    }

    @Test func theHighestCommonVersionIsChosenOrNone() throws {
        let (one, two, three, four) = (
            try Self.version(1), try Self.version(2), try Self.version(3), try Self.version(4)
        )
        #expect(ProtocolVersion.chosen(from: one...three, and: two...four) == three)
        #expect(ProtocolVersion.chosen(from: one...four, and: two...three) == three)
        #expect(ProtocolVersion.chosen(from: two...two, and: one...one) == nil)
        #expect(ProtocolVersion.chosen(from: one...one) == .first)
        #expect(ProtocolVersion(0) == nil)
    }

    @Test func aRefusalCarriesItsNameAndText() throws {
        let refusal = Refusal(.versionLowered, "version 1 is below 2, seen before")
        let copy = try Refusal(Envelope(reading: refusal.envelope.frame()))
        #expect(copy == refusal)
        #expect(copy.name == .versionLowered)
        let newer = try Refusal(Envelope(.refusal, name: "too-green"))
        #expect(newer.name == nil)
        #expect(newer.word == "too-green")
    }

    @Test("SES-3: each durable channel has the capability that opens it, by the same word")
    func channels() {
        for channel in Channel.allCases { #expect(Capability(rawValue: channel.rawValue) != nil, "\(channel)") }
    }
}
