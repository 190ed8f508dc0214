// Pairing commands. `pair` makes a one-time join link on the primary and prints it as text and as a QR code; the link
// is a secret and goes only to standard output. The others switch, trust by hand, unpair, and allow an older protocol
// version.

import TandemBase
import TandemControl
import TandemCrypto
import TandemOperations
import TandemPairing
import TandemPropertyList
import TandemQRCode
import TandemTransport
import TandemWire

extension Subcommand {
    static let pair = Subcommand(
        path: ["pair"], summary: "make a one-time join link on a running primary, with its QR code",
        options: [
            .device, .valued("life", "TIME", "how long the link may be used (default 15m, at most 24h)"),
            .flag("link-only", "print the link alone, for a pipe"), .json,
        ],
        notes: """
            Anyone who has the link within its life can pair with this device once. Hand it over on a way that others
            cannot read; 'tandem join' takes it from standard input or from a private file, never as an argument.
            """,
        examples: ["pair", "pair --life 5m", "pair --link-only | ssh kiosk tandem join"]
    ) { arguments, console in
        let life = try arguments.duration("life")
        let seconds = life.map { $0.saturatingMilliseconds / 1000 }
        if let seconds, JoinPolicy.life(seconds: seconds) == nil {
            throw CommandFailure.usage("--life '\(arguments.value("life") ?? "")' is not a time from 1s to 24h")
        }
        let answer = Fact(try arguments.ask(.pair, seconds.map { ["seconds": .integer($0)] } ?? [:], of: .primary))
        guard let link = answer.body["link"]?.stringValue else {
            throw CommandFailure.refused("the daemon answered without a link")
        }
        if let warning = JoinLinkWarning.text(of: link) { console.warn(warning) }
        if arguments.has("json") { return console.print(json: answer) }
        console.print(link)
        if arguments.has("link-only") { return }
        console.print("\nexpires \(answer.date("expires")); on the other device run: tandem join\n")
        console.write(try QRCode(link).terminalText(inColour: console.isColoured))
    }

    static let pairCancel = Subcommand(
        path: ["pair-cancel"], summary: "take back a join link that was not used yet", operands: [.required("NAME")],
        options: [.device],
        notes: """
            NAME is the short name of the link in 'tandem status', or its whole 'token' in the output of --json, and not the
            link, which is a secret. A link that was used has made a pairing: 'tandem unpair' ends it.
            """,
        examples: ["pair-cancel 3f2a91bc", "pair-cancel 3F2A91BC-0000-4000-8000-0123456789AB"]
    ) { arguments, console in
        let links = Fact(try arguments.ask(.status, of: .primary)).list("links").map(JoinLinkReport.init)
        let found = links.filter { $0.isNamed(arguments.operands[0]) }
        guard let link = found.first, found.count == 1 else {
            throw CommandFailure.refused("no open join link has this name; 'tandem status' lists them")
        }
        _ = try arguments.ask(.pairCancel, ["token": .data(link.token)], of: .primary)
        console.print("taken back")
    }

    static let switchDevice = Subcommand(
        path: ["switch"], summary: "choose which paired device is the active one",
        operands: [.required("PAIRING|NAME")], options: [.device],
        notes: """
            On a primary it names a secondary, on a secondary one of its primaries. 'tandem status' marks the active one
            with *. Apps see the switch as inactive, deactivated and activated; what waits for a device stays with that
            device.
            """,
        examples: ["switch kiosk", "switch --device primary 0123ABCD-0000-4000-8000-0123456789AB"]
    ) { arguments, console in
        let answer = try arguments.ask(.switch, arguments.pairingOrName)
        let fact = Fact(answer)
        let verb = answer["changed"]?.booleanValue == false ? "was active already" : "is active now"
        console.print("\(fact.text("name")) \(verb)  \(fact.text("pairing"))")
    }

    static let trustDevice = Subcommand(
        path: ["trust-device"], summary: "trust another device by its fingerprint (run it on both devices)",
        operands: [.required("FINGERPRINT")],
        options: [
            .device, .peerRole.required,
            .valued("address", "ADDRESS", "where the primary listens: HOST:PORT, HOST or unix:PATH"),
            .valued("name", "NAME", "a name for the other device"),
        ],
        notes: """
            'tandem status' on the other device shows its fingerprint. The secondary names the primary's address; the
            pairing is made when it connects and both sides have trusted each other.
            """,
        examples: [
            "trust-device --role primary --address hub.example:4747 ABCD-EFGH-...",
            "trust-device --role secondary --name kiosk ABCD-EFGH-...",
        ]
    ) { arguments, console in
        let peer = try arguments.role()
        if peer == .primary, !arguments.has("address") {
            throw CommandFailure.usage("--address is missing: a secondary must know where its primary listens")
        }
        var body: PropertyListDictionary = ["role": .string(peer.rawValue)]
        body["address"] = try arguments.value("address").map { .string(try PrimaryAddress.text($0)) }
        body["fingerprint"] = try arguments.fingerprint(shownBy: "'tandem status' on the other device")
        body["name"] = arguments.value("name").map { .string($0) }
        _ = try arguments.ask(.trustDevice, body, of: peer.counterpart)
        console.print("trusted as \(peer.rawValue)")
    }

    static let trustedDevicesList = Subcommand(
        path: ["trusted-devices", "list"], summary: "list the devices that are trusted by their fingerprints",
        options: [.device, .json], examples: ["trusted-devices list", "trusted-devices list --json"]
    ) { arguments, console in
        let devices = try arguments.ask(.trustedDevices)["devices"] ?? .array([])
        if arguments.has("json") { return console.print(json: Fact.plain(devices)) }
        let columns: [Table.Column] = ["name", .text("is our", of: "role"), "address", "fingerprint"]
        let table = Table("trusted devices", columns, of: Fact.list(devices))
        for line in table.lines.isEmpty ? ["no device is trusted by hand"] : table.lines { console.print(line) }
    }

    static let trustedDevicesRemove = Subcommand(
        path: ["trusted-devices", "remove"], summary: "stop trusting a device by its fingerprint",
        operands: [.required("FINGERPRINT")],
        options: [.device, .peerRole.required, .yes, .json],
        notes: "An existing pairing stays; 'tandem unpair' ends it, and the trust with it.",
        examples: ["trusted-devices remove --role secondary ABCD-EFGH-..."]
    ) { arguments, console in
        let body: PropertyListDictionary = [
            "fingerprint": try arguments.fingerprint(shownBy: "'tandem trusted-devices list'"),
            "role": .string(try arguments.role().rawValue),
        ]
        let answer = try arguments.askTwice(.untrustDevice, body, console) { fact in
            let paired = fact.texts("paired")
            return paired.isEmpty
                ? ["the device could no longer pair by its fingerprint"]
                : ["the pairing with \(paired.joined(separator: ", ")) would stay; 'tandem unpair' ends it"]
        }
        if arguments.has("json") { return console.print(json: answer) }
        console.print("trusted no longer")
    }

    static let unpair = Subcommand(
        path: ["unpair"], summary: "end a pairing and drop what waits for it",
        operands: [.required("PAIRING|NAME")], options: [.device, .yes, .json],
        notes: """
            Lists what the pairing ends and asks for confirmation. Configuration that came through the pairing is
            deactivated, and its versions stay refused; a configuration of another primary under the same identifier stays.
            """,
        examples: ["unpair kiosk", "unpair --yes 0123ABCD-0000-4000-8000-0123456789AB"]
    ) { arguments, console in
        let answer = try arguments.askTwice(.unpair, arguments.pairingOrName, console) { Consequences.unpairing($0) }
        if arguments.has("json") { return console.print(json: answer) }
        let dropped = ["items", "files", "configurations", "edits"].map { "\(answer.text($0)) \($0)" }
        console.print("unpaired \(arguments.operands[0]); dropped \(dropped.joined(separator: ", "))")
        let left = answer.texts("unchosen")
        if !left.isEmpty {
            console.print(ActiveDevice.advice(toChoose: left.map { (pairing: ShellWord.quoted($0), name: $0) }))
        }
    }

    static let address = Subcommand(
        path: ["address"], summary: "change where a secondary finds its primary",
        operands: [.required("PAIRING|NAME"), .required("ADDRESS")], options: [.device],
        notes: """
            The pairing stays, with all that waits in it. The daemon dials the new address at once; an existing link stays up
            until the new one replaces it. 'tandem health' says why none comes from the new address. Joining again with a
            link from there does the same.
            """,
        examples: ["address hub hub.example:4747", "address --device ./kiosk.sock hub unix:/run/hub/link.sock"]
    ) { arguments, console in
        var body = arguments.pairingOrName
        let address = try PrimaryAddress.text(arguments.operands[1])
        body["address"] = .string(address)
        let answer = Fact(try arguments.ask(.address, body, of: .secondary))
        let former = answer.body["former"] == nil ? "" : ", was at \(answer.text("former"))"
        console.print("\(answer.text("name")) is at \(address)\(former)  \(answer.text("pairing"))")
    }

    static let allowVersion = Subcommand(
        path: ["allow-version"], summary: "let a paired device use an older protocol version than it did before",
        operands: [.required("PAIRING"), .required("VERSION")], options: [.device],
        notes: """
            Without this a device that suddenly speaks an older version is refused: it may be a downgrade attack. VERSION is
            at most the highest one that it has spoken; 'tandem health' names the one that it speaks now. Both devices
            remember the version, so run it on both. A secondary dials at once then.
            """,
        examples: ["allow-version 0123ABCD-0000-4000-8000-0123456789AB 1"]
    ) { arguments, console in
        let pairing = try UniqueIdentifier(
            argument: arguments.operands[0], "is not a pairing's UUID; 'tandem status' shows them")
        guard let version = UInt32(arguments.operands[1]), version > 0 else {
            throw CommandFailure.usage("'\(arguments.operands[1])' is not a protocol version")
        }
        let body: PropertyListDictionary = ["pairing": .data(pairing.bytes), "version": .integer(Int64(version))]
        _ = try arguments.ask(.allowVersion, body)
        console.print("version \(version) is allowed again")
    }
}

extension Arguments {
    fileprivate func fingerprint(shownBy place: String) throws(CommandFailure) -> PropertyListValue {
        guard KeyIdentifier(text: operands[0]) != nil else {
            throw .usage("'\(operands[0])' is not a fingerprint; \(place) shows it")
        }
        return .string(operands[0])
    }
}

/// The warning about a join link that only this machine can use.
enum JoinLinkWarning {
    /// nil for a link that another machine may be able to use.
    static func text(of link: String) -> String? {
        guard let link = try? JoinLink(text: link), let address = try? SocketAddress(link.address), address.isLoopback
        else { return nil }
        return "warning: only this machine can join at \(address); to accept others, start the daemon with "
            + "--advertise HOST"
    }
}

/// The address of a primary as a person writes it.
private enum PrimaryAddress {
    /// The form that a daemon dials; a host alone gets the usual port, and a path is made absolute, as with --listen.
    static func text(_ argument: String) throws(CommandFailure) -> String {
        let address = try DaemonOptions.absoluteAddress(argument)
        if case .tcp(_, 0) = address {
            throw .usage("'\(argument)' has port 0; name the port that the primary listens on")
        }
        return address.description
    }
}
