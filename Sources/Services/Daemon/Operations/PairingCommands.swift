// The control commands about pairings: join links and their use, manual trust, the choice of the active pairing, and
// the end of a pairing.

import TandemBase
import TandemCrypto
import TandemPairing
import TandemPropertyList
import TandemReactor
import TandemStore
import TandemTransport
import TandemWire

/// `pair`: makes a join link (PAR-4).
struct PairCommand: ControlCommand {
    private let life: Duration

    init(_ request: ControlRequest) throws(WireError) {
        let asked = try request.fields.optional("seconds", "seconds from 1 to 86400") { value in
            value.integerValue.flatMap { JoinPolicy.life(seconds: $0) }
        }
        life = asked ?? JoinPolicy.life
    }

    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        guard let address = node.advertised else {
            throw ControlFailure(
                .noAddress,
                "this daemon accepts no device links: run the command on the primary, or start this daemon with --listen"
            )
        }
        let link = try await ControlFailure.storing(try await node.pairings.issueLink(to: address, life: life))
        guard let link else {
            throw ControlFailure(.noAddress, "the address '\(address)' does not fit a join link")
        }
        return [
            "link": .string(link.text), "token": .data(link.token.bytes),
            "expires": .integer(link.expires.milliseconds),
        ]
    }
}

/// `pair-cancel`: takes an unused join link back (PAR-23).
struct PairCancelCommand: ControlCommand {
    private let token: JoinTokenIdentifier

    init(_ request: ControlRequest) throws(WireError) {
        token = try request.fields.token("token")
    }

    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        let isKnown = try await ControlFailure.storing(try await node.pairings.cancelLink(token))
        guard isKnown else {
            throw ControlFailure(
                .notFound,
                "no such join link is open: it was used, has expired, or was taken back; "
                    + "'tandem unpair' ends the pairing of one that was used")
        }
        return [:]
    }
}

extension Node {
    /// The join links of `status` (CTL-61), without their secrets.
    var joinLinks: [PropertyListValue] {
        pairings.links.map { token in
            let pairing = token.consumption?.pairing
            return .dictionary(
                PropertyListDictionary(present: [
                    "token": .data(token.identifier.bytes), "expires": .integer(token.expires.milliseconds),
                    "left": .integer(token.expires.since(loop.wallNow).saturatingMilliseconds),
                    "attempts": .integer(Int64(token.attemptsLeft)), "pairing": pairing.map { .data($0.bytes) },
                    "name": pairing.flatMap { pairings[$0] }.map { .string($0.name) },
                ]))
        }
    }
}

/// `join`: joins the primary of a join link (PAR-6), for the first time or again (PAR-16).
struct JoinCommand: ControlCommand {
    private let link: Result<JoinLink, ControlFailure>
    private let mayReplace: Bool

    init(_ request: ControlRequest) throws(WireError) {
        mayReplace = try request.fields.boolean("replace", absent: false)
        let text = try request.fields.string("link")
        do { link = .success(try JoinLink(text: text)) } catch {
            link = .failure(ControlFailure(.badRequest, "link: \(error)"))
        }
    }

    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        let link = try link.get()
        let record: PairingRecord
        do throws(JoinFailure) { record = try await node.links.join(.link(link), mayReplace: mayReplace) } catch {
            throw ControlFailure(error.controlName, error.text(afterLinkTo: link.address))
        }
        return PropertyListDictionary(present: [
            "pairing": .data(record.pairing.bytes), "name": .string(record.name),
            "peer": record.peerVendorIdentifier.map { .data($0.bytes) },
        ])
    }
}

extension JoinFailure {
    /// The name of CTL-4.
    fileprivate var controlName: ControlFailureName {
        switch self {
        case .address, .unreachable: .unreachable
        case .answer(.ownDevice): .ownDevice
        case .wouldReplace: .wouldReplace
        // It takes no join now, and may take this one later.
        case .connection(.refusedByPeer(.stopping)): .unreachable
        case .connection(.refusedByPeer), .answer, .malformed, .notTrusted: .joinRefused
        case .connection: .unreachable
        case .notStored: .store
        }
    }
}

/// `trust-device`: trusts a device by the fingerprint of its key (PAR-11).
struct TrustDeviceCommand: ControlCommand {
    private let device: TrustedDevice

    init(_ request: ControlRequest) throws(WireError) {
        let fields = request.fields
        device = TrustedDevice(
            pin: try fields.fingerprint(), role: try fields.role("role"), address: try fields.optionalString("address"),
            name: try fields.optionalString("name"))
    }

    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        guard !node.pairings.isOwn(device.pin) else {
            throw ControlFailure(.ownDevice, "the fingerprint is this device's own")
        }
        if device.role == .primary {
            guard let address = device.address, (try? SocketAddress(address)) != nil else {
                throw ControlFailure(
                    .noAddress, "trusting a primary needs its address, HOST:PORT or unix:PATH")
            }
        }
        try await ControlFailure.storing(try await node.pairings.trust(device))
        if device.role == .primary { node.links.joinByTrust(device.pin) }
        return [:]
    }
}

/// `trusted-devices`: the devices that are trusted by hand (PAR-11).
struct TrustedDevicesCommand: ControlCommand {
    init(_ request: ControlRequest) {}

    func run(on node: Node) -> PropertyListDictionary {
        let devices = DeviceRole.allCases.flatMap { node.pairings.trusted(as: $0) }
        return ["devices": .array(devices.map { .dictionary(Self.describe($0)) })]
    }

    private static func describe(_ device: TrustedDevice) -> PropertyListDictionary {
        PropertyListDictionary(present: [
            "fingerprint": .string(device.pin.fingerprint), "role": .string(device.role.rawValue),
            "address": device.address.map { .string($0) }, "name": device.name.map { .string($0) },
        ])
    }
}

extension BodyFields {
    fileprivate func fingerprint() throws(WireError) -> KeyIdentifier {
        try required("fingerprint", "a fingerprint") { value in value.stringValue.flatMap { KeyIdentifier(text: $0) } }
    }
}

/// `untrust-device`: ends the manual trust in a device (PAR-22).
struct UntrustDeviceCommand: ControlCommand {
    private let pin: KeyIdentifier
    private let role: DeviceRole
    private let isAgreed: Bool

    init(_ request: ControlRequest) throws(WireError) {
        pin = try request.fields.fingerprint()
        role = try request.fields.role("role")
        isAgreed = try request.fields.agreement()
    }

    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        var isKnown = node.pairings.trusted(as: role).contains { $0.pin == pin }
        if isAgreed {
            isKnown = try await ControlFailure.storing(try await node.pairings.untrust(pin, as: role))
        }
        guard isKnown else {
            throw ControlFailure(
                .notFound, "no device of this fingerprint is trusted by hand; 'tandem trusted-devices list' shows all")
        }
        // The pairing that the trust led to stays.
        let paired = node.pairings.all.filter { $0.peer == pin && $0.role == role.counterpart }
        return ["done": .boolean(isAgreed), "paired": .array(paired.map { .string($0.name) })]
    }
}

/// `far-remove`: ends the rows of a far secondary that is gone (CTL-68).
struct FarRemoveCommand: ControlCommand {
    private let device: UniqueIdentifier
    private let isAgreed: Bool

    init(_ request: ControlRequest) throws(WireError) {
        device = try request.fields.identifier("device")
        isAgreed = try request.fields.agreement()
    }

    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        let rows = node.configuration.farSecondaries.gone(of: device)
        guard !rows.isEmpty else {
            throw ControlFailure(
                .notFound, "no far secondary of this identifier is gone; 'tandem status' shows those that are")
        }
        if isAgreed { try await ControlFailure.storing(try await node.configuration.forget(device)) }
        return ["done": .boolean(isAgreed), "far": .array(rows.map { .dictionary($0) })]
    }
}

/// The only pairing that `pairing` or `who` names.
struct PairingName {
    private let pairing: UniqueIdentifier?
    private let name: String?

    /// Whether the request names none.
    var isAbsent: Bool { pairing == nil && name == nil }

    init(_ fields: BodyFields) throws(WireError) {
        pairing = try fields.optionalIdentifier("pairing")
        name = try fields.optionalString("who")
    }

    func record(on node: Node) throws(ControlFailure) -> PairingRecord {
        let found = node.pairings.all.filter { $0.pairing == pairing || (pairing == nil && $0.name == name) }
        guard let record = found.first else { throw .unknownPairing(pairing.map { "\($0)" } ?? name) }
        guard found.count == 1 else {
            let shown = found.prefix(Self.shown).map { one in
                "\(one.pairing) (\(node.links[one.pairing] == nil ? "unreachable" : "linked"))"
            }
            let more = found.count > shown.count ? ", ..." : ""
            throw ControlFailure(
                .notFound,
                "\(found.count) paired devices are called \(OutsideText.quoted(record.name)): "
                    + "\(shown.joined(separator: ", "))\(more); name one of these pairings")
        }
        return record
    }

    /// The most pairings of one name that a refusal lists.
    private static let shown = 4
}

/// `unpair`: ends a pairing, and answers what ends with it (PAR-13, CTL-29).
struct UnpairCommand: ControlCommand {
    private let pairing: PairingName
    private let isAgreed: Bool

    init(_ request: ControlRequest) throws(WireError) {
        pairing = try PairingName(request.fields)
        isAgreed = try request.fields.agreement()
    }

    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        let record = try pairing.record(on: node)
        let edits = await node.settings.editCount(of: record.pairing)
        let endedThere = node.links.endedThere(record.pairing)
        var contents = node.pairings.contents(endingWith: record)
        var unchosen: [PairingRecord] = []
        let far = node.configuration.far(behind: record.pairing)
        if isAgreed {
            contents = try await ControlFailure.storing(try await node.pairings.end(record))
            unchosen = node.pairings.unchosen(as: record.role)
        }
        return PropertyListDictionary(present: [
            "done": .boolean(isAgreed), "pairing": .data(record.pairing.bytes), "name": .string(record.name),
            "role": .string(record.role.rawValue), "items": .integer(Int64(contents.items)),
            "files": .integer(Int64(contents.files)), "configurations": .integer(Int64(contents.configurations)),
            "edits": .integer(Int64(edits)), "unchosen": .array(node.pairings.labels(of: unchosen).map { .string($0) }),
            "far": far.isEmpty ? nil : .array(far.map { .string($0) }),
            "endedThere": endedThere.map { .integer($0.saturatingMilliseconds) },
        ])
    }
}

/// `address`: changes where this secondary dials its primary (PAR-19).
struct AddressCommand: ControlCommand {
    private let pairing: PairingName
    private let address: SocketAddress

    init(_ request: ControlRequest) throws(WireError) {
        pairing = try PairingName(request.fields)
        address = try request.fields.required("address", "HOST:PORT or unix:PATH") { value in
            value.stringValue.flatMap { try? SocketAddress($0) }
        }
    }

    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        let record = try pairing.record(on: node)
        guard record.role == .secondary else {
            throw ControlFailure(.wrongRole, "the other device dials this one; only a secondary knows an address")
        }
        let isKnown = try await ControlFailure.storing(try await node.pairings.setAddress(address, of: record))
        guard isKnown else { throw .unknownPairing(record.name) }
        node.links.dialAgain(record.pairing)
        var answer: PropertyListDictionary = ["pairing": .data(record.pairing.bytes), "name": .string(record.name)]
        answer["former"] = record.address.map { .string($0) }
        return answer
    }
}

/// `switch`: chooses the pairing that the default sessions of host apps are bound to (CTL-7). The choice is durable
/// before any app is notified; items that wait for either device stay in their queues.
struct SwitchCommand: ControlCommand {
    private let pairing: PairingName

    init(_ request: ControlRequest) throws(WireError) { pairing = try PairingName(request.fields) }

    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        let record = try pairing.record(on: node)
        let hasChanged = try await ControlFailure.storing(try await node.pairings.select(record))
        guard let hasChanged else {
            throw ControlFailure(.notFound, "this pairing is pending; it carries nothing yet")
        }
        return [
            "pairing": .data(record.pairing.bytes), "name": .string(record.name),
            "role": .string(record.role.rawValue), "changed": .boolean(hasChanged),
        ]
    }
}

/// `allow-version`: allows a version of the protocol below the highest one seen (SES-4).
struct AllowVersionCommand: ControlCommand {
    private let pairing: UniqueIdentifier
    private let version: ProtocolVersion

    init(_ request: ControlRequest) throws(WireError) {
        pairing = try request.fields.identifier("pairing")
        version = try request.fields.required("version", "a protocol version", \.versionValue)
    }

    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        switch try await ControlFailure.storing(try await node.pairings.allow(version, for: pairing)) {
        case .neverSeen(let error): throw ControlFailure(.badRequest, "version: \(error)")
        case .unknownPairing: throw .unknownPairing("\(pairing)")
        case .allowed: break
        }
        node.links.dialAgain(pairing)
        return [:]
    }
}

extension ControlFailure {
    /// - Parameter name: the pairing's identifier or the device's name, as it was asked for; nil if it was not.
    fileprivate static func unknownPairing(_ name: String?) -> Self {
        let which = name.map { "no pairing \(OutsideText.quoted($0))" } ?? "the request names no pairing"
        return ControlFailure(.notFound, "\(which); 'tandem status' lists them")
    }
}
