// Verdicts on a configuration, and the named rejections. A name never changes its meaning: logs, reports, the command
// line and the test vectors use the same ones. The text beside a name is for people and may change.

import TandemBase

/// A named rejection (Protocol/SignedConfiguration.md CFG-24); the raw value is the name on the wire.
package enum Rejection: String, Error, Sendable, Hashable, CaseIterable {
    case oversize
    case malformed
    case shape
    case noKey = "no-key"
    case weakKey = "weak-key"
    case unknownAlgorithm = "unknown-alg"
    case duplicateKeyIdentifier = "dup-keyid"
    case threshold
    case wrongType = "wrong-type"
    case payloadMalformed = "payload-malformed"
    case critical = "crit"
    case wrongRole = "wrong-role"
    case wrongApplication = "wrong-app"
    case wrongTarget = "wrong-target"
    case oldKeySet = "old-keyset"
    case rollback
    case equivocation
    case clockUnset = "clock-unset"
    case expired
    case future
    case schema
    case signerRevoked = "signer-revoked"
    case anchorConflict = "anchor-conflict"
    case identifierChanged = "identifier-changed"
    case keySetIllegal = "keyset-illegal"
    case keySetGap = "keyset-gap"
    case keySetExpired = "keyset-expired"
}

extension Rejection: CustomStringConvertible {
    package var description: String { rawValue }
}

extension Rejection {
    /// Rules about a rejection, beside its name.
    private struct Properties {
        var isEarly = false
        var comesOfKeys = false
        var maySolveItself = false
        var isRefusal = true
    }

    private var properties: Properties {
        switch self {
        case .oversize, .malformed, .shape, .duplicateKeyIdentifier: Properties(isEarly: true)
        case .noKey, .weakKey, .unknownAlgorithm: Properties(isEarly: true, isRefusal: false)
        case .threshold: Properties(isEarly: true, comesOfKeys: true)
        case .keySetExpired: Properties(isEarly: true, maySolveItself: true)
        case .oldKeySet: Properties(comesOfKeys: true)
        case .wrongTarget, .future, .keySetGap: Properties(maySolveItself: true)
        case .clockUnset: Properties(isRefusal: false)
        case .wrongType, .payloadMalformed, .critical, .wrongRole, .wrongApplication, .rollback, .equivocation,
            .expired, .schema, .signerRevoked, .anchorConflict, .identifierChanged, .keySetIllegal:
            Properties()
        }
    }

    /// Whether it is found before the payload type is looked at (steps 1 to 8), so that nothing in the configuration
    /// is vouched for by anybody (CFG-52).
    package var isEarly: Bool { properties.isEarly }

    /// Whether the key sets alone may decide it: too few of the signers are in the one in force, or an earlier one was
    /// in force for the signers (CFG-73, CFG-94).
    package var comesOfKeys: Bool { properties.comesOfKeys }

    /// Whether it may come of missing key sets alone (CFG-113): the steps up to the threshold and the version of the
    /// key set depend on them.
    package var mayLackKeySets: Bool { isEarly || comesOfKeys }

    /// Whether the device that rejects may take the same bytes later, without its primary's knowledge: it took the
    /// primary's new identifier, its clock was set, it has a newer key set.
    var maySolveItself: Bool { properties.maySolveItself }

    /// Whether the bytes were judged. Without a usable key nothing is; daemons before `waiting-for-key` say so by
    /// `no-key`.
    fileprivate var isRefusal: Bool { properties.isRefusal }
}

package struct VerificationFailure: Error, Sendable {
    package let rejection: Rejection
    /// The fault and its location, in one sentence without the name.
    package let detail: String
    /// The payload, if its signature was good and it could be read.
    package let payload: ConfigurationPayload?

    package init(_ rejection: Rejection, _ detail: String, payload: ConfigurationPayload? = nil) {
        self.rejection = rejection
        self.detail = detail
        self.payload = payload
    }
}

extension VerificationFailure: Equatable {
    package static func == (left: Self, right: Self) -> Bool { left.rejection == right.rejection }
}

extension VerificationFailure: CustomStringConvertible {
    package var description: String { "\(rejection): \(detail)" }
}

/// A verdict (CFG-25).
package enum Verdict: Sendable, Hashable {
    /// The app's library applied it, or had applied these very bytes before.
    case applied
    /// Staged; the app is not connected.
    case waitingForApplication
    /// Not judged and not kept: the secondary knows no key for the app yet. The primary delivers it again (CFG-74).
    case waitingForKey
    /// A newer one took its place before its last verdict.
    case superseded
    /// The app did not live with it, or gave no verdict on it: the last good one is active, and its version is burnt
    /// (CFG-63).
    case failed
    case rejected(Rejection)

    private enum Word: String {
        case applied, superseded, failed
        case waitingForApplication = "waiting-for-app"
        case waitingForKey = "waiting-for-key"
    }

    /// The verdict of a stable name; nil for an unknown one.
    package init?(name: String) {
        switch Word(word: name) {
        case .applied: self = .applied
        case .waitingForApplication: self = .waitingForApplication
        case .waitingForKey: self = .waitingForKey
        case .superseded: self = .superseded
        case .failed: self = .failed
        case nil:
            guard let rejection = Rejection(word: name) else { return nil }
            self = .rejected(rejection)
        }
    }

    package var name: String {
        switch self {
        case .applied: Word.applied.rawValue
        case .waitingForApplication: Word.waitingForApplication.rawValue
        case .waitingForKey: Word.waitingForKey.rawValue
        case .superseded: Word.superseded.rawValue
        case .failed: Word.failed.rawValue
        case .rejected(let rejection): rejection.rawValue
        }
    }

    /// Whether another verdict on the same delivery follows (CFG-51).
    package var isProvisional: Bool { self == .waitingForApplication || self == .rejected(.clockUnset) }

    /// Whether it was reached before any signature was found to be good (CFG-52).
    package var isEarly: Bool {
        switch self {
        case .waitingForKey: true
        case .rejected(let rejection): rejection.isEarly
        case .applied, .waitingForApplication, .superseded, .failed: false
        }
    }

    /// Whether the same bytes would be rejected again as things are: a primary does not deliver them again by itself.
    package var isRefusal: Bool {
        switch self {
        case .applied, .waitingForApplication, .waitingForKey, .superseded: false
        case .failed: true
        case .rejected(let rejection): rejection.isRefusal
        }
    }
}

extension Verdict {
    /// Whether nothing is expected of a secondary before it announces the app: it has not, and it has reported nothing
    /// but that it knows no key (CFG-74; `no-key` from earlier daemons).
    /// - Parameter isDrift: it had applied what is desired of it, and has lost it since.
    package static func awaitsApplication(
        hasApplication: Bool, verdict name: String?, ending: ForwardedConfiguration.Ending? = nil, isDrift: Bool = false
    ) -> Bool {
        guard !hasApplication, !isDrift else { return false }
        switch ending {
        case .withdrawn?, .superseded?, .failed?: return false
        case .undelivered?, .notQueued?, nil: break
        }
        guard let name else { return true }
        let verdict = Verdict(name: name)
        return verdict == .waitingForKey || verdict == .rejected(.noKey)
    }
}

extension Verdict: CustomStringConvertible {
    package var description: String { name }
}
