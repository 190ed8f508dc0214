// Who the simulator's devices are: new at each start, and the same on all of its loops.

import TandemBase

/// A primary, its secondaries and their pairings.
struct SimulatedDevices: Sendable {
    let primary = UniqueIdentifier.random()
    /// In the order of their numbers.
    let secondaries: [UniqueIdentifier]
    /// The pairing with each secondary.
    let pairings: [UniqueIdentifier]
    /// Local connections of each device at once (LIM-5).
    let connections: Int

    init(secondaries count: Int, connections: Int) {
        self.connections = connections
        secondaries = (0..<count).map { _ in .random() }
        pairings = (0..<count).map { _ in .random() }
    }

    /// What a device and its socket are called; the first secondary has no number, so that a pair alone needs none.
    static func name(_ role: DeviceRole, _ number: Int) -> String {
        number == 1 ? role.rawValue : "\(role.rawValue)-\(number)"
    }
}
