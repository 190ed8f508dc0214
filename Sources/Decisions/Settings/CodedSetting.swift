// Value of a Swift type that is none of the settings' own, as bytes with the type's tag and the version of its form: a
// later release, or another type of the same property, recognises bytes that it cannot read.

package import TandemPropertyList

/// The encoded value of a property of any Swift type.
public struct CodedSetting: Sendable, Hashable {
    /// Names the Swift type.
    public let tag: String
    /// The version of the type's form, from 1.
    public let version: Int
    /// The encoded value.
    public let bytes: [UInt8]

    /// A coded value; nothing is judged here.
    public init(tag: String, version: Int, bytes: [UInt8]) {
        self.tag = tag
        self.version = version
        self.bytes = bytes
    }

    /// The stored form: exactly the keys `tag`, `version` (from 1) and `data`; nil for any other dictionary.
    package init?(_ dictionary: PropertyListDictionary) {
        guard dictionary.count == 3, let tag = dictionary["tag"]?.stringValue,
            let version = dictionary["version"]?.integerValue, let bytes = dictionary["data"]?.dataValue,
            let version = Int(exactly: version), version >= 1
        else { return nil }
        self.init(tag: tag, version: version, bytes: bytes)
    }

    /// The stored form.
    package var dictionary: PropertyListDictionary {
        ["tag": .string(tag), "version": PropertyListValue(version), "data": .data(bytes)]
    }
}
