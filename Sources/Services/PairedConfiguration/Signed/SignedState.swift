// What a configuration knows of signed configuration: whose it is, where its files are, and what is applied. Guarded by
// one Mutex of the Configuration; verifying is pure, so that it may happen under the lock and two messages at once
// are judged one after the other.

import TandemBase
import TandemSettings
import TandemSignedConfiguration

struct SignedState {
    var declarationProblems: [DeclarationProblem] = []
    var home: SignedHome?
    var applied: AppliedRecord?
}

/// Whose configuration it is and where its files are; nil before `load`.
struct SignedHome {
    let application: ApplicationIdentifier
    let role: DeviceRole
    /// The app's own directory; nil where nothing is kept (the simulator).
    let directory: String?
    let clock: @Sendable () -> WallTime
}

/// The signed configuration that is applied.
struct AppliedRecord {
    let configuration: VerifiedConfiguration
    let payload: SettingsPayload
    /// When it was applied, as far as that is known.
    let applied: WallTime

    var isWaived: Bool { configuration.waived != nil }

    /// The mark that the next configuration must pass: the daemon's and what is applied here, whichever is higher.
    static func mark(handedOver: UInt64?, active: AppliedRecord?) -> VersionMark? {
        let good = active.flatMap { $0.isWaived ? nil : $0 }
        if let good, good.configuration.payload.version >= handedOver ?? 0 {
            return VersionMark(version: good.configuration.payload.version, digest: good.configuration.digest)
        }
        return handedOver.map { VersionMark(version: $0, digest: nil, isActive: false) }
    }

    /// No clock is right that is below this: the highest `iat` that was applied, but not later than it was then.
    var clockFloor: WallTime {
        isWaived ? WallTime(milliseconds: 0) : min(WallTime(seconds: configuration.payload.issued), applied)
    }

    var description: AppliedConfiguration {
        AppliedConfiguration(
            version: configuration.payload.version, digest: configuration.digest,
            transaction: configuration.payload.transaction, target: configuration.payload.target,
            hasInvalidSignature: isWaived, isSignerRevoked: configuration.isSignerRevoked)
    }
}
