// The frame around the objects: magic bytes, trailer and offset table (FRM-6 a, b, c). All sizes are proved against
// the bytes that are really there before anything is done for them.

import TandemBase

/// The checked trailer of a property list.
struct ObjectTable: Sendable {
    /// Offset of the first object.
    static let firstObject = 8
    static let trailerCount = 32
    /// Magic, one object of one byte, its offset, trailer.
    static let minimumCount = 8 + 1 + 1 + 32

    let offsetSize: Int
    let referenceSize: Int
    let count: Int
    var top: Int
    /// Where the offset table begins, and so where the objects end.
    let start: Int

    init(_ bytes: RawSpan, limits: PropertyListLimits) throws(PropertyListError) {
        try Self.checkMagic(bytes)
        let trailer = bytes.byteCount - Self.trailerCount
        let sizes = bytes.word(at: trailer)
        guard sizes <= 0xFFFF else { throw Self.reservedByte(sizes, at: trailer) }
        (offsetSize, referenceSize) = (Int(sizes >> 8), Int(sizes & 0xFF))
        (count, top) = try Self.checkedCount(
            bytes.word(at: trailer + 8), top: bytes.word(at: trailer + 16), at: trailer, limits: limits)
        try Self.checkSizes(UInt8(sizes >> 8), UInt8(sizes & 0xFF), at: trailer)
        // count is at most the objects limit, or the bytes available: no overflow.
        start = trailer - min(count, trailer) * offsetSize
        let claimed = bytes.word(at: trailer + 24)
        guard start > Self.firstObject, claimed == UInt64(start) else {
            throw PropertyListError(.offsetTableMisplaced(claimed), at: .byte(trailer + 24))
        }
        try checkFit(at: trailer)
    }

    /// The offset of an object whose position was checked.
    func offset(of object: Int, in bytes: RawSpan) -> Int {
        Int(truncatingIfNeeded: bytes.bigEndian(at: start &+ object &* offsetSize, size: offsetSize))
    }

    /// The object that a checked reference names.
    @inline(__always)
    func reference(_ index: Int, of container: ObjectEntry, in bytes: RawSpan) -> Int {
        let offset = container.content &+ index &* referenceSize
        return Int(truncatingIfNeeded: bytes.bigEndian(at: offset, size: referenceSize))
    }

    private static func checkMagic(_ bytes: RawSpan) throws(PropertyListError) {
        guard bytes.byteCount >= firstObject, bytes.word(at: 0) == 0x6270_6C69_7374_3030 else {
            throw PropertyListError(.notBinaryPropertyList, at: .byte(0))
        }
        guard bytes.byteCount >= minimumCount else {
            throw PropertyListError(.tooShort(count: bytes.byteCount), at: .byte(bytes.byteCount))
        }
    }

    /// The first of six bytes that is not zero.
    private static func reservedByte(_ sizes: UInt64, at trailer: Int) -> PropertyListError {
        let index = sizes.leadingZeroBitCount / 8
        return PropertyListError(
            .reservedTrailerByte(UInt8(truncatingIfNeeded: sizes >> UInt64(56 - 8 * index))), at: .byte(trailer + index)
        )
    }

    private static func checkedCount(
        _ count: UInt64, top: UInt64, at trailer: Int, limits: PropertyListLimits
    ) throws(PropertyListError) -> (Int, Int) {
        guard count > 0 else { throw PropertyListError(.noObjects, at: .byte(trailer + 8)) }
        let limit = min(limits.objects, trailer)
        guard count <= UInt64(clamping: limit) else {
            throw PropertyListError(.tooManyObjects(count: count, limit: limit), at: .byte(trailer + 8))
        }
        guard top < count else { throw PropertyListError(.topObjectOutOfRange(top), at: .byte(trailer + 16)) }
        return (Int(count), Int(top))
    }

    private static func checkSizes(_ offset: UInt8, _ reference: UInt8, at trailer: Int) throws(PropertyListError) {
        guard (1...8).contains(offset) else {
            throw PropertyListError(.invalidOffsetSize(offset), at: .byte(trailer + 6))
        }
        guard (1...8).contains(reference) else {
            throw PropertyListError(.invalidReferenceSize(reference), at: .byte(trailer + 7))
        }
    }

    /// Other readers refuse a size that cannot hold the count or the table's position, even if no value needs it.
    private func checkFit(at trailer: Int) throws(PropertyListError) {
        guard start.bitWidth - start.leadingZeroBitCount <= 8 * offsetSize else {
            throw PropertyListError(.offsetSizeTooSmall(UInt8(offsetSize)), at: .byte(trailer + 6))
        }
        guard count.bitWidth - count.leadingZeroBitCount <= 8 * referenceSize else {
            throw PropertyListError(.referenceSizeTooSmall(UInt8(referenceSize)), at: .byte(trailer + 7))
        }
    }
}

// MARK: - The pass over a property list: every object once, in the order of the offset table. Each must begin where the
// one before ended, so that objects are contiguous and do not overlap (FRM-6 c). Containers pass their level and
// multiplicity to their children. When parents come before children, as nearly every writer has it, that proves depth,
// cycles and the size after expansion (FRM-6 d, k, m) without a stack and without expansion. A fault is a value and
// thrown once, outside: throwing from each object costs a third of the time.

/// The result of one pass over the object table, beside the entries that it filled.
struct ObjectScan {
    let table: ObjectTable
    let limits: PropertyListLimits
    private let widths: UnitWidths

    /// No container refers to one that is not behind it: uses are final.
    private(set) var isOrdered = true
    /// Values and keys, each counted as often as it is referenced.
    private(set) var expandedValues = 1
    /// References looked at: the work done.
    private(set) var visits = 0
    private var reason = PropertyListError.Reason.objectTooLong

    init(_ table: ObjectTable, limits: PropertyListLimits) {
        self.table = table
        self.limits = limits
        widths = UnitWidths(referenceSize: table.referenceSize)
    }

    /// Scans all objects.
    /// - Returns: the first fault.
    mutating func run(_ bytes: RawSpan, _ entries: inout MutableSpan<ObjectEntry>) -> PropertyListError? {
        var (position, offset) = (ObjectTable.firstObject, table.start)
        entries[table.top].use = .top
        for object in 0..<entries.count {
            let found = bytes.bigEndian(at: offset, size: table.offsetSize)
            guard found == UInt64(truncatingIfNeeded: position) else {
                return PropertyListError(
                    .objectMisplaced(expected: position, found: found), at: .object(object, byte: position))
            }
            guard let end = scan(object, at: position, bytes, &entries) else {
                return PropertyListError(reason, at: .object(object, byte: position))
            }
            (position, offset) = (end, offset &+ table.offsetSize)
        }
        guard position == table.start else {
            return PropertyListError(.bytesAfterLastObject(count: table.start - position), at: .byte(position))
        }
        return nil
    }

    /// - Returns: where the object ends; nil after a fault.
    @inline(__always)
    private mutating func scan(
        _ object: Int, at position: Int, _ bytes: RawSpan, _ entries: inout MutableSpan<ObjectEntry>
    ) -> Int? {
        guard let end = head(&entries[object], at: position, bytes) else { return nil }
        let kind = entries[object].kind
        if kind == .ascii { return ascii(&entries[object], bytes) ? end : nil }
        if kind.isContainer {
            return container(object, bytes.extracting(entries[object].content..<end), &entries) ? end : nil
        }
        if let fault = entries[object].contentFault(in: bytes) { return refuse(fault) }
        return end
    }

    @inline(never)
    mutating func refuse(_ reason: PropertyListError.Reason) -> Int? {
        self.reason = reason
        return nil
    }

    @inline(never)
    mutating func refuse(_ reason: PropertyListError.Reason) -> Bool {
        self.reason = reason
        return false
    }
}

extension ObjectScan {
    /// Reads the marker and count at `position` and proves that the whole object lies before the offset table.
    /// - Returns: where the object ends.
    @inline(__always)
    private mutating func head(_ entry: inout ObjectEntry, at position: Int, _ bytes: RawSpan) -> Int? {
        guard position < table.start else { return refuse(.objectTooLong) }
        // The marker, and behind it perhaps a count; the trailer is behind all objects.
        let word = bytes.word(at: position)
        let marker = UInt8(truncatingIfNeeded: word >> 56)
        guard let kind = ObjectKind(marker: marker) else { return refuse(ObjectKind.refusal(of: marker)) }
        // Everything a count can be is computed first, and then chosen from without a branch to guess.
        let low = Int(marker & 0x0F)
        let (fixed, long) = (1 &<< low, Int(word >> 40 & 0xFF))
        let isLong = kind.isCounted && low == 0x0F
        var count = isLong ? long : kind.isCounted ? low : fixed
        var content = position &+ (isLong ? 3 : 1)
        if isLong, word >> 48 & 0xFF != 0x10 {
            content = position + 1
            if let fault = readCount(&count, at: &content, bytes) { return refuse(fault) }
        }
        (entry.kind, entry.content, entry.count) = (kind, content, count)
        // A count up to the number of bytes present, times 16, is far from overflow.
        let (available, width) = (table.start &- content, widths[kind])
        guard count <= available || width == 0, count &* width <= available else { return refuse(.objectTooLong) }
        return content &+ count &* width
    }

    /// Reads a count of more bytes than one.
    @inline(never)
    private func readCount(_ count: inout Int, at content: inout Int, _ bytes: RawSpan) -> PropertyListError.Reason? {
        guard content < table.start else { return .objectTooLong }
        let marker = bytes.byte(at: content)
        guard (0x10...0x13).contains(marker) else { return .invalidCount }
        let size = 1 << Int(marker & 0x0F)
        guard size < table.start - content else { return .objectTooLong }
        guard let number = Int(exactly: bytes.bigEndian(at: content + 1, size: size)) else { return .invalidCount }
        (count, content) = (number, content + 1 + size)
        return nil
    }

    @inline(__always)
    private mutating func container(
        _ object: Int, _ references: RawSpan, _ entries: inout MutableSpan<ObjectEntry>
    ) -> Bool {
        let (use, count) = (entries[object].use, entries[object].references)
        entries[object].use.markContainer()
        if !use.isUsed { isOrdered = false }
        guard count > 0 else { return true }
        visits += count
        guard visits < limits.values else { return refuse(.tooManyValues(limit: limits.values)) }
        let (added, fault) = use.expansion(of: count, within: limits, beside: expandedValues)
        if let fault { return refuse(fault) }
        expandedValues += added
        let child = ObjectUse(level: use.level + 1, copies: use.copies)
        // Each size is a loop of its own once this is compiled; nearly all lists have one of the first two.
        switch table.referenceSize {
        case 1: return follow(references, size: 1, child, &entries)
        case 2: return follow(references, size: 2, child, &entries)
        default: return follow(references, size: table.referenceSize, child, &entries)
        }
    }

    @inline(__always)
    private mutating func follow(
        _ references: RawSpan, size: Int, _ use: ObjectUse, _ entries: inout MutableSpan<ObjectEntry>
    ) -> Bool {
        var (offset, met) = (0, ObjectUse())
        while offset < references.byteCount {
            let child = references.reference(at: offset, size: size)
            guard child < UInt64(entries.count) else { return refuse(.referenceOutOfRange(child)) }
            let index = Int(truncatingIfNeeded: child)
            met.formUnion(entries[index].use)
            entries[index].use.add(use)
            offset &+= size
        }
        if met.isContainer { isOrdered = false }
        return true
    }
}

struct ObjectUse {
    /// From the highest bit: the level in 16 bits, the copies in 47, and whether the object is known as a container.
    private var word: UInt64 = 0

    private static let levelShift: UInt64 = 48
    private static let lowerMask: UInt64 = 1 << levelShift - 1
    private static let greatestLevel = 0xFFFF
    private static let mostCopies = 1 << 47 - 1

    /// Used by nothing.
    init() {}

    /// The use that a container at the level before makes of what it refers to.
    init(level: Int, copies: Int) {
        word = UInt64(min(level, Self.greatestLevel)) << Self.levelShift | UInt64(min(copies, Self.mostCopies)) << 1
    }

    /// The top object.
    static let top = ObjectUse(level: 1, copies: 1)

    @inline(__always)
    var isUsed: Bool { level > 0 }
    @inline(__always)
    var isContainer: Bool { word & 1 == 1 }
    var level: Int { Int(word >> Self.levelShift) }
    var copies: Int { Int((word & Self.lowerMask) >> 1) }

    mutating func markContainer() { word |= 1 }

    /// A container if either is.
    @inline(__always)
    mutating func formUnion(_ other: ObjectUse) { word |= other.word }

    /// Adds a reference. The sum of all copies stays below the limit on values.
    @inline(__always)
    mutating func add(_ other: ObjectUse) {
        let (level, copies) = (other.word & ~Self.lowerMask, other.word & (Self.lowerMask - 1))
        word = max(word, level | word & Self.lowerMask) &+ copies
    }

    /// The values that `references` references to this object add to a list of `values` values, or why it must not.
    @inline(__always)
    func expansion(
        of references: Int, within limits: PropertyListLimits, beside values: Int
    ) -> (added: Int, fault: PropertyListError.Reason?) {
        guard level < min(limits.depth, Self.greatestLevel) else { return (0, .tooDeep(limit: limits.depth)) }
        // Neither factor is above the limit on values or the references that are really there.
        let (added, overflow) = copies.multipliedReportingOverflow(by: references)
        guard !overflow, added <= min(limits.values, Self.mostCopies) - values else {
            return (0, .tooManyValues(limit: limits.values))
        }
        return (added, nil)
    }
}

struct ParentsFirst {
    /// The containers, parents before children.
    private(set) var order: [Int] = []
    private(set) var expandedValues = 1
    private(set) var visits = 0

    init(
        _ entries: inout MutableSpan<ObjectEntry>, _ bytes: RawSpan, _ table: ObjectTable, _ limits: PropertyListLimits
    ) throws(PropertyListError) {
        try sort(entries.span, bytes, table)
        try measure(&entries, bytes, table, limits)
    }

    private mutating func sort(
        _ entries: Span<ObjectEntry>, _ bytes: RawSpan, _ table: ObjectTable
    ) throws(PropertyListError) {
        var waiting = Array(repeating: 0, count: entries.count)
        for object in entries.indices { forEachContainer(in: object, entries, bytes, table) { waiting[$0] += 1 } }
        if entries[table.top].isContainer, waiting[table.top] == 0 { order.append(table.top) }
        var next = 0
        while next < order.count {
            var ready: [Int] = []
            forEachContainer(in: order[next], entries, bytes, table) { child in
                waiting[child] -= 1
                if waiting[child] == 0 { ready.append(child) }
            }
            order += ready
            next += 1
        }
        if let object = waiting.firstIndex(where: { $0 > 0 }) { throw fault(.cycle, object, bytes, table) }
    }

    private mutating func forEachContainer(
        in object: Int, _ entries: Span<ObjectEntry>, _ bytes: RawSpan, _ table: ObjectTable, _ body: (Int) -> Void
    ) {
        for index in 0..<entries[object].references {
            let child = table.reference(index, of: entries[object], in: bytes)
            if entries[child].isContainer { body(child) }
        }
        visits += entries[object].references
    }

    private mutating func measure(
        _ entries: inout MutableSpan<ObjectEntry>, _ bytes: RawSpan, _ table: ObjectTable, _ limits: PropertyListLimits
    ) throws(PropertyListError) {
        for object in entries.indices { entries[object].use = object == table.top ? .top : ObjectUse() }
        for object in order where entries[object].references > 0 {
            let entry = entries[object]
            let (added, reason) = entry.use.expansion(of: entry.references, within: limits, beside: expandedValues)
            if let reason { throw fault(reason, object, bytes, table) }
            expandedValues += added
            let use = ObjectUse(level: entry.use.level + 1, copies: entry.use.copies)
            for index in 0..<entry.references {
                entries[table.reference(index, of: entry, in: bytes)].use.add(use)
            }
            visits += entry.references
        }
    }

    private func fault(
        _ reason: PropertyListError.Reason, _ object: Int, _ bytes: RawSpan, _ table: ObjectTable
    ) -> PropertyListError {
        PropertyListError(reason, at: .object(object, byte: table.offset(of: object, in: bytes)))
    }
}
