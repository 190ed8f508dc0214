// The description of a file: by the app that submits it (name, size, metadata), and for the peer by the daemon that
// took it (the same, and the digest). Only the daemon's own digest is ever sent: it has hashed what it stored.

import TandemBase
package import TandemPropertyList
package import TandemWire

/// One file of a queue: its item's key.
package typealias FileKey = ItemKey

/// The file of a stored item, and its bytes.
package typealias StoredFile = (file: FileKey, size: Int64)

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
        guard case .string(let name)? = dictionary[BodyKey.name], name.utf8.count <= limits.name else {
            throw .invalidValue(key: BodyKey.name, expected: "a text of at most 255 bytes")
        }
        guard case .integer(let size)? = dictionary[BodyKey.size], (0...limits.size).contains(size) else {
            throw .invalidValue(key: BodyKey.size, expected: "a number of bytes up to 1 TiB")
        }
        self.init(name: name, size: size, metadata: try Self.metadata(dictionary[BodyKey.metadata]))
    }

    private static func metadata(_ value: PropertyListValue?) throws(WireError) -> PropertyListDictionary? {
        switch value {
        case nil: nil
        case .dictionary(let metadata)?: metadata
        default: throw .invalidValue(key: BodyKey.metadata, expected: "a dictionary")
        }
    }

    /// The body of `submit`.
    package var dictionary: PropertyListDictionary {
        PropertyListDictionary(present: [
            BodyKey.name: .string(name), BodyKey.size: .integer(size),
            BodyKey.metadata: metadata.map { .dictionary($0) },
        ])
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
            throw .invalidValue(key: BodyKey.body, expected: "at most 65,536 bytes")
        }
        let dictionary = try Body.dictionary(body)
        guard case .data(let digest)? = dictionary[BodyKey.digest], digest.count == Self.digestCount else {
            throw .invalidValue(key: BodyKey.digest, expected: "32 bytes")
        }
        self.init(try FileDescription(reading: dictionary, limits: limits), digest: digest)
    }

    /// The size of the file that an item's body describes; nil on another channel, and for a body that does not read.
    static func fileSize(in body: [UInt8], on channel: Channel) -> Int64? {
        guard channel.properties.hasFile else { return nil }
        return (try? FileManifest(reading: body[...]))?.file.size
    }

    package var dictionary: PropertyListDictionary {
        var dictionary = file.dictionary
        dictionary[BodyKey.digest] = .data(digest)
        return dictionary
    }

    /// The body of `delivery`: where the file is, and what its sender said of it (FIL-11).
    package func delivery(at path: String) -> PropertyListDictionary {
        var dictionary = dictionary
        dictionary[BodyKey.path] = .string(path)
        return dictionary
    }
}

/// One safe component of a path, made from a name that came from outside (FIL-12). For any name that the sender chose,
/// the result stays in its directory, is not hidden, cannot be read as an option of a command, and sends a terminal no
/// control sequence. The readable parts remain: letters of every script, spaces, the extension. The sender's own name
/// travels beside it as text, never as a path.
package struct ReceivedFileName: Sendable, Hashable {
    /// 1 to 200 bytes of UTF-8 without a slash, a control or format character, a leading dot or hyphen.
    package let text: String

    private static var limit: Int { 200 }
    private static var extensionLimit: Int { 20 }

    /// The last component of the name, with what could do harm replaced by `_`; `file` if nothing is left.
    package init(reducing name: String) {
        // By scalars: a combining character after a slash makes another Character of it, and a slash all the same.
        let component = name.unicodeScalars.split(separator: "/").last.map(Array.init) ?? []
        var scalars = component.map { $0.isDeceptive || $0 == "\\" ? "_" : $0 }
        if let first = scalars.first, first == "." || first == "-" { scalars[0] = "_" }
        var text = ""
        text.unicodeScalars.append(contentsOf: scalars)
        text = Self.shortened(text)
        self.text = text.utf8.allSatisfy { $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: " ") } ? "file" : text
    }

    /// Cut between characters, before the extension if it is a short one.
    private static func shortened(_ text: String) -> String {
        guard text.utf8.count > limit else { return text }
        var suffix = ""
        if let dot = text.lastIndex(of: "."), text[dot...].utf8.count <= extensionLimit {
            suffix = String(text[dot...])
        }
        var stem = ""
        var room = limit - suffix.utf8.count
        for scalar in text.unicodeScalars {
            room -= scalar.utf8.count
            guard room >= 0 else { break }
            stem.unicodeScalars.append(scalar)
        }
        return stem + suffix
    }
}
