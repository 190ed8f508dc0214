// The eager tree of a validated property list. Containers are built from the back of the order in which parents come
// before children, so that no recursion is needed. What is referred to once is moved into its parent; what is referred
// to more often shares its storage.

struct TreeBuilder {
    private var validation: PropertyListValidation
    /// Values that wait for their parents; the entry of such an object holds its place here as its content.
    private var waiting: [PropertyListValue] = []

    init(_ validation: PropertyListValidation) {
        self.validation = validation
        waiting.reserveCapacity(validation.objectCount)
    }

    /// The value of one object.
    mutating func build(partAt object: Int, _ bytes: RawSpan) -> PropertyListValue {
        validation.narrow(to: object, bytes)
        return build(bytes)
    }

    /// The value of the top object.
    mutating func build(_ bytes: RawSpan) -> PropertyListValue {
        if let order = validation.order {
            for object in order.reversed() { buildContainer(object, bytes) }
        } else {
            for object in (0..<validation.objectCount).reversed() { buildContainer(object, bytes) }
        }
        return take(validation.table.top, bytes)
    }

    private mutating func buildContainer(_ object: Int, _ bytes: RawSpan) {
        let entry = validation.entries[object]
        guard entry.isContainer, entry.use.isUsed else { return }
        keep(entry.kind == .array ? array(entry, bytes) : dictionary(entry, bytes), object)
    }

    private mutating func array(_ entry: ObjectEntry, _ bytes: RawSpan) -> PropertyListValue {
        .array(
            Array(capacity: entry.count) { elements in
                for place in 0..<entry.count {
                    elements.append(take(validation.table.reference(place, of: entry, in: bytes), bytes))
                }
            })
    }

    private mutating func dictionary(_ entry: ObjectEntry, _ bytes: RawSpan) -> PropertyListValue {
        let places = entry.isFit ? nil : sortedPlaces(entry, bytes)
        return .dictionary(
            PropertyListDictionary(capacity: entry.count) { pairs in
                for index in 0..<entry.count {
                    let place = places?[index] ?? index
                    let key = validation.table.reference(place, of: entry, in: bytes)
                    let value = validation.table.reference(entry.count + place, of: entry, in: bytes)
                    pairs.append(PropertyListPair(key: text(key, bytes), value: take(value, bytes)))
                }
            })
    }

    private func sortedPlaces(_ entry: ObjectEntry, _ bytes: RawSpan) -> [Int] {
        let ranks = (0..<entry.count).map { validation.ranks[validation.table.reference($0, of: entry, in: bytes)] }
        return ranks.indices.sorted { ranks[$0] < ranks[$1] }
    }

    @inline(__always)
    private mutating func text(_ object: Int, _ bytes: RawSpan) -> String {
        let entry = validation.entries[object]
        if entry.kind == .ascii, entry.use.copies == 1 { return entry.string(in: bytes) }
        if entry.kind == .built, case .string(let text) = waiting[entry.content] { return text }
        return take(object, bytes).stringValue ?? ""
    }

    @inline(__always)
    private mutating func take(_ object: Int, _ bytes: RawSpan) -> PropertyListValue {
        let entry = validation.entries[object]
        guard entry.kind == .built else {
            let value = entry.scalar(in: bytes)
            if entry.use.copies > 1, entry.kind.isAllocated { keep(value, object) }
            return value
        }
        if entry.use.copies > 1 { return waiting[entry.content] }
        var value = PropertyListValue.boolean(false)
        swap(&value, &waiting[entry.content])
        return value
    }

    private mutating func keep(_ value: PropertyListValue, _ object: Int) {
        validation.markBuilt(object, at: waiting.count)
        waiting.append(value)
    }
}
