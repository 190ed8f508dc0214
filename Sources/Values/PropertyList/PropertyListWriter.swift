// The deterministic writer of binary property lists (Protocol/Frames.md, FRM-7): equal values give equal bytes. It
// writes nothing that the strict reader would refuse.

/// Writes binary property lists in the canonical form.
public enum PropertyListWriter {
    /// The property list of a value.
    /// - Throws: ``PropertyListError`` with the key path of what cannot be written.
    public static func write(
        _ value: PropertyListValue, limits: PropertyListLimits = .standard
    ) throws(PropertyListError) -> [UInt8] {
        let encoding = ObjectEncoding(try ObjectNumbering(value, limits: limits))
        guard encoding.repeatedBytes <= limits.repeatedBytes else {
            throw PropertyListError(.tooManyRepeatedBytes(limit: limits.repeatedBytes), at: .path(""))
        }
        return encoding.bytes
    }

    /// The property list of a dictionary.
    public static func write(
        _ dictionary: PropertyListDictionary, limits: PropertyListLimits = .standard
    ) throws(PropertyListError) -> [UInt8] {
        try write(.dictionary(dictionary), limits: limits)
    }
}
