// A QR code as a square of dark and light modules, made by libqrencode in byte mode: every byte is kept as it is, so
// that links survive exactly. It refuses content that does not fit instead of splitting it over several codes. Drawing
// is in the files beside this one; nothing of the C library leaves this file.

internal import CTandemQREncode

/// A QR code: `width` x `width` modules, without its quiet zone.
package struct QRCode: Sendable, Equatable {
    /// How much damage a reader can repair, and the bytes that the largest code then holds.
    package enum Correction: Sendable, CaseIterable {
        /// About 7 %: right for screens, which do not get dirty.
        case low
        case medium, quartile, high

        package var capacity: Int {
            switch self {
            case .low: 2953
            case .medium: 2331
            case .quartile: 1663
            case .high: 1273
            }
        }
    }

    /// The light modules that must surround a code on each side, or readers do not find it.
    package static var quietZone: Int { 4 }

    /// Modules on each side: 17 + 4 x version.
    package let width: Int
    private let modules: [Bool]

    /// The smallest code that holds these bytes.
    package init(_ bytes: [UInt8], correction: Correction = .low) throws(CodeError) {
        guard !bytes.isEmpty else { throw .empty }
        guard bytes.count <= correction.capacity, let count = Int32(exactly: bytes.count) else {
            throw .tooLong(count: bytes.count, limit: correction.capacity)
        }
        guard let code = QRcode_encodeData(count, bytes, 0, correction.level) else { throw .outOfMemory }
        defer { QRcode_free(code) }
        let side = Int(code.pointee.width)
        // The lowest bit of each module byte is its colour; the others say what the module is for.
        modules = UnsafeBufferPointer(start: code.pointee.data, count: side * side).map { $0 & 1 == 1 }
        width = side
    }

    /// The code of a text's UTF-8 bytes.
    package init(_ text: String, correction: Correction = .low) throws(CodeError) {
        try self.init(Array(text.utf8), correction: correction)
    }

    /// Whether the module is dark; everything outside the square is light.
    package func isDark(column: Int, row: Int) -> Bool {
        let side = 0..<width
        return side.contains(column) && side.contains(row) && modules[row * width + column]
    }
}

extension QRCode.Correction {
    fileprivate var level: QRecLevel {
        switch self {
        case .low: QR_ECLEVEL_L
        case .medium: QR_ECLEVEL_M
        case .quartile: QR_ECLEVEL_Q
        case .high: QR_ECLEVEL_H
        }
    }
}
