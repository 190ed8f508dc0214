// Priority queue, for deadlines. `@inlinable`, because a loop asks for its next timer in every turn.

/// A binary heap: the least element comes first.
@usableFromInline package struct Heap<Element: Comparable> {
    @usableFromInline var elements: [Element] = []

    @inlinable package init() {}

    @inlinable package var count: Int { elements.count }
    @inlinable package var first: Element? { elements.first }

    @inlinable package mutating func insert(_ element: Element) {
        elements.append(element)
        var index = elements.count - 1
        while index > 0, element < elements[(index - 1) / 2] {
            elements.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// Removes the least element.
    /// - Precondition: there is one.
    @inlinable package mutating func removeFirst() {
        let last = elements.removeLast()
        guard !elements.isEmpty else { return }
        elements[0] = last
        siftDown(from: 0)
    }

    /// Removes all other elements, in O(n).
    @inlinable package mutating func keep(only isKept: (Element) -> Bool) {
        elements = elements.filter(isKept)
        for index in stride(from: elements.count / 2 - 1, through: 0, by: -1) { siftDown(from: index) }
    }

    @inlinable mutating func siftDown(from start: Int) {
        let moved = elements[start]
        var index = start
        while 2 * index + 1 < elements.count {
            var least = 2 * index + 1
            if least + 1 < elements.count, elements[least + 1] < elements[least] { least += 1 }
            guard elements[least] < moved else { break }
            elements[index] = elements[least]
            index = least
        }
        elements[index] = moved
    }
}

extension Heap: Sendable where Element: Sendable {}
