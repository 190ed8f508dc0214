// What is wrong with a property list, and where. One closed enum for reading and writing, so that a test can name the
// exact fault and a log line needs no second vocabulary. Nothing of the content is shown but sizes and markers.

/// A fault of a property list: what and where.
public struct PropertyListError: Error, Sendable, Equatable {
    /// Where the fault is.
    public enum Place: Sendable, Equatable {
        /// Offset in the bytes that were read.
        case byte(Int)
        /// Number in the object table, and the object's offset.
        case object(Int, byte: Int)
        /// Key path in the value that was to be written; empty for the root.
        case path(String)
    }

    /// What the fault is.
    public enum Reason: Error, Sendable, Equatable {
        case notBinaryPropertyList
        case tooShort(count: Int)
        case reservedTrailerByte(UInt8)
        case invalidOffsetSize(UInt8)
        case invalidReferenceSize(UInt8)
        case offsetSizeTooSmall(UInt8)
        case referenceSizeTooSmall(UInt8)
        case noObjects
        case tooManyObjects(count: UInt64, limit: Int)
        case topObjectOutOfRange(UInt64)
        case offsetTableMisplaced(UInt64)
        case objectMisplaced(expected: Int, found: UInt64)
        case bytesAfterLastObject(count: Int)
        case unsupportedType(marker: UInt8)
        case unknownMarker(UInt8)
        case invalidCount
        case objectTooLong
        case integerOutOfRange
        case notFinite
        case dateOutOfRange
        case invalidASCII
        case invalidUTF16
        case needlessUTF16
        case referenceOutOfRange(UInt64)
        case unreferencedObject
        case cycle
        case tooDeep(limit: Int)
        case tooManyValues(limit: Int)
        case tooManyRepeatedBytes(limit: Int)
        case keyNotString
        case invalidKeyLength(Int)
        case keyContainsNull
        case duplicateKey
        case rootNotDictionary
    }

    public let reason: Reason
    public let place: Place

    public init(_ reason: Reason, at place: Place) {
        self.reason = reason
        self.place = place
    }
}
