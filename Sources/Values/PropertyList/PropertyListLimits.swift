// The budgets of one property list (FRM-6 k, l, m, n). They bound work and memory by what was really received, whatever
// the bytes claim.

/// Budgets for reading and writing a property list.
public struct PropertyListLimits: Sendable, Hashable {
    /// The longest key in UTF-8 bytes, in every property list: keys are names, not data.
    public static let maximumKeyLength = 256

    /// Levels of containers and what they hold; the root has depth 1.
    public var depth: Int
    /// Objects in the object table.
    public var objects: Int
    /// Values and keys, counted as often as they are referenced: what a naive reader would build.
    public var values: Int
    /// Bytes of objects that are referred to again, for each reference after the first: what a reader that makes each
    /// value anew would hold more than was sent.
    public var repeatedBytes: Int

    /// Budgets of one's own; what comes over the wire is held to ``standard``.
    public init(depth: Int, objects: Int, values: Int, repeatedBytes: Int = 8 << 20) {
        self.depth = depth
        self.objects = objects
        self.values = values
        self.repeatedBytes = repeatedBytes
    }

    /// The protocol's budgets.
    public static let standard = PropertyListLimits(depth: 64, objects: 16_384, values: 65_536)
}
