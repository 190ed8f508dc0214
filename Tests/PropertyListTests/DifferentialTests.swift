// Generated values between our codec and those of others, both ways: what we write, plistlib and libplist read as equal
// in value and type, and the other way round. Whole batches, in the form of a vector file. A short run here; the long
// one is Scripts/differential.

import Glibc
import TandemBase
import TandemPropertyList
import TandemTestSupport
import Testing

@Suite struct DifferentialTests {
    /// How many values each test makes; `Scripts/differential` asks for more.
    static let count = getenv("TANDEM_DIFFERENTIAL").flatMap { Int(String(cString: $0)) } ?? 100
    static let seed = UInt64(20_261_121)

    static func vector(_ name: String, _ bytes: [UInt8], _ value: PropertyListValue) -> String {
        let pairs: PropertyListValue = [
            "name": .string(name), "hex": .string(Hexadecimal.encode(bytes)), "value": TypedNotation.notation(value),
        ]
        return PropertyListJSON.text(pairs)
    }

    /// Has plistlib and libplist read a batch.
    static func expectAgreement(on cases: [String]) {
        let folder = TemporaryDirectory()
        folder.write(Array("{\"cases\": [\(cases.joined(separator: ",\n"))]}\n".utf8), to: "ours.json")
        let (status, output) = ForeignCommand.python("check-vectors", [folder.path("ours.json")])
        #expect(status == 0, "\(output.prefix(2000))")
        if output.contains("libplist is missing") { print("SKIPPED libplist: \(output.prefix(80))") }
    }

    @Test func othersReadWhatWeWrite() throws {
        var values = GeneratedValues(seed: Self.seed)
        let cases = try (0..<Self.count).map { number in
            let value = values.next()
            return Self.vector("value \(number)", try PropertyListWriter.write(value), value)
        }
        Self.expectAgreement(on: cases)
    }

    /// Damaged bytes that are still read mean one thing to everybody.
    @Test func othersReadWhatWeAcceptOfDamagedBytes() throws {
        var values = GeneratedValues(seed: Self.seed + 1)
        var generator = SeededGenerator(seed: Self.seed)
        var cases: [String] = []
        for number in 0..<4 * Self.count {
            var bytes = try PropertyListWriter.write(values.next())
            MutationTests.mutate(&bytes, using: &generator)
            guard try MutationTests.isConsistent(bytes) else { continue }
            let value = try PropertyListReader.read(bytes)
            if !Self.holdsNull(value) { cases.append(Self.vector("damaged \(number)", bytes, value)) }
        }
        #expect(cases.count > Self.count / 4)
        Self.expectAgreement(on: cases)
    }

    @Test func weReadWhatOthersWrite() throws {
        let folder = TemporaryDirectory()
        let path = folder.path("theirs.json")
        let (status, output) = ForeignCommand.python(
            "lib/vectors/generated.py", [String(Self.count), String(Self.seed), path])
        try #require(status == 0, "\(output.prefix(2000))")
        let cases = VectorCase.all(at: path)
        #expect(cases.count >= 3 * Self.count)
        for vector in cases {
            let (bytes, value) = (try #require(vector.bytes), try #require(TypedNotation.value(vector.pairs["value"])))
            let read = try PropertyListReader.read(bytes)
            #expect(read == value, "\(vector)")
            // Equality does not tell 0 from -0; the bytes of a second writing do.
            let canonical = try PropertyListWriter.write(read)
            #expect(canonical == (try PropertyListWriter.write(value)), "\(vector)")
            #expect((canonical == bytes) == vector.pairs["canonical"]?.booleanValue, "\(vector)")
        }
    }

    private static func holdsNull(_ value: PropertyListValue) -> Bool {
        switch value {
        case .string(let text): text.utf8.contains(0)
        case .array(let elements): elements.contains(where: holdsNull)
        case .dictionary(let pairs): pairs.contains { holdsNull($0.value) }
        default: false
        }
    }
}
