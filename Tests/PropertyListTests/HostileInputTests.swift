// As much as a frame can hold, of whatever costs a reader most: no input of up to 512 KiB crashes it, and the work for
// each is bounded by its length (FRM-6 d, k to n). Work is counted in references looked at, not in time, and for what
// is refused, too: that is where the work of a weak reader would have no end.

import Testing

@testable import TandemPropertyList

@Suite struct HostileInputTests {
    struct Input: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let bytes: [UInt8]

        init(_ name: String, _ bytes: [UInt8]) { (testDescription, self.bytes) = (name, bytes) }

        /// A list with offsets and references that are wide enough for it.
        init(_ name: String, _ objects: [[UInt8]], top: Int = 0) {
            let list = RawPropertyList(objects).with { list in
                (list.offsetSize, list.referenceSize, list.top) = (3, 2, UInt64(top))
            }
            self.init(name, list.bytes)
        }
    }

    static let most = 512 * 1024
    static let leaf: [UInt8] = [0x09]

    static func reference(_ number: Int) -> [UInt8] { RawPropertyList.bigEndian(UInt64(number), size: 2) }
    static func head(_ kind: UInt8, _ count: Int) -> [UInt8] {
        [kind | 0x0F, 0x12] + RawPropertyList.bigEndian(UInt64(count), size: 4)
    }
    static func array(_ references: [Int]) -> [UInt8] { head(0xA0, references.count) + references.flatMap(reference) }
    static func dictionary(_ keys: [Int], _ values: [Int]) -> [UInt8] {
        head(0xD0, keys.count) + (keys + values).flatMap(reference)
    }
    static func text(_ text: String) -> [UInt8] { head(0x50, text.utf8.count) + Array(text.utf8) }

    /// One byte over and over between magic and trailer, with trailers that promise much; the last has a true offset.
    static let fillings: [Input] = [
        0x00, 0x08, 0x0F, 0x10, 0x14, 0x40, 0x4F, 0x5F, 0x6F, 0x80, 0xA1, 0xAF, 0xC1, 0xD1, 0xDF, 0xFF,
    ]
    .flatMap { (byte: UInt8) in
        [(16_384, 8, []), (16_384, 1, []), (1, 2, []), (1, 4, [0, 0, 0, 8])].map {
            (count: UInt64, size: UInt8, offsets: [UInt8]) in
            let table = UInt64(most - 32) - count * UInt64(size)
            let trailer = offsets + RawPropertyList.trailer(size, size, count, 0, table)
            let filling = [UInt8](repeating: byte, count: most - 8 - trailer.count)
            let name = "\(byte) with \(count) objects and offsets of \(size) bytes"
            return Input(name, Array("bplist00".utf8) + filling + trailer)
        }
    }

    static let widest: [Input] = [
        Input("16,383 elements", [array(Array(1...16_383))] + Array(repeating: leaf, count: 16_383)),
        Input("65,535 references to one object", [array(Array(repeating: 1, count: 65_535)), leaf]),
        Input("200,000 references", [array(Array(repeating: 1, count: 200_000)), leaf]),
        Input("half a megabyte of data", [head(0x40, most - 100) + [UInt8](repeating: 7, count: most - 100)]),
        Input("half a megabyte of text", [head(0x50, most - 100) + [UInt8](repeating: 0x61, count: most - 100)]),
        Input("a quarter of a million code units", [head(0x60, 262_000) + [UInt8](repeating: 0xD7, count: 524_000)]),
        Input("surrogates that never pair", [head(0x60, 262_000) + [UInt8](repeating: 0xD8, count: 524_000)]),
        Input(
            "a large text a thousand times",
            [array(Array(repeating: 1, count: 1000)), text(String(repeating: "x", count: 400_000))]),
        Input("a large text as a key", [dictionary([1], [1]), text(String(repeating: "x", count: 500_000))]),
    ]

    static let keyed: [Input] = {
        let prefix = String(repeating: "k", count: 250)
        let long = (0..<1900).map { text(prefix + String(100_000 + $0).suffix(6)) }
        let short = (0..<8000).map { text(String(10_000 + $0)) }
        func both(_ name: String, _ keys: [[UInt8]]) -> [Input] {
            let places = Array(1...keys.count)
            // The last key is a value, too: it must be referred to also where the first one has its place.
            let values = [keys.count] + Array(repeating: keys.count + 1, count: keys.count - 1)
            return [
                ("in order", places), ("backwards", places.reversed()), ("the last twice", places.dropLast() + [1]),
            ]
            .map { Input("\(name), \($0.0)", [dictionary($0.1, values)] + keys + [leaf]) }
        }
        let shared = (0..<60).map { row in
            dictionary((0..<500).map { 61 + ($0 + row) % 500 }, Array(repeating: 561, count: 500))
        }
        return both("8,000 keys", short) + both("1,900 keys that differ at their end", long) + [
            Input("60 dictionaries of the same 500 keys", [array(Array(1...60))] + shared + short.prefix(500) + [leaf])
        ]
    }()

    static let nested: [Input] = {
        let down = (1..<16_000).map { array([$0]) } + [leaf]
        let up = [leaf] + (0..<15_999).map { array([$0]) }
        let fans = (0..<14).map { level in array(Array(repeating: level + 1, count: 1000)) } + [leaf]
        let ladder = (0..<8000).map { array([min($0 + 1, 8000), min($0 + 2, 8000)]) } + [leaf]
        return [
            Input("16,000 levels", down), Input("16,000 levels, numbered backwards", up, top: 15_999),
            Input("a ring of 16,000", down.dropLast() + [array([0])]), Input("1,000 to the 14th values", fans),
            Input("ways without number", ladder), Input("every array holds itself", (0..<16_000).map { array([$0]) }),
            Input("backwards without number", [leaf] + (0..<8000).map { array([$0, $0]) }, top: 8000),
            Input(
                "63 levels of 1,000",
                (1..<63).map { array([$0] + Array(repeating: 63, count: 1000)) } + [array([63]), leaf]),
        ]
    }()

    /// Those that are not refused at their first object.
    static let heavy = widest + keyed + nested
    static let all = fillings + heavy

    /// A few small lists, read and refused.
    static let small = [
        Input("an array", [array([1, 2]), leaf, text("a")]),
        Input("a dictionary", [dictionary([1], [2]), text("a"), leaf]),
        Input("one object often", [array([1, 1, 1]), leaf]),
        Input("doubling", (0..<40).map { array([$0 + 1, $0 + 1]) } + [leaf]),
    ].map(\.bytes)

    @Test func thereAreFiftyOfThem() {
        #expect(Self.all.count >= 50)
        #expect(Self.all.allSatisfy { $0.bytes.count <= Self.most })
        #expect(Self.all.contains { $0.bytes.count == Self.most })
    }

    /// Why they are refused that are; all others besides the fillings are read.
    static let refused = [
        "200,000 references": "too-many-values", "surrogates that never pair": "invalid-utf16",
        "a large text a thousand times": "too-many-repeated-bytes", "a large text as a key": "invalid-key-length",
        "8,000 keys, the last twice": "duplicate-key",
        "1,900 keys that differ at their end, the last twice": "duplicate-key", "16,000 levels": "too-deep",
        "16,000 levels, numbered backwards": "too-deep", "a ring of 16,000": "too-deep",
        "1,000 to the 14th values": "too-many-values", "ways without number": "too-many-values",
        "every array holds itself": "cycle", "backwards without number": "too-many-values",
    ]

    /// Without budgets only what is wrong, and what means more values than can be counted.
    static let refusedWithoutBudgets = [
        "8,000 keys, the last twice": "duplicate-key",
        "1,900 keys that differ at their end, the last twice": "duplicate-key", "a ring of 16,000": "cycle",
        "1,000 to the 14th values": "too-many-values", "ways without number": "too-many-values",
        "every array holds itself": "cycle", "backwards without number": "too-many-values",
    ]

    static let unlimited = PropertyListLimits(depth: .max, objects: .max, values: .max, repeatedBytes: .max)

    @Test(arguments: fillings)
    func aFillingIsRefusedAtItsFirstObject(input: Input) {
        #expect(refusal(of: input.bytes) != nil)
        #expect(Self.visitsOfThePass(over: input.bytes, .standard) <= 2)
    }

    /// Each is read or refused, by every way of reading alike; work and size stay within the budgets.
    @Test(arguments: all)
    func noInputOfAFramesSizeCrashesOrCostsMoreThanItsLength(input: Input) throws {
        let fault = refusal(of: input.bytes)
        #expect(Self.viewFault(of: input.bytes) == fault)
        #expect(Self.visitsOfThePass(over: input.bytes, .standard) <= input.bytes.count)
        guard fault == nil else { return }
        let validation = try PropertyListValidation(input.bytes)
        #expect(validation.visits <= 4 * input.bytes.count)
        #expect(validation.expandedValues <= 65_536)
        #expect(try PropertyListView(input.bytes).value == PropertyListReader.read(input.bytes))
    }

    @Test(arguments: widest + keyed + nested)
    func whatIsRightIsReadAndWhatIsWrongRefusedForItsFault(input: Input) {
        #expect(refusal(of: input.bytes)?.name == Self.refused[input.testDescription])
    }

    private static func viewFault(of bytes: [UInt8]) -> PropertyListError.Reason? {
        do { _ = try PropertyListView(bytes) } catch { return error.reason }
        return nil
    }

    /// Without budgets the counts say what the work would be: still no more than the references that are there.
    @Test(arguments: keyed + nested)
    func workIsBoundedByLengthEvenWithoutBudgets(input: Input) {
        #expect(Self.visitsOfThePass(over: input.bytes, Self.unlimited) <= input.bytes.count)
        do throws(PropertyListError) {
            let validation = try PropertyListValidation(input.bytes, limits: Self.unlimited)
            #expect(validation.visits <= 4 * input.bytes.count)
            #expect(Self.refusedWithoutBudgets[input.testDescription] == nil)
        } catch {
            #expect(Self.refusedWithoutBudgets[input.testDescription] == error.reason.name)
        }
    }

    /// The steps behind the pass, each of which looks once at each reference, whatever the list expands to.
    @Test(arguments: [2, 20, 40])
    func aListNumberedBackwardsIsLookedAtFourTimes(levels: Int) throws {
        let up = [Self.leaf] + (0..<levels).map { Self.array([$0, $0]) }
        let bytes = Input("backwards", up, top: levels).bytes
        let validation = try PropertyListValidation(bytes, limits: Self.unlimited)
        #expect(validation.visits == 4 * 2 * levels)
        #expect(validation.expandedValues == (2 << levels) - 1)
    }

    /// References that the pass over all objects looks at, also in a list that it or a later step refuses.
    private static func visitsOfThePass(over bytes: [UInt8], _ limits: PropertyListLimits) -> Int {
        guard let table = try? ObjectTable(bytes.span.bytes, limits: limits) else { return 0 }
        var entries = Array(repeating: ObjectEntry(), count: table.count)
        var objects = entries.mutableSpan
        var scan = ObjectScan(table, limits: limits)
        _ = scan.run(bytes.span.bytes, &objects)
        return scan.visits
    }
}
