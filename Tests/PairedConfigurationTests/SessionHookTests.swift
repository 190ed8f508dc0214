// The hook: what is not ours, what is applied, what is refused and by which name; and that a refusal changes nothing.

import PairedConfiguration
import TandemCrypto
import TandemSignedConfiguration
import Testing

/// `@unchecked`: every property is a wrapper around state behind a mutex.
private final class RestartingConfiguration: Configuration, @unchecked Sendable {
    @Slider("Volume", in: 0...100, restart: true) var volume = 75
    @Toggle("Logging") var logging = false
    @Edit("Name", restart: true) var name = "alarm"

    override var publicKey: String? { AppConfiguration.key.publicKey.key.pem }
}

@Suite struct SessionHookTests {
    private let fixture: Fixture
    private let app: AppConfiguration

    init() throws {
        fixture = try Fixture()
        app = fixture.app()
    }

    @Test("SET-47: the report says which of the applied values take effect at the next start")
    func valuesThatWaitForARestart() throws {
        let app = RestartingConfiguration()
        fixture.load(app, in: nil)
        func text(_ version: UInt64, _ values: PropertyListDictionary) throws -> PropertyListValue? {
            let envelope = try fixture.envelope(version: version, values: values)
            let reply = try #require(app.sessionDidReceiveMessage(try fixture.message(envelope)))
            #expect(reply["tandem.verdict"] == "applied")
            return reply["tandem.text"]
        }
        #expect(try text(7, ["volume": 90, "logging": true]) == "at the app's next start: volume")
        #expect(try text(8, ["volume": 80, "name": "clock"]) == "at the app's next start: volume, name")
        #expect(try text(9, ["logging": true]) == nil)
    }

    @Test(
        "CFG-41: a message without our mark is the app's own",
        arguments: [
            [:], ["text": "hello"], ["configuration": .data([1])], ["tandem.other": 1],
            ["Tandem.configuration": .data([1])],
        ] as [PropertyListDictionary])
    func aMessageWithoutOurMarkIsTheAppsOwn(message: PropertyListDictionary) throws {
        #expect(app.sessionDidReceiveMessage(message) == nil)
        #expect(app.volume == 75)
    }

    @Test("CFG-41: a configuration is applied and answered")
    func aConfigurationIsAppliedAndAnswered() throws {
        let seen = app.observedChanges()
        let envelope = try fixture.envelope(values: ["volume": 90, "logging": true, "colour": "#ffe4e1"])
        let reply = try #require(app.sessionDidReceiveMessage(try fixture.message(envelope)))
        #expect(reply["tandem.verdict"] == "applied")
        #expect(reply["tandem.digest"] == .data(SHA256.digest(envelope)))
        #expect(reply["tandem.version"] == 7)
        #expect(reply["tandem.txid"]?.dataValue == app.applied?.transaction.bytes)
        #expect(app.volume == 90 && app.logging && app.colour == "#ffe4e1")
        let batches = seen.all
        #expect(batches.count == 1)
        #expect(batches.first?.origin == .signed)
        #expect(batches.first?.changes.map(\.name) == ["logging", "volume", "colour"])
        app.volume = 60
        #expect(app.volume == 90, "a signed override hides what is set in code")
    }

    @Test("CFG-12: the payload applies whole or not at all")
    func thePayloadAppliesWholeOrNotAtAll() throws {
        let bad = try fixture.envelope(values: ["logging": true, "volume": 101, "rating": 10])
        let reply = try #require(app.sessionDidReceiveMessage(try fixture.message(bad)))
        #expect(reply["tandem.verdict"] == "schema")
        #expect(reply["tandem.text"]?.stringValue?.contains("volume: 101") == true)
        #expect(!app.logging && app.volume == 75 && app.rating == 50)
        #expect(app.applied == nil)
        #expect(fixture.verdict(app, try fixture.message(try fixture.envelope())) == "applied")
        #expect(
            fixture.verdict(app, try fixture.message(try fixture.envelope(version: 8, values: ["speed": 1])))
                == "schema")
        let optional = try fixture.envelope(version: 8, values: ["speed": 1]) { $0.optional = ["speed"] }
        #expect(fixture.verdict(app, try fixture.message(optional)) == "applied")
        #expect(app.volume == 75, "an absent key has no override")
    }

    @Test("CFG-12: an empty configuration takes all overrides away; one for another target takes none")
    func anEmptyConfiguration() throws {
        let values: PropertyListDictionary = ["volume": 90, "logging": true, "colour": "#ffe4e1"]
        let first = try fixture.envelope(version: 7, values: values)
        #expect(fixture.verdict(app, try fixture.message(first)) == "applied")
        let elsewhere = try PairedIdentifier(text: "custom:hw-2")
        let foreign = try fixture.envelope(version: 8, values: [:]) { $0.target = elsewhere }
        #expect(fixture.verdict(app, try fixture.message(foreign)) == "wrong-target")
        #expect(app.volume == 90 && app.logging && app.colour == "#ffe4e1" && app.applied?.version == 7)
        let empty = try fixture.envelope(version: 8, values: [:])
        #expect(fixture.verdict(app, try fixture.message(empty)) == "applied")
        #expect(app.volume == 75 && !app.logging && app.colour == nil && app.applied?.version == 8)
        app.volume = 60
        #expect(app.volume == 60, "nothing signed hides what is set in code")
    }

    @Test("CFG-12, CFG-20: the schema is asked last and names what is wrong")
    func theSchemaIsAskedLastAndNamesWhatIsWrong() throws {
        let bad: PropertyListDictionary = ["volume": 101, "later": 1]
        let reply = try #require(
            app.sessionDidReceiveMessage(
                try fixture.message(try fixture.envelope(values: bad) { $0.optional = ["later"] })))
        #expect(reply["tandem.verdict"] == "schema" && reply["tandem.txid"] != nil)
        #expect(reply["tandem.text"]?.stringValue?.contains("volume") == true)
        let late = try fixture.envelope(values: bad) { $0.keySetVersion = 2 }
        #expect(fixture.verdict(app, try fixture.message(late)) == "old-keyset")
    }

    @Test("CFG-30: the version of another primary's configuration says nothing about this one's")
    func versionsOfTwoTargets() throws {
        #expect(fixture.verdict(app, try fixture.message(try fixture.envelope(version: 7))) == "applied")
        let other = try PairedIdentifier(text: "custom:hw-2")
        var message = try fixture.message(try fixture.envelope(version: 1) { $0.target = other })
        message["tandem.target"] = .string(other.text)
        #expect(fixture.verdict(app, message) == "applied")
        #expect(app.applied?.version == 1 && app.applied?.target == other)
    }

    @Test func theSameOneTwiceIsAppliedOnceAndAnOlderOneIsRefused() throws {
        let events = app.observedEvents()
        let message = try fixture.message(try fixture.envelope())
        #expect(fixture.verdict(app, message) == "applied")
        #expect(fixture.verdict(app, message) == "applied")
        #expect(events.all.count == 1)
        #expect(fixture.verdict(app, try fixture.message(try fixture.envelope(version: 6))) == "rollback")
        #expect(fixture.verdict(app, try fixture.message(try fixture.envelope(version: 7))) == "equivocation")
        #expect(fixture.verdict(app, try fixture.message(try fixture.envelope(version: 8), mark: 9)) == "rollback")
        #expect(fixture.verdict(app, try fixture.message(try fixture.envelope(version: 8), mark: 7)) == "applied")
    }

    @Test func aForeignSignatureIsRefusedWithOneEventAndNothingChanges() throws {
        #expect(fixture.verdict(app, try fixture.message(try fixture.envelope(version: 6))) == "applied")
        let events = app.observedEvents()
        let foreign = try fixture.envelope(values: ["volume": 50], key: ConfigurationPrivateKey.generate())
        for allowed in [false, true] {
            let message = try fixture.message(foreign, allowsInvalid: allowed)
            #expect(fixture.verdict(app, message) == "threshold", "the app's half is no")
        }
        #expect(app.volume == 90 && app.applied?.version == 6)
        #expect(events.all.count == 2)
    }

    @Test("CFG-22: an invalid signature is taken only if app and daemon allow it and is marked")
    func anInvalidSignatureIsTakenOnlyIfAppAndDaemonAllowItAndIsMarked() throws {
        let app = LenientConfiguration()
        fixture.load(app, in: nil)
        let foreign = try fixture.envelope(version: 50, values: ["volume": 50], key: ConfigurationPrivateKey.generate())
        #expect(fixture.verdict(app, try fixture.message(foreign)) == "threshold")
        #expect(fixture.verdict(app, try fixture.message(foreign, allowsInvalid: true)) == "applied")
        #expect(app.volume == 50)
        #expect(app.applied?.hasInvalidSignature == true)
        #expect(app.applied?.description.hasSuffix(", with an invalid signature") == true)
        let good = try fixture.envelope(version: 7)
        #expect(fixture.verdict(app, try fixture.message(good, allowsInvalid: true)) == "applied")
        #expect(app.applied?.hasInvalidSignature == false)
        #expect(app.applied?.description.contains("invalid") == false)
        #expect(app.volume == 90)
    }

    @Test("CFG-22, CFG-35: what is applied with an invalid signature is already applied when it is offered again")
    func anInvalidSignatureThatIsApplied() throws {
        let (app, time) = (LenientConfiguration(), TestTime())
        fixture.load(app, in: nil, time: time.time)
        func foreign() throws -> [UInt8] {
            try fixture.envelope(version: 50, key: ConfigurationPrivateKey.generate()) {
                $0.expires = Fixture.now.seconds + 60
            }
        }
        let (applied, other) = (try foreign(), try foreign())
        #expect(fixture.verdict(app, try fixture.message(applied, allowsInvalid: true)) == "applied")
        time.advance(by: .seconds(120))
        #expect(fixture.verdict(app, try fixture.message(applied, allowsInvalid: true)) == "applied")
        #expect(fixture.verdict(app, try fixture.message(other, allowsInvalid: true)) == "expired")
        #expect(fixture.verdict(app, try fixture.message(applied)) == "threshold")
    }

    @Test("CFG-22, CFG-33: what is applied sets the app's clock floor, unless its signature is invalid")
    func theClockFloorOfWhatIsApplied() throws {
        for isGood in [true, false] {
            let (app, time) = (LenientConfiguration(), TestTime())
            fixture.load(app, in: nil, time: time.time)
            let key = isGood ? AppConfiguration.key : ConfigurationPrivateKey.generate()
            let first = try fixture.message(try fixture.envelope(version: 7, key: key), allowsInvalid: true)
            #expect(fixture.verdict(app, first) == "applied")
            // It was issued 60 s before.
            time.setWall(Fixture.now + .seconds(-61))
            let next = try fixture.envelope(version: 8) { $0.issued = Fixture.now.seconds - 3600 }
            #expect(fixture.verdict(app, try fixture.message(next)) == (isGood ? "clock-unset" : "applied"))
            time.setWall(Fixture.now + .seconds(-60))
            #expect(fixture.verdict(app, try fixture.message(next)) == "applied")
        }
    }

    @Test("CFG-68: where no files are kept, a lifetime that has ended stays ended when the bytes are offered again")
    func aLifetimeThatHasEndedWithoutFiles() throws {
        let time = TestTime()
        let app = fixture.app(time: time)
        let brief = try fixture.message(try fixture.envelope { $0.lifetime = 60 })
        #expect(fixture.verdict(app, brief) == "applied")
        time.advance(by: .seconds(60))
        #expect(app.volume == 75 && fixture.verdict(app, brief) == "rollback" && app.volume == 75)
    }

    @Test("CFG-42: reading what is applied again is no event, and no change of a value")
    func readingAgainIsNoEvent() throws {
        #expect(fixture.verdict(app, try fixture.message(try fixture.envelope())) == "applied")
        let (events, changes) = (app.observedEvents(), app.observedChanges())
        for _ in 0..<2 { #expect(fixture.verdict(app, ["tandem.reload": true]) == "applied") }
        #expect(app.volume == 90 && events.all.isEmpty && changes.all.isEmpty)
    }

    @Test("CFG-20: an identifier with line ends and escape sequences forges no line of a log")
    func anIdentifierForgesNoLine() throws {
        let fixture = try Fixture(target: "custom:a\nb\u{1B}[31m")
        let app = fixture.app()
        let events = app.observedEvents()
        #expect(fixture.verdict(app, try fixture.message(try fixture.envelope())) == "applied")
        let other = try PairedIdentifier(text: "custom:c\nd\u{1B}[31m")
        let elsewhere = try fixture.envelope(version: 8) { $0.target = other }
        #expect(fixture.verdict(app, try fixture.message(elsewhere)) == "wrong-target")
        let lines = events.all.compactMap { event -> String? in
            switch event {
            case .applied(let applied): applied.description
            case .rejected(let rejection): rejection.description
            default: nil
            }
        }
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { line in line.utf8.allSatisfy { $0 >= 0x20 } })
        #expect(lines.first?.hasPrefix("version 7 for custom:a\\nb\\u{1b}[31m, txid ") == true)
        #expect(lines.last?.contains("'custom:c\\nd\\u{1b}[31m'") == true)
    }

    @Test func targetApplicationAndRoleAreTheAppsOwn() throws {
        let elsewhere = try fixture.envelope { $0.target = .vendor(.random()) }
        #expect(fixture.verdict(app, try fixture.message(elsewhere)) == "wrong-target")
        let primary = try fixture.envelope { $0.role = .primary }
        #expect(fixture.verdict(app, try fixture.message(primary)) == "wrong-role")
        let other = try ApplicationIdentifier("org.example.other")
        let foreign = try fixture.envelope { $0.application = other }
        #expect(fixture.verdict(app, try fixture.message(foreign)) == "wrong-app")
        #expect(app.applied == nil && app.volume == 75)
        let unloaded = AppConfiguration()
        #expect(fixture.verdict(unloaded, try fixture.message(try fixture.envelope())) == "wrong-app")
    }

    @Test("CFG-41: a message of another form is answered and never shown to the app")
    func aMessageOfAnotherFormIsAnsweredAndNeverShownToTheApp() throws {
        let good = try fixture.message(try fixture.envelope())
        for key in ["tandem.target", "tandem.device", "tandem.allowsInvalid"] {
            var message = good
            message[key] = nil
            #expect(fixture.verdict(app, message) == "malformed")
        }
        #expect(fixture.verdict(app, ["tandem.configuration": 1]) == "malformed")
        #expect(fixture.verdict(app, ["tandem.reload": false]) == "malformed")
        var oversize = good
        oversize["tandem.configuration"] = .data(Array(repeating: 0, count: 65_537))
        #expect(fixture.verdict(app, oversize) == "oversize")
        #expect(app.applied == nil)
    }

    @Test("CFG-15: without an anchor nothing is taken")
    func withoutAnAnchorNothingIsTaken() throws {
        let app = BareConfiguration()
        fixture.load(app, in: nil)
        #expect(fixture.verdict(app, try fixture.message(try fixture.envelope(values: [:]))) == "no-key")
    }
}

/// An app that allows invalid signatures.
///
/// `@unchecked`: its property is a wrapper around state behind a mutex.
private final class LenientConfiguration: Configuration, @unchecked Sendable {
    @Slider("Alarm volume", in: 50...100) var volume = 75

    override var publicKey: String? { AppConfiguration.key.publicKey.key.pem }
    override var allowsInvalidSignatures: Bool { true }
}
