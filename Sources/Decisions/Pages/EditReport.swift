// Report of an edit that was taken, for the person who made it: the saved rows, and what the app's own checks did or
// could not do (PAG-26). One text for a browser and for a terminal.

package import TandemPropertyList

/// The sentences about an edit that was taken.
package struct EditReport: Sendable, Equatable {
    /// Names in one sentence, of which the others are counted.
    private static let nameLimit = 8

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
        let first = names.prefix(nameLimit).map(PageText.short).joined(separator: ", ")
        return rest > 0 ? "\(first) and \(rest) more" : first
    }
}
