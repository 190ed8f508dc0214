// Everything a device knows about whom it is paired with (PAR-3 to PAR-14): issued tokens, trusted pins, pairings,
// which one is active for each role, and what primaries' apps are called. One machine, because its rules cross these
// tables; each transition returns the changes to commit before anything of it may be seen outside.

package import TandemBase
package import TandemCrypto
import TandemPropertyList
package import TandemWire

/// A device's pairings and everything that leads to them.
package struct PairingRegistry: Sendable, Equatable {
    package internal(set) var tokens = TokenLedger()
    package internal(set) var trusted = TrustList()
    package internal(set) var claims = CustomIdentifierClaims()
    var records: [UniqueIdentifier: PairingRecord] = [:]
    var choices: [DeviceRole: UniqueIdentifier] = [:]

    package init() {}

    /// The pairing with this identifier.
    package subscript(pairing: UniqueIdentifier) -> PairingRecord? { records[pairing] }

    /// All pairings in the order of their creation.
    package var pairings: [PairingRecord] {
        records.values.sorted { ($0.created, $0.pairing) < ($1.created, $1.pairing) }
    }

    /// The pairing that the default session is bound to when this device has the role.
    package func active(as role: DeviceRole) -> PairingRecord? { choices[role].flatMap { records[$0] } }

    /// Whether a TLS peer with this pin may say hello at all: it has a pairing here that has not lapsed.
    package func isPinned(_ pin: KeyIdentifier, now: WallTime) -> Bool {
        records.values.contains { $0.peer == pin && !$0.hasLapsed(now: now) }
    }

    /// Whether a stranger with this pin may send `join` by manual trust.
    package func isTrusted(_ pin: KeyIdentifier, as role: DeviceRole) -> Bool {
        trusted.device(pin, as: role) != nil
    }

    /// What configuration for the secondary's app is targeted at through this pairing; `own` is this device's vendor
    /// identifier and `ownClaim` its app's custom identifier, which count when this device is the primary.
    package func target(
        of pairing: UniqueIdentifier, app: ApplicationIdentifier, own: UniqueIdentifier, ownClaim: CustomIdentifier?
    ) -> PairedIdentifier? {
        guard let record = records[pairing] else { return nil }
        switch record.role {
        case .primary: return ownClaim.map { .custom($0) } ?? .vendor(own)
        case .secondary:
            if let claim = claims.claim(pairing, app) { return .custom(claim.effective) }
            return record.peerVendorIdentifier.map { .vendor($0) }
        }
    }
}

extension PairingRegistry {
    /// Reads the stored rows back at start. A row that cannot be read is an error: the store is refused, never emptied.
    package init(rows: some Sequence<PairingRow>) throws(WireError) {
        var (issued, devices, named) = ([JoinToken](), [TrustedDevice](), [IdentifierClaim]())
        for row in rows {
            guard let first = row.key.first, let table = PairingRow.Table(rawValue: first), let value = row.value else {
                throw WireError.invalidValue(key: "row", expected: "a row of a known table")
            }
            switch table {
            case .token: issued.append(try JoinToken(row: value))
            case .pairing:
                let record = try PairingRecord(row: value)
                records[record.pairing] = record
            case .trust: devices.append(try TrustedDevice(row: value))
            case .choice: choices[try BodyFields(value).role("role")] = try BodyFields(value).identifier("pairing")
            case .claim: named.append(try IdentifierClaim(row: value))
            }
        }
        tokens = TokenLedger(tokens: issued)
        trusted = TrustList(devices: devices)
        claims = CustomIdentifierClaims(claims: named)
    }
}
