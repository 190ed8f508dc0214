// Events of joins, hellos and claims, as lines of the log.

package import TandemBase
package import TandemCrypto
package import TandemWire

/// Something to log about pairing. The peer gets the same answer for every refusal; the log names the cause. No event
/// contains a token, a secret or a proof.
package enum PairingEvent: Sendable, Equatable {
    case joined(UniqueIdentifier, peer: KeyIdentifier)
    case joinRepeated(UniqueIdentifier, peer: KeyIdentifier)
    case joinRefused(JoinRefusalCause, peer: KeyIdentifier)
    case activated(UniqueIdentifier, peer: KeyIdentifier)
    case helloFromStranger(UniqueIdentifier, peer: KeyIdentifier)
    case versionLowered(UniqueIdentifier, from: ProtocolVersion, to: ProtocolVersion)
    case epochRefused(UniqueIdentifier, own: UInt64, peer: UInt64)
    case epochBegun(UniqueIdentifier)
    case identifierChanged(IdentifierClaim)
    case identifierLeftOut(UniqueIdentifier, ApplicationIdentifier)

    package var logEvent: LogEvent {
        switch self {
        case .joined(let pairing, let peer): Self.event(.info, "device joined, pairing pending", pairing, peer)
        case .joinRepeated(let pairing, let peer): Self.event(.info, "join repeated by the same device", pairing, peer)
        case .joinRefused(let cause, let peer):
            LogEvent(cause.isAlarm ? .error : .warning, cause.message, .text("peer", peer.fingerprint))
        case .activated(let pairing, let peer): Self.event(.info, "pairing active", pairing, peer)
        case .helloFromStranger(let pairing, let peer):
            Self.event(.warning, "hello for a pairing that this device's key does not have", pairing, peer)
        case .versionLowered(let pairing, let from, let to):
            LogEvent(
                .error, "alarm: protocol version lowered; if this is intended, run 'tandem allow-version'",
                .text("pairing", pairing.description), .integer("seen", from.number), .integer("offered", to.number))
        case .epochRefused(let pairing, let own, let peer):
            LogEvent(
                .warning, "hello with another epoch", .text("pairing", pairing.description), .integer("own", own),
                .integer("peer", peer))
        case .epochBegun(let pairing):
            LogEvent(
                .warning, "a new epoch begins: a store was restored, or the other device joined again",
                .text("pairing", pairing.description))
        case .identifierChanged(let claim):
            LogEvent(
                .error, "alarm: custom identifier changed, the old one stays until it is accepted",
                .text("pairing", claim.pairing.description), .text("app", claim.app.description),
                .text("old", claim.effective?.description ?? "none"),
                .text("new", claim.offered?.identifier?.description ?? "none"))
        case .identifierLeftOut(let pairing, let app):
            LogEvent(
                .warning, "no room for a further app's custom identifier, it has no effect",
                .text("pairing", pairing.description), .text("app", app.description))
        }
    }

    private static func event(
        _ level: LogLevel, _ message: StaticString, _ pairing: UniqueIdentifier, _ peer: KeyIdentifier
    ) -> LogEvent {
        LogEvent(
            level, message, .text("pairing", pairing.description), .text("peer", peer.fingerprint))
    }
}
