// Which pairings there are. The relay is told; it never decides that two devices trust each other.

package import TandemBase
import TandemReactor
import TandemSession

extension Relay {
    /// Makes a pairing known, or changes its name or state.
    package func setPairing(_ known: RelayedPairing) {
        let side = sides[known.role]
        if let end = side.pairings[known.pairing] {
            end.known = known
            pairingChanged(end)
            markState(of: side)
        } else {
            add(PairingEnd(known, way: .down(.noLink)), to: side)
        }
    }

    /// Joins two sides of this relay by a pairing, for the simulator (SES-22). The first pairing of a side is its
    /// active one.
    package func setLoopback(_ pairing: UniqueIdentifier, between ends: PerRole<Side>, names: PerRole<String>) {
        for role in DeviceRole.allCases {
            let (side, other) = (ends[role], ends[role.counterpart])
            let known = RelayedPairing(pairing: pairing, role: role, peer: other.device, name: names[other.role])
            add(PairingEnd(known, way: .loopback(other)), to: side)
            side.active = side.active ?? pairing
        }
    }

    /// Forgets a pairing. The caller has closed its link.
    package func removePairing(_ pairing: UniqueIdentifier, role: DeviceRole) {
        let side = sides[role]
        guard let end = side.pairings.removeValue(forKey: pairing) else { return }
        end.link?.closed(.noLink)
        for application in side.applications.values { application.routes.remove(pairing) }
        if side.active == pairing { side.active = nil }
        markState(of: side)
    }

    /// Binds the default session of the host apps on this side to a pairing.
    package func setActive(_ pairing: UniqueIdentifier?, role: DeviceRole) {
        guard sides[role].active != pairing else { return }
        sides[role].active = pairing
        markState(of: sides[role])
    }

    private func add(_ end: PairingEnd, to side: Side) {
        side.pairings[end.known.pairing] = end
        for application in side.applications.values {
            application.routes.add(Route(app: application.app, pairing: end, now: scheduler.now))
        }
        markState(of: side)
    }
}
