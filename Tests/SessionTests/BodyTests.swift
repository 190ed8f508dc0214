// The bodies of register, registered, state and application: round trips, and every fault named by its key.

import TandemBase
import TandemPropertyList
import TandemSession
import TandemWire
import Testing

struct BodyTests {
    private let now = MonotonicTime(nanoseconds: 60_000_000_000)

    private func state() throws -> SessionState {
        let custom = PairedIdentifier.custom(try CustomIdentifier("Küche"))
        let entry = PairingState(
            pairing: .random(), peer: .random(), name: "panel", role: .secondary, target: custom, isInstalled: true,
            level: .background, reason: .counterpartAbsent, since: now + .seconds(-3))
        return SessionState(revision: 7, active: entry.pairing, pairings: [entry])
    }

    @Test("SES-7: a state is read as it was written, since as elapsed milliseconds")
    func stateRoundTrip() throws {
        let body = try state().body(now: now)
        let read = try SessionState(body: body, now: now)
        #expect(read.body(now: now) == body)
        #expect(body["pairings"]?.arrayValue?.first?.dictionaryValue?["since"] == .integer(3000))
        let later = try SessionState(body: body, now: now + .seconds(100))
        #expect(later.pairings.first?.since == now + .seconds(97))
    }

    @Test("SES-6, SES-71: registered is read as it was written")
    func registeredRoundTrip() throws {
        let answer = RegistrationAnswer(
            device: .random(), role: .primary, directory: "/x", uid: 1000, state: try state(), wantsSchema: true)
        #expect(try RegistrationAnswer(body: answer.body(now: now), now: now) == answer)
    }

    @Test("SES-5, SES-71, SES-80: register is read as it was written, with the stated defaults")
    func registerRoundTrip() throws {
        let full = Registration(
            receives: false, anchor: "PEM", identifier: try CustomIdentifier("x"), allowsInvalidSignatures: true,
            schema: Array(repeating: 1, count: 32), questions: try #require(ProvidedNames(["press", "later"])))
        #expect(try Registration(body: full.body) == full)
        #expect(try Registration(body: [:]) == Registration())
        for wrong: PropertyListValue in ["press", [1], [""], .array((0..<17).map { .string("\($0)") })] {
            #expect(throws: WireError.self) { try Registration(body: ["questions": wrong]) }
        }
    }

    @Test("SES-5, LIM-160: an anchor that is too long or not ASCII is read as an empty one")
    func costlyAnchors() throws {
        func anchor(_ text: String) throws -> String? { try Registration(body: Registration(anchor: text).body).anchor }
        let longest = String(repeating: "A", count: 24_576)
        #expect(try anchor(longest) == longest && anchor(longest + "A") == "")
        #expect(try anchor("s" + String(repeating: "\u{345}", count: 40)) == "" && anchor("K\u{E9}") == "")
    }

    @Test("SET-84 LIM-107: the manifest's texts travel with the features, and other texts are refused")
    func identities() throws {
        let identity = ApplicationIdentity(name: "Küche", version: "1.2", icon: "icon.png")
        let features = ApplicationFeatures(identity: identity)
        #expect(try Registration(body: Registration(features: features).body).features == features)
        let announced = ApplicationAnnouncement(
            isInstalled: true, isConnected: true, trust: .noKey, features: features)
        #expect(try ApplicationAnnouncement(body: announced.body).features.identity == identity)
        for (key, limit) in [("appName", 128), ("appVersion", 64), ("appIcon", 255)] {
            let longest = PropertyListValue.string(String(repeating: "x", count: limit))
            #expect(throws: Never.self) { try Registration(body: [key: longest]) }
            for wrong in [.string(String(repeating: "x", count: limit + 1)), "", "a\0b", 1] as [PropertyListValue] {
                #expect(throws: WireError.self) { try Registration(body: [key: wrong]) }
            }
        }
    }

    @Test("SES-16: application is read as it was written")
    func applicationRoundTrip() throws {
        let announcement = ApplicationAnnouncement(
            isInstalled: true, isConnected: false, identifier: try CustomIdentifier("x"), trust: .key(.random()))
        #expect(try ApplicationAnnouncement(body: announcement.body) == announcement)
        let cleared = ApplicationAnnouncement(
            isInstalled: true, isConnected: false, isIdentifierCleared: true, trust: .noKey)
        #expect(try ApplicationAnnouncement(body: cleared.body) == cleared && cleared.declaresIdentifier)
    }

    @Test("SES-16: a device that has a key and does not name it says nothing of it, and one without a key has no mark")
    func trustMarks() throws {
        var body = ApplicationAnnouncement(isInstalled: true, isConnected: true, trust: .key(.random())).body
        body["trust"] = nil
        #expect(try ApplicationAnnouncement(body: body).trust == .unnamed)
        body["anchored"] = .boolean(false)
        #expect(try ApplicationAnnouncement(body: body).trust == .noKey)
        body["trust"] = .data([1, 2])
        #expect(throws: WireError.self) { try ApplicationAnnouncement(body: body) }
    }

    @Test("CFG-72: an app concerns configuration once it is installed, and at each change of the key that is trusted")
    func concerningConfiguration() {
        let (one, other) = (TrustMark.key(.random()), TrustMark.key(.random()))
        func announced(_ isInstalled: Bool, _ trust: TrustMark, isConnected: Bool = false) -> ApplicationAnnouncement {
            ApplicationAnnouncement(isInstalled: isInstalled, isConnected: isConnected, trust: trust)
        }
        #expect(announced(true, .noKey).concernsConfiguration(after: nil))
        #expect(announced(true, .noKey).concernsConfiguration(after: announced(false, .noKey)))
        #expect(announced(true, one).concernsConfiguration(after: announced(true, .noKey)))
        #expect(announced(true, one).concernsConfiguration(after: announced(true, other)))
        #expect(announced(true, .noKey).concernsConfiguration(after: announced(true, one)))
        #expect(announced(false, .noKey).concernsConfiguration(after: announced(true, one)))
        #expect(!announced(true, one, isConnected: true).concernsConfiguration(after: announced(true, one)))
        #expect(!announced(false, .noKey).concernsConfiguration(after: announced(true, .noKey)))
    }

    @Test(
        "SES-7: a fault in state is named by its key",
        arguments: [
            ("level", .string("near")), ("level", nil), ("role", .integer(1)), ("since", .integer(-1)),
            ("target", .string("vendor:x")), ("pairing", .data([1, 2])), ("installed", .integer(1)),
        ] as [(String, PropertyListValue?)])
    func stateFaults(key: String, value: PropertyListValue?) throws {
        var body = try state().body(now: now)
        var entry = try #require(body["pairings"]?.arrayValue?.first?.dictionaryValue)
        entry[key] = value
        body["pairings"] = .array([.dictionary(entry)])
        let error = #expect(throws: WireError.self) { try SessionState(body: body, now: now) }
        #expect(error?.description.contains("'\(key)'") == true)
    }

    @Test(
        "SES-5: an identifier that is too long, a NUL, text that is not UTF-8 and wrong types are refused",
        arguments: [
            ("identifier", .string(String(repeating: "x", count: 257))), ("identifier", "a\0b"),
            ("anchor", .data([0xFF])), ("receives", "yes"),
        ] as [(String, PropertyListValue)])
    func registerFaults(key: String, value: PropertyListValue) {
        let error = #expect(throws: WireError.self) { try Registration(body: [key: value]) }
        #expect(error?.description.contains("'\(key)'") == true)
    }

    @Test("SES-24: a key that a later version may add is ignored")
    func unknownKey() throws {
        var body = try state().body(now: now)
        body["novelty"] = .integer(1)
        #expect(try SessionState(body: body, now: now).revision == 7)
    }
}
