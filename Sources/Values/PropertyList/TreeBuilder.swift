// The eager tree of a validated property list. Children are built before their parents, from the back of the
// validation's order, so that no recursion is needed and shared containers share their storage.

struct TreeBuilder {
    private var values: [PropertyListValue]

    /// The value of the top object.
    static func value(
        _ validation: PropertyListValidation, in bytes: ByteView
    ) throws(PropertyListError) -> PropertyListValue {
        var builder = TreeBuilder(values: Array(repeating: .boolean(false), count: validation.table.count))
        try builder.readScalars(validation.table, in: bytes)
        for container in validation.containers.reversed() {
            builder.values[container.object] =
                container.isDictionary
                ? builder.dictionary(container, validation, in: bytes)
                : builder.array(container, validation.table, in: bytes)
        }
        return builder.values[validation.table.top]
    }

    private mutating func readScalars(_ table: ObjectTable, in bytes: ByteView) throws(PropertyListError) {
        for object in values.indices {
            let header = try ObjectHeader(object: object, in: bytes, table: table)
            if let value = header.scalar(in: bytes) { values[object] = value }
        }
    }

    private func array(_ container: Container, _ table: ObjectTable, in bytes: ByteView) -> PropertyListValue {
        .array((0..<container.count).map { values[container.reference($0, in: bytes, table: table)] })
    }

    private func dictionary(
        _ container: Container, _ validation: PropertyListValidation, in bytes: ByteView
    ) -> PropertyListValue {
        let table = validation.table
        var places = Array(0..<container.count)
        if !container.isSorted {
            let ranks = validation.keys.ranks
            places.sort {
                ranks[container.reference($0, in: bytes, table: table)]
                    < ranks[container.reference($1, in: bytes, table: table)]
            }
        }
        let pairs = places.map { place in
            let key = values[container.reference(place, in: bytes, table: table)].stringValue ?? ""
            return (key: key, value: values[container.reference(container.count + place, in: bytes, table: table)])
        }
        return .dictionary(PropertyListDictionary(sortedPairs: pairs))
    }
}
