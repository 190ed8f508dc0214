// The stored trust between two devices (PAR-3), with the strict form of its row in the store.

package import TandemBase
package import TandemCrypto
package import TandemPropertyList
package import TandemWire

/// One pairing as this device keeps it.
package struct PairingRecord: Sendable, Equatable {
    package enum State: Sendable, Equatable {
        /// Joined, but not one hello yet; lapses a day after `created`.
        case pending
        case active
    }

    package let pairing: UniqueIdentifier
    /// This device's part.
    package let role: DeviceRole
    /// The other device's pin.
    package let peer: KeyIdentifier
    package internal(set) var name: String
    /// From 1.
    package internal(set) var epoch: UInt64
    /// SubjectPublicKeyInfo of the other device's report key.
    package internal(set) var reportKey: [UInt8]
    /// The highest protocol version seen with it; nil before the first hello.
    package internal(set) var highestVersion: ProtocolVersion?
    package internal(set) var state: State
    /// When it was joined, or the time from which its 24 h count again (PAR-10).
    package internal(set) var created: WallTime
    /// Where a secondary dials its primary.
    package internal(set) var address: String?

    package init(
        pairing: UniqueIdentifier, role: DeviceRole, peer: KeyIdentifier, claim: JoinClaim, epoch: UInt64 = 1,
        highestVersion: ProtocolVersion? = nil, state: State = .pending, created: WallTime, address: String? = nil
    ) {
        self.pairing = pairing
        self.role = role
        self.peer = peer
        self.name = claim.name
        self.epoch = epoch
        self.reportKey = claim.reportKey
        self.highestVersion = highestVersion
        self.state = state
        self.created = created
        self.address = address
    }

    /// The record of an active pairing whose devices have joined again, with what the new join says.
    func joinedAgain(as join: PairingRecord) -> PairingRecord {
        var record = self
        (record.name, record.reportKey, record.address) = (join.name, join.reportKey, join.address)
        return record
    }

    /// The other device's vendor identifier (PAR-2).
    package var peerVendorIdentifier: UniqueIdentifier? { peer.derivedIdentifier }

    /// Life of a pairing that never said hello (LIM-10): a consumed token must not stay half open.
    private static var pendingLife: Duration { .seconds(24 * 3600) }

    /// Whether it stayed pending for too long (PAR-10).
    package func hasLapsed(now: WallTime) -> Bool {
        state == .pending && !hasImpossibleAge(now: now) && now >= created + Self.pendingLife
    }

    /// Whether it is pending and the clock was set after it was joined, so that `created` says nothing about its age: a
    /// device without a battery boots in 1970.
    func hasImpossibleAge(now: WallTime) -> Bool {
        guard state == .pending else { return false }
        return created > now || created < .earliestStored && now >= .earliestStored
    }
}

extension PairingRecord {
    package var row: PropertyListDictionary {
        precondition(Limits.epochs.contains(epoch), "a row that no start would read")
        return PropertyListDictionary(present: [
            "pairing": .data(pairing.bytes), "role": .string(role.rawValue), "peer": .data(peer.bytes),
            "name": .string(name), "epoch": PropertyListValue(epoch), "reportKey": .data(reportKey),
            "active": .boolean(state == .active), "created": .integer(created.milliseconds),
            "version": highestVersion.map { .integer(Int64($0.number)) }, "address": address.map { .string($0) },
        ])
    }

    package init(row: PropertyListDictionary) throws(WireError) {
        let fields = BodyFields(row)
        try fields.refuseKeys(otherThan: [
            "pairing", "role", "peer", "name", "epoch", "reportKey", "active", "created", "version", "address",
        ])
        self.init(
            pairing: try fields.identifier("pairing"), role: try fields.role("role"), peer: try fields.pin("peer"),
            claim: JoinClaim(name: try fields.string("name"), reportKey: try fields.data("reportKey")),
            epoch: try fields.epoch("epoch"),
            highestVersion: row["version"] == nil ? nil : try fields.version("version"),
            state: try fields.boolean("active") ? .active : .pending,
            created: WallTime(milliseconds: try fields.integer("created")),
            address: try fields.optionalString("address"))
    }
}
