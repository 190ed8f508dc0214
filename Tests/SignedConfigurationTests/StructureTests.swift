// Forms: cut anywhere, twin keys, every type in every field, bombs. Each is refused by its name and changes nothing.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSignedConfiguration
import Testing

@Suite struct StructureTests {
    @Test("CFG-1: an envelope cut at any byte is malformed")
    func anEnvelopeCutAtAnyByteIsMalformed() throws {
        let bytes = try Fixture.envelope()
        for count in bytes.indices {
            #expect(throws: VerificationFailure(.malformed, ""), "cut at \(count)") {
                try UnverifiedEnvelope(Array(bytes.prefix(count)))
            }
        }
        try Fixture.expectRejected(Array(bytes.prefix(40)), .malformed)
        try Fixture.expectRejected(bytes + [0], .malformed)
    }

    @Test("CFG-1: size is checked at the limit")
    func sizeIsCheckedAtTheLimit() throws {
        let limit = ConfigurationLimits.envelope
        try Fixture.expectRejected(Array(repeating: 0, count: limit + 1), .oversize)
        try Fixture.expectRejected(Array(repeating: 0, count: limit), .malformed)
        var payload = try Fixture.payload()
        payload.values["volume"] = .string(String(repeating: "x", count: limit))
        #expect {
            try ConfigurationSigner.sign(payload, with: [Fixture.key])
        } throws: { error in
            guard case .oversize? = error as? SigningError else { return false }
            return true
        }
    }

    /// An envelope with two pairs of one key, written by hand: no writer of ours makes it.
    @Test("CFG-1: duplicate and twin keys are malformed")
    func duplicateAndTwinKeysAreMalformed() throws {
        let good = try Fixture.envelope()
        let doubled = try #require(Self.replacing("payloadType", by: "payload\0\0\0\0", in: good))
        try Fixture.expectRejected(doubled, .malformed)
        var fields = try Fixture.payload().dictionary
        fields["values"] = ["caf\u{e9}": 1, "cafe\u{301}": 2]
        let twins = try SignedEnvelope.bytes(
            try PropertyListWriter.write(fields), type: .configuration, signedWith: [Fixture.key.key])
        let applicable = try ApplicableConfiguration(verifying: twins, in: try Fixture.context())
        #expect(applicable.payload.values.count == 2)
    }

    @Test("CFG-12: a list of strings is signed under 1.1 and refused under 1.0; other lists under both")
    func listsOfStringsNeedTheirVersion() throws {
        let signed = try Fixture.envelope { $0.values["hosts"] = ["a", "b"] }
        let applicable = try ApplicableConfiguration(verifying: signed, in: try Fixture.context())
        #expect(applicable.payload.specification == "1.1")
        #expect(applicable.payload.values["hosts"] == ["a", "b"])
        #expect(try Fixture.payload().specification == "1.0")
        let old = try Fixture.envelope(fields: ["values": ["hosts": ["a"]]])
        try Fixture.expectRejected(old, .payloadMalformed)
        for values: PropertyListDictionary in [["hosts": ["a", 1]], ["hosts": [["a"]]], ["hosts": ["a": "b"]]] {
            let mixed = try Fixture.envelope(fields: ["spec": "1.1", "values": .dictionary(values)])
            try Fixture.expectRejected(mixed, .payloadMalformed)
        }
    }

    private static func replacing(_ text: String, by other: String, in bytes: [UInt8]) -> [UInt8]? {
        replacing(Array(text.utf8), by: Array(other.utf8), in: bytes)
    }

    private static func replacing(_ wanted: [UInt8], by other: [UInt8], in bytes: [UInt8]) -> [UInt8]? {
        for start in 0...(bytes.count - wanted.count) where Array(bytes[start..<start + wanted.count]) == wanted {
            return Array(bytes[..<start]) + other + Array(bytes[(start + wanted.count)...])
        }
        return nil
    }

    /// A payload with an unknown field, which a verifier passes over if it can be read.
    private static func payload(with value: PropertyListValue, as name: String = "zz") throws -> [UInt8] {
        var fields = try Fixture.payload().dictionary
        fields[name] = value
        return try PropertyListWriter.write(fields)
    }

    /// A payload whose unknown field is this marker, by a change of the one byte in which two good payloads differ.
    private static func payload(withMarker marker: UInt8) throws -> [UInt8] {
        var fields = try Fixture.payload().dictionary
        fields["zz"] = false
        var bytes = try PropertyListWriter.write(fields)
        fields["zz"] = .data([])
        let other = try PropertyListWriter.write(fields)
        let places = bytes.indices.filter { bytes[$0] != other[$0] }
        try #require(bytes.count == other.count && places.count == 1)
        bytes[places[0]] = marker
        return bytes
    }

    private static func envelope(around payload: [UInt8]) throws -> [UInt8] {
        try SignedEnvelope.bytes(payload, type: .configuration, signedWith: [Fixture.key.key])
    }

    @Test("CFG-10, CFG-11: a well-signed payload that parsers read in several ways is malformed, whatever the field")
    func ambiguousPayloads() throws {
        let wide = try Self.payload(with: .string(String(repeating: "\u{e9}", count: 8)))
        let units = [[UInt8]](repeating: [0, 0xE9], count: 8).flatMap(\.self)
        let number: [UInt8] = [0x14] + [UInt8](repeating: 0, count: 7) + [1] + [UInt8](repeating: 0, count: 8)
        let payloads: [(String, [UInt8]?)] = [
            ("one key twice", Self.replacing("role", by: "spec", in: try Self.payload(with: 5))),
            (
                "a key of ASCII in UTF-16",
                Self.replacing(
                    [0x54] + Array("zzzz".utf8), by: [0x62, 0, 0x7A, 0, 0x7A],
                    in: try Self.payload(with: 5, as: "zzzz"))
            ),
            ("null", try Self.payload(withMarker: 0x00)), ("fill", try Self.payload(withMarker: 0x0F)),
            ("an ordered set", try Self.payload(withMarker: 0xB0)), ("a set", try Self.payload(withMarker: 0xC0)),
            (
                "a UID",
                Self.replacing([0x43, 1, 2, 3], by: [0x82, 1, 2, 3], in: try Self.payload(with: .data([1, 2, 3])))
            ),
            ("an integer above 2^64", Self.replacing([0x68] + units, by: number, in: wide)),
            ("bplist01", Self.replacing("bplist00", by: "bplist01", in: wide)),
            ("bplist15", Self.replacing("bplist00", by: "bplist15", in: wide)),
            ("bplist16", Self.replacing("bplist00", by: "bplist16", in: wide)),
            ("bplist17", Self.replacing("bplist00", by: "bplist17", in: wide)),
            ("OpenStep", Array("{typ=config;}".utf8)),
        ]
        for (name, payload) in payloads {
            let bytes = try Self.envelope(around: try #require(payload, "\(name)"))
            #expect(throws: VerificationFailure(.payloadMalformed, ""), "\(name)") {
                try ApplicableConfiguration(verifying: bytes, in: try Fixture.context())
            }
            try Fixture.expectRejected(bytes, .payloadMalformed)
        }
        for good in [wide, try Self.payload(with: 5), try Self.payload(with: false), try Self.payload(with: .data([]))]
        {
            let bytes = try Self.envelope(around: good)
            #expect(throws: Never.self) { try ApplicableConfiguration(verifying: bytes, in: try Fixture.context()) }
        }
    }

    private static let everyType: [PropertyListValue] = [
        true, .integer(-1), 0, .integer(.max), .unsigned(.max), 1.0, "", "text", .data([]), .data([1, 2, 3]),
        .date(PropertyListDate(millisecondsSinceReferenceDate: 0)), [], ["x"], [:], ["x": 1],
    ]

    @Test(
        "CFG-10: every field refuses every other type",
        arguments: [
            "typ", "spec", "app", "role", "target", "only", "ver", "keyset", "txid", "iat", "nbf", "expires",
            "lifetime",
            "floor", "crit", "optional", "values",
        ])
    func everyFieldRefusesEveryOtherType(field: String) throws {
        let good = try #require(Self.goodValues()[field])
        for value in Self.everyType where !Self.isAllowed(value, for: field) {
            let bytes = try Fixture.envelope(fields: [field: value])
            #expect(throws: VerificationFailure.self, "\(field) = \(value)") {
                try ApplicableConfiguration(verifying: bytes, in: try Fixture.context())
            }
        }
        let bytes = try Fixture.envelope(fields: [field: good])
        #expect(throws: Never.self, "\(field) = \(good)") {
            try ApplicableConfiguration(verifying: bytes, in: try Fixture.context())
        }
    }

    private static func goodValues() throws -> [String: PropertyListValue] {
        let now = Int64(Fixture.now.seconds)
        return [
            "typ": "config", "spec": "1.0", "app": .string(try Fixture.application().description),
            "role": "secondary", "target": .string(try Fixture.target().text),
            "only": [.data(try Fixture.device().bytes)], "ver": .unsigned(.max), "keyset": 1,
            "txid": .data(Array(repeating: 9, count: 16)), "iat": 0, "nbf": 0, "expires": .integer(now + 10),
            "lifetime": .unsigned(.max), "floor": .integer(.max), "crit": ["ver"], "optional": ["x"],
            "values": ["x": 1, "y": 1.5, "z": "", "w": false],
        ]
    }

    /// The few of the values above that a field does take.
    private static func isAllowed(_ value: PropertyListValue, for field: String) -> Bool {
        switch (field, value) {
        case ("ver", .integer(.max)), ("ver", .unsigned), ("iat", .integer(0)), ("nbf", .integer(0)),
            ("lifetime", .integer(.max)), ("lifetime", .unsigned), ("floor", .integer(.max)), ("floor", .unsigned):
            true
        case ("optional", .array(let list)): !list.isEmpty
        case ("values", .dictionary): true
        default: false
        }
    }

    @Test("CFG-10, CFG-11: a missing field is refused and an unknown one is not")
    func aMissingFieldIsRefusedAndAnUnknownOneIsNot() throws {
        for field in ["typ", "spec", "app", "role", "target", "ver", "keyset", "txid", "iat", "values"] {
            let bytes = try Fixture.envelope(fields: [field: nil as PropertyListValue?])
            try Fixture.expectRejected(bytes, .payloadMalformed)
        }
        let bytes = try Fixture.envelope(fields: ["colour": "red"])
        #expect(throws: Never.self) { try ApplicableConfiguration(verifying: bytes, in: try Fixture.context()) }
        try Fixture.expectRejected(try Fixture.envelope(fields: ["colour": 1, "crit": ["colour"]]), .critical)
        // Texts that are no words for their bytes: nothing compares them by Unicode (LIM-153).
        let marks = PropertyListValue.string("1." + String(repeating: "\u{301}\u{323}", count: 500))
        try Fixture.expectRejected(try Fixture.envelope(fields: ["crit": [marks]]), .critical)
        try Fixture.expectRejected(try Fixture.envelope(fields: ["spec": marks]), .wrongType)
        try Fixture.expectRejected(try Fixture.envelope(fields: ["typ": marks]), .wrongType)
    }

    @Test("CFG-10: the names of a list are distinct by their bytes: two spellings of one word are two names")
    func namesByBytes() throws {
        let spellings: [PropertyListValue] = ["caf\u{e9}", "cafe\u{301}"]
        let values: PropertyListValue = .dictionary(["caf\u{e9}": 1, "cafe\u{301}": 2])
        let list = PropertyListValue.array(spellings)
        let bytes = try Fixture.envelope(fields: ["values": values, "optional": list])
        #expect(throws: Never.self) { try ApplicableConfiguration(verifying: bytes, in: try Fixture.context()) }
        let twice = PropertyListValue.array(spellings + spellings)
        let repeated = try Fixture.envelope(fields: ["values": values, "optional": twice])
        try Fixture.expectRejected(repeated, .payloadMalformed)
    }

    @Test("CFG-11: a hostile critical name is shown harmlessly")
    func aHostileCriticalNameIsShownHarmlessly() throws {
        let bytes = try Fixture.envelope(fields: [
            "crit": [.string("a\n\u{1b}[2J" + String(repeating: "x", count: 500))]
        ])
        #expect {
            try ApplicableConfiguration(verifying: bytes, in: try Fixture.context())
        } throws: { error in
            guard let failure = error as? VerificationFailure else { return false }
            return failure.rejection == .critical && failure.detail.utf8.count < 256
                && failure.detail.unicodeScalars.allSatisfy { $0.value >= 32 }
        }
    }

    @Test("CFG-10: deep and wide payloads are malformed quickly")
    func deepAndWidePayloadsAreMalformedQuickly() throws {
        var deep: PropertyListValue = 1
        for _ in 0..<60 { deep = [deep] }
        try Fixture.expectRejected(try Fixture.envelope(fields: ["values": ["x": deep]]), .payloadMalformed)
        let bomb = Self.sharedReferenceBomb(levels: 30)
        let body = try SignedEnvelope.bytes(bomb, type: .configuration, signedWith: [Fixture.key.key])
        try Fixture.expectRejected(body, .payloadMalformed)
        try Fixture.expectRejected(bomb, .malformed)
    }

    /// A property list of a few hundred bytes whose naive reading builds 2^levels values.
    private static func sharedReferenceBomb(levels: Int) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var offsets: [Int] = []
        for level in 0..<levels {
            offsets.append(bytes.count)
            bytes += [0xA2, UInt8(level + 1), UInt8(level + 1)]
        }
        offsets.append(bytes.count)
        bytes += [0x10, 0x01]
        let table = bytes.count
        bytes += offsets.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
        let count = UInt8(levels + 1)
        bytes += [0, 0, 0, 0, 0, 0, 2, 1] + [0, 0, 0, 0, 0, 0, 0, count] + Array(repeating: 0, count: 8)
        bytes += [0, 0, 0, 0, 0, 0, UInt8(table >> 8), UInt8(table & 255)]
        return bytes
    }

    @Test("CFG-5: what is applied was parsed from the verified bytes")
    func whatIsAppliedWasParsedFromTheVerifiedBytes() throws {
        var bytes = try Fixture.envelope()
        let envelope = try UnverifiedEnvelope(bytes)
        for index in bytes.indices { bytes[index] = 0 }
        let verified = try VerifiedConfiguration(envelope, in: try Fixture.context())
        #expect(verified.payload.version == 7)
        #expect(verified.bytes != bytes)
    }

    @Test("CFG-10: a signer refuses what no verifier would take")
    func aSignerRefusesWhatNoVerifierWouldTake() throws {
        var payload = try Fixture.payload()
        payload.only = []
        #expect(throws: SigningError.self) { try ConfigurationSigner.sign(payload, with: [Fixture.key]) }
        payload = try Fixture.payload(version: 0)
        #expect(throws: SigningError.self) { try ConfigurationSigner.sign(payload, with: [Fixture.key]) }
        #expect(throws: SigningError.noKeys) {
            try ConfigurationSigner.sign(try Fixture.payload(), with: [])
        }
    }

    @Test("CFG-60: apply links carry the envelope and nothing else")
    func applyLinksCarryTheEnvelopeAndNothingElse() throws {
        let bytes = try Fixture.envelope()
        let text = ApplyLink.text(of: bytes)
        #expect(text.hasPrefix("tandem:apply/1?e="))
        #expect(try ApplyLink.envelope(in: text) == bytes)
        #expect(throws: ApplyLink.Failure.notAnApplyLink) { try ApplyLink.envelope(in: "tandem:join/1?e=AA") }
        #expect(throws: ApplyLink.Failure.notBase64URL) { try ApplyLink.envelope(in: text + "=") }
        let huge = ApplyLink.text(of: Array(repeating: 0, count: ConfigurationLimits.envelope + 1))
        #expect(throws: ApplyLink.Failure.tooLong) { try ApplyLink.envelope(in: huge) }
        #expect(ApplyLink.fitsQRCode(Array(repeating: 0, count: 2200)))
        #expect(!ApplyLink.fitsQRCode(Array(repeating: 0, count: 2201)))
    }

    @Test("CFG-60: a text for people has its links in quotes, brackets or a sentence, and a damaged one stays damaged")
    func linksInTexts() throws {
        let link = ApplyLink.text(of: try Fixture.envelope())
        let texts = [
            link, "open\t\(link)\n", "<\(link)>", "'\(link)'", "\"\(link)\".", "\u{201C}\(link)\u{201D}",
            "(\(link))", "[here](\(link))", "`\(link)`", "see \(link), or ask.", "Open \(link).", "link:\(link)?",
            "{\"a\":\"\(link)\"}",
        ]
        for text in texts { #expect(ApplyLink.links(in: text) == [link], "\(text.prefix(12))") }
        #expect(ApplyLink.links(in: "\(link) <\(link)>") == [link, link])
        #expect(ApplyLink.links(in: link + "=") == [link + "="])
        #expect(ApplyLink.links(in: "tandem:join/1?e=AA, tandem: apply/1?e=AA").isEmpty)
    }
}
