// Hand-made DER and PEM for tests: what no well-behaved tool would write, and the errors of loading it.

import TandemCrypto

enum DER {
    static func element(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        switch contents.count {
        case ..<128: [tag, UInt8(contents.count)] + contents
        case ..<256: [tag, 0x81, UInt8(contents.count)] + contents
        default: [tag, 0x82, UInt8(contents.count >> 8), UInt8(contents.count & 255)] + contents
        }
    }

    static func sequence(_ contents: [UInt8]) -> [UInt8] { element(0x30, contents) }

    /// One PEM block with lines of 64 characters.
    static func pem(_ label: String, _ contents: [UInt8]) -> [UInt8] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        for start in stride(from: 0, to: contents.count, by: 3) {
            let group = contents[start..<min(start + 3, contents.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for index in 0..<4 {
                text.append(index <= group.count ? alphabet[bits >> (18 - 6 * index) & 63] : UInt8(ascii: "="))
            }
        }
        let lines = stride(from: 0, to: text.count, by: 64).map { Array(text[$0..<min($0 + 64, text.count)]) }
        return Array("-----BEGIN \(label)-----\n".utf8) + lines.joined(separator: [10])
            + Array("\n-----END \(label)-----\n".utf8)
    }
}

/// Why a key is not loaded; nil if it is.
func keyError<Key>(_ load: () throws(KeyError) -> Key) -> KeyError? {
    do throws(KeyError) {
        _ = try load()
        return nil
    } catch { return error }
}
