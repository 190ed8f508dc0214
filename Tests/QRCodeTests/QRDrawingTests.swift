// The terminal drawing shows the modules of the code itself, with the quiet zone that readers need.

import TandemQRCode
import Testing

@Suite struct QRDrawingTests {
    let code: QRCode
    init() throws { code = try QRCode("tandem:join/1") }

    @Test(arguments: [true, false]) func terminalTextShowsEveryModule(inColour: Bool) {
        let lines = code.terminalText(inColour: inColour).split(separator: "\n").map(bare)
        #expect(lines.count == (code.width + 8 + 1) / 2)
        for (index, line) in lines.enumerated() {
            #expect(line.count == code.width + 8)
            for (column, character) in line.enumerated() {
                let row = index * 2 - 4
                let isDrawn = { (dark: Bool) in dark == inColour }
                let upper = isDrawn(code.isDark(column: column - 4, row: row))
                let lower = isDrawn(code.isDark(column: column - 4, row: row + 1))
                #expect(character == (upper ? (lower ? "█" : "▀") : (lower ? "▄" : " ")))
            }
        }
    }

    @Test func colouredLinesEndWithoutColourAndPlainOnesHoldNoEscape() {
        let coloured = code.terminalText(inColour: true).split(separator: "\n")
        #expect(coloured.allSatisfy { $0.hasPrefix("\u{1B}[30;107m") && $0.hasSuffix("\u{1B}[0m") })
        #expect(!code.terminalText(inColour: false).contains("\u{1B}"))
    }

    private func bare(_ line: Substring) -> String {
        String(line).replacing("\u{1B}[30;107m", with: "").replacing("\u{1B}[0m", with: "")
    }
}
