// Exactly one PEM block and nothing around it but white space: what a key file is. OpenSSL's own reader skips anything
// before a block and ignores anything after it, which is how a file comes to mean two things.

import CTandemOpenSSL

/// One decoded PEM block; its contents may be secret.
struct PEMBlock {
    let label: String
    let contents: SecretBytes
    /// Whether the block has header lines, which in practice mean a passphrase.
    let hasHeaders: Bool

    /// The largest text that is looked at: an 8192-bit private key takes 6.4 KiB.
    static let longestText = 16384

    init(_ text: SecretBytes) throws(KeyError) {
        guard text.count <= Self.longestText else { throw .malformed("over \(Self.longestText) bytes") }
        let begins = text.withBytes { unsafe $0.drop(while: Self.isSpace).starts(with: "-----BEGIN ".utf8) }
        guard begins else { throw .malformed("no line '-----BEGIN ...' at its start") }
        guard let block = text.withBytes({ unsafe Self.read($0) }) else {
            throw .malformed("the PEM block cannot be decoded")
        }
        guard block.isAlone else { throw .trailingData }
        self = block.block
    }

    private static func read(_ text: UnsafeRawBufferPointer) -> (block: PEMBlock, isAlone: Bool)? {
        openSSL {
            let source = unsafe BIO_new_mem_buf(text.baseAddress, Int32(text.count))
            defer { unsafe BIO_free(source) }
            var label: UnsafeMutablePointer<CChar>?
            var headers: UnsafeMutablePointer<CChar>?
            var bytes: UnsafeMutablePointer<UInt8>?
            var count = 0
            guard unsafe PEM_read_bio(source, &label, &headers, &bytes, &count) == 1 else { return nil }
            defer {
                unsafe CTandemOpenSSL_free(label)
                unsafe CTandemOpenSSL_free(headers)
                unsafe CTandemOpenSSL_clear_free(bytes, count)
            }
            guard let label = unsafe label, let headers = unsafe headers else { return nil }
            let contents = unsafe SecretBytes(copying: UnsafeBufferPointer(start: bytes, count: count))
            let block = unsafe PEMBlock(label: String(cString: label), contents: contents, hasHeaders: headers[0] != 0)
            return (block, unsafe text.suffix(Int(BIO_ctrl_pending(source))).allSatisfy(isSpace))
        }.value
    }

    private init(label: String, contents: SecretBytes, hasHeaders: Bool) {
        self.label = label
        self.contents = contents
        self.hasHeaders = hasHeaders
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") || byte == UInt8(ascii: " ")
    }
}
