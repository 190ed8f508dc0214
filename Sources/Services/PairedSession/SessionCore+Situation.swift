// What layers above look up of the counterparts, on the scheduler.

package import TandemBase
import TandemSession

extension SessionCore {
    /// The pairing that the default session is bound to; nil without one, or without a daemon.
    package var activePairing: UniqueIdentifier? { machine.phase == .active ? machine.situation?.active : nil }

    /// The app's directory for the active pairing.
    package var activeDirectory: String? {
        activePairing.flatMap { machine.situation?.pairing($0)?.directory }
    }

    /// The other device of a pairing, of the active one for nil.
    func peer(of pairing: UniqueIdentifier?) -> UniqueIdentifier? { machine.situation?.pairing(pairing)?.peer }
}
