// The key by which paired devices know this device: the one of its last link (PAR-25). The store names it, so that a
// start beside another device's key file can say why every peer refuses this device.

import TandemBase
import TandemCrypto
import TandemStore

/// The pin under which a paired device has linked with this one last; confined to the loop of its store.
final class AcceptedKey {
    private static let rowKey: [UInt8] = [0]

    private let own: KeyIdentifier
    private let store: LoopStore
    private var stored: [UInt8]?

    /// - Parameters:
    ///   - own: that of the key file.
    ///   - rows: those of its space.
    init(own: KeyIdentifier, rows: [Row], in store: LoopStore) {
        (self.own, self.store) = (own, store)
        stored = rows.first { $0.key == Self.rowKey }?.value
    }

    /// The pin by which paired devices know this device, if that is not its own; nil before the first link.
    var other: KeyIdentifier? { stored.flatMap { $0 == own.bytes ? nil : KeyIdentifier(bytes: $0) } }

    /// A link is ready: TLS has proved the own key to the peer. A commit that fails is made again with the next link.
    func linked() {
        guard stored != own.bytes else { return }
        store.commit([.put(.acceptedKey, key: Self.rowKey, value: own.bytes)]) { [weak self] result in
            if let self, case .success = result { stored = own.bytes }
        }
    }
}
