// Signed configuration that is not to be applied: each daemon refuses it by name, no app is handed it, and what is
// applied stays. Most cases end with a valid one, which shows that a refusal has used nothing up.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemTestSupport
import TandemWire

enum ConfigurationRefusalCases {
    static let all = [
        onTheWay, carried, malformed, versions, waiting, byThePrimary, checkedHere, refusedByApp, crashes,
    ]

    /// Configurations that break one rule each, of a version, with the rejections of CFG-20.
    private static func faulty(_ version: Int64, _ stage: Stage) throws -> [(name: String, envelope: [UInt8])] {
        let statement = try stage.statement(version)
        return [
            ("threshold", try statement.envelope(by: [.trusted], spoilt: true)),
            ("threshold", try statement.envelope(by: [.stranger])),
            ("threshold", try statement.envelope(by: [])),
            ("dup-keyid", try statement.envelope(by: [.trusted, .trusted])),
            ("crit", try stage.signed(version, ["crit": ["colour"]])),
            ("wrong-type", try stage.signed(version, ["typ": "report"])),
            ("wrong-type", try stage.signed(version, ["spec": "2.0"])),
            ("wrong-target", try stage.signed(version, ["target": "custom:another"])),
            ("wrong-target", try stage.signed(version, ["only": [.data(UniqueIdentifier.random().bytes)]])),
            ("old-keyset", try stage.signed(version, ["keyset": 2])),
            ("expired", try stage.signed(version, ["expires": .integer(SigningDates.over)])),
            ("future", try stage.signed(version, ["nbf": .integer(SigningDates.far)])),
            ("future", try stage.signed(version, ["iat": .integer(SigningDates.far)])),
        ]
    }

    private static let onTheWay = Case(
        "CFG-20",
        "a secondary refuses by name a configuration that its primary could not check, and then applies a valid one"
    ) { stage in
        try stage.expectLinks()
        let app = try stage.configuredApp()
        var isFirst = true
        for (name, envelope) in try faulty(1, stage) where !["wrong-target", "wrong-type"].contains(name) {
            // Failures before step 9 are reported once a minute (CFG-52).
            let isEarly = ["threshold", "dup-keyid"].contains(name)
            guard !isEarly || isFirst else { continue }
            isFirst = false
            try stage.apply(envelope)
            try stage.expectDesired(["digest": .data(SHA256.digest(envelope)), "verdict": .string(name)])
        }
        try demand(app.offers.isEmpty, "none was offered: \(app.offers.count)")
        try stage.expectConfiguration("none")
        let envelope = try stage.signed(1)
        try stage.apply(envelope)
        try stage.live(app, with: envelope, version: 1)
        try stage.expectDesired(["version": 1, "verdict": "applied", "reported": 1])
    }

    private static let carried = Case(
        "CTL-5", "a copy that is carried to the secondary's own daemon goes through the same checks"
    ) { stage in
        try stage.expectLinks()
        try stage.applied(1)
        let app = try stage.configuredApp()
        for (name, envelope) in try faulty(2, stage) { try stage.expectVerdict(name, on: envelope, "a copy") }
        try demand(app.offers.isEmpty, "none was offered: \(app.offers.count)")
        try stage.expectConfiguration("applied", version: 1)
        let second = try stage.signed(2)
        try stage.expectVerdict("applied", on: second, "a valid one")
        try demand(app.offers.map(\.envelope) == [second], "it was offered: \(app.offers.count)")
        try demand(app.offers[0].frame.pairing == .zero, "CFG-42: through no pairing")
    }

    private static let malformed = Case(
        "CTL-5", "bytes that are no configuration are refused by name at both daemons, which go on"
    ) { stage in
        try stage.expectLinks()
        let app = try stage.configuredApp()
        let valid = try stage.statement(1)
        let envelope = try PropertyListReader.readDictionary(valid.envelope(by: [.trusted]))
        func changed(_ key: String, _ value: PropertyListValue?) throws -> [UInt8] {
            try PropertyListWriter.write(envelope.with(key, value))
        }
        let report = SignedStatement.report
        let faulty: [(name: String, bytes: [UInt8])] = [
            ("malformed", []), ("malformed", [1, 2, 3]), ("malformed", Array(try changed("v", 1).dropLast())),
            ("malformed", Array(repeating: UInt8(ascii: "b"), count: 1000)),
            ("oversize", Array(repeating: 0, count: 65_537)), ("shape", try changed("v", 2)),
            ("shape", try changed("payload", nil)), ("shape", try changed("signatures", "none")),
            ("shape", try changed("colour", "red")), ("wrong-type", try changed("payloadType", .string(report))),
            ("payload-malformed", try changed("payload", .data([1, 2, 3]))),
            ("payload-malformed", try stage.signed(1, ["ver": 0])),
            ("payload-malformed", try stage.signed(1, ["iat": nil])),
            ("payload-malformed", try stage.signed(1, ["values": ["colour": .data([1])]])),
        ]
        for (name, bytes) in faulty {
            try stage.expectRefused(name, bytes, "\(bytes.count) bytes at the primary")
            try stage.expectVerdict(name, on: bytes, "\(bytes.count) bytes at the secondary")
        }
        for place in [Place.primary, .secondary(0)] {
            let without = try stage.result(of: .apply, ["app": .string(Stage.appName)], at: place)
            try demand(without.name == "bad-request", "no envelope at the \(place): \(without.fault)")
        }
        try demand(app.offers.isEmpty, "none was offered: \(app.offers.count)")
        let whole = try valid.envelope(by: [.trusted])
        try stage.apply(whole)
        try stage.live(app, with: whole, version: 1)
    }

    private static let versions = Case(
        "CFG-30", "no version goes back, and no version has two contents; the same bytes again change nothing"
    ) { stage in
        try stage.expectLinks()
        let app = try stage.configuredApp()
        let statement = try stage.statement(5)
        let fifth = try statement.envelope(by: [.trusted])
        try stage.expectVerdict("applied", on: fifth, "version 5")
        try stage.live(app, with: fifth, version: 5)
        let next = try stage.configuredApp()
        try stage.expectVerdict("applied", on: fifth, "the same bytes")
        try stage.expectVerdict("applied", on: statement.envelope(by: [.trusted, .stranger]), "the same signed bytes")
        try stage.expectVerdict("equivocation", on: stage.signed(5), "other bytes of the version")
        try stage.expectVerdict("rollback", on: stage.signed(4), "a lower version")
        try demand(next.offers.isEmpty, "nothing is offered: \(next.offers.count)")
        try stage.expectVerdict("applied", on: stage.signed(6, ["floor": 10]), "a higher version, with a floor")
        try stage.expectVerdict("rollback", on: stage.signed(9), "a version below the floor")
        try stage.expectVerdict("applied", on: stage.signed(10), "the floor")
        try demand(next.versions == [6, 10], "the higher ones: \(next.versions)")
    }

    private static let waiting = Case(
        "CFG-32", "of the versions that wait for an app the highest is offered, and no lower one takes its place"
    ) { stage in
        try stage.expectLinks()
        try stage.end(stage.configuredApp())
        try stage.expectDeparture()
        try stage.expectVerdict("waiting-for-app", on: stage.signed(5), "the first one")
        try stage.expectVerdict("rollback", on: stage.signed(4), "a lower version")
        try stage.expectVerdict("equivocation", on: stage.signed(5), "other bytes of the version")
        let sixth = try stage.signed(6)
        for _ in 0..<2 { try stage.expectVerdict("waiting-for-app", on: sixth, "a higher version") }
        let app = try stage.configuredApp()
        try stage.live(app, with: sixth, version: 6)
        try demand(app.versions == [6], "the highest alone: \(app.versions)")
    }

    private static let byThePrimary = Case(
        "CFG-71", "a primary refuses a configuration that no secondary could take, and one older than the desired one"
    ) { stage in
        try stage.expectLinks()
        let stranger = PropertyListValue.data(UniqueIdentifier.random().bytes)
        try stage.expectRefused("wrong-target", stage.signed(1, ["target": "custom:another"]), "another target")
        try stage.expectRefused("wrong-target", stage.signed(1, ["only": [stranger]]), "another device")
        let none = try stage.desired()
        try demand(none.isEmpty, "nothing is desired: \(none)")
        let fifth = try stage.applied(5)
        try stage.expectRefused("rollback", stage.signed(4), "a lower version")
        try stage.expectRefused("equivocation", stage.signed(5), "other bytes of the version")
        try stage.apply(fifth)
        let body: PropertyListDictionary = ["app": .string(Stage.appName)]
        let list = try stage.answer(to: .configurationList, body, at: .primary)["desired"]?.arrayValue ?? []
        let row = list.first?.dictionaryValue ?? [:]
        let expected: PropertyListDictionary = [
            "version": 5, "digest": .data(SHA256.digest(fifth)), "secondaries": 1, "applied": 1, "drifted": 0,
            "signers": [.data(Signer.trusted.identifier)],
        ]
        try demand(list.count == 1, "one is desired: \(list)")
        for (key, value) in expected { try demand(row[key] == value, "its \(key): \(row)") }
        let app = try stage.configuredApp()
        stage.linger(.seconds(2))
        try demand(app.offers.isEmpty, "it is applied already: \(app.offers.count)")
    }

    private static let checkedHere = Case(
        "CFG-21", "a primary that trusts the app's key checks what it forwards, and one that does not says so"
    ) { stage in
        try stage.expectLinks()
        let app = try stage.configuredApp()
        let first = try stage.signed(1)
        let unchecked = try stage.apply(first)
        try demand(unchecked["unchecked"] == true, "no key is trusted here: \(unchecked)")
        try stage.live(app, with: first, version: 1)
        try stage.expectDesired(["version": 1, "verdict": "applied", "reported": 1])
        let trust: PropertyListDictionary = [
            "app": .string(Stage.appName), "role": "secondary", "key": .string(Signer.trusted.anchor),
        ]
        let added = try stage.answer(to: .trustAdd, trust, at: .primary)
        try demand(added["keyid"] == .data(Signer.trusted.identifier), "the key: \(added)")
        for (name, envelope) in try faulty(2, stage) { try stage.expectRefused(name, envelope, "one that is checked") }
        try stage.expectDesired(["version": 1, "verdict": "applied", "reported": 1])
        let next = try stage.configuredApp()
        let second = try stage.signed(2)
        let checked = try stage.apply(second)
        try demand(checked["unchecked"] != true, "it was checked: \(checked)")
        try stage.live(next, with: second, version: 2)
    }

    private static let refusedByApp = Case(
        "CFG-35", "a configuration that its app refuses is reported by that name, and the one before stays applied"
    ) { stage in
        try stage.expectLinks()
        try stage.applied(1)
        let refusing = try stage.configuredApp { _ in "schema" }
        let directory = try ApplicationDirectory(of: refusing)
        let before = directory?.bytes(of: "configuration.plist")
        try stage.apply(stage.signed(2))
        try stage.expectDesired(["version": 2, "verdict": "schema", "reported": 1])
        try demand(refusing.offers.count == 1, "it was offered once: \(refusing.offers.count)")
        try stage.expectConfiguration("applied", version: 1)
        try demand(directory?.bytes(of: "configuration.plist") == before, "its file as it was")
        try stage.poll("nothing waits") { directory?.bytes(of: "staged.plist") == nil }
        try stage.end(refusing)
        // A rejection uses no version up (CFG-30, CFG-71).
        let app = try stage.configuredApp()
        let other = try stage.signed(2)
        try stage.apply(other)
        try stage.live(app, with: other, version: 2)
        try stage.expectDesired(["version": 2, "verdict": "applied", "reported": 2])
    }

    private static let crashes = Case(
        "CFG-63", "a configuration with which its app ends time and again gives way to the one before, and is burnt"
    ) { stage in
        try stage.expectLinks()
        guard try stage.readsTrials() else { return }
        let first = try stage.applied(1)
        let second = try stage.signed(2)
        try stage.apply(second)
        // LIM-88: the offer is an attempt, and so is each registration during the trial. The trial lasts if each app
        // ends before LIM-87 (30 s) is over.
        for attempt in 1...3 {
            let app = try stage.configuredApp()
            if attempt == 1 {
                try stage.wait("it is offered") { !app.offers.isEmpty }
                try stage.expectDesired(["version": 2, "verdict": "applied", "reported": 2])
            }
            app.connection.close()
        }
        try stage.expectDesired(["version": 2, "verdict": "failed", "reported": 1])
        try stage.expectConfiguration("applied", version: 1)
        let app = try stage.configuredApp()
        if let directory = try ApplicationDirectory(of: app) {
            try stage.poll("the file of the one before, and no trial") {
                let applied = try directory.fields(of: "configuration.plist") ?? [:]
                return applied["envelope"] == .data(first) && directory.bytes(of: "trial.plist") == nil
            }
        }
        try stage.expectVerdict("rollback", on: second, "the same bytes")
        try stage.expectVerdict("equivocation", on: stage.signed(2), "other bytes of the version")
        try demand(app.offers.isEmpty, "nothing is offered: \(app.offers.count)")
        let third = try stage.signed(3)
        try stage.apply(third)
        try stage.live(app, with: third, version: 3)
    }
}
