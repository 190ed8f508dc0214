// The order of containers for the rare property list that numbers a child before its parent: each after all that refer
// to it. There is none if a container holds itself. Depths and multiplicities are then carried forward anew.

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
        for place in 0..<entries[object].references {
            let child = table.reference(place, of: entries[object], in: bytes)
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
            for place in 0..<entry.references {
                entries[table.reference(place, of: entry, in: bytes)].use.add(use)
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
