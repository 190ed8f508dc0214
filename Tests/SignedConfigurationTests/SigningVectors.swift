// The vector files of Protocol/Vectors/signing, read from the checkout that the tests were built from.

import FoundationEssentials
import TandemBase
import Testing

enum SigningVectors {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Protocol/Vectors/signing")

    static func identifier(_ text: String) throws -> UniqueIdentifier {
        try #require(Hexadecimal.decode(text).flatMap { UniqueIdentifier(bytes: $0) })
    }

    static func read<File: Decodable>(_ name: String) throws -> File {
        try JSONDecoder().decode(File.self, from: try Data(contentsOf: folder.appending(path: name)))
    }
}
