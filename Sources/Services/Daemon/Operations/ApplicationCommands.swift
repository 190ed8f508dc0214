// The control commands about installed apps: their list (CTL-30), their removal and assignment (CTL-31, CTL-32), the
// end of a custom identifier (CTL-35), and the consent to a changed one (CTL-64).

import TandemBase
import TandemCrypto
import TandemFiles
import TandemPairing
import TandemPropertyList
import TandemReactor
import TandemStore
import TandemWire

/// `apps`: the apps that are installed, or of which something is kept.
struct AppsCommand: ControlCommand {
    init(_ request: ControlRequest) {}

    func run(on node: Node) -> PropertyListDictionary {
        let known = node.applications.contents
        // A primary may claim an identifier for an app of which this device has nothing yet.
        let claimed = node.pairings.claimedApplications.subtracting(known.map { $0.app }).sorted()
        let all = known + claimed.map { (app: $0, contents: node.applications.bareContents(of: $0)) }
        return [
            "apps": .array(
                all.map { app, contents in
                    .dictionary(Self.body(contents.body(of: app), claims: node.pairings.claims(of: app)))
                })
        ]
    }

    private static func body(
        _ body: PropertyListDictionary, claims: [(record: PairingRecord, claim: IdentifierClaim)]
    ) -> PropertyListDictionary {
        guard !claims.isEmpty else { return body }
        var body = body
        body["claims"] = .array(
            claims.map { record, claim in
                var row = claim.body(of: record)
                row["identifier"] = claim.effective.map { .string($0.description) }
                return .dictionary(row)
            })
        return body
    }
}

/// An app that the operator changes, and whether the operator has agreed to what that ends (CTL-29).
struct ApplicationChange {
    let app: ApplicationIdentifier
    let isAgreed: Bool

    init(_ fields: BodyFields) throws(WireError) {
        app = try fields.application("app")
        isAgreed = try fields.agreement()
    }
}

/// `app-remove`: removes an app with all that the device keeps of it (SES-73).
struct RemoveAppCommand: ControlCommand {
    private let change: ApplicationChange

    init(_ request: ControlRequest) throws(WireError) { change = try ApplicationChange(request.fields) }

    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        var contents = node.applications.contents(of: change.app)
        if change.isAgreed {
            contents = try await ControlFailure.storing(try await node.applications.remove(change.app))
        }
        guard !contents.isEmpty else {
            throw ControlFailure(.notFound, "nothing is known of an app of this name; 'tandem apps list' shows all")
        }
        return contents.body(of: change.app).merging(contents.configuration.refusal).merging([
            "done": .boolean(change.isAgreed), "directory": .string(node.directory(of: change.app)),
        ])
    }
}

/// `app-assign`: makes an app another user's (SES-74).
struct AssignAppCommand: ControlCommand {
    private let change: ApplicationChange
    private let user: UInt32
    /// The side for an app that is not installed yet; nil for that of its first registration.
    private let role: DeviceRole?

    init(_ request: ControlRequest) throws(WireError) {
        change = try ApplicationChange(request.fields)
        user = try request.fields.required("uid", "a uid") { value in
            value.unsignedValue.flatMap { UInt32(exactly: $0) }.flatMap { $0 == .max ? nil : $0 }
        }
        role = try request.fields.optionalChoice("role", "'primary' or 'secondary'")
    }

    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        let contents = node.applications.contents(of: change.app)
        if let role, let record = contents.record, !record.isReserved, record.role != role { throw otherSide(role) }
        var isDone = false
        if change.isAgreed {
            let assignment = try await ControlFailure.storing(
                try await node.applications.assign(change.app, to: user, on: role))
            if let role, assignment == .otherSide { throw otherSide(role) }
            isDone = assignment == .done
        }
        let former = contents.record?.user
        return contents.body(of: change.app).merging(present: [
            "former": former == user ? nil : former.map { .integer(Int64($0)) }, "uid": .integer(Int64(user)),
            "role": (role ?? contents.record?.role).map { .string($0.rawValue) },
            "directory": .string(node.directory(of: change.app)), "done": .boolean(isDone),
        ])
    }

    private func otherSide(_ role: DeviceRole) -> ControlFailure {
        ControlFailure(
            .wrongRole,
            "the app is installed on this device's \(role.counterpart) side, with what it has there; "
                + "'tandem apps remove' ends that, and then it may be assigned to the \(role) side")
    }
}

/// `identifier-clear`: takes the custom identifier of this primary's app back (PAR-21).
struct ClearIdentifierCommand: ControlCommand {
    private let change: ApplicationChange

    init(_ request: ControlRequest) throws(WireError) { change = try ApplicationChange(request.fields) }

    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        guard node.local.side(of: change.app) == .primary else {
            throw ControlFailure(
                .wrongRole, "a secondary has its primary's identifier; 'tandem identifier clear' on the primary ends it"
            )
        }
        var identifier = node.applications.contents(of: change.app).record?.identifier
        if change.isAgreed {
            identifier = try await ControlFailure.storing(try await node.applications.clearIdentifier(of: change.app))
        }
        guard let identifier else {
            throw ControlFailure(.notFound, "the app has no custom identifier; 'tandem apps list' shows them")
        }
        let secondaries = node.pairings.allActive(as: .primary)
        return [
            "app": .string(change.app.description), "identifier": .string(identifier.description),
            "target": .string(PairedIdentifier.vendor(node.device.keys.vendorIdentifier).text),
            "secondaries": .array(secondaries.map { .string($0.name) }), "done": .boolean(change.isAgreed),
        ]
    }
}

/// `identifier-accept`: accepts the changed identifier of a primary's app (PAR-18).
struct AcceptIdentifierCommand: ControlCommand {
    private let change: ApplicationChange
    private let pairing: PairingName
    /// The target that the operator has agreed to; nil for any.
    private let agreed: PairedIdentifier?

    init(_ request: ControlRequest) throws(WireError) {
        change = try ApplicationChange(request.fields)
        pairing = try PairingName(request.fields)
        agreed = try request.fields.optionalPairedIdentifier("target")
    }

    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        let record = try pairing.record(on: node)
        let claims = node.pairings.claims(of: change.app)
        guard let claim = claims.first(where: { $0.record == record })?.claim, let offered = claim.offered else {
            throw ControlFailure(.notFound, "no changed identifier waits for this app; 'tandem apps list' shows them")
        }
        let target = node.pairings.targets.target(of: record, claiming: offered)
        if let agreed, agreed != target { throw Self.another }
        let body = consequences(of: claim, of: record, target, on: node)
        if change.isAgreed {
            let isDone = try await ControlFailure.storing(
                try await node.pairings.accept(offered, of: change.app, pairing: record.pairing))
            guard isDone else { throw Self.another }
        }
        return body
    }

    private func consequences(
        of claim: IdentifierClaim, of record: PairingRecord, _ target: PairedIdentifier?, on node: Node
    ) -> PropertyListDictionary {
        let isShown = node.pairings.active(as: .secondary) == record && node.local.side(of: change.app) == .secondary
        let state = isShown ? node.configuration.status.stateName(of: change.app) ?? "none" : nil
        return claim.body(of: record).merging(present: [
            "app": .string(change.app.description), "former": claim.effective.map { .string($0.description) },
            "target": target.map { .string($0.text) }, "configuration": state.map { .string($0) },
            "done": .boolean(change.isAgreed),
        ])
    }

    private static var another: ControlFailure {
        ControlFailure(.notFound, "the primary claims another identifier by now; look at it first")
    }
}

extension IdentifierClaim {
    /// The change that waits, and whose it is; without the identifier in force.
    fileprivate func body(of record: PairingRecord) -> PropertyListDictionary {
        var body: PropertyListDictionary = ["pairing": .data(pairing.bytes), "name": .string(record.name)]
        switch offered {
        case .identifier(let identifier): body["offered"] = .string(identifier.description)
        case .cleared: body["cleared"] = true
        case nil: break
        }
        return body
    }
}

extension Node {
    /// The path of an app's own directory, whether or not there is one.
    fileprivate func directory(of app: ApplicationIdentifier) -> String { "\(device.applications.path)/\(app)" }
}

extension ApplicationService.Contents {
    fileprivate func body(of app: ApplicationIdentifier) -> PropertyListDictionary {
        PropertyListDictionary(present: [
            "app": .string(app.description), "connected": .boolean(isConnected), "receiving": .boolean(isReceiving),
            "items": .integer(Int64(delivery.items)), "files": .integer(Int64(delivery.files)),
            "letters": .integer(Int64(delivery.letters)), "contexts": .integer(Int64(delivery.contexts)),
            "configurations": .integer(Int64(configuration.configurations)),
            "uid": record.map { .integer(Int64($0.user)) }, "role": record?.role.map { .string($0.rawValue) },
            "reserved": record.flatMap { $0.isReserved ? true : nil },
            "identifier": record?.identifier.map { .string($0.description) },
            "keyid": configuration.anchor?.identifier.map { .data($0.bytes) },
            "revoked": configuration.anchor?.revoked.map { .integer(Int64($0)) },
            "configuration": configurationState.map { .string($0) }, "highest": configuration.highest,
        ])
    }
}
