// Control command of the simulator: `switch` (CTL-8), on the primary's socket. The active secondary is the only choice that
// there is, and an app that is developed here has to see a switch before its users do.

import TandemBase
import TandemPropertyList
import TandemReactor
import TandemWire

extension Simulator: ControlResponder {
    private static var commands: ControlCommands<Simulator> {
        ControlCommands(
            [SimulatedSwitchCommand.self], unknown: { _ in "the simulator knows no command but 'switch'" })
    }

    package func respond(to request: ControlRequest, completion: @escaping (ControlAnswer) -> Void) {
        primary.scheduler.start { [self] in completion(await Self.commands.answer(request, on: self)) }
    }
}

/// `switch`: makes a secondary the active one, named by its pairing or by its socket.
private struct SimulatedSwitchCommand: ControlCommand {
    static let name = "switch"

    private let pairing: UniqueIdentifier?
    private let secondary: String?

    init(_ request: ControlRequest) throws(WireError) {
        pairing = try request.fields.optionalIdentifier("pairing")
        secondary = try request.fields.optionalString("who")
    }

    func run(on simulator: Simulator) throws(ControlFailure) -> PropertyListDictionary {
        let number = simulator.pairings.indices.map { $0 + 1 }.first { number in
            if let pairing { return simulator.pairings[number - 1] == pairing }
            return secondary == Simulator.name(.secondary, number)
        }
        guard let number else {
            throw ControlFailure(
                .notFound, "there is no such secondary; they are called as their sockets: secondary-2")
        }
        let hasChanged = number != simulator.activeNumber
        simulator.activate(number)
        return [
            "pairing": .data(simulator.pairings[number - 1].bytes),
            "name": .string(Simulator.name(.secondary, number)), "role": .string(DeviceRole.primary.rawValue),
            "changed": .boolean(hasChanged),
        ]
    }
}
