// The strict reader of binary property lists (Protocol/Frames.md, FRM-6). Iterative, budgeted, and never led by a
// claimed count. No other property-list reader may see bytes of a peer: none refuses all that this
// profile refuses.

/// Reads binary property lists of the strict profile.
public enum PropertyListReader {
    /// The value of a whole property list.
    /// - Throws: ``PropertyListError`` naming the first fault and its place; nothing is read in part.
    public static func read(
        _ bytes: [UInt8], limits: PropertyListLimits = .standard
    ) throws(PropertyListError) -> PropertyListValue {
        // Any UInt8 is a byte.
        try read(unsafe bytes.span.bytes, limits: limits)
    }

    /// The value of a whole property list that is a part of an array.
    /// - Throws: ``PropertyListError`` naming the first fault and its place, counted from the slice's beginning.
    public static func read(
        _ bytes: ArraySlice<UInt8>, limits: PropertyListLimits = .standard
    ) throws(PropertyListError) -> PropertyListValue {
        // Any UInt8 is a byte.
        try read(unsafe bytes.span.bytes, limits: limits)
    }

    /// The value of a whole property list in borrowed bytes.
    /// - Throws: ``PropertyListError`` naming the first fault and its place.
    package static func read(
        _ bytes: RawSpan, limits: PropertyListLimits = .standard
    ) throws(PropertyListError) -> PropertyListValue {
        var builder = TreeBuilder(try PropertyListValidation(bytes, limits: limits))
        return builder.build(bytes)
    }

    /// The dictionary of a property list whose root must be one.
    /// - Throws: ``PropertyListError`` naming the first fault and its place.
    public static func readDictionary(
        _ bytes: [UInt8], limits: PropertyListLimits = .standard
    ) throws(PropertyListError) -> PropertyListDictionary {
        try dictionary(read(bytes, limits: limits))
    }

    /// The dictionary of a property list that is a part of an array, and whose root must be one.
    /// - Throws: ``PropertyListError`` naming the first fault and its place, counted from the slice's beginning.
    public static func readDictionary(
        _ bytes: ArraySlice<UInt8>, limits: PropertyListLimits = .standard
    ) throws(PropertyListError) -> PropertyListDictionary {
        try dictionary(read(bytes, limits: limits))
    }

    private static func dictionary(_ value: PropertyListValue) throws(PropertyListError) -> PropertyListDictionary {
        guard case .dictionary(let dictionary) = value else {
            throw PropertyListError(.rootNotDictionary, at: .byte(0))
        }
        return dictionary
    }
}
