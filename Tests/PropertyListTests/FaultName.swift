// The names that the vectors give to faults (Protocol/Vectors/README.md). They are for tests: on the wire there is only
// `malformed`.

import TandemPropertyList

extension PropertyListError.Reason {
    var name: String {
        switch self {
        case .notBinaryPropertyList: "not-binary-property-list"
        case .tooShort: "too-short"
        case .reservedTrailerByte: "reserved-trailer-byte"
        case .invalidOffsetSize: "invalid-offset-size"
        case .invalidReferenceSize: "invalid-reference-size"
        case .offsetSizeTooSmall: "offset-size-too-small"
        case .referenceSizeTooSmall: "reference-size-too-small"
        case .noObjects: "no-objects"
        case .tooManyObjects: "too-many-objects"
        case .topObjectOutOfRange: "top-object-out-of-range"
        case .offsetTableMisplaced: "offset-table-misplaced"
        case .objectMisplaced: "object-misplaced"
        case .bytesAfterLastObject: "bytes-after-last-object"
        case .unsupportedType: "unsupported-type"
        case .unknownMarker: "unknown-marker"
        case .invalidCount: "invalid-count"
        case .objectTooLong: "object-too-long"
        case .integerOutOfRange: "integer-out-of-range"
        case .notFinite: "not-finite"
        case .dateOutOfRange: "date-out-of-range"
        case .invalidASCII: "invalid-ascii"
        case .invalidUTF16: "invalid-utf16"
        case .needlessUTF16: "needless-utf16"
        case .referenceOutOfRange: "reference-out-of-range"
        case .unreferencedObject: "unreferenced-object"
        case .cycle: "cycle"
        case .tooDeep: "too-deep"
        case .tooManyValues: "too-many-values"
        case .tooManyRepeatedBytes: "too-many-repeated-bytes"
        case .keyNotString: "key-not-string"
        case .invalidKeyLength: "invalid-key-length"
        case .keyContainsNull: "key-contains-null"
        case .duplicateKey: "duplicate-key"
        case .rootNotDictionary: "root-not-dictionary"
        }
    }
}
