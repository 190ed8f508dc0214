// A code for terminals: one character for two modules, one above the other, so that the modules come out square. With
// colour, dark is black and light is white whatever the terminal's own colours are. Without colour, light modules are
// the drawn ones: right on a dark terminal, and on a light one the code is reversed, which readers accept too.

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
