// Guess at the word that a mistyped one means: of a command, of an option, or of a key in a file of options.

/// Finds the nearest word of a list.
enum NearestWord {
    /// The most changes (insertions, removals, replacements) of a guess: two make another word of three letters.
    private static func reach(of word: [UInt8]) -> Int { word.count > 3 ? 2 : 1 }

    /// The end of a message: `; did you mean 'NAME'?` with the nearest name, or nothing if none is near.
    static func suffix(_ typed: String, among names: [String]) -> String {
        question(typed, among: names).map { "; \($0)" } ?? ""
    }

    /// `did you mean 'NAME'?` with the nearest name; nil if none is near.
    static func question(_ typed: String, among names: [String]) -> String? {
        let bytes = plain(typed)
        let near = names.map { (name: $0, distance: distance(plain($0), bytes)) }
            .filter { $0.distance <= reach(of: bytes) }
        return near.min { $0.distance < $1.distance }.map { "did you mean '\($0.name)'?" }
    }

    /// Small letters alone: the same option has dashes, capitals or underscores in other sources. 64 bound the work.
    private static func plain(_ name: String) -> [UInt8] { name.prefix(64).lowercased().utf8.filter { $0 >= 0x61 } }

    /// Insertions, removals and replacements from one to the other.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var row = Array(0...right.count)
        for (index, byte) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, other) in right.enumerated() {
                let replaced = diagonal + (byte == other ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, diagonal + 1, row[column] + 1)
            }
        }
        return row[right.count]
    }
}
