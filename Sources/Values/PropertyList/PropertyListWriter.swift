// The deterministic writer of binary property lists (Protocol/Frames.md, FRM-7): equal values give equal bytes. It
// writes nothing that the strict reader would refuse.

/// Writes binary property lists in the canonical form; any thread.
public enum PropertyListWriter {
    /// The property list of a value.
    /// - Throws: ``PropertyListError`` with the key path of what cannot be written.
    public static func write(
        _ value: PropertyListValue, limits: PropertyListLimits = .standard
    ) throws(PropertyListError) -> [UInt8] {
        var writer = WriterPool.take() ?? TreeWriter()
        do throws(PropertyListError) {
            let bytes = try writer.write(value, limits: limits)
            WriterPool.put(writer)
            return bytes
        } catch {
            WriterPool.put(writer)
            throw error
        }
    }

    /// The property list of a dictionary.
    public static func write(
        _ dictionary: PropertyListDictionary, limits: PropertyListLimits = .standard
    ) throws(PropertyListError) -> [UInt8] {
        try write(.dictionary(dictionary), limits: limits)
    }
}
