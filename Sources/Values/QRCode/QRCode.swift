// A QR code as a square of dark and light modules, made by libqrencode in byte mode, so that links survive exactly.
// Content that does not fit is refused, never split. No type of the C library leaves this file. A terminal and a page
// draw the same modules.

internal import CTandemQREncode

/// A QR code: `width` x `width` modules, without its quiet zone.
package struct QRCode: Sendable, Equatable {
    /// Bytes that the largest code holds with the lowest level of correction. That level repairs about 7 %: right for
    /// screens, which do not get dirty.
    package static var capacity: Int { 2953 }

    /// The light modules that must surround a code on each side, or readers do not find it.
    package static var quietZone: Int { 4 }

    /// Modules on each side: 17 + 4 x version.
    package let width: Int
    private let modules: [Bool]

    /// The smallest code that holds these bytes.
    package init(_ bytes: [UInt8]) throws(QRCodeError) {
        guard !bytes.isEmpty else { throw .empty }
        guard bytes.count <= Self.capacity, let count = Int32(exactly: bytes.count) else {
            throw .tooLong(count: bytes.count, limit: Self.capacity)
        }
        guard let code = unsafe QRcode_encodeData(count, bytes, 0, QR_ECLEVEL_L) else { throw .outOfMemory }
        defer { unsafe QRcode_free(code) }
        let side = unsafe Int(code.pointee.width)
        // The lowest bit of each module byte is its colour; the others say what the module is for.
        modules = unsafe UnsafeBufferPointer(start: code.pointee.data, count: side * side).map { $0 & 1 == 1 }
        width = side
    }

    /// The code of a text's UTF-8 bytes.
    package init(_ text: String) throws(QRCodeError) { try self.init(Array(text.utf8)) }

    /// Whether the module is dark; everything outside the square is light.
    package func isDark(column: Int, row: Int) -> Bool {
        let side = 0..<width
        return side.contains(column) && side.contains(row) && modules[row * width + column]
    }
}

extension QRCode {
    /// The code with its quiet zone, one line for two rows of modules, each ended by a newline.
    package func terminalText(inColour: Bool) -> String {
        let range = -Self.quietZone..<(width + Self.quietZone)
        return stride(from: range.lowerBound, to: range.upperBound, by: 2).map { row in
            let cells = range.map { column in
                // An odd height leaves half a line; it is light like the quiet zone above it.
                let upper = isDark(column: column, row: row)
                let lower = isDark(column: column, row: row + 1)
                return Self.cell(upper: upper == inColour, lower: lower == inColour)
            }
            return inColour ? "\u{1B}[30;107m\(String(cells))\u{1B}[0m\n" : String(cells) + "\n"
        }.joined()
    }

    /// The block character whose drawn halves are the true ones.
    private static func cell(upper: Bool, lower: Bool) -> Character {
        switch (upper, lower) {
        case (true, true): "\u{2588}"
        case (true, false): "\u{2580}"
        case (false, true): "\u{2584}"
        case (false, false): " "
        }
    }
}

/// A content that could not become a code.
package enum QRCodeError: Error, Sendable, Equatable {
    /// The content has `count` bytes; the largest code holds `limit`.
    case tooLong(count: Int, limit: Int)
    case empty
    case outOfMemory
}

extension QRCodeError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooLong(let count, let limit):
            "\(count) bytes do not fit a QR code, which holds at most \(limit); hand them over as a file instead"
        case .empty: "a QR code needs at least one byte of content"
        case .outOfMemory: "no memory for a QR code"
        }
    }
}
