// Faults of a property list and their locations. One closed enum for reading and writing, so that a test can name the
// exact fault and a log line needs no second vocabulary. Nothing of the content is shown but sizes and markers.

/// A fault of a property list: what and where.
public struct PropertyListError: Error, Sendable, Equatable {
    /// Where the fault is.
    public enum Location: Sendable, Equatable {
        /// Offset in the bytes that were read.
        case byte(Int)
        /// Number in the object table, and the object's offset.
        case object(Int, byte: Int)
        /// Key path in the value that was to be written; empty for the root.
        case path(String)
    }

    /// The kind of fault.
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

    /// The kind of fault.
    public let reason: Reason
    /// Where the fault is.
    public let location: Location

    /// A fault and its location.
    public init(_ reason: Reason, at location: Location) {
        self.reason = reason
        self.location = location
    }
}

extension PropertyListError: CustomStringConvertible {
    public var description: String { "\(reason.description) at \(location.description)" }
}

extension PropertyListError.Location: CustomStringConvertible {
    public var description: String {
        switch self {
        case .byte(let offset): "byte \(offset)"
        case .object(let number, let offset): "object \(number) (byte \(offset))"
        case .path(let path): path.isEmpty ? "the root" : path
        }
    }
}

extension PropertyListError.Reason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notBinaryPropertyList: "not a binary property list (bplist00)"
        case .tooShort(let count): "\(count) bytes are too few for a property list"
        case .reservedTrailerByte(let byte): "reserved trailer byte is \(byte) instead of 0"
        case .invalidOffsetSize(let size): "offset size \(size) is not 1-8"
        case .invalidReferenceSize(let size): "reference size \(size) is not 1-8"
        case .offsetSizeTooSmall(let size): "offset size \(size) is too small for the offset table's position"
        case .referenceSizeTooSmall(let size): "reference size \(size) is too small for the object count"
        case .noObjects: "no objects"
        case .tooManyObjects(let count, let limit): "\(count) objects are more than \(limit)"
        case .topObjectOutOfRange(let number): "top object \(number) does not exist"
        case .offsetTableMisplaced(let offset): "offset table at \(offset) does not lie directly before the trailer"
        case .objectMisplaced(let expected, let found): "object should begin at \(expected), not at \(found)"
        case .bytesAfterLastObject(let count): "\(count) bytes between the last object and the offset table"
        case .unsupportedType(let marker): "type of marker \(marker) is not supported"
        case .unknownMarker(let marker): "unknown marker \(marker)"
        case .invalidCount: "invalid count"
        case .objectTooLong: "object runs past the end of the object table"
        case .integerOutOfRange: "integer does not fit 64 bits"
        case .notFinite: "real is not finite"
        case .dateOutOfRange: "date is not within the years 1 to 9999"
        case .invalidASCII: "ASCII string holds another byte"
        case .invalidUTF16: "UTF-16 string is malformed"
        case .needlessUTF16: "UTF-16 string holds only ASCII"
        case .referenceOutOfRange(let number): "reference to object \(number), which does not exist"
        case .unreferencedObject: "object is not referenced"
        case .cycle: "container holds itself"
        case .tooDeep(let limit): "more than \(limit) levels"
        case .tooManyValues(let limit): "more than \(limit) values"
        case .tooManyRepeatedBytes(let limit): "more than \(limit) bytes by repeating objects"
        case .keyNotString: "key is not a string"
        case .invalidKeyLength(let length): "key of \(length) bytes is not 1-\(PropertyListLimits.maximumKeyLength)"
        case .keyContainsNull: "key contains a NUL"
        case .duplicateKey: "duplicate key"
        case .rootNotDictionary: "root is not a dictionary"
        }
    }
}

/// Budgets for reading and writing a property list (FRM-6 k, l, m, n). They bound work and memory by the bytes
/// received, whatever those claim.
public struct PropertyListLimits: Sendable, Hashable {
    /// The longest key in UTF-8 bytes, in every property list (LIM-12): keys are names, not data.
    public static let maximumKeyLength = 256

    /// Levels of containers and what they hold; the root has depth 1.
    public var depth: Int
    /// Objects in the object table.
    public var objects: Int
    /// Values and keys, counted as often as they are referenced: what a naive reader would build.
    public var values: Int
    /// Bytes of objects that are referred to again, for each reference after the first: the extra memory of a reader
    /// that makes a new value for each reference.
    public var repeatedBytes: Int

    /// Budgets of one's own, with the protocol's of repetition (LIM-12); what comes over the wire is held to
    /// ``standard``.
    public init(depth: Int, objects: Int, values: Int, repeatedBytes: Int = 8 << 20) {
        self.depth = depth
        self.objects = objects
        self.values = values
        self.repeatedBytes = repeatedBytes
    }

    /// The protocol's budgets (LIM-12).
    public static let standard = PropertyListLimits(depth: 64, objects: 16_384, values: 65_536)
}
