// The fuzzer's own mutations nearly always break the offset table, and a strict reader looks no further. So after most
// of them the table and the trailer are rewritten for whatever objects the bytes now hold; the rest stay broken,
// because the checks of the table are to be tested too.

@_silgen_name("LLVMFuzzerMutate")
func standardMutation(_ start: UnsafeMutablePointer<UInt8>, _ count: Int, _ room: Int) -> Int

enum TableRepair {
    private static let trailerCount = 32

    static func mutate(_ start: UnsafeMutablePointer<UInt8>, _ count: Int, _ room: Int, _ seed: CUnsignedInt) -> Int {
        guard seed % 4 != 0, count > 8 + trailerCount, start[count - 25] >= 1, start[count - 25] <= 8 else {
            return standardMutation(start, count, room)
        }
        let bytes = Array(UnsafeBufferPointer(start: start, count: count))
        let referenceSize = Int(bytes[count - 25])
        let (offsets, end) = objects(in: bytes[..<(count - trailerCount)], referenceSize)
        // Only the objects are changed, then framed again as a whole.
        let length = standardMutation(start + 8, end - 8, min(room - 8, end - 8 + 64))
        let changed = bytes[..<8] + Array(UnsafeBufferPointer(start: start + 8, count: length))
        let top =
            offsets.isEmpty || seed % 16 != 1
            ? bytes[(count - 16)..<(count - 8)].reduce(0) { $0 << 8 | Int($1) & 0xFF } : 0
        let framed = frame(Array(changed), referenceSize, top: top)
        guard framed.count <= room else { return standardMutation(start, length + 8, room) }
        for (index, byte) in framed.enumerated() { start[index] = byte }
        return framed.count
    }

    private static func frame(_ bytes: [UInt8], _ referenceSize: Int, top: Int) -> [UInt8] {
        let (offsets, end) = objects(in: bytes[...], referenceSize)
        let size = end < 0x100 ? 1 : end < 0x1_0000 ? 2 : 4
        let table = offsets.flatMap { bigEndian($0, size) }
        let sizes = [0, 0, 0, 0, 0, 0, UInt8(size), UInt8(referenceSize)]
        let numbers = [offsets.count, top < offsets.count ? top : 0, end].flatMap { bigEndian($0, 8) }
        return Array(bytes[..<end]) + table + sizes + numbers
    }

    private static func bigEndian(_ number: Int, _ size: Int) -> [UInt8] {
        (0..<size).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    /// Where objects lie one after the other, as far as they make sense.
    private static func objects(in bytes: ArraySlice<UInt8>, _ referenceSize: Int) -> (offsets: [Int], end: Int) {
        var (offsets, offset): ([Int], Int) = ([], 8)
        while offset < bytes.endIndex, let length = length(of: bytes[offset...], referenceSize),
            length <= bytes.endIndex - offset
        {
            offsets.append(offset)
            offset += length
        }
        return (offsets, offset)
    }

    private static func length(of object: ArraySlice<UInt8>, _ referenceSize: Int) -> Int? {
        guard let marker = object.first else { return nil }
        let units = [4: 1, 5: 1, 6: 2, 0xA: referenceSize, 0xD: 2 * referenceSize]
        switch marker {
        case 0x08, 0x09: return 1
        case 0x10...0x14, 0x22, 0x23, 0x33: return 1 + 1 << Int(marker & 0x0F)
        default:
            guard let unit = units[Int(marker >> 4)] else { return nil }
            guard marker & 0x0F == 0x0F else { return 1 + unit * Int(marker & 0x0F) }
            guard let form = object.dropFirst().first, (0x10...0x12).contains(form) else { return nil }
            let size = 1 << Int(form & 0x0F)
            let count = object.dropFirst(2).prefix(size).reduce(0) { $0 << 8 | Int($1) }
            return 2 + size + unit * count
        }
    }
}
