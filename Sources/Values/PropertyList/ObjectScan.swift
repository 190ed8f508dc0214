// The pass over a property list: every object once, in the order of the offset table. Each must begin where the one
// before ended, which proves at once that objects are contiguous and do not overlap (FRM-6 c). Containers hand their
// level and multiplicity to what they refer to; when parents come before their children, as nearly every writer has it,
// that settles depth, cycles and the size after expansion (FRM-6 d, k, m) without a stack and without expansion.
// A fault is kept as a value and thrown once, outside: throwing from each object costs a third of the time.

/// What one pass over the object table proved and found, beside the entries that it filled.
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
        // What is no more than the bytes that are there, times 16, is far from overflow.
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
