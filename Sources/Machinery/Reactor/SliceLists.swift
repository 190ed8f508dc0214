// Empty arrays that keep their room between two uses, so that a queue that fills and drains in every turn allocates
// nothing and one that is idle holds nothing.

package import TandemBase

/// Spare arrays of one loop's queues; confined to its thread.
package final class SliceLists {
    /// Arrays that are kept, and the room that one of them may have.
    private static var most: Int { 256 }
    private static var mostRoom: Int { 256 }

    /// Unchecked, because nothing is called while it is touched.
    @exclusivity(unchecked) private var spares: [[ByteSlice]] = []

    package init() {}

    /// An empty array, with room if one was given back.
    package func take() -> [ByteSlice] { spares.popLast() ?? [] }

    /// Empties the array and keeps its room for the next who needs one.
    package func giveBack(_ list: inout [ByteSlice]) {
        defer { list = [] }
        guard list.capacity > 0, list.capacity <= Self.mostRoom, spares.count < Self.most else { return }
        list.removeAll(keepingCapacity: true)
        spares.append(list)
    }
}
