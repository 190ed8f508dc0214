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
        /// The bytes do not begin as a binary property list, version 00.
        case notBinaryPropertyList
        /// Fewer bytes than header, one object, one offset and trailer take.
        case tooShort(count: Int)
        /// A byte of the trailer that has to be zero is not.
        case reservedTrailerByte(UInt8)
        /// Offsets of this many bytes.
        case invalidOffsetSize(UInt8)
        /// References of this many bytes.
        case invalidReferenceSize(UInt8)
        /// Offsets of this many bytes cannot reach all objects.
        case offsetSizeTooSmall(UInt8)
        /// References of this many bytes cannot name all objects.
        case referenceSizeTooSmall(UInt8)
        /// The object table is empty.
        case noObjects
        /// More objects than ``PropertyListLimits/objects``.
        case tooManyObjects(count: UInt64, limit: Int)
        /// The root is no object of the table.
        case topObjectOutOfRange(UInt64)
        /// The offset table does not lie between objects and trailer.
        case offsetTableMisplaced(UInt64)
        /// An object does not begin where the one before it ends.
        case objectMisplaced(expected: Int, found: UInt64)
        /// Bytes between the last object and the offset table.
        case bytesAfterLastObject(count: Int)
        /// A type that property lists have and the strict profile has not.
        case unsupportedType(marker: UInt8)
        /// No type has this marker.
        case unknownMarker(UInt8)
        /// A count that is no integer, or that no array could have.
        case invalidCount
        /// An object that would go beyond the end of the objects.
        case objectTooLong
        /// An integer beyond 64 bits.
        case integerOutOfRange
        /// A real that is infinite or no number.
        case notFinite
        /// A date outside ``PropertyListDate/representable``.
        case dateOutOfRange
        /// An ASCII string with a byte above 127.
        case invalidASCII
        /// A UTF-16 string with half of a surrogate pair.
        case invalidUTF16
        /// A UTF-16 string that could have been written as ASCII.
        case needlessUTF16
        /// A reference to no object of the table.
        case referenceOutOfRange(UInt64)
        /// An object that nothing refers to.
        case unreferencedObject
        /// A container that holds itself.
        case cycle
        /// Deeper than ``PropertyListLimits/depth``.
        case tooDeep(limit: Int)
        /// More values than ``PropertyListLimits/values``.
        case tooManyValues(limit: Int)
        /// More repeated bytes than ``PropertyListLimits/repeatedBytes``.
        case tooManyRepeatedBytes(limit: Int)
        /// A key of a dictionary that is no string.
        case keyNotString
        /// A key that is empty or longer than ``PropertyListLimits/maximumKeyLength`` bytes.
        case invalidKeyLength(Int)
        /// A key with a NUL.
        case keyContainsNull
        /// A key twice in one dictionary.
        case duplicateKey
        /// A dictionary was wanted, and the root is none.
        case rootNotDictionary
    }

    /// What the fault is.
    public let reason: Reason
    /// Where the fault is.
    public let place: Place

    /// A fault and its place.
    public init(_ reason: Reason, at place: Place) {
        self.reason = reason
        self.place = place
    }
}
