// Codes must be readable and exact: they carry join secrets and signed configuration. A reader of our own reads small
// ones back; sizes and limits are the standard's.

import TandemQRCode
import Testing

@Suite struct QRCodeTests {
    @Test(arguments: ["tandem", "t", "0123456789ABCDEFG", "\u{e9}\u{20ac}"])
    func whatWasWrittenIsRead(text: String) throws {
        let code = try QRCode(text)
        #expect(QRReader(code: code).bytes() == Array(text.utf8))
    }

    @Test func everyByteValueIsKept() throws {
        for start in stride(from: 0, to: 256, by: 16) {
            let bytes = (start..<start + 16).map { UInt8($0) }
            #expect(QRReader(code: try QRCode(bytes)).bytes() == bytes)
        }
    }

    @Test(arguments: [(1, 21), (17, 21), (18, 25), (32, 25), (33, 29), (106, 37), (107, 41), (2953, 177)])
    func theSmallestCodeThatHoldsTheContentIsChosen(count: Int, width: Int) throws {
        #expect(try QRCode([UInt8](repeating: 0x61, count: count)).width == width)
    }

    @Test func contentAtTheLimitFitsAndOneByteMoreIsRefused() throws {
        let limit = QRCode.capacity
        #expect(try QRCode([UInt8](repeating: 0xFF, count: limit)).width == 177)
        #expect(throws: QRCodeError.tooLong(count: limit + 1, limit: limit)) {
            try QRCode([UInt8](repeating: 0xFF, count: limit + 1))
        }
    }

    @Test func emptyContentIsRefused() {
        #expect(throws: QRCodeError.empty) { try QRCode("") }
    }

    @Test func theThreeFindersAreInPlace() throws {
        let code = try QRCode("tandem")
        for (left, top) in [(0, 0), (14, 0), (0, 14)] {
            for row in 0..<7 {
                for column in 0..<7 {
                    let ring = max(abs(row - 3), abs(column - 3))
                    #expect(code.isDark(column: left + column, row: top + row) == (ring != 2))
                }
            }
        }
        #expect(!code.isDark(column: -1, row: 0))
        #expect(!code.isDark(column: 0, row: 21))
    }
}
