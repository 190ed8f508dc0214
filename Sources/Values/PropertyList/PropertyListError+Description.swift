// The words of property-list faults, for people and log lines.

extension PropertyListError: CustomStringConvertible {
    public var description: String { "\(reason.description) at \(place.description)" }
}

extension PropertyListError.Place: CustomStringConvertible {
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
        structureDescription ?? objectDescription ?? graphDescription
    }

    private var structureDescription: String? {
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
        default: nil
        }
    }

    private var objectDescription: String? {
        switch self {
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
        default: nil
        }
    }

    private var graphDescription: String {
        switch self {
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
        default: "fault"
        }
    }
}
