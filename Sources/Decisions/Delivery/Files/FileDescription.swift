// What is told of a file: by the app that submits it (name, size, metadata), and to the peer by the daemon that took it
// (the same, and the digest). Only the daemon's own digest is ever sent: it has hashed what it stored.

package import TandemPropertyList
package import TandemWire

/// A file as its app describes it: the body of `submit` (FIL-2).
package struct FileDescription: Sendable, Equatable {
    /// As the sender calls it; a text, never a path.
    package let name: String
    package let size: Int64
    package let metadata: PropertyListDictionary?

    package init(name: String, size: Int64, metadata: PropertyListDictionary? = nil) {
        self.name = name
        self.size = size
        self.metadata = metadata
    }

    /// - Throws: ``WireError/invalidValue(key:expected:)`` with the key at fault.
    package init(reading dictionary: PropertyListDictionary, limits: FileLimits = FileLimits()) throws(WireError) {
        guard case .string(let name)? = dictionary["name"], name.utf8.count <= limits.name else {
            throw .invalidValue(key: "name", expected: "a text of at most 255 bytes")
        }
        guard case .integer(let size)? = dictionary["size"], (0...limits.size).contains(size) else {
            throw .invalidValue(key: "size", expected: "a number of bytes up to 1 TiB")
        }
        self.init(name: name, size: size, metadata: try Self.metadata(dictionary["metadata"]))
    }

    private static func metadata(_ value: PropertyListValue?) throws(WireError) -> PropertyListDictionary? {
        switch value {
        case nil: nil
        case .dictionary(let metadata)?: metadata
        default: throw .invalidValue(key: "metadata", expected: "a dictionary")
        }
    }

    /// The body of `submit`.
    package var dictionary: PropertyListDictionary {
        var dictionary: PropertyListDictionary = ["name": .string(name), "size": .integer(size)]
        if let metadata { dictionary["metadata"] = .dictionary(metadata) }
        return dictionary
    }
}

/// A file as its daemon took it: the body of its `item` (FIL-4).
package struct FileManifest: Sendable, Equatable {
    package let file: FileDescription
    /// SHA-256 of all its bytes.
    package let digest: [UInt8]

    private static var digestCount: Int { 32 }

    package init(_ file: FileDescription, digest: [UInt8]) {
        self.file = file
        self.digest = digest
    }

    /// - Throws: ``WireError`` also for a body that is no dictionary, or has more than LIM-30.
    package init(reading body: ArraySlice<UInt8>, limits: FileLimits = FileLimits()) throws(WireError) {
        guard body.count <= limits.manifest else {
            throw .invalidValue(key: "body", expected: "at most 65,536 bytes")
        }
        let dictionary = try Body.dictionary(body)
        guard case .data(let digest)? = dictionary["digest"], digest.count == Self.digestCount else {
            throw .invalidValue(key: "digest", expected: "32 bytes")
        }
        self.init(try FileDescription(reading: dictionary, limits: limits), digest: Array(digest))
    }

    package var dictionary: PropertyListDictionary {
        var dictionary = file.dictionary
        dictionary["digest"] = .data(digest)
        return dictionary
    }

    /// The body of `delivery`: where the file is, and what its sender said of it (FIL-11).
    package func delivery(at path: String) -> PropertyListDictionary {
        var dictionary = dictionary
        dictionary["path"] = .string(path)
        return dictionary
    }
}
