// Texts compared by their scalars, as a property list compares its strings (Frames FRM-6).

/// A text that equals only one of the same scalars. Swift's own equality takes a composed letter and its parts for the
/// same, which a property list keeps apart: a file may have either name.
package struct ExactText: Hashable, Comparable, Sendable {
    let text: String

    package init(_ text: String) { self.text = text }

    package static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    /// Texts that are not equal always have an order, and the same one in each process.
    package static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }
}
