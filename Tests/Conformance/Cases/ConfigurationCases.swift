// Signed configuration on its way: from the operator at the primary to the app at the secondary, and the report back.

import PairedSession
import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemWire

enum ConfigurationCases {
    static let all = [
        arrives, judgedFirst, waits, unregistered, files, restored, otherApps, narrowed, handedOver, away,
        primaryKilled,
        secondaryKilled, unpaired, withdrawn, rollout, lifetime,
    ]

    private static let arrives = Case(
        "CFG-40",
        "an applied configuration is offered to the secondary's app byte for byte, and its verdict is reported"
    ) { stage in
        try stage.expectLinks()
        let app = try stage.configuredApp()
        let envelope = try stage.signed(1)
        try stage.apply(envelope)
        try stage.live(app, with: envelope, version: 1)
        try demand(app.offers.count == 1, "once: \(app.offers.count)")
        let offer = app.offers[0]
        try demand(offer.frame.pairing == stage.world.pairings[0] && offer.frame.wantsReply, "its frame")
        let expected: PropertyListDictionary = [
            "tandem.target": .string(try stage.target()),
            "tandem.device": .data(try stage.device(at: .secondary(0)).bytes),
        ]
        for (key, value) in expected { try demand(offer.body[key] == value, "its \(key): \(offer.body)") }
        try demand(offer.body["tandem.mark"] == nil, "no version is refused yet: \(offer.body)")
        try stage.expectDesired([
            "version": 1, "digest": .data(SHA256.digest(envelope)), "verdict": "applied", "reported": 1,
        ])
        let next = try stage.configuredApp()
        let second = try stage.signed(2)
        try stage.apply(second)
        try stage.live(next, with: second, version: 2)
        try demand(next.offers.count == 1, "the next one, once: \(next.offers.count)")
        try demand(next.offers[0].body["tandem.mark"] == 1, "version 1 is refused: \(next.offers[0].body)")
        try stage.expectDesired(["version": 2, "verdict": "applied", "reported": 2])
    }

    private static let judgedFirst = Case(
        "CFG-35", "a configuration is reported as applied after its app has said so, and not before"
    ) { stage in
        try stage.expectLinks()
        let app = try stage.configuredApp { _ in nil }
        let envelope = try stage.signed(1)
        try stage.apply(envelope)
        try stage.wait("it is offered") { !app.offers.isEmpty }
        stage.linger(.seconds(2))
        let (desired, own) = (try stage.desired(), try stage.configuration())
        try demand(desired["verdict"] != "applied" && desired["reported"] == nil, "not applied: \(desired)")
        try demand(own["state"] != "applied", "not applied: \(own)")
        try app.apply(app.offers[0])
        try stage.live(app, with: envelope, version: 1)
        try stage.expectDesired(["verdict": "applied", "reported": 1])
    }

    private static let waits = Case(
        "CFG-43", "a configuration waits for its app, and is offered again to one that has left without an answer"
    ) { stage in
        try stage.expectLinks()
        try stage.end(stage.configuredApp())
        try stage.expectDeparture()
        let envelope = try stage.signed(1)
        try stage.apply(envelope)
        try stage.expectDesired(["verdict": "waiting-for-app"])
        try stage.expectConfiguration("waiting for app", version: 1)
        let silent = try stage.configuredApp { _ in nil }
        try stage.wait("it is offered") { silent.offers.last?.envelope == envelope }
        silent.connection.close()
        try stage.live(stage.configuredApp(), with: envelope, version: 1)
        try stage.expectDesired(["verdict": "applied", "reported": 1])
    }

    private static let unregistered = Case(
        "CFG-74", "a configuration that came before its app is delivered again once the app has registered with its key"
    ) { stage in
        try stage.expectLinks()
        let envelope = try stage.signed(1)
        try stage.apply(envelope)
        var last: PropertyListDictionary = [:]
        // An earlier daemon has no other word for it.
        try stage.poll("no key is known there: \(last)") {
            last = try stage.desired()
            return ["waiting-for-key", "no-key"].contains(last["verdict"]?.stringValue)
        }
        let app = try stage.configuredApp()
        try stage.live(app, with: envelope, version: 1)
        try stage.expectDesired(["verdict": "applied", "reported": 1])
    }

    private static let files = Case(
        "CFG-36", "the offered and the applied configuration are in the app's directory, byte for byte"
    ) { stage in
        try stage.expectLinks()
        let app = try stage.configuredApp { _ in nil }
        guard let directory = try ApplicationDirectory(of: app) else { return }
        let envelope = try stage.signed(1)
        try stage.apply(envelope)
        try stage.wait("it is offered") { !app.offers.isEmpty }
        let staged = try directory.fields(of: "staged.plist")?["envelope"]?.dataValue
        try demand(staged == envelope, "staged.plist: \(staged?.count ?? 0) bytes")
        try demand(directory.bytes(of: "configuration.plist") == nil, "nothing is applied yet")
        try app.apply(app.offers[0])
        try stage.live(app, with: envelope, version: 1)
        let applied = try directory.fields(of: "configuration.plist") ?? [:]
        let expected: PropertyListDictionary = [
            "v": 1, "envelope": .data(envelope), "app": .string(Stage.appName), "role": "secondary",
            "target": .string(try stage.target()), "device": .data(try stage.device(at: .secondary(0)).bytes),
            "keyset": 1, "version": 1, "digest": .data(SHA256.digest(envelope)),
        ]
        for (key, value) in expected { try demand(applied[key] == value, "its \(key): \(applied)") }
        var left: [String] = []
        try stage.poll("nothing waits or is on trial: \(left)") {
            left = ["staged.plist", "trial.plist", "waived.plist"].filter { directory.bytes(of: $0) != nil }
            return left.isEmpty
        }
    }

    private static let restored = Case(
        "CFG-116", "a file of the configuration that somebody has changed is written again, and the app reads it again"
    ) { stage in
        try stage.expectLinks()
        let app = try stage.configuredApp()
        guard let directory = try ApplicationDirectory(of: app) else { return }
        let envelope = try stage.signed(1)
        try stage.apply(envelope)
        try stage.live(app, with: envelope, version: 1)
        let file = directory.bytes(of: "configuration.plist")
        try directory.spoil("configuration.plist")
        let next = try stage.configuredApp()
        // Not after the first reload: a daemon may send one at any time (CFG-42).
        try stage.poll("the file as it was") { directory.bytes(of: "configuration.plist") == file }
        try stage.wait("it reads its files again") { next.reloads > 0 }
        try demand(next.offers.isEmpty, "it is applied already: \(next.offers.count) offers")
    }

    private static let otherApps = Case(
        "CFG-40", "no other app, and no connection that only sends, is given an app's configuration"
    ) { stage in
        try stage.expectLinks()
        let other = try stage.configuredApp(named: "org.example.another")
        let sender = try stage.registered(at: .secondary(0), receives: false)
        let counterpart = try stage.configuredApp(at: .primary)
        let app = try stage.configuredApp()
        let envelope = try stage.signed(1)
        let apart: PropertyListDictionary = ["app": "org.example.another"]
        try stage.expectRefused("wrong-app", envelope, "for another app", apart)
        try stage.expectVerdict("wrong-app", on: envelope, "for another app", apart)
        try stage.apply(envelope)
        try stage.live(app, with: envelope, version: 1)
        stage.linger(.seconds(2))
        for one in [other, counterpart] {
            try demand(one.offers.isEmpty, "\(one.name): \(one.offers.count)")
            try stage.expectAnswer(to: one.connection)
        }
        try demand(sender.received(.configuration).isEmpty, "the connection that only sends")
    }

    private static let narrowed = Case(
        "CFG-70", "a configuration that names some secondaries is delivered to no other one", secondaries: 2
    ) { stage in
        try stage.expectLinks()
        let apps = try (0..<2).map { try stage.configuredApp(at: .secondary($0)) }
        let named = try stage.device(at: .secondary(1))
        let envelope = try stage.signed(1, ["only": [.data(named.bytes)]])
        try stage.apply(envelope)
        try stage.wait("it is offered there") { apps[1].offers.last?.envelope == envelope }
        try stage.end(apps[1])
        try stage.expectDesired(of: 1, ["version": 1, "verdict": "applied", "reported": 1])
        stage.linger(.seconds(2))
        try demand(apps[0].offers.isEmpty, "the other one: \(apps[0].offers.count)")
        let other = try stage.desired(of: 0)
        try demand(other.isEmpty, "nothing is desired of the other one: \(other)")
        let wide = try stage.signed(2)
        try stage.apply(wide)
        try stage.live(apps[0], with: wide, version: 2)
    }

    private static let handedOver = Case(
        "SES-54", "a configuration that an app hands to its own daemon is judged like any other, and the app told how"
    ) { stage in
        try stage.expectLinks()
        let app = try stage.configuredApp()
        let faulty: [(name: String, envelope: [UInt8])] = [
            ("malformed", [1, 2, 3]), ("threshold", try stage.statement(1).envelope(by: [.trusted], spoilt: true)),
            ("wrong-target", try stage.signed(1, ["target": "custom:another"])),
            ("wrong-role", try stage.signed(1, ["role": "primary"])),
        ]
        for (name, envelope) in faulty {
            let answer = try stage.handOver(envelope, by: app)
            try demand(answer["verdict"] == .string(name), "\(name): \(answer)")
        }
        try demand(app.offers.isEmpty, "none was offered: \(app.offers.count)")
        let envelope = try stage.signed(1)
        let answer = try stage.handOver(envelope, by: app)
        try demand(answer["verdict"] == "applied", "applied: \(answer)")
        try stage.live(app, with: envelope, version: 1)
    }

    private static let away = Case(
        "CFG-72", "of the versions applied while a secondary is away the newest arrives when it is back",
        needs: [.cut]
    ) { stage in
        try stage.expectLinks()
        let witness = try stage.registered(at: .primary)
        let app = try stage.configuredApp()
        try stage.wait("the apps reach each other") { try witness.isReachable }
        try stage.unlink(witness)
        try stage.apply(stage.signed(1))
        let envelope = try stage.signed(2)
        try stage.apply(envelope)
        let desired = try stage.desired()
        try demand(desired["version"] == 2 && desired["verdict"] == nil, "version 2, not reported: \(desired)")
        try demand(desired["linked"] == false && desired["stale"] != nil, "no link, and stale: \(desired)")
        stage.relink()
        try stage.live(app, with: envelope, version: 2)
        try demand(app.versions == [2], "the newest alone: \(app.versions)")
        try stage.expectDesired(["version": 2, "verdict": "applied", "reported": 2, "linked": true])
        let reported = try stage.desired()
        try demand(reported["stale"] == nil, "no longer stale: \(reported)")
    }

    private static let primaryKilled = Case(
        "CFG-70", "a desired configuration outlives the primary's daemon, and arrives afterwards",
        needs: [.cut, .restart, .kill]
    ) { stage in
        try stage.expectLinks()
        let witness = try stage.registered(at: .primary)
        let app = try stage.configuredApp()
        try stage.wait("the apps reach each other") { try witness.isReachable }
        try stage.unlink(witness)
        let envelope = try stage.signed(1)
        try stage.apply(envelope)
        try stage.restart(.primary, .killed)
        let desired = try stage.desired()
        try demand(desired["digest"] == .data(SHA256.digest(envelope)), "it is desired: \(desired)")
        stage.relink()
        try stage.live(app, with: envelope, version: 1)
        try stage.expectDesired(["version": 1, "verdict": "applied", "reported": 1])
        let next = try stage.configuredApp()
        try stage.restart(.primary, .killed)
        try stage.expectDesired(["version": 1, "verdict": "applied", "reported": 1, "linked": true])
        stage.linger(.seconds(2))
        try stage.expectAnswer(to: next.connection)
        try demand(next.offers.isEmpty, "it is not offered again: \(next.offers.count)")
    }

    private static let secondaryKilled = Case(
        "CFG-35", "applied, waiting and refused versions outlive the secondary's daemon",
        needs: [.restart, .kill]
    ) { stage in
        try stage.expectLinks()
        let first = try stage.applied(1)
        let second = try stage.signed(2)
        try stage.apply(second)
        try stage.expectDesired(["version": 2, "verdict": "waiting-for-app", "reported": 1])
        try stage.restart(.secondary(0), .killed)
        let app = try stage.configuredApp()
        try stage.live(app, with: second, version: 2)
        try stage.expectDesired(["version": 2, "verdict": "applied", "reported": 2])
        try stage.restart(.secondary(0), .killed)
        try stage.expectConfiguration("applied", version: 2)
        let next = try stage.configuredApp()
        try stage.expectVerdict("rollback", on: first, "a lower version")
        try stage.expectVerdict("equivocation", on: stage.signed(2), "other bytes of the version")
        try stage.expectVerdict("applied", on: second, "the same bytes")
        try demand(next.offers.isEmpty, "nothing is offered: \(next.offers.count)")
    }

    private static let unpaired = Case(
        "CFG-31",
        "the end of a pairing ends its configuration, whose versions stay refused in the next one",
        needs: [.control]
    ) { stage in
        try stage.expectLinks()
        let first = try stage.applied(1)
        let app = try stage.configuredApp()
        let directory = try ApplicationDirectory(of: app)
        let former = stage.world.pairings[0]
        let reloads = app.reloads
        try stage.answer(to: .unpair, ["pairing": .data(former.bytes), "yes": true], at: .secondary(0))
        try stage.wait("the app reads its files again") { app.reloads > reloads }
        try stage.wait("the app knows that the pairing has ended") { try app.connection.entries.isEmpty }
        try stage.expectConfiguration("none")
        try stage.poll("its file is gone") { directory?.bytes(of: "configuration.plist") == nil }
        let body: PropertyListDictionary = ["link": .string(try stage.joinLink()), "replace": true]
        try stage.answer(to: .join, body, at: .secondary(0))
        try stage.wait("the new pairing is linked", pauses: Backoff.longest) {
            try app.connection.entry["pairing"] != nil && app.connection.entry["level"] != "unreachable"
        }
        try stage.expectVerdict("rollback", on: first, "the same bytes")
        try stage.expectVerdict("rollback", on: stage.signed(1), "other bytes of the version")
        try demand(app.offers.isEmpty, "nothing is offered: \(app.offers.count)")
        let second = try stage.signed(2)
        try stage.apply(second)
        try stage.live(app, with: second, version: 2)
    }

    private static let withdrawn = Case(
        "CFG-77", "a withdrawn configuration stays applied at its secondary, where a lower version is a rollback"
    ) { stage in
        try stage.expectLinks()
        try stage.applied(5)
        let body: PropertyListDictionary = ["app": .string(Stage.appName)]
        let answer = try stage.answer(to: .configurationWithdraw, body, at: .primary)
        try demand(answer["versions"] == [5], "version 5: \(answer)")
        try demand(answer["applied"]?.arrayValue?.count == 1, "one secondary has it: \(answer)")
        let none = try stage.desired()
        try demand(none.isEmpty, "nothing is desired: \(none)")
        let again = try stage.result(of: .configurationWithdraw, body, at: .primary)
        try demand(again.name == "not-found", "nothing is left to withdraw: \(again.fault)")
        let app = try stage.configuredApp()
        try stage.apply(stage.signed(4))
        try stage.expectDesired(["version": 4, "verdict": "rollback", "reported": 5])
        try stage.expectConfiguration("applied", version: 5)
        let next = try stage.signed(6)
        try stage.apply(next)
        try stage.live(app, with: next, version: 6)
        try demand(app.versions == [6], "the lower one never: \(app.versions)")
    }

    private static let rollout = Case(
        "CFG-79", "the others get a configuration after the first secondaries have lived with it, or not at all",
        secondaries: 2
    ) { stage in
        try stage.expectLinks()
        let apps = try (0..<2).map { try stage.configuredApp(at: .secondary($0)) }
        let pairings = stage.world.pairings
        let first: PropertyListDictionary = ["only": [.string(pairings[1].description)]]
        let envelope = try stage.signed(1)
        try stage.apply(envelope, first)
        try stage.wait("it is offered to the first") { apps[1].offers.last?.envelope == envelope }
        stage.linger(.seconds(2))
        // True as long as the steps from the offer to here take less than LIM-87 (30 s).
        let held = try stage.results(of: envelope)
        try demand(held[pairings[0]]?["state"] == "held-back", "the other one waits: \(held)")
        try demand(apps[0].offers.isEmpty, "nothing for the other one: \(apps[0].offers.count)")
        try stage.end(apps[1])
        try stage.live(apps[0], with: envelope, version: 1)

        let other = try stage.configuredApp(at: .secondary(0))
        let refusing = try stage.configuredApp(at: .secondary(1)) { _ in "schema" }
        let second = try stage.signed(2)
        try stage.apply(second, first)
        var last: [UniqueIdentifier: PropertyListDictionary] = [:]
        try stage.poll("the rollout stops: \(last)") {
            last = try stage.results(of: second)
            return last[pairings[1]]?["verdict"] == "schema" && last[pairings[0]]?["state"] == "stopped"
        }
        stage.linger(.seconds(2))
        try demand(other.offers.isEmpty && refusing.offers.count == 1, "one offer: \(other.offers.count)")
    }

    private static let lifetime = Case(
        "CFG-34", "a configuration whose lifetime is over is applied no longer, and only a higher version follows it"
    ) { stage in
        try stage.expectLinks()
        let app = try stage.configuredApp()
        let envelope = try stage.signed(1, ["lifetime": 1])
        try stage.apply(envelope)
        try stage.wait("it is offered") { !app.offers.isEmpty }
        // A daemon looks every now and then.
        try stage.expectConfiguration("none", pauses: .seconds(20))
        try stage.expectVerdict("rollback", on: envelope, "the same bytes")
        let second = try stage.signed(2)
        try stage.apply(second)
        try stage.live(app, with: second, version: 2)
    }
}
