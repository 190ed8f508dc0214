// Registrations of this device's apps, as far as they concern configuration. Their anchors are apart from the trusted
// keys, which an operator may replace at any time: an app with another anchor refuses what only the trusted one vouches
// for (CTL-27).

import TandemBase
import TandemSession
import TandemSignedConfiguration

/// A numbered decision of the operator on the trust in an app's keys.
struct KeyDecision {
    let subject: KeySubject
    fileprivate let number: Int
}

/// The last registrations of the apps. Forgotten at a restart, after which apps register again.
struct RegisteredApps {
    /// The result of a comparison with a trusted anchor: it takes the reading of all keys, and `status` is asked often.
    private struct Comparison {
        /// The trusted anchor, and how many statements had followed it.
        let mark: UniqueIdentifier
        let steps: Int
        let isConflict: Bool
    }

    private struct Anchor {
        let pem: String
        /// Read once, because a key set may have dozens of signatures. Nil for the trusted text, which was read when it
        /// was learned.
        var anchor: ConfigurationAnchor?
        /// How often the operator had decided at the turn of the last registration with it.
        var decisions = 0
        var comparison: Comparison?
        /// The disk had no room for the trust in it.
        var isUnlearned = false
    }

    /// The operator's decisions on the trust in the keys of an app.
    private struct Decisions {
        var count = 0
        /// The number of the last one that was stored.
        var last = 0
    }

    private var anchors: [KeySubject: Anchor] = [:]
    private var decisions: [KeySubject: Decisions] = [:]
    /// The apps with receiving connections, and how they came to see the files that they see.
    private var connected: [KeySubject: ConfigurationSlot.Arrival] = [:]
    /// The schemas that the connected apps have named.
    private var schemas: [ApplicationIdentifier: [UInt8]] = [:]
    /// The slots whose files the apps have seen last; nil inside for an app that has no target.
    private var shown: [KeySubject: ConfigurationSlotKey?] = [:]
    /// The apps whose code allows invalid signatures (CFG-22).
    private var waiving: Set<ApplicationIdentifier> = []

    /// How an app came to see the files that it sees; nil if it is not connected.
    func arrival(of subject: KeySubject) -> ConfigurationSlot.Arrival? { connected[subject] }

    /// SHA-256 of the schema of a connected app.
    func schema(of app: ApplicationIdentifier) -> [UInt8]? { schemas[app] }

    /// Whether the app's code allows invalid signatures, as it said last.
    func allowsInvalidSignatures(_ app: ApplicationIdentifier) -> Bool { waiving.contains(app) }

    /// The app's anchor as it was read at its registration, if this is its text and was not the trusted one.
    func anchor(_ pem: String, of key: KeySubject) -> ConfigurationAnchor? {
        anchors[key].flatMap { $0.pem == pem ? $0.anchor : nil }
    }

    /// Reads the anchor of a registration that has its turn now, unless it is trusted or was read for the last one.
    /// - Parameter trusted: the anchor in force.
    func read(_ pem: String, of subject: KeySubject, beside trusted: KnownAnchor?) -> RegisteredAnchor {
        let read = pem == trusted?.pem ? nil : anchor(pem, of: subject) ?? ConfigurationAnchor(pem: pem)
        return RegisteredAnchor(anchor: read, decisions: count(of: subject))
    }

    private func count(of subject: KeySubject) -> Int { decisions[subject]?.count ?? 0 }

    /// The operator decides on the trust in the app's keys now: an app whose turn was before is overruled, once that is
    /// stored.
    mutating func decide(_ subject: KeySubject) -> KeyDecision {
        decisions[subject, default: Decisions()].count += 1
        return KeyDecision(subject: subject, number: count(of: subject))
    }

    /// A decision is stored.
    mutating func decided(_ decision: KeyDecision) { decisions[decision.subject]?.last = decision.number }

    /// Whether the operator has decided on the trust in the app's keys after so many decisions.
    func isOverruled(_ subject: KeySubject, since number: Int) -> Bool {
        decisions[subject].map { $0.last > number } ?? false
    }

    /// An app's receiving connection has registered.
    /// - Parameter read: its anchor, as it was found in its turn.
    /// - Returns: how often the operator had decided by then.
    mutating func registered(
        _ registration: TandemSession.Registration, as subject: KeySubject, _ read: RegisteredAnchor?
    ) -> Int {
        let (app, pem) = (subject.application, registration.anchor)
        connected[subject] = .registered
        schemas[app] = registration.schema
        if registration.allowsInvalidSignatures { waiving.insert(app) } else { waiving.remove(app) }
        if anchors[subject]?.pem != pem { anchors[subject] = pem.map { Anchor(pem: $0) } }
        if let found = read?.anchor { anchors[subject]?.anchor = found }
        let number = read?.decisions ?? count(of: subject)
        anchors[subject]?.decisions = number
        anchors[subject]?.isUnlearned = false
        return number
    }

    /// An app sees the files of this slot, or of none, from now on; returns whether that may be news to it.
    mutating func show(_ key: ConfigurationSlotKey?, to subject: KeySubject) -> Bool {
        shown.updateValue(key, forKey: subject) != .some(key)
    }

    /// The app sees another target's files without a new registration.
    mutating func switched(_ subject: KeySubject) { connected[subject]? = .switched }

    /// The app's receiving connection is gone.
    mutating func disconnected(_ subject: KeySubject) {
        connected[subject] = nil
        schemas[subject.application] = nil
    }

    /// The disk had no room for the trust in an anchor, which is to be tried again. Nothing if the app has registered
    /// with another anchor since.
    mutating func notStored(_ pem: String, of key: KeySubject) {
        if anchors[key]?.pem == pem { anchors[key]?.isUnlearned = true }
    }

    /// Takes the anchors that could not be stored, for one more attempt each. If that fails, ``notStored(_:of:)`` marks
    /// the anchor again.
    mutating func takeUnlearned() -> [(key: KeySubject, pem: String, decisions: Int)] {
        let unlearned = anchors.filter { $0.value.isUnlearned }
        for key in unlearned.keys { anchors[key]?.isUnlearned = false }
        return unlearned.map { ($0.key, $0.value.pem, $0.value.decisions) }
    }

    /// The app is removed.
    mutating func remove(_ key: KeySubject) { (anchors[key], shown[key]) = (nil, nil) }

    /// Whether the app of a trusted anchor has registered with another one, by which it refuses what that vouches for.
    mutating func isConflicting(with trusted: KnownAnchor) -> Bool {
        guard let anchor = anchors[trusted.key], anchor.pem != trusted.pem else { return false }
        let (mark, steps) = (trusted.mark, trusted.steps.count)
        if let last = anchor.comparison, last.mark == mark, last.steps == steps { return last.isConflict }
        let own = anchor.anchor ?? ConfigurationAnchor(pem: anchor.pem)
        let isConflict = Self.isConflict(own, with: trusted)
        anchors[trusted.key]?.comparison = Comparison(mark: mark, steps: steps, isConflict: isConflict)
        return isConflict
    }

    private static func isConflict(_ anchor: ConfigurationAnchor, with trusted: KnownAnchor) -> Bool {
        guard let history = trusted.anchor.trusted else { return false }
        guard let own = anchor.trusted else { return true }
        return history.succession(of: own) == .conflict
    }
}
