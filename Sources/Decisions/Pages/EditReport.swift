// Report of an edit that was taken, for the person who made it: the saved rows, and what the app's own checks did or
// could not do (PAG-26). One text for a browser and for a terminal.

package import TandemPropertyList

/// The sentences about an edit that was taken.
package struct EditReport: Sendable, Equatable {
    /// Names in one sentence, of which the others are counted, and characters of a name.
    private static let (nameLimit, nameLength) = (8, 48)

    /// The keys whose values the app has replaced.
    private let replaced: [String]
    /// The app has checks of its own, and gave no answer: the declared rules alone have decided.
    private let isUnchecked: Bool

    /// Reads the answer to `settings-set` (Control CTL-60).
    package init(_ answer: PropertyListDictionary) {
        replaced = (answer["replaced"]?.arrayValue ?? []).compactMap(\.stringValue)
        isUnchecked = answer["unchecked"]?.booleanValue ?? false
    }

    /// The app's part in the edit, each a sentence; empty for one that was checked and stored as it was typed.
    /// - Parameter name: the name of a property for the person: the title of its row, or its key.
    package func warnings(naming name: (String) -> String = { $0 }) -> [String] {
        let replacement =
            replaced.isEmpty ? [] : ["The app has replaced the value of \(Self.list(replaced.map(name)))."]
        return replacement + (isUnchecked ? ["The app has given no answer: its own checks were not made."] : [])
    }

    /// That an edit is stored.
    /// - Parameter names: those of the edited properties, in the order of the page.
    package static func saved(_ names: [String]) -> String { names.isEmpty ? "Saved." : "Saved: \(list(names))." }

    /// That edits were taken back.
    package static func reset(_ names: [String]) -> String { names.isEmpty ? "Reset." : "Reset: \(list(names))." }

    private static func list(_ names: [String]) -> String {
        let rest = names.count - nameLimit
        return names.prefix(nameLimit).map(short).joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    }

    private static func short(_ name: String) -> String {
        let scalars = name.unicodeScalars
        return scalars.count > nameLength ? String(scalars.prefix(nameLength - 1)) + "\u{2026}" : name
    }
}
