// Audience of a configuration (CFG-10, step 13 of CFG-20): the paired identifier that it is for, and the only
// secondaries of that target if it narrows them. Both daemons and the library compare here.

package import TandemBase

/// The devices that a configuration is for.
package struct ConfigurationAudience {
    /// Why a configuration is not for a device.
    package enum Mismatch: Equatable {
        /// It is for another paired identifier.
        case target
        /// It is for other secondaries of this target only.
        case device
    }

    fileprivate let target: PairedIdentifier
    fileprivate let only: [UniqueIdentifier]?

    /// The first reason why it is not for a device; nil if it is.
    /// - Parameters:
    ///   - identifier: the paired identifier that the device has for the app; nil for none.
    ///   - device: the vendor identifier; nil for one that is not known.
    package func mismatch(_ identifier: PairedIdentifier?, _ device: UniqueIdentifier?) -> Mismatch? {
        guard identifier == target else { return .target }
        guard let only else { return nil }
        return device.map(only.contains) ?? false ? nil : .device
    }

    package func includes(_ identifier: PairedIdentifier?, _ device: UniqueIdentifier?) -> Bool {
        mismatch(identifier, device) == nil
    }

    /// The reason as the device that it is not for says it.
    func description(of mismatch: Mismatch) -> String {
        switch mismatch {
        case .target: "it is for '\(target.text)', not for this device's paired identifier"
        case .device: "it is for other secondaries of this target only"
        }
    }
}

extension ConfigurationPayload {
    package var audience: ConfigurationAudience { ConfigurationAudience(target: target, only: only) }
}

extension ConfigurationAddressee {
    /// Whether a slot's configurations are for the secondary, as far as their target says.
    func isAddressed(by key: ConfigurationSlotKey) -> Bool { target(key.application) == key.target }
}
