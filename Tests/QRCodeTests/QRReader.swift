// Reads a QR code of version 1 back (ISO 18004), independently of the library that made it: format bits, mask, zigzag,
// byte mode. It repairs no error, because a drawn code has none.

import TandemQRCode

struct QRReader {
    let code: QRCode

    /// The bytes of a version 1 code in byte mode; nil if it is anything else.
    func bytes() -> [UInt8]? {
        guard code.width == 21 else { return nil }
        let bits = dataBits()
        guard number(bits[0..<4]) == 0b0100 else { return nil }
        let count = number(bits[4..<12])
        guard 12 + count * 8 <= bits.count else { return nil }
        return (0..<count).map { UInt8(number(bits[(12 + $0 * 8)..<(20 + $0 * 8)])) }
    }

    /// The three mask bits beside the upper left finder, unmasked as the standard masks them.
    private var mask: Int {
        let format = (2...4).map { code.isDark(column: $0, row: 8) }
        return number(format[...]) ^ 0b101
    }

    private func dataBits() -> [Bool] {
        var bits: [Bool] = []
        var column = 20
        var upwards = true
        while column > 0 {
            for step in 0..<21 {
                let row = upwards ? 20 - step : step
                for side in [column, column - 1] where isData(column: side, row: row) {
                    bits.append(code.isDark(column: side, row: row) != isMasked(column: side, row: row))
                }
            }
            upwards.toggle()
            // Column 6 is the timing pattern and belongs to no pair.
            column -= column == 8 ? 3 : 2
        }
        return bits
    }

    private func isData(column: Int, row: Int) -> Bool {
        let inFinder = (column <= 8 && row <= 8) || (column >= 13 && row <= 8) || (column <= 8 && row >= 13)
        return !inFinder && column != 6 && row != 6
    }

    private func isMasked(column: Int, row: Int) -> Bool {
        switch mask {
        case 0: (row + column) % 2 == 0
        case 1: row % 2 == 0
        case 2: column % 3 == 0
        case 3: (row + column) % 3 == 0
        case 4: (row / 2 + column / 3) % 2 == 0
        case 5: row * column % 2 + row * column % 3 == 0
        case 6: (row * column % 2 + row * column % 3) % 2 == 0
        default: ((row + column) % 2 + row * column % 3) % 2 == 0
        }
    }

    private func number(_ bits: ArraySlice<Bool>) -> Int { bits.reduce(0) { $0 * 2 + ($1 ? 1 : 0) } }
}
