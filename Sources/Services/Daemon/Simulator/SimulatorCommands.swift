// Control commands of simulated devices (CTL-8): `switch` on the primary's socket, because an app that is developed
// here has to see a switch before its users do; configuration and a short status on each.

import TandemBase
import TandemOperations
import TandemPropertyList
import TandemReactor
import TandemWire

extension SimulatedDevice: ControlResponder {
    private func command(_ name: ControlName) -> (any ControlCommand<SimulatedDevice>.Type)? {
        switch name {
        case .status: SimulatedStatusCommand.self
        case .switch: SimulatedSwitchCommand.self
        case .trustAdd where signed != nil: TrustKeyCommand<SimulatedDevice>.self
        case .trustList where signed != nil: TrustListCommand<SimulatedDevice>.self
        case .trustRemove where signed != nil: TrustRemoveCommand<SimulatedDevice>.self
        case .trustReplace where signed != nil: TrustReplaceCommand<SimulatedDevice>.self
        case .apply where signed != nil: ApplyCommand<SimulatedDevice>.self
        case .configurationList where signed != nil: DesiredListCommand<SimulatedDevice>.self
        case .configurationShow where signed != nil: DesiredShowCommand<SimulatedDevice>.self
        case .configurationWithdraw where signed != nil: DesiredWithdrawCommand<SimulatedDevice>.self
        default: nil
        }
    }

    private var commands: ControlCommands<SimulatedDevice> {
        ControlCommands(type: command) { name in
            let hint = ControlName(word: name) == nil ? "" : "; a real daemon does: tandem primary"
            return "a simulated device knows no command '\(name)'\(hint)"
        }
    }

    func refusal(of request: ControlRequest) -> ControlFailure? { commands.refusal(of: request) }

    func respond(to request: ControlRequest, completion: @escaping (ControlAnswer) -> Void) {
        let commands = commands
        endpoint.scheduler.start { [self] in completion(await commands.answer(request, on: self)) }
    }
}

extension SimulatedDevice: ConfiguredDevice {
    var configuration: ConfigurationService {
        guard let signed else { preconditionFailure("its commands are there only with a directory") }
        return signed
    }
}

/// `switch`: makes a secondary the active one, named by its pairing or by its socket.
private struct SimulatedSwitchCommand: ControlCommand {
    private let pairing: UniqueIdentifier?
    private let secondary: String?

    init(_ request: ControlRequest) throws(WireError) {
        pairing = try request.fields.optionalIdentifier("pairing")
        secondary = try request.fields.optionalString("who")
    }

    func run(on device: SimulatedDevice) throws(ControlFailure) -> PropertyListDictionary {
        guard device.endpoint.options.role == .primary, let simulator = device.simulator else {
            throw ControlFailure(.wrongRole, "a simulated secondary has one primary; ask on the primary's socket")
        }
        let number = simulator.pairings.indices.map { $0 + 1 }.first { number in
            if let pairing { return simulator.pairings[number - 1] == pairing }
            return secondary == Simulator.name(.secondary, number)
        }
        guard let number else {
            throw ControlFailure(
                .notFound, "there is no such secondary; they are called as their sockets: secondary-2")
        }
        let chosen = simulator.pairings[number - 1]
        let hasChanged = device.endpoint.side.active != chosen
        simulator.activate(number)
        return [
            "pairing": .data(chosen.bytes), "name": .string(Simulator.name(.secondary, number)),
            "role": .string(DeviceRole.primary.rawValue), "changed": .boolean(hasChanged),
        ]
    }
}

/// `status`: the device, its pairings and its configurations.
private struct SimulatedStatusCommand: ControlCommand {
    static var access: ControlAccess { .everyone }

    /// Another user than the simulator's sees nothing of its apps (CTL-2).
    private let caller: Caller

    init(_ request: ControlRequest) { caller = request.caller }

    func run(on device: SimulatedDevice) async -> PropertyListDictionary {
        let options = device.endpoint.options
        guard caller.isOperator else { return ["applications": .array([]), "configurations": .array([])] }
        var rows: (desired: [PropertyListDictionary], configurations: [PropertyListDictionary]) = ([], [])
        if let signed = device.signed {
            let desired = signed.desired
            rows.desired = await desired.rows(of: desired.keys(of: nil)).rows
            rows.configurations = await signed.status.describe(nil, to: caller.user)
        }
        return [
            "desired": .array(rows.desired.map { .dictionary($0) }),
            "device": .data(options.device.bytes), "name": .string(device.name), "role": .string(options.role.rawValue),
            "software": .string(options.software), "pairings": .array(device.pairings.map { .dictionary($0) }),
            "configurations": .array(rows.configurations.map { .dictionary($0) }),
        ]
    }
}
