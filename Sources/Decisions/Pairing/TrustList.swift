// Devices that the operator trusts by fingerprint (PAR-11): their pins, each for one role. Trust for one role does not
// extend to the other.

package import TandemBase
package import TandemCrypto
package import TandemPropertyList
package import TandemWire

/// One device trusted by its fingerprint.
package struct TrustedDevice: Sendable, Equatable {
    package let pin: KeyIdentifier
    /// The other device's part in the pairing to come.
    package let role: DeviceRole
    /// For a primary: where this secondary dials it.
    package let address: String?
    package let name: String?

    package init(pin: KeyIdentifier, role: DeviceRole, address: String? = nil, name: String? = nil) {
        self.pin = pin
        self.role = role
        self.address = address
        self.name = name
    }

    package var row: PropertyListDictionary {
        PropertyListDictionary(present: [
            "pin": .data(pin.bytes), "role": .string(role.rawValue), "address": address.map { .string($0) },
            "name": name.map { .string($0) },
        ])
    }

    package init(row: PropertyListDictionary) throws(WireError) {
        let fields = BodyFields(row)
        try fields.refuseKeys(otherThan: ["pin", "role", "address", "name"])
        self.init(
            pin: try fields.pin("pin"), role: try fields.role("role"), address: try fields.optionalString("address"),
            name: try fields.optionalString("name"))
    }
}

package struct TrustList: Sendable, Equatable {
    private var devices: [TrustedDevice]

    package init(devices: [TrustedDevice] = []) { self.devices = devices }

    package func device(_ pin: KeyIdentifier, as role: DeviceRole) -> TrustedDevice? {
        devices.first { $0.pin == pin && $0.role == role }
    }

    /// The devices trusted in a role, oldest first.
    package func devices(as role: DeviceRole) -> [TrustedDevice] { devices.filter { $0.role == role } }

    /// Adds a device, or replaces its entry for the same role.
    package mutating func add(_ device: TrustedDevice) {
        remove(device.pin, as: device.role)
        devices.append(device)
    }

    /// Removes an entry; true if there was one.
    @discardableResult
    package mutating func remove(_ pin: KeyIdentifier, as role: DeviceRole) -> Bool {
        let count = devices.count
        devices.removeAll { $0.pin == pin && $0.role == role }
        return devices.count < count
    }
}
