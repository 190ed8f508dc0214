// Anchors with which this device's apps have registered last, beside the trusted ones: an app with another anchor
// refuses what only the trusted one vouches for (CTL-27). Apart from the trusted keys, which an operator may replace at
// any time.

import TandemBase
import TandemSignedConfiguration

/// The anchors of the last registrations. Forgotten at a restart, after which apps register again.
struct RegisteredAnchors {
    /// The result of a comparison with a trusted anchor: it takes the reading of all keys, and `status` is asked often.
    private struct Comparison {
        /// The trusted anchor, and how many statements had followed it.
        let mark: UniqueIdentifier
        let steps: Int
        let isConflict: Bool
    }

    private struct Entry {
        let pem: String
        var comparison: Comparison?
        /// The disk had no room for the trust in it.
        var isUnlearned = false
    }

    private var entries: [KeySubject: Entry] = [:]

    /// An app has registered, with this anchor or without one.
    mutating func registered(_ pem: String?, for key: KeySubject) {
        if entries[key]?.pem != pem { entries[key] = pem.map { Entry(pem: $0) } }
        entries[key]?.isUnlearned = false
    }

    /// The disk had no room for the trust in an anchor, which is to be tried again. Nothing if the app has registered
    /// with another anchor since.
    mutating func notStored(_ pem: String, of key: KeySubject) {
        if entries[key]?.pem == pem { entries[key]?.isUnlearned = true }
    }

    /// The operator has decided on the trust in the app's keys.
    mutating func decided(_ key: KeySubject) { entries[key]?.isUnlearned = false }

    /// Takes the anchors that could not be stored, for one more attempt each. If that fails, ``notStored(_:of:)`` marks
    /// the anchor again.
    mutating func takeUnlearned() -> [(key: KeySubject, pem: String)] {
        let unlearned = entries.filter { $0.value.isUnlearned }
        for key in unlearned.keys { entries[key]?.isUnlearned = false }
        return unlearned.map { ($0.key, $0.value.pem) }
    }

    /// The app is removed.
    mutating func remove(_ key: KeySubject) { entries[key] = nil }

    /// Whether the app of a trusted anchor has registered with another one, by which it refuses what that vouches for.
    mutating func isConflicting(with trusted: KnownAnchor) -> Bool {
        guard let entry = entries[trusted.key], entry.pem != trusted.pem else { return false }
        let (mark, steps) = (trusted.mark, trusted.steps.count)
        if let last = entry.comparison, last.mark == mark, last.steps == steps { return last.isConflict }
        let isConflict = Self.isConflict(entry.pem, with: trusted)
        entries[trusted.key]?.comparison = Comparison(mark: mark, steps: steps, isConflict: isConflict)
        return isConflict
    }

    private static func isConflict(_ pem: String, with trusted: KnownAnchor) -> Bool {
        guard let history = trusted.anchor.trusted else { return false }
        guard let own = ConfigurationAnchor(pem: pem).trusted else { return true }
        return history.succession(of: own) == .conflict
    }
}
