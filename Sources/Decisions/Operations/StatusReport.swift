// Daemon's answers as tables for people, the same on a terminal and on a page: the device with its pairings,
// reachability and reasons, queues and configurations; the desired state; dead letters.

import TandemBase
import TandemPropertyList

package struct StatusReport {
    private let facts: Fact

    /// - Parameter facts: the answer to `status`.
    package init(_ facts: Fact) { self.facts = facts }

    /// All of it for a terminal.
    package var lines: [String] {
        let width = (device.map(\.name.count).max() ?? 0) + 2
        let rows = device.map { $0.name + String(repeating: " ", count: width - $0.name.count) + $0.text }
        return (rows.isEmpty ? [ownView] : rows) + tables.map(\.lines).filter { !$0.isEmpty }.flatMap { [""] + $0 }
    }

    /// Everything that has rows, in the order of interest.
    package var tables: [Table] {
        [pairings, links, far, applications, counterparts, queues, contexts, configurations, desired, keys]
    }

    /// The line for a user who is told nothing of the device (CTL-2).
    private var ownView: String {
        "this user sees only its own apps" + (facts.list("applications").isEmpty ? "; none is registered" : "")
    }

    /// The device itself; empty for a user who sees only its own apps.
    package var device: [(name: String, text: String)] {
        guard facts.body["device"] != nil else { return [] }
        let listening = facts.texts("listening")
        let software = [facts.text("software"), facts.span("uptime")].filter { !$0.isEmpty }
        return [
            ("device", "\(facts.text("name"))  \(facts.text("device"))"),
            ("role", facts.text("role")),
            ("fingerprint", facts.text("fingerprint")),
            ("software", software.joined(separator: ", up ")),
            ("listening", listening.isEmpty ? "no" : listening.joined(separator: ", ")),
            ("local", ["local", "localOther"].map(facts.text).filter { !$0.isEmpty }.joined(separator: ", ")),
            ("state", facts.text("state")),
        ].filter { !$0.text.isEmpty }
    }

    private var pairings: Table {
        let columns: [Table.Column] = [
            "name", .init("is our") { Self.counterpart($0.text("role")) }, "state", .text("reachable", of: "level"),
            .init("reason") { $0.sentence("reason") }, .span("since"), "waiting",
            .init("active") { Self.mark($0.body["active"]) }, "address", "pairing",
        ]
        var table = Table("pairings", columns, of: facts.list("pairings"))
        (endedAdvice + moveAdvice + otherDeviceAdvice + switchAdvice + choiceAdvice).forEach { table.advise($0) }
        return table
    }

    private var endedAdvice: [String] {
        facts.list("pairings").compactMap { pairing in
            pairing.body["endedThere"]?.integerValue.map {
                EndedPairing.advice(pairing.text("pairing"), with: pairing.text("name"), milliseconds: $0)
            }
        }
    }

    private var moveAdvice: [String] {
        facts.list("pairings").compactMap { pairing in
            guard pairing.body["dials"] != nil, pairing.body["dialError"] != nil else { return nil }
            return MovedPrimary.advice(
                pairing.text("pairing"), with: pairing.text("name"), at: pairing.text("dials"),
                failure: pairing.text("dialError"))
        }
    }

    private var otherDeviceAdvice: [String] {
        facts.list("pairings").compactMap { pairing in
            guard pairing.text("reason").hasPrefix("wrong-pin") else { return nil }
            return OtherDevice.advice(with: pairing.text("name"), at: pairing.text("address"))
        }
    }

    /// A device that lost its state has joined as a new one. Apps do not talk to it until it is the active one, so the
    /// table says how to switch. Of several linked devices only the operator knows which one that is.
    private var switchAdvice: [String] {
        let pairings = facts.list("pairings")
        func isLinked(_ pairing: Fact) -> Bool { pairing.text("level") == "linked" }
        return pairings.filter { $0.body["active"]?.booleanValue == true && !isLinked($0) }.compactMap { active in
            let linked = pairings.filter { $0.text("role") == active.text("role") && isLinked($0) }
            guard !linked.isEmpty else { return nil }
            return "the active device '\(active.text("name"))' is not linked; "
                + ActiveDevice.ways(linked.map(Self.choice), another: "another linked one")
        }
    }

    /// The removal of the active device of several leaves none, until the operator chooses (PAR-15).
    private var choiceAdvice: [String] {
        let groups = Dictionary(grouping: facts.list("pairings").filter { $0.text("state") == "active" }) {
            $0.text("role")
        }
        return groups.sorted { $0.key < $1.key }.map(\.value).filter { pairings in
            !pairings.contains { $0.body["active"]?.booleanValue == true }
        }.map { ActiveDevice.advice(toChoose: $0.map(Self.choice)) }
    }

    private static func choice(_ pairing: Fact) -> ActiveDevice.Choice {
        (pairing.text("pairing"), pairing.text("name"))
    }

    /// The join links that have not expired (CTL-61).
    private var links: Table {
        var table = Table("join links", ["link", "open for", "attempts left", "used by"])
        for link in facts.list("links").map(JoinLinkReport.init) {
            table.add(link.name, link.user == nil ? link.span : "used", link.attempts, link.user ?? "")
        }
        return table
    }

    /// The devices below secondaries that carry.
    private var far: Table {
        let devices = facts.list("far")
        let areSomeGone = devices.contains { !$0.date("gone").isEmpty }
        var columns: [Table.Column] = ["name", "via", "app", "target", "device"]
        if areSomeGone { columns.append(.date("gone since", of: "gone")) }
        return Table("far secondaries", columns, of: devices)
    }

    private var applications: Table {
        let apps = facts.list("applications")
        let anchor = Table.Column("anchor") { app in
            app.digest("anchor") + (app.body["conflict"] == true ? ", the app has another" : "")
        }
        var columns: [Table.Column] = [
            "app", "uid", .text("side", of: "role"), "connected", "identifier", anchor, "name", "version",
        ]
        // An app that is being developed; everywhere else there is none.
        if apps.contains(where: { $0.body["waives"] == true }) {
            columns.append(.init("signatures") { $0.body["waives"] == true ? "INVALID allowed" : "checked" })
        }
        return Table("applications", columns, of: apps)
    }

    /// The other devices' apps, as they name themselves.
    private var counterparts: Table {
        Table(
            "counterparts", ["app", "connected", "name", "version", "icon", .peer], of: facts.list("counterparts"))
    }

    private var queues: Table {
        let columns: [Table.Column] = [
            "app", "channel", "waiting", "bytes", .span("oldest"), .text("refused", of: "refusal"), .peer,
        ]
        return Table("queues", columns, of: facts.list("queues"))
    }

    /// By their revisions: the last one set here, and the last one applied that came.
    private var contexts: Table {
        Table("contexts", ["app", "sent", "received", .peer], of: facts.list("contexts"))
    }

    private var configurations: Table {
        let state = Table.Column("state") { item in
            item.text("state") + item.way + (item.body["trial"]?.booleanValue == true ? ", on trial" : "")
        }
        let verdict = Table.Column("last verdict") { item in
            ["lastVerdict", "text"].map(item.text).filter { !$0.isEmpty }.joined(separator: ": ")
        }
        let columns: [Table.Column] = [
            "app", "role", state, "version", .digest("digest"), .date("applied"), verdict, "target",
        ]
        return Table("configurations", columns, of: facts.list("configurations"))
    }

    /// The configuration desired of each secondary, beside the one it has reported.
    private var desired: Table { DesiredReport.secondaries(facts.list("desired"), title: "desired") }

    /// The key sets and revocations at the secondaries.
    private var keys: Table { DesiredReport.keys(facts.list("keys")) }

    /// The one that the apps' default sessions talk to.
    private static func mark(_ active: PropertyListValue?) -> String { active?.booleanValue == true ? "*" : "" }

    /// The peer's part, from this device's part in the pairing.
    private static func counterpart(_ role: String) -> String {
        role == "primary" ? "secondary" : role == "secondary" ? "primary" : role
    }
}

/// Advice about a pairing that the other device has ended: it can only be ended here, too.
package enum EndedPairing {
    /// - Parameter milliseconds: how long ago the other device last said so.
    package static func advice(_ pairing: String, with name: String, milliseconds: Int64) -> String {
        "'\(name)' said \(Fact.span(milliseconds: milliseconds)) ago that it has no such pairing; "
            + "'tandem unpair \(pairing)' ends it here, too"
    }
}

/// Advice about a secondary without a link. A primary cannot dial it, and at most knows how the last link ended.
package enum SilentSecondary {
    package static func advice(_ pairing: String, with name: String) -> String {
        "'\(name)' has no link now: 'tandem status' there shows the address that it dials, and why that fails; "
            + "if it no longer has this pairing, 'tandem unpair \(pairing)' ends it here"
    }
}

/// Advice about a primary that is linked at its former address, and not at the one that the operator has given.
package enum MovedPrimary {
    /// - Parameters:
    ///   - address: the one that is dialled.
    ///   - failure: why the last attempt there made no link.
    package static func advice(_ pairing: String, with name: String, at address: String, failure: String) -> String {
        "'\(name)' is linked at its former address only, and not at \(address): \(failure); "
            + "'tandem address \(pairing) ADDRESS' changes the address"
    }
}

/// Advice about the device that the apps' default sessions reach: only the operator knows which one that is.
package enum ActiveDevice {
    /// A paired device that may be the active one.
    package typealias Choice = (pairing: String, name: String)

    /// Devices that one piece of advice names: a line for people.
    private static let longestChoice = 3

    package static func advice(toChoose devices: [Choice]) -> String {
        "no device is the active one, and default sessions of apps fail (7005); "
            + ways(devices, another: "another one")
    }

    /// The commands that make one of the devices the active one.
    /// - Parameter another: one that is not named.
    static func ways(_ devices: [Choice], another: String) -> String {
        let ways = devices.prefix(longestChoice).map { "'tandem switch \($0.pairing)' makes '\($0.name)'" }
        let others = devices.count > ways.count ? " (or \(another))" : ""
        return "\(ways.joined(separator: " or ")) the active one\(others)"
    }
}

/// Advice about an address at which another device answers than the paired one: its key is not the pinned one.
package enum OtherDevice {
    /// The ways to a link again.
    package static let ways =
        "correct the address ('tandem address'), restore the state of the paired device, or unpair and join again"

    package static func advice(with name: String, at address: String) -> String {
        "another device than '\(name)' answers at \(address): \(ways)"
    }
}

/// A join link as text for people, without its secret.
package struct JoinLinkReport: Sendable {
    private let facts: Fact

    /// - Parameter facts: a row of `links` in the answer to `status`.
    package init(_ facts: Fact) { self.facts = facts }

    package var token: [UInt8] { facts.body["token"]?.dataValue ?? [] }

    /// Its short name, for eyes and for a command line.
    package var name: String { Hexadecimal.encode(token.prefix(4)) }

    /// Whether a text names it: its short name, or its whole token as JSON output has it, in either case.
    package func isNamed(_ text: String) -> Bool {
        [name, facts.text("token").lowercased()].contains(text.lowercased())
    }

    /// How long it may still be used; empty for one that was used.
    package var span: String { user == nil ? facts.span("left") : "" }

    /// Wrong proofs that it still survives; empty for one that was used.
    package var attempts: String { user == nil ? facts.text("attempts") : "" }

    /// The device that has used it; nil for one that is open.
    package var user: String? {
        guard facts.body["pairing"] != nil else { return nil }
        let name = facts.text("name")
        return name.isEmpty ? facts.text("pairing") : name
    }
}

/// Names of the secondaries in a table: those that share one, as a device that has lost its state and its successor
/// do, are told apart by their pairings.
private struct SecondaryNames {
    /// The pairings that have each name.
    private var pairings: [String: Set<String>] = [:]

    init(_ rows: [Fact]) {
        for row in rows { pairings[row.deviceName, default: []].insert(row.text("pairing")) }
    }

    func label(of row: Fact) -> String {
        guard pairings[row.deviceName].map({ $0.count > 1 }) == true else { return row.deviceName }
        let link = row.body["linked"] == false ? ", no link" : ""
        return "\(row.deviceName) (\(row.text("pairing"))\(link))"
    }
}

/// The desired state as text for people.
package enum DesiredReport {
    /// The configurations that are desired, with the numbers of secondaries (CTL-24).
    package static func list(_ facts: Fact) -> Table {
        let applied = Table.Column("applied") { row in
            let lapsed = (row.body["lapsed"]?.integerValue ?? 0) > 0 ? ", lifetime over at \(row.text("lapsed"))" : ""
            let withoutApp = row.text("noApp").isEmpty ? "" : ", no app at \(row.text("noApp"))"
            return "\(row.text("applied")) of \(row.text("secondaries"))\(lapsed)\(withoutApp)"
        }
        let columns: [Table.Column] = [
            "app", "role", "version", applied, "drifted", "rollout", .date("accepted"),
            .init("signed by", cell: signers), .digest("digest"), "target",
        ]
        return Table("desired", columns, of: facts.list("desired"))
    }

    /// The secondaries with what is desired of them, for `status` too.
    package static func secondaries(_ rows: [Fact], title: String) -> Table {
        let names = SecondaryNames(rows)
        let reported = Table.Column("reported") { row in
            row.text("reported") + (row.body["reportedDigest"] == nil ? "" : " (\(row.digest("reportedDigest")))")
        }
        let columns: [Table.Column] = [
            .init("name", cell: names.label(of:)), "app", .text("desired", of: "version"), reported,
            .init("verdict", cell: state), .init("stale since") { hasNoApp($0) ? "" : $0.date("stale") },
            .init("drift") { $0.body["drift"]?.booleanValue == true ? "yes" : "" }, "rollout", "target",
            .text("reason", of: "text"),
        ]
        return Table(title, columns, of: rows)
    }

    private static func hasNoApp(_ row: Fact) -> Bool { row.body["noApp"]?.booleanValue == true }

    /// The secondaries with the key set that each has reported, and what it lacks (CTL-74), for `status` too.
    package static func keys(_ rows: [Fact]) -> Table {
        let names = SecondaryNames(rows)
        let columns: [Table.Column] = [
            .init("name", cell: names.label(of:)), "app", .text("key set", of: "version"),
            .text("lacks", of: "waiting"),
            "verdict", .text("reason", of: "text"),
        ]
        return Table("keys of secondaries", columns, of: rows)
    }

    /// The verdict, or how the delivery ended without one.
    package static func state(of row: Fact) -> String {
        if hasNoApp(row) { return "no-app" }
        let over = row.body["over"]?.booleanValue == true ? ", lifetime over" : ""
        for key in ["verdict", "ending"] where !row.text(key).isEmpty { return row.text(key) + over }
        return row.body["taken"]?.booleanValue == true ? "delivered, no report yet" : "queued"
    }

    /// One slot with its secondaries and its history.
    package static func lines(of facts: Fact) -> [String] {
        let desired: [Table.Column] = [
            "version", .date("accepted"), .init("signed by", cell: signers), "rollout",
            .init("first") { $0.texts("first").joined(separator: ", ") }, .digest("digest"),
        ]
        let history: [Table.Column] = [
            "version", .date("accepted"), .init("signed by", cell: signers), .date("withdrawn"), .digest("digest"),
            .init("applied at") { applications(of: $0, facts) },
        ]
        let tables = [
            Table("desired", desired, of: facts.list("desired")),
            secondaries(facts.list("secondaries"), title: "secondaries"), keys(facts.list("keys")),
            Table("history", history, of: facts.list("history")),
        ]
        let head = ["app     \(facts.text("app"))", "target  \(facts.text("target"))"]
        return head + tables.map(\.lines).filter { !$0.isEmpty }.flatMap { [""] + $0 }
    }

    /// Where and when an envelope was applied, as far as the secondaries' histories go back. Two envelopes can have one
    /// version, so the digest decides; a row of an earlier release has none.
    private static func applications(of row: Fact, _ facts: Fact) -> String {
        let digest = row.body["digest"]
        let secondaries = facts.list("secondaries") + facts.list("others")
        let names = SecondaryNames(secondaries)
        return secondaries.flatMap { secondary in
            secondary.list("history").filter { line in
                line.text("version") == row.text("version") && (line.body["digest"] ?? digest) == digest
            }.map { line in
                "\(names.label(of: secondary)) \(line.date("reported"))"
            }
        }.joined(separator: ", ")
    }

    /// The beginnings of the key identifiers that the signatures name.
    private static func signers(of row: Fact) -> String {
        (row.body["signers"]?.arrayValue ?? []).compactMap(\.dataValue).map { Hexadecimal.encode($0.prefix(4)) }
            .joined(separator: " ")
    }

    /// A line for the rows that were left out, if any were.
    package static func more(_ facts: Fact) -> [String] {
        let more = facts.body["more"]?.integerValue ?? 0
        return more > 0 ? ["and \(more) more"] : []
    }
}

extension Table {
    /// Items that failed too often (CTL-16).
    package static func deadLetters(_ letters: [Fact]) -> Table {
        let columns: [Table.Column] = [
            "app", "channel", .text("way", of: "direction"), "attempts", .text("bytes", of: "size"), "topic",
            "refusal", "id", .peer,
        ]
        return Table("dead letters", columns, of: letters)
    }
}
