// How an item ends. Each item ends exactly once: until it was first sent its sender decides, from then on its receiver
// does, so that the two can never disagree (DEL-5).

/// Why an item will not be delivered; the raw value is the word on the wire.
package enum GapReason: String, Sendable, Hashable, CaseIterable {
    /// Its submitter took it back.
    case cancelled
    /// Its time to live ran out.
    case expired
    /// A newer item took its place.
    case superseded
    /// It failed too often.
    case dead
    /// Its bytes are gone: a store was restored from a backup, or a new epoch began.
    case lost
}

/// The terminal state of an item.
package enum Outcome: Sendable, Hashable {
    /// The receiver's handler took it.
    case handled
    /// The receiver's handler refused it for good.
    case rejected(code: Int64)
    /// It never reached a handler that returned.
    case withdrawn(GapReason)

    /// The word on the wire; a rejection travels with its code.
    package var name: String {
        switch self {
        case .handled: "handled"
        case .rejected: "rejected"
        case .withdrawn(let reason): reason.rawValue
        }
    }

    /// Whether it says that the receiver had the item: a handler has seen it.
    var wasStored: Bool {
        switch self {
        case .handled, .rejected: true
        case .withdrawn: false
        }
    }

    /// The number of a rejection.
    package var code: Int64? { if case .rejected(let code) = self { code } else { nil } }

    /// Reads the two parts; nil if they are no outcome.
    package init?(name: String, code: Int64?) {
        switch (name, code) {
        case ("handled", nil): self = .handled
        case ("rejected", let code?): self = .rejected(code: code)
        case (_, nil):
            guard let reason = GapReason(rawValue: name) else { return nil }
            self = .withdrawn(reason)
        default: return nil
        }
    }
}
