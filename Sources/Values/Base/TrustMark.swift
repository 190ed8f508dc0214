// Mark of the key that a device trusts for an app's configuration. It is drawn when the key is learned, so that a peer
// notices that the device has forgotten what it had verified, also if it trusts the same key again.

/// The word of a device on the key that it trusts for an app (SES-16).
package enum TrustMark: Sendable, Hashable {
    /// None is trusted: nothing that was verified is left.
    case noKey
    /// The key as it was learned.
    case key(UniqueIdentifier)
    /// Some key, or none: the device does not say which, or has not announced the app yet.
    case unnamed

    /// The reports of a device for an app.
    package enum Evidence: Sendable {
        case nothing
        /// Some, which tell of no key.
        case reports
        /// Some that only a device with a key makes.
        case key
    }

    /// Whether nothing counts under a later mark that was delivered or reported under this one. That holds for the
    /// first key, too: the verdicts of before it were given without one. Reports of before the first trust mark of all
    /// may be older than the key that it names.
    /// - Parameter evidence: what the device has reported until then.
    package func isLost(by next: TrustMark, after evidence: Evidence) -> Bool {
        switch (self, next) {
        case (_, .unnamed): false
        case (.unnamed, .noKey): evidence == .key
        case (.unnamed, .key): evidence != .nothing
        default: self != next
        }
    }

    /// The later one of two, of which the second may say nothing.
    package func followed(by next: TrustMark) -> TrustMark { next == .unnamed ? self : next }
}

extension TrustMark {
    /// The stored form, absent for a mark that says nothing.
    package var bytes: [UInt8]? {
        switch self {
        case .noKey: []
        case .key(let mark): mark.bytes
        case .unnamed: nil
        }
    }

    /// Nil if the bytes are no stored form.
    package init?(bytes: [UInt8]?) {
        switch bytes {
        case nil: self = .unnamed
        case []: self = .noKey
        case let bytes?:
            guard let mark = UniqueIdentifier(bytes: bytes) else { return nil }
            self = .key(mark)
        }
    }
}
