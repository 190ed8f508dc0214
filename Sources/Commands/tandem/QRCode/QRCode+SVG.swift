// A code as SVG for pages and print: black on white with its quiet zone, one path of horizontal runs, no script, no
// style sheet and nothing taken from the content, so that it can be embedded anywhere without escaping.

extension QRCode {
    /// A complete SVG document, one user unit for each module.
    package func svg() -> String {
        let side = width + 2 * Self.quietZone
        let path = (0..<width).flatMap { row in
            runs(row: row).map {
                "M\($0.lowerBound + Self.quietZone) \(row + Self.quietZone)h\($0.count)v1h-\($0.count)z"
            }
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(side) \(side)" shape-rendering="crispEdges">
            <rect width="\(side)" height="\(side)" fill="#fff"/>
            <path fill="#000" d="\(path.joined())"/>
            </svg>

            """
    }

    /// The dark runs of one row, as ranges of columns.
    private func runs(row: Int) -> [Range<Int>] {
        var runs: [Range<Int>] = []
        for column in 0..<width where isDark(column: column, row: row) {
            if let last = runs.last, last.upperBound == column {
                runs[runs.count - 1] = last.lowerBound..<(column + 1)
            } else {
                runs.append(column..<(column + 1))
            }
        }
        return runs
    }
}
