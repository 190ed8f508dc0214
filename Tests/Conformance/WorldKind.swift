// The table of the suite: which case runs in which world. Each world declares its abilities here, once, and each case
// its needs; the cases that run nowhere follow from these, and a test pins their list.

/// A transport that the suite runs over.
package enum WorldKind: String, Sendable, CaseIterable {
    /// The simulator: no link, everything in memory; on a manual clock.
    case simulator
    /// Whole daemons with stores and TLS in one process; on a manual clock, with every fault.
    case manual
    /// Daemons and apps on real sockets of one process, links with TLS over Unix sockets.
    case unixSockets
    /// The same with links over TCP.
    case tcp
    /// Two or more real daemon processes, links with TLS over TCP.
    case processes

    package var abilities: Set<Ability> {
        // Nothing kills a node of a loop but the end of its process.
        let sockets: Set<Ability> = [.durable, .cut, .restart, .killApps, .streamFaults, .control]
        return switch self {
        case .simulator: [.durable, .manualTime, .killApps]
        case .manual: Set(Ability.allCases)
        case .unixSockets, .tcp: sockets.union([.frameFaults])
        case .processes: sockets.union([.kill])
        }
    }

    /// Whether it waits in real time, which belongs on a thread of its own.
    package var isRealTime: Bool { !abilities.contains(.manualTime) }

    /// A fresh world with that many secondaries.
    /// - Parameter commands: how daemons are started that have processes of their own.
    func makeWorld(seed: UInt64, secondaries: Int, commands: DaemonCommands?) throws -> any World {
        switch self {
        case .simulator: return try SimulatorWorld(seed: seed, secondaries: secondaries)
        case .manual: return try ManualWorld(seed: seed, secondaries: secondaries)
        case .unixSockets, .tcp:
            return try SocketWorld(self, seed: seed, secondaries: secondaries) { site, loop in
                LoopDaemons(site, on: loop, seed: seed)
            }
        case .processes:
            guard let commands else { throw Violation("nobody said how daemons are started") }
            return try SocketWorld(self, seed: seed, secondaries: secondaries) { site, loop in
                ProcessDaemons(commands, site, on: loop)
            }
        }
    }

    /// Runs a case in a fresh world; the log of its apps.
    @discardableResult
    package func run(
        _ each: Case, seed: UInt64, length: RunLength, commands: DaemonCommands? = nil, patience: Duration? = nil
    ) throws -> [String] {
        let world: any World
        do {
            world = try makeWorld(seed: seed, secondaries: each.secondaries, commands: commands)
        } catch { throw Violation("\(each), \(self), seed \(seed): \(error)") }
        return try each.run(in: world, seed: seed, length: length, patience: patience)
    }

    /// The abilities that a case needs and this world lacks, sorted; empty if the case runs here.
    package func missing(for each: Case) -> [Ability] {
        each.needs.subtracting(abilities).sorted { $0.rawValue < $1.rawValue }
    }

    /// The cases that run here. In a short run the worlds within one process take turns: each case runs over Unix
    /// sockets or over TCP, and all run over TCP between processes.
    package func cases(_ length: RunLength) -> [Case] {
        let all = Case.all.filter { missing(for: $0).isEmpty }
        guard length == .short else { return all }
        let short = all.filter { !$0.isLong }
        return switch self {
        case .unixSockets: short.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
        case .tcp: short.enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
        case .simulator, .manual, .processes: short
        }
    }
}

/// How much time a run of the suite has.
package enum RunLength: Sendable {
    /// That of a change's check.
    case short
    /// That of a night.
    case long
}
