// Far secondaries for people: those that carriers state (CTL-36), and those that are gone (CTL-38).

import TandemBase
import TandemPropertyList
import TandemSignedConfiguration

/// The far secondaries of a device at one moment.
struct FarSecondaryRows {
    let far: FarSecondaries
    /// Those that are stated now.
    let peers: [ConfigurationPeer]
    let device: any ConfigurationHost

    /// One row for each far secondary and app, for `status`, and then those that are gone; as many as one answer has.
    var all: [PropertyListDictionary] {
        let rows = peers.lazy.flatMap { peer in
            far.targets(at: peer.pairing).map { app, target -> PropertyListDictionary in
                Self.row(peer.pairing, peer.name, peer.device, via: peer.via)
                    .merging(["app": .string(app.description), "target": .string(target.text)])
            }
        }
        return Array((Array(rows.prefix(DesiredStatus.rowLimit)) + gone()).prefix(DesiredStatus.rowLimit))
    }

    /// The rows of those that are gone.
    /// - Parameter wanted: the rows of this device alone; nil for all.
    func gone(of wanted: UniqueIdentifier? = nil) -> [PropertyListDictionary] {
        // One that is this device's own now is not hidden by anybody.
        let own = Set(device.receivers.compactMap(\.device))
        let hidden = far.hidden.filter { hidden in
            !own.contains(hidden.device) && (wanted == nil || hidden.device == wanted)
        }
        return hidden.map { hidden in
            let via = hidden.carrier.flatMap { device.peer($0)?.name }
            return Self.row(hidden.pairing, hidden.gone.name, hidden.device, via: via)
                .merging(["gone": .integer(hidden.gone.since.milliseconds)])
        }
    }

    private static func row(
        _ pairing: UniqueIdentifier, _ name: String, _ device: UniqueIdentifier?, via: String?
    ) -> PropertyListDictionary {
        PropertyListDictionary(present: [
            "name": .string(name), "pairing": .data(pairing.bytes), "device": device.map { .data($0.bytes) },
            "via": via.map { .string($0) },
        ])
    }
}
