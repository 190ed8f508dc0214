// Rows of text in aligned columns, for people. Programs use --json.

/// A table with a title; nothing is printed for one without rows.
struct Table {
    let title: String
    let columns: [String]
    private(set) var rows: [[String]] = []

    init(_ title: String, _ columns: [String]) {
        self.title = title
        self.columns = columns
    }

    mutating func add(_ cells: String...) { rows.append(cells.map { $0.isEmpty ? "-" : $0 }) }

    /// The title, the column names and the rows, each on a line of its own.
    var lines: [String] {
        guard !rows.isEmpty else { return [] }
        let all = [columns] + rows
        let widths = columns.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        let body = all.map { row in
            let cells = row.enumerated().map { $1 + String(repeating: " ", count: widths[$0] - $1.count) }
            return "  " + Self.trimmed(cells.joined(separator: "  "))
        }
        return [title] + body
    }

    private static func trimmed(_ line: String) -> String {
        var line = line
        while line.last == " " { line.removeLast() }
        return line
    }
}
