// The tables of keys and kinds (FRM-8, FRM-10), as Protocol has them, compared with the code: for each kind every key
// is tried, present and absent, and for each key the ends of its range.

import TandemBase
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

@Suite struct FrameKindTests {
    static func fault(_ kind: FrameKind, _ keys: some Sequence<String>) -> WireError? {
        var pairs: PropertyListDictionary = ["kind": .string(kind.rawValue)]
        for key in keys { pairs[key] = FrameTables.examples[key] }
        do {
            let envelope = try EnvelopeTests.envelope(pairs)
            #expect(try EnvelopeTests.envelope(pairs).frame() == envelope.frame())
            return nil
        } catch {
            return error as? WireError
        }
    }

    @Test("FRM-10: a kind has the keys of its row and no others", arguments: FrameKind.allCases)
    func aKindHasItsKeysAndNoOthers(kind: FrameKind) throws {
        let (required, optional) = try #require(FrameTables.kinds[kind.rawValue])
        #expect(Self.fault(kind, required) == nil)
        #expect(Self.fault(kind, required + optional) == nil)
        for key in required {
            let name = try #require(EnvelopeKey(rawValue: key))
            #expect(Self.fault(kind, required.filter { $0 != key }) == .missingKey(name, kind))
        }
        for key in FrameTables.examples.keys where !required.contains(key) && !optional.contains(key) {
            let name = try #require(EnvelopeKey(rawValue: key))
            #expect(Self.fault(kind, required + [key]) == .unlistedKey(name, kind))
        }
    }

    @Test("FRM-8, FRM-10: the code has the keys and the kinds of Protocol's tables")
    func tables() {
        #expect(Set(EnvelopeKey.allCases.map(\.rawValue)) == Set(FrameTables.rules.keys))
        #expect(Set(FrameKind.allCases.map(\.rawValue)) == Set(FrameTables.kinds.keys))
        #expect(Set(Channel.allCases.map(\.rawValue)) == Set(FrameTables.channels))
    }

    @Test("FRM-8: the value of a key is of the type of its row, and within its range", arguments: EnvelopeKey.allCases)
    func values(key: EnvelopeKey) throws {
        // Their words and values are lists of their own.
        guard ![.kind, .app, .channel, .sealing].contains(key) else { return }
        let (right, wrong) = try Self.borders(#require(FrameTables.rules[key.rawValue]))
        // In a failure a longer name counts as absent (LIM-155).
        let kinds = FrameTables.kinds.filter { $0.key != FrameKind.failure.rawValue }.sorted { $0.key < $1.key }
        let row = try #require(kinds.first { ($0.value.required + $0.value.optional).contains(key.rawValue) })
        func fault(_ value: PropertyListValue) -> WireError? {
            var pairs: PropertyListDictionary = ["kind": .string(row.key)]
            for key in row.value.required { pairs[key] = FrameTables.examples[key] }
            pairs[key.rawValue] = value
            return EnvelopeTests.fault(pairs)
        }
        for value in right { #expect(fault(value) == nil, "\(value)") }
        for value in wrong { #expect(fault(value)?.refusalName == .envelope, "\(value)") }
    }

    /// Values at the ends of a range, and others behind them or of another type.
    private static func borders(
        _ rule: FrameTables.Rule
    ) -> (right: [PropertyListValue], wrong: [PropertyListValue]) {
        func text(_ count: Int) -> PropertyListValue { .string(String(repeating: "x", count: count)) }
        func data(_ count: Int) -> PropertyListValue { .data(Array(repeating: 1, count: count)) }
        switch rule {
        case .text(nil): return ([text(0), "a\u{0}b"], [1, data(1), true])
        case .text(let sizes?):
            let (least, most) = (sizes.lowerBound, sizes.upperBound)
            return ([text(least), text(most)], [text(least - 1), text(most + 1), "a\u{0}b", 1, data(1), true])
        case .word(let most): return ([text(0), text(most), "a\u{0}b"], [text(most + 1), 1, data(1), true])
        case .boolean: return ([true, false], [1, "true", data(1)])
        case .data(nil): return ([data(0), data(300)], [1, "a", true])
        case .data(let count?): return ([data(count)], [data(count - 1), data(count + 1), 1, "a", true])
        case .integer(let range):
            let (least, most) = (range.lowerBound, range.upperBound)
            let beyond = [least > .min ? least - 1 : nil, most < .max ? most + 1 : nil].compactMap(\.self)
            let wrong: [PropertyListValue] = beyond.map { .integer($0) } + [.unsigned(.max), "1", data(1), true, 1.0]
            return ([.integer(least), .integer(most)], wrong)
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
