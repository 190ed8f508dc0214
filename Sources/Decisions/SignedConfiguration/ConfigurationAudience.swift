// Audience of a configuration (CFG-10, step 13 of CFG-20): the paired identifier that it is for, and the only
// secondaries of that target if it narrows them. The library, a secondary's daemon, and a primary's daemon that chooses
// secondaries compare here. ``PairedTargets`` says which identifier a device has.

package import TandemBase

extension ConfigurationPayload {
    /// Whether it is for devices of a paired identifier; nil for none.
    package func isFor(_ identifier: PairedIdentifier?) -> Bool { identifier == target }

    /// - Parameter device: the vendor identifier; nil for one that is not known.
    private func admits(_ device: UniqueIdentifier?) -> Bool {
        guard let only else { return true }
        return device.map(only.contains) ?? false
    }

    /// Why it is not for this device, which has the identifier for the app; nil if it is.
    func mismatch(_ identifier: PairedIdentifier?, _ device: UniqueIdentifier?) -> String? {
        guard isFor(identifier) else {
            let own = identifier.map { "'\($0.text)' is this device's paired identifier for the app" }
            return "\(own ?? "this device has no paired identifier for the app"); it is for '\(target.text)'"
        }
        if admits(device) { return nil }
        return device == nil
            ? "it is for some secondaries of this target only, and it is not known which one this is"
            : "it is for other secondaries of this target only"
    }

    /// The secondaries that it is for.
    /// - Parameters:
    ///   - known: for the text of the refusal, the identifier that this device's secondaries have for the app.
    ///   - identity: the identifier and the device of a secondary.
    package func selection<Secondary>(
        from secondaries: [Secondary], known: PairedIdentifier?,
        _ identity: (Secondary) -> (identifier: PairedIdentifier?, device: UniqueIdentifier?)
    ) throws(VerificationFailure) -> [Secondary] {
        let named = secondaries.filter { isFor(identity($0).identifier) }
        guard !named.isEmpty else {
            throw VerificationFailure(
                .wrongTarget,
                "it is for '\(target.text)'; the paired identifier of this device's secondaries is "
                    + "'\(known?.text ?? "")'\(Self.words(for: secondaries.map { identity($0).identifier }, beside: known))"
            )
        }
        let chosen = named.filter { admits(identity($0).device) }
        guard !chosen.isEmpty else {
            throw VerificationFailure(.wrongTarget, "'only' names no secondary that is paired")
        }
        return chosen
    }

    /// Targets of far secondaries that a refusal names.
    private static let namedTargets = 3

    private static func words(for identifiers: [PairedIdentifier?], beside known: PairedIdentifier?) -> String {
        let others = Set(identifiers.compactMap(\.self).map(\.text)).subtracting([known?.text ?? ""]).sorted()
        guard !others.isEmpty else { return "" }
        let named = others.prefix(namedTargets).map { "'\($0)'" }.joined(separator: ", ")
        return ", of far secondaries \(named)\(others.count > namedTargets ? " and others" : "")"
    }

    /// The devices that it names and none of these is, in ascending order.
    package func absent(from devices: [UniqueIdentifier?]) -> [UniqueIdentifier] {
        Set(only ?? []).subtracting(devices.compactMap(\.self)).sorted()
    }
}

extension ConfigurationAddressee {
    /// Whether a slot's configurations are for the secondary, as far as their target says.
    func isAddressed(by key: ConfigurationSlotKey) -> Bool { target(key.application) == key.target }
}
