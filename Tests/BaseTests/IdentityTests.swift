// The text forms and comparisons that the protocol relies on: identifiers are bytes, and each has one spelling.

import TandemBase
import Testing

@Suite struct IdentityTests {
    @Test func uuidTextAndBytesAreOneValue() throws {
        let text = "0123ABCD-0000-4000-8000-0123456789AB"
        let identifier = try #require(UniqueIdentifier(text: text))
        #expect(identifier.description == text)
        #expect(UniqueIdentifier(bytes: identifier.bytes) == identifier)
        #expect(UniqueIdentifier(text: text.lowercased()) == identifier)
        #expect(UniqueIdentifier(text: "0123ABCD00004000-8000-0123456789AB----") == nil)
        #expect(UniqueIdentifier(bytes: [1, 2, 3]) == nil)
    }

    @Test func derivedAndRandomUuidsCarryTheirVersion() throws {
        let derived = try #require(UniqueIdentifier.derived(fromDigest: Array(repeating: 0xFF, count: 32)))
        #expect(derived.description == "FFFFFFFF-FFFF-8FFF-BFFF-FFFFFFFFFFFF")
        #expect(UniqueIdentifier.derived(fromDigest: [0]) == nil)
        let random = UniqueIdentifier.random().bytes
        #expect(random[6] >> 4 == 4)
        #expect(random[8] >> 6 == 2)
    }

    @Test func customIdentifiersCompareAsBytesNotAsCanonicalText() throws {
        let composed = try PairedIdentifier(text: "custom:caf\u{e9}")
        let decomposed = try PairedIdentifier(text: "custom:cafe\u{301}")
        #expect("caf\u{e9}" == "cafe\u{301}")
        #expect(composed != decomposed)
    }

    @Test func vendorAndCustomNeverMatch() throws {
        let uuid = "0123ABCD-0000-4000-8000-0123456789AB"
        #expect(try PairedIdentifier(text: "vendor:\(uuid)") != PairedIdentifier(text: "custom:\(uuid)"))
    }

    @Test(arguments: [
        "", "vendor:", "vendor:0123abcd-0000-4000-8000-0123456789ab", "custom:", "other:x", "custom:a\0b",
    ])
    func malformedPairedIdentifiersAreRefused(text: String) {
        #expect(throws: IdentifierError.self) { try PairedIdentifier(text: text) }
    }

    @Test(arguments: ["", ".hidden", "a/b", "..", "a b", "caf\u{e9}", String(repeating: "a", count: 129)])
    func applicationIdentifiersThatCouldLeaveTheirDirectoryAreRefused(text: String) {
        #expect(throws: IdentifierError.self) { try ApplicationIdentifier(text) }
    }

    @Test func base64UrlMatchesTheRfcVectorsAndRefusesASecondSpelling() {
        let vectors = ["": "", "f": "Zg", "fo": "Zm8", "foo": "Zm9v", "foob": "Zm9vYg", "fooba": "Zm9vYmE"]
        for (plain, text) in vectors {
            #expect(Base64URL.encode(Array(plain.utf8)) == text)
            #expect(Base64URL.decode(text) == Array(plain.utf8))
        }
        #expect(Base64URL.encode([0xFB, 0xFF]) == "-_8")
        for wrong in ["Zg==", "Zh", "Z", "Zm9v+", "Zm9v\n"] { #expect(Base64URL.decode(wrong) == nil) }
    }

    @Test func timesSaturateInsteadOfTrapping() {
        #expect(MonotonicTime(nanoseconds: .max) + .seconds(1) == MonotonicTime(nanoseconds: .max))
        #expect(MonotonicTime(nanoseconds: 5) + .seconds(-1) == MonotonicTime(nanoseconds: 0))
        #expect(WallTime(seconds: .max) + .seconds(1) == WallTime(milliseconds: .max))
        #expect(MonotonicTime(nanoseconds: 1).since(MonotonicTime(nanoseconds: 2)) == .zero)
        // Twice the longest duration whose seconds fit Int64.
        let long = Duration.seconds(Int64.max) * 2
        #expect(long.saturatingMilliseconds == Int64.max / 1_000_000)
        #expect((.zero - long).saturatingNanoseconds == .min)
        #expect(MonotonicTime(nanoseconds: 5) + long == MonotonicTime(nanoseconds: 5 + UInt64(Int64.max)))
        #expect(Duration.milliseconds(-1500).saturatingNanoseconds == -1_500_000_000)
    }

    @Test func wallTimeIsWrittenInUtc() {
        #expect(WallTime(seconds: 0).description == "1970-01-01T00:00:00Z")
        #expect(WallTime(seconds: 951_782_400).description == "2000-02-29T00:00:00Z")
        #expect(WallTime(seconds: 4_102_444_799).description == "2099-12-31T23:59:59Z")
        #expect(WallTime(milliseconds: -1).description == "1969-12-31T23:59:59Z")
        #expect(WallTime(milliseconds: -1000).description == "1969-12-31T23:59:59Z")
        #expect(WallTime(milliseconds: -1001).description == "1969-12-31T23:59:58Z")
        #expect(WallTime(milliseconds: .min).description == "-292275055-05-16T16:47:04Z")
        #expect(WallTime(milliseconds: .max).description == "292278994-08-17T07:12:55Z")
    }
}
