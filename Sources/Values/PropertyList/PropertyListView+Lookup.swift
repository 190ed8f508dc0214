// Finding a key in the bytes of a dictionary: in halves if the keys were written in their order, one by one if not.

extension PropertyListView {
    /// The place of the pair with that key.
    func position(of key: String) -> Int? {
        guard entry.isFit else { return (0..<count).first { compareKey(at: $0, key) == 0 } }
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            let order = compareKey(at: middle, key)
            if order == 0 { return middle }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    /// Negative, zero or positive as the key at a position is before, equal to or after `text`.
    private func compareKey(at position: Int, _ text: String) -> Int {
        let raw = unsafe bytes.span.bytes
        let key = validation.entries[validation.table.reference(position, of: entry, in: raw)]
        guard key.kind == .ascii else { return compare(key.string(in: raw).utf8Span.span, text.utf8Span.span) }
        return compare(bytes.span.extracting(key.content..<key.content + key.count), text.utf8Span.span)
    }

    private func compare(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Int {
        for index in 0..<min(left.count, right.count) where left[index] != right[index] {
            return left[index] < right[index] ? -1 : 1
        }
        return left.count - right.count
    }
}
