// The proof that bytes are a property list of the strict profile, apart from building anything of it: an eager reader
// builds a tree from it, a lazy one keeps the bytes and looks values up. After it, references, counts and contents can
// be followed without further checks.

/// What validation proved about some bytes; meaningful only together with the same bytes.
package struct PropertyListValidation: Sendable {
    let table: ObjectTable
    /// Parents before children.
    let containers: [Container]
    let keys: KeyOrder

    /// Values and keys after expansion of shared references; nothing was expanded to count them.
    package let expandedValues: Int
    /// References looked at: the work done, for tests that bound it.
    package let visits: Int

    /// Number of objects in the table.
    package var objectCount: Int { table.count }

    /// - Throws: ``PropertyListError`` naming the first fault and its place.
    package init(_ bytes: [UInt8], limits: PropertyListLimits = .standard) throws(PropertyListError) {
        try self.init(ByteView(bytes[...]), limits: limits)
    }

    init(_ bytes: ByteView, limits: PropertyListLimits) throws(PropertyListError) {
        let graph = try ReferenceGraph(ObjectScan(bytes, limits: limits), in: bytes, limits: limits)
        var containers = graph.order
        table = graph.table
        keys = try KeyOrder(&containers, in: bytes, table: graph.table)
        self.containers = containers
        expandedValues = graph.expandedValues
        visits = graph.visits
    }
}
