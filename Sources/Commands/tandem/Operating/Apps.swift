// `apps`: the apps of a device with their owners, and what an operator takes back of them.

import TandemBase
import TandemControl
import TandemOperations
import TandemPropertyList
import TandemReactor
import TandemWire

extension Subcommand {
    static let appsList = Subcommand(
        path: ["apps", "list"], summary: "show a device's apps with their owners and what waits for them",
        options: [.device, .json],
        notes: """
            An app belongs to the user that registered it first, or that 'tandem apps assign' has named, and to one side of
            the device: that of the socket at which it registered. An app without an owner is listed because items wait
            for it, or were sent under its identifier.
            """,
        examples: ["apps list", "apps list --device secondary --json"]
    ) { arguments, console in
        let apps = Fact.list(try arguments.ask(.apps)["apps"])
        if arguments.has("json") {
            return console.print(json: .array(apps.map { Fact.plain(.dictionary($0.body)) }))
        }
        let identifiers = Table.Column("identifier") { app in
            ([app.text("identifier")] + app.list("claims").map(\.claimed)).filter { !$0.isEmpty }
                .joined(separator: "; ")
        }
        let columns: [Table.Column] = [
            "app", .init("owner") { $0.owner("uid") }, .text("side", of: "role"), "connected", "receiving", "items",
            "files", "letters", "configuration", identifiers,
        ]
        for line in Table("apps", columns, of: apps).listing { console.print(line) }
    }

    static let appsRemove = Subcommand(
        path: ["apps", "remove"], summary: "remove an app from a device, with all that is kept for it",
        operands: [.application], options: [.device, .yes, .json],
        notes: """
            Lists what will be lost and asks for confirmation. The app counts as not installed until any user registers
            it again. The versions of its configuration that were applied stay refused.
            """,
        examples: ["apps remove --app org.example.lamp", "apps remove --app org.example.lamp --device secondary --yes"]
    ) { arguments, console in
        let app = try ApplicationIdentifier(arguments.operands[0])
        let answer = try arguments.askTwice(.appRemove, ["app": .string(app.description)], console) { fact in
            Consequences.removal(fact)
        }
        if arguments.has("json") { return console.print(json: answer) }
        console.print("removed \(app)")
    }

    static let appsAssign = Subcommand(
        path: ["apps", "assign"], summary: "transfer an app to another user, or reserve its identifier for one",
        operands: [.application, .required("USER")],
        options: [
            .device, .valued("role", "primary|secondary", "the side of an app that is not installed yet"), .yes, .json,
        ],
        notes: """
            USER is a name or a number. Lists what changes for the former owner and asks for confirmation. Items that
            wait for the app stay, and go to the new owner. With --role the app, which must not be installed, is for that
            side of the device; else for the side of the socket at which it registers first.
            """,
        examples: [
            "apps assign --app org.example.lamp lampd", "apps assign --app org.example.lamp --role primary lampd",
            "apps assign --app org.example.lamp --yes 1001",
        ]
    ) { arguments, console in
        let app = try ApplicationIdentifier(arguments.operands[0])
        let user = try arguments.user(arguments.operands[1])
        var body: PropertyListDictionary = ["app": .string(app.description), "uid": .integer(Int64(user))]
        if arguments.has("role") { body["role"] = .string(try arguments.role().rawValue) }
        let answer = try arguments.askTwice(.appAssign, body, console) { Consequences.assignment($0) }
        if arguments.has("json") { return console.print(json: answer) }
        let hasChanged = answer.body["done"]?.booleanValue ?? false
        console.print("\(app) \(hasChanged ? "belongs to" : "belonged already to") \(answer.owner("uid"))")
    }

    static let identifierAccept = Subcommand(
        path: ["identifier", "accept"], summary: "accept a primary's changed custom identifier for an app",
        operands: [.required("PAIRING|NAME")], options: [.device, .application.required, .yes, .json],
        notes: """
            A changed identifier is alarmed and not used until its secondary's operator accepts it here. Then
            configuration for the old one ends on this device. 'tandem apps list' shows what waits.
            """,
        examples: ["identifier accept --app org.example.lamp kitchen"]
    ) { arguments, console in
        var body = arguments.pairingOrName
        body["app"] = .string(try arguments.application().description)
        let answer = try arguments.askTwice(
            .identifierAccept, body, of: .secondary, console, confirming: "target"
        ) { Consequences.accepting($0) }
        if arguments.has("json") { return console.print(json: answer) }
        console.print("accepted \(answer.text("target"))")
    }

    static let identifierClear = Subcommand(
        path: ["identifier", "clear"], summary: "remove a primary's custom identifier for an app",
        options: [.device, .application.required, .yes, .json],
        notes: """
            Configuration for the primary's own app is targeted at its vendor identifier again, at once. Each
            secondary keeps the custom identifier until its operator runs 'tandem identifier accept' there; then
            what was applied for the custom identifier ends on that secondary, and its versions stay refused. An
            app whose code still declares the identifier declares it again at its next start.
            """,
        examples: ["identifier clear --app org.example.lamp", "identifier clear --app org.example.lamp --yes"]
    ) { arguments, console in
        let app = try arguments.application()
        let body: PropertyListDictionary = ["app": .string(app.description)]
        let answer = try arguments.askTwice(.identifierClear, body, of: .primary, console) {
            Consequences.clearing($0)
        }
        if arguments.has("json") { return console.print(json: answer) }
        console.print("cleared \(answer.text("identifier")); configuration is for \(answer.text("target"))")
    }
}

extension Arguments {
    /// The number of a user that is named by name or number.
    fileprivate func user(_ text: String) throws(CommandFailure) -> UInt32 {
        if let number = UInt32(text), number < .max { return number }
        do throws(SystemError) { return try Linux.userIdentifier(named: text) } catch {
            throw .usage("'\(text)' is no user of this machine")
        }
    }
}

extension Fact {
    /// A text of up to 256 bytes, and what stands before it.
    fileprivate func whole(_ key: String) -> String { Printable.text(body[key]?.stringValue ?? "", limit: 300) }

    /// The identifier that a primary claims for an app, and the changed one that waits.
    fileprivate var claimed: String {
        let waiting = body["cleared"] == true ? "none" : body["offered"] == nil ? nil : whole("offered")
        let present = body["identifier"] == nil ? "none" : whole("identifier")
        return "\(text("name")): \(present)" + (waiting.map { ", to accept: \($0)" } ?? "")
    }

    fileprivate func owner(_ key: String) -> String {
        guard let number = body[key]?.integerValue, let user = UInt32(exactly: number) else { return "no owner" }
        return Linux.userName(of: user).map { "\($0) (\(user))" } ?? "\(user)"
    }

    /// The numbers of things that wait for an app or in a pairing; nil if none do.
    fileprivate var waiting: String? {
        let nouns = [("items", "item"), ("files", "file"), ("letters", "dead letter"), ("contexts", "context")]
        let counts = nouns.filter { isPositive($0.0) }.map { count($0.0, $0.1) }
        return counts.isEmpty ? nil : counts.joined(separator: ", ")
    }

    /// The configurations that a change ends; nil if there are none.
    fileprivate var endedConfigurations: String? {
        isPositive("configurations") ? "end " + count("configurations", "staged or applied configuration") : nil
    }
}

/// Changes of apps and of their keys in lines for the operator, who has not agreed yet: all of them are conditional.
enum Consequences {
    static func accepting(_ fact: Fact) -> [String] {
        // Whole: two that differ behind a cut would look the same.
        let (target, former) = (fact.whole("target"), fact.body["former"] == nil ? "none" : fact.whole("former"))
        var lines = [
            "\(fact.text("app")) of \(fact.text("name")) would be \(target) from now on; its identifier is \(former)"
        ]
        if let state = fact.body["configuration"]?.stringValue, state != "none" {
            lines.append("  the configuration for the old one (\(state)) would end here; its versions stay refused")
        }
        return lines
    }

    static func forgetting(_ fact: Fact) -> [String] {
        fact.list("far").map { "\($0.deviceName), gone since \($0.date("gone")), would no longer be shown" }
            + ["if a gateway states it again, status shows it again; nothing else changes"]
    }

    static func removal(_ fact: Fact) -> [String] {
        let owner = fact.body["uid"] == nil ? ", which has no owner," : " of \(fact.owner("uid"))"
        var lines = ["removing \(fact.text("app"))\(owner) from this device would:"]
        if let waiting = fact.waiting { lines.append("  drop \(waiting), and refuse them to their senders") }
        if let ended = fact.endedConfigurations { lines.append("  \(ended)") }
        lines += fact.refusedVersions.map { "  \($0)" }
        if fact.body["keyid"] != nil {
            lines.append("  end the trust in its configuration key \(fact.digest("keyid"))")
        }
        if let revocations = fact.forgottenRevocations { lines.append("  \(revocations)") }
        lines.append("  delete its directory \(fact.text("directory")), with all that is in it")
        if fact.body["connected"]?.booleanValue == true {
            lines.append("  disconnect it as app-removed")
        }
        return lines
    }

    static func assignment(_ fact: Fact) -> [String] {
        let app = fact.text("app")
        guard fact.body["former"] != nil else { return ["\(app) would be for \(fact.owner("uid")) alone from now on"] }
        var lines = ["\(app) would pass from \(fact.owner("former")) to \(fact.owner("uid")); the former owner would:"]
        if fact.body["connected"]?.booleanValue == true { lines.append("  be disconnected as app-owned") }
        lines.append(
            "  lose the directory \(fact.text("directory")), with all that is in it; the new owner gets an empty one")
        if let waiting = fact.waiting { lines.append("  leave \(waiting) to the new one") }
        if fact.isPositive("configurations") { lines.append("  leave the configuration, which stays in force") }
        return lines
    }

    /// The end of a trusted key.
    /// - Parameter first: the line that names it.
    static func untrusting(_ fact: Fact, after first: String) -> [String] {
        var words = fact.endedConfigurations.map { [$0] } ?? []
        words += fact.refusedVersions
        if let revocations = fact.forgottenRevocations { words.append(revocations) }
        if let desired = fact.keptDesired { words.append(desired) }
        return words.isEmpty ? [first] : ["\(first); that would:"] + words.map { "  \($0)" }
    }

    static func unpairing(_ fact: Fact) -> [String] {
        let name = fact.text("name")
        let there =
            fact.body["endedThere"] == nil
            ? "\(name) still lists it until it is unpaired there, too" : "\(name) has ended it already"
        var lines = ["the pairing with \(name) would end; \(there). On this device that would:"]
        if let waiting = fact.waiting { lines.append("  drop \(waiting)") }
        if fact.isPositive("configurations") {
            lines.append(
                fact.text("role") == "secondary"
                    ? "  end \(fact.count("configurations", "configuration")), whose versions stay refused"
                    : "  drop \(fact.count("configurations", "configuration")) on the way to it")
        }
        if fact.isPositive("edits") {
            lines.append("  undo \(fact.count("edits", "edit")) of settings by \(fact.text("name"))")
        }
        let far = fact.texts("far")
        if !far.isEmpty {
            lines.append(
                "  no longer reach, unless another carrier states them: \(far.joined(separator: ", "))")
        }
        return lines.count > 1 ? lines : lines + ["  lose nothing"]
    }

    static func clearing(_ fact: Fact) -> [String] {
        var lines = [
            "\(fact.text("app")) would no longer be \(fact.text("identifier")); its configuration would be for "
                + "\(fact.text("target")) from now on",
            "  this device's own app would no longer see the configuration for the identifier",
        ]
        let secondaries = fact.texts("secondaries")
        if !secondaries.isEmpty {
            lines.append(
                "  \(secondaries.joined(separator: ", ")): would take configuration for the identifier until "
                    + "'tandem identifier accept' there, which ends what was applied for it")
        }
        return lines
    }
}

extension Fact {
    /// Which versions of a configuration stay refused, of several targets for each; none if none was ever applied.
    var refusedVersions: [String] {
        guard body["highest"] != nil else { return [] }
        let targets = list("refused").map { " for \($0.whole("target")) up to \($0.text("version"))" }
        return (targets.isEmpty ? [" up to \(text("highest"))"] : targets).map { versions in
            "still refuse versions of its configuration\(versions): sign a higher one"
        }
    }

    /// The configurations for secondaries that a change of this device's trust does not end; nil if there are none.
    var keptDesired: String? {
        guard isPositive("desired") else { return nil }
        return "still deliver \(count("desired", "configuration")) to secondaries, whichever key signed: "
            + "'tandem configuration withdraw' ends that"
    }

    /// The revocations that end with a trusted key; nil if none has followed it.
    var forgottenRevocations: String? {
        guard isPositive("revoked") else { return nil }
        let keys = count("revoked", "key")
        return "forget the revocation of \(keys): "
            + "until a primary brings it, one that the next anchor lists counts"
    }
}
