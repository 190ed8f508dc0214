// Changes of the pairing registry as rows: one key and one value for each token, pairing, trusted device, choice and
// claim. The rows of all changes read back as the same registry.

package import TandemBase
package import TandemCrypto
package import TandemPropertyList

/// One row to write or to remove. The caller commits all changes of a transition in one transaction before it performs
/// any effect.
package enum PairingChange: Sendable, Equatable {
    case putToken(JoinToken)
    case removeToken(JoinTokenIdentifier)
    case putPairing(PairingRecord)
    case removePairing(UniqueIdentifier)
    case putTrust(TrustedDevice)
    case removeTrust(KeyIdentifier, as: DeviceRole)
    /// The pairing that the default session of this device's role is bound to.
    case putChoice(DeviceRole, UniqueIdentifier)
    case removeChoice(DeviceRole)
    case putClaim(IdentifierClaim)
    case removeClaim(UniqueIdentifier, ApplicationIdentifier)
}

/// The stored form of a change, and of everything that is read back at start.
package struct PairingRow: Sendable, Equatable {
    package let key: [UInt8]
    /// nil removes the row.
    package let value: PropertyListDictionary?

    package init(key: [UInt8], value: PropertyListDictionary?) {
        self.key = key
        self.value = value
    }

    /// The first byte of a row's key.
    package enum Table: UInt8, Sendable, CaseIterable {
        case token = 1
        case pairing
        case trust
        case choice
        case claim
    }
}

extension PairingChange {
    package var row: PairingRow {
        switch self {
        case .putToken(let token): Self.row(.token, token.identifier.bytes, token.row)
        case .removeToken(let identifier): Self.row(.token, identifier.bytes, nil)
        case .putPairing(let record): Self.row(.pairing, record.pairing.bytes, record.row)
        case .removePairing(let pairing): Self.row(.pairing, pairing.bytes, nil)
        case .putTrust(let device): Self.row(.trust, Self.key(device.pin, device.role), device.row)
        case .removeTrust(let pin, let role): Self.row(.trust, Self.key(pin, role), nil)
        case .putChoice(let role, let pairing): Self.row(.choice, Self.key(role), Self.choiceRow(role, pairing))
        case .removeChoice(let role): Self.row(.choice, Self.key(role), nil)
        case .putClaim(let claim): Self.row(.claim, Self.key(claim.pairing, claim.app), claim.row)
        case .removeClaim(let pairing, let app): Self.row(.claim, Self.key(pairing, app), nil)
        }
    }

    private static func row(
        _ table: PairingRow.Table, _ key: [UInt8], _ value: PropertyListDictionary?
    ) -> PairingRow {
        PairingRow(key: [table.rawValue] + key, value: value)
    }

    private static func key(_ role: DeviceRole) -> [UInt8] { Array(role.rawValue.utf8) }

    private static func key(_ pin: KeyIdentifier, _ role: DeviceRole) -> [UInt8] { pin.bytes + key(role) }

    private static func key(_ pairing: UniqueIdentifier, _ app: ApplicationIdentifier) -> [UInt8] {
        pairing.bytes + Array(app.description.utf8)
    }

    private static func choiceRow(_ role: DeviceRole, _ pairing: UniqueIdentifier) -> PropertyListDictionary {
        ["role": .string(role.rawValue), "pairing": .data(pairing.bytes)]
    }
}
