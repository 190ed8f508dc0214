// One object named by many keys (FRM-6 n), and thousands of extensions (FRM-9): what a frame costs its reader in
// time and memory is bounded by what was sent.

import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

@Suite struct AmplificationTests {
    private static func frame(_ extensions: [(String, PropertyListValue)]) throws -> Frame {
        let pairs = PropertyListDictionary(uniqueKeysWithValues: extensions + [("kind", "ping")])
        let unlimited = PropertyListLimits(depth: 64, objects: 16_384, values: 65_536, repeatedBytes: .max)
        return try Frame(payload: PropertyListWriter.write(pairs, limits: unlimited))
    }

    private static func keys(_ count: Int) -> [String] { (0..<count).map { "x-\(String($0, radix: 36))" } }

    /// A few hundred KB that mean many times as much.
    @Test(arguments: ["a", "\u{E9}"])
    func aLargeTextUnderManyKeysIsRefused(character: String) throws {
        let text = PropertyListValue.string(String(repeating: character, count: 150_000))
        let frame = try Self.frame(Self.keys(100).map { ($0, text) })
        #expect(frame.count < 512 * 1024)
        #expect {
            try Envelope(reading: frame)
        } throws: { error in
            guard case .malformed(let fault)? = error as? WireError else { return false }
            return fault.reason == .tooManyRepeatedBytes(limit: 8 << 20)
        }
    }

    @Test(arguments: [1, 63, 64])
    func `FRM-9 LIM-23: as many extensions as there may be are kept`(count: Int) throws {
        let envelope = try Envelope(reading: Self.frame(Self.keys(count).reversed().map { ($0, 1) }))
        #expect(envelope.extensions.count == count)
        #expect(envelope.extensions["x-0"] == 1)
    }

    @Test(arguments: [65, 16_000])
    func `FRM-9 LIM-23: more extensions than there may be are refused`(count: Int) throws {
        let frame = try Self.frame(Self.keys(count).reversed().map { ($0, 1) })
        #expect {
            try Envelope(reading: frame)
        } throws: { error in
            (error as? WireError)?.refusalName == .envelope
        }
    }
}
