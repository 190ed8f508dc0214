// Binary search, the only one for sorted collections. `@inlinable`, so that each caller's condition is part of its
// loop.

extension RandomAccessCollection {
    /// The index of the first element for which the condition holds, in O(log n); `endIndex` if there is none.
    /// - Precondition: it holds for every element behind one for which it holds.
    @inlinable package func partitioningIndex(where isBehind: (Element) -> Bool) -> Index {
        var (low, rest) = (startIndex, count)
        while rest > 0 {
            let half = rest / 2
            let middle = index(low, offsetBy: half)
            if isBehind(self[middle]) {
                rest = half
            } else {
                low = index(after: middle)
                rest -= half + 1
            }
        }
        return low
    }
}
