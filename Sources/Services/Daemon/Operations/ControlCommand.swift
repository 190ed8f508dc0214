// Control commands (CTL-1 to CTL-4): a command is one type that says which clients it serves, checks the keys of its
// body that it knows (others are ignored: a newer client may send them) and runs. The set of a daemon's commands judges
// the client, finds the command and forms the answer.
//
// To add one: its row in CTL-3, its case in `ControlName` (Values/Wire/ControlFrames.swift), its type here in
// Operations, and its line in `Node.command` below, which the compiler asks for. A simulated device answers it once
// `SimulatedDevice.command` names it (Simulator/SimulatorCommands.swift), and people reach it by a `Subcommand`.

import TandemBase
import TandemOperations
import TandemPropertyList
import TandemReactor
import TandemStore
import TandemWire

/// One command, read from a request.
protocol ControlCommand<Daemon> {
    associatedtype Daemon

    static var access: ControlAccess { get }

    /// Reads the body; a fault names its key.
    init(_ request: ControlRequest) throws(WireError)

    /// Runs on the daemon's loop; returns the body of the answer.
    func run(on daemon: Daemon) async throws(ControlFailure) -> PropertyListDictionary
}

extension ControlCommand {
    static var access: ControlAccess { .operator }
}

struct ControlCommands<Daemon> {
    /// The command of a name; nil if this kind of daemon has none.
    let type: (ControlName) -> (any ControlCommand<Daemon>.Type)?
    /// The text for any other command.
    let unknown: (String) -> String

    func answer(_ request: ControlRequest, on daemon: Daemon) async -> ControlAnswer {
        do throws(ControlFailure) {
            return .done(try await command(request).run(on: daemon))
        } catch {
            return .failed(error)
        }
    }

    /// Why no command is carried out; nil if its body decides.
    func refusal(of request: ControlRequest) -> ControlFailure? {
        do throws(ControlFailure) {
            _ = try served(request)
            return nil
        } catch { return error }
    }

    private func served(_ request: ControlRequest) throws(ControlFailure) -> any ControlCommand<Daemon>.Type {
        let type = ControlName(word: request.command).flatMap(type)
        guard request.caller.isServed(with: type?.access) else {
            throw ControlFailure(.notAllowed, "only the daemon's own user and root may use this command")
        }
        guard let type else { throw ControlFailure(.unknownCommand, unknown(request.command.cutForAnswer())) }
        return type
    }

    private func command(_ request: ControlRequest) throws(ControlFailure) -> any ControlCommand<Daemon> {
        let type = try served(request)
        do throws(WireError) { return try type.init(request) } catch {
            throw ControlFailure(.badRequest, "\(request.command): \(error)")
        }
    }
}

extension Node: ControlResponder {
    private static func command(_ name: ControlName) -> any ControlCommand<Node>.Type {
        switch name {
        case .status: StatusCommand.self
        case .pair: PairCommand.self
        case .pairCancel: PairCancelCommand.self
        case .join: JoinCommand.self
        case .trustDevice: TrustDeviceCommand.self
        case .trustedDevices: TrustedDevicesCommand.self
        case .untrustDevice: UntrustDeviceCommand.self
        case .unpair: UnpairCommand.self
        case .farRemove: FarRemoveCommand.self
        case .address: AddressCommand.self
        case .switch: SwitchCommand.self
        case .trustAdd: TrustKeyCommand<Node>.self
        case .trustList: TrustListCommand<Node>.self
        case .trustRemove: TrustRemoveCommand<Node>.self
        case .trustReplace: TrustReplaceCommand<Node>.self
        case .apply: ApplyCommand<Node>.self
        case .configurationList: DesiredListCommand<Node>.self
        case .configurationShow: DesiredShowCommand<Node>.self
        case .configurationWithdraw: DesiredWithdrawCommand<Node>.self
        case .identifierAccept: AcceptIdentifierCommand.self
        case .identifierClear: ClearIdentifierCommand.self
        case .apps: AppsCommand.self
        case .appRemove: RemoveAppCommand.self
        case .appAssign: AssignAppCommand.self
        case .allowVersion: AllowVersionCommand.self
        case .health: HealthCommand.self
        case .drain: DrainCommand.self
        case .deadLetters: DeadLettersCommand.self
        case .deadLetterRetry, .deadLetterDrop: DeadLetterActionCommand.self
        case .trace: TraceCommand.self
        case .settingsGet: SettingsGetCommand.self
        case .settingsSet: SettingsSetCommand.self
        case .settingsReset: SettingsResetCommand.self
        case .settingsSchema: SettingsSchemaCommand.self
        case .settingsPress: SettingsPressCommand.self
        case .settingsPage: SettingsPageCommand.self
        }
    }

    private static var commands: ControlCommands<Node> {
        ControlCommands(type: command) { "this daemon knows no command '\($0)'" }
    }

    package func refusal(of request: ControlRequest) -> ControlFailure? { Self.commands.refusal(of: request) }

    /// Carries out a control request; `completion` once, on the loop.
    package func respond(to request: ControlRequest, completion: @escaping (ControlAnswer) -> Void) {
        let commands = Self.commands
        loop.start { [self] in completion(await commands.answer(request, on: self)) }
    }
}

extension String {
    /// A word of a caller or peer in an answer: as much of it as tells what it was.
    func cutForAnswer(to scalars: Int = 64) -> String { String(unicodeScalars.prefix(scalars).map { Character($0) }) }
}

extension ControlFailure {
    /// Runs a change of stored state for a command.
    static func storing<Outcome>(
        _ change: @autoclosure () async throws(StoreError) -> Outcome
    ) async throws(ControlFailure) -> Outcome {
        do throws(StoreError) { return try await change() } catch { throw ControlFailure(error) }
    }
}

extension BodyFields {
    /// Whether the operator has agreed to what the command ends (CTL-29).
    func agreement() throws(WireError) -> Bool { try boolean("yes", absent: false) }

    /// A time to wait, in milliseconds (LIM-139).
    func milliseconds(_ key: String, absent: Duration) throws(WireError) -> Duration {
        let value = try optional(key, "milliseconds from 0 to 3600000") { value in
            value.integerValue.map { Duration.milliseconds($0) }.flatMap {
                (.zero...Limits.controlWait).contains($0) ? $0 : nil
            }
        }
        return value ?? absent
    }
}
