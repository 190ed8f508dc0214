// The control commands about the desired state of a primary (CTL-23 to CTL-25): list, show and withdraw.

import TandemBase
import TandemPropertyList
import TandemSignedConfiguration
import TandemWire

/// `configuration-list`: one row for each desired envelope.
struct DesiredListCommand<Device: ConfiguredDevice>: ControlCommand {
    private let app: ApplicationIdentifier?

    init(_ request: ControlRequest) throws(WireError) { app = try request.fields.optionalApplication("app") }

    func run(on device: Device) async -> PropertyListDictionary {
        let (rows, more) = await device.configuration.desired.list(app)
        return ["desired": .array(rows.map { .dictionary($0) }), "more": .integer(Int64(more))]
    }
}

/// The slots that a request names by `app` and perhaps `role` and `target`.
struct DesiredChoice {
    let app: ApplicationIdentifier
    private let role: DeviceRole?
    private let target: PairedIdentifier?

    init(_ fields: BodyFields) throws(WireError) {
        app = try fields.application("app")
        role = try fields.optionalChoice("role", "'primary' or 'secondary'")
        target = try fields.optionalPairedIdentifier("target")
    }

    /// The one slot of which something is desired.
    /// - Parameter orFormer: without any, the one of which something has been desired.
    func key(in status: DesiredStatus, orFormer: Bool = false) throws(ControlFailure) -> ConfigurationSlotKey {
        let known = status.keys(of: app, role: role, target: target)
        let desired = known.filter { !status.state.desired(of: $0).isEmpty }
        let keys = desired.isEmpty && orFormer ? known : desired
        guard keys.count <= 1 else {
            let targets = keys.map(\.target.text).joined(separator: ", ")
            let text =
                desired.isEmpty
                ? "nothing is desired for '\(app)' any longer, and several targets were"
                : "several targets are desired for '\(app)'"
            throw ControlFailure(.badRequest, "\(text); name one: \(targets)")
        }
        guard let key = keys.first else {
            let verb = orFormer ? "is or was" : "is"
            let choice = role == nil && target == nil ? "" : " with this role and target"
            throw ControlFailure(
                .notFound,
                "nothing \(verb) desired for '\(app)'\(choice) on this device; 'tandem configuration list' shows all "
                    + "that is, 'tandem status' what is applied here")
        }
        return key
    }
}

/// `configuration-show`: the desired envelopes of an app, their history, and each secondary's state.
struct DesiredShowCommand<Device: ConfiguredDevice>: ControlCommand {
    private let choice: DesiredChoice
    private let after: UInt64?
    private let wait: Duration

    init(_ request: ControlRequest) throws(WireError) {
        choice = try DesiredChoice(request.fields)
        after = try request.fields.optionalUnsigned("after")
        wait = try request.fields.milliseconds("wait", absent: .zero)
    }

    func run(on device: Device) async throws(ControlFailure) -> PropertyListDictionary {
        let ordinal = await device.configuration.waitForChange(after: after, atMost: wait)
        let status = device.configuration.desired
        var body = await status.show(try choice.key(in: status, orFormer: true))
        await device.configuration.keyStatus.add(to: &body, of: choice.app)
        body["ordinal"] = PropertyListValue(ordinal)
        return body
    }
}

/// `configuration-withdraw`: ends the desired state of an app; secondaries keep what they have applied.
struct DesiredWithdrawCommand<Device: ConfiguredDevice>: ControlCommand {
    private let choice: DesiredChoice
    private let version: UInt64?

    init(_ request: ControlRequest) throws(WireError) {
        choice = try DesiredChoice(request.fields)
        version = try request.fields.optionalUnsigned("version", "an integer from 1")
    }

    func run(on device: Device) async throws(ControlFailure) -> PropertyListDictionary {
        let status = device.configuration.desired
        let key = try choice.key(in: status)
        let versions = try await device.configuration.withdraw(key, version: version)
        guard !versions.isEmpty else {
            throw ControlFailure(.notFound, "nothing of that is desired for '\(choice.app)'")
        }
        let holders = status.holders(of: key, versions: versions)
        return [
            "versions": .array(versions.map { PropertyListValue($0) }), "target": .string(key.target.text),
            "applied": .array(holders.near), "appliedFar": .array(holders.far),
        ]
    }
}
