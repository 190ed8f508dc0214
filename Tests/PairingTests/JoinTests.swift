// A join that goes well, repeated, and by manual trust (PAR-6 to PAR-11).

import TandemBase
import TandemCrypto
import TandemPairing
import TandemPropertyList
import TandemWire
import Testing

final class JoinTests {
    private var fixture: JoinFixture

    init() throws { fixture = try JoinFixture() }

    @Test("PAR-9: the token is consumed and the pairing pending in one set of changes before the answer")
    func joins() throws {
        let (answer, changes) = try fixture.join(try fixture.request()).joined()
        let record = try #require(fixture.registry[answer.pairing])
        let token = try #require(fixture.registry.tokens[fixture.link.token])
        #expect(changes == [.putToken(token), .putPairing(record)])
        #expect(record.state == .pending && record.role == .primary && record.name == "panel")
        #expect(token.consumption?.pin == fixture.secondary.pin)
    }

    @Test("PAR-9: both ends keep the same pairing, each the other's pin, name and report key")
    func bothEnds() throws {
        let answer = try fixture.joinWell()
        let mine = try fixture.attempt().accept(answer, now: fixture.start)
        let theirs = try #require(fixture.registry[answer.pairing])
        #expect(mine.pairing == theirs.pairing && mine.role == .secondary)
        #expect(mine.peer == fixture.primary.pin && theirs.peer == fixture.secondary.pin)
        #expect(mine.reportKey == fixture.primary.claim.reportKey && mine.address == fixture.link.address)
        #expect(theirs.reportKey == fixture.secondary.claim.reportKey)
    }

    @Test("PAR-8: the primary's clock alone judges the link: the joining device may have another year")
    func clocksApart() throws {
        let booted = WallTime(seconds: 100)
        let link = try JoinLink(
            to: fixture.primary, at: "gateway.example:4747", token: fixture.link.token, secret: fixture.link.secret,
            life: JoinPolicy.life, now: booted)
        var registry = JoinFixture.emptyRegistry
        _ = registry.issue(link)
        let attempt = fixture.attempt(link: link)
        let circumstances = PairingRegistry.JoinCircumstances(
            peer: fixture.secondary.pin, exporter: fixture.exporter, newPairing: .random(), now: booted + .seconds(1))
        let request = try attempt.request(peer: fixture.primary.pin)
        let answer = try registry.join(request, own: fixture.primary, at: circumstances).joined().answer
        #expect(try attempt.accept(answer, now: fixture.start).pairing == registry.pairings.first?.pairing)
    }

    @Test("PAR-8b: the same device may ask again on a new connection and gets the same pairing, provably")
    func repeated() throws {
        let first = try fixture.joinWell()
        let again = [UInt8](repeating: 5, count: 32)
        let (answer, changes) = try fixture.join(try fixture.request(exporter: again), exporter: again).joined()
        #expect(answer.pairing == first.pairing && changes.isEmpty)
        #expect(try fixture.attempt(exporter: again).accept(answer, now: fixture.start).pairing == first.pairing)
        #expect(fixture.registry.pairings.count == 1)
    }

    @Test("PAR-8b, PAR-16: a device that asks again has the name and the report key of its last join")
    func repeatedWithAnotherKey() throws {
        let first = try fixture.joinWell()
        let before = try #require(fixture.registry[first.pairing])
        let renewed = PairingRegistry.OwnDevice(
            pin: fixture.secondary.pin, claim: JoinClaim(name: "kiosk", reportKey: [UInt8](repeating: 8, count: 44)))
        let changes = try fixture.join(try fixture.request(by: renewed), after: .seconds(60)).joined().changes
        let record = try #require(fixture.registry[first.pairing])
        #expect(changes == [.putPairing(record)])
        #expect(record.name == "kiosk" && record.reportKey == renewed.claim.reportKey)
        #expect(
            record.state == .pending && record.created == before.created,
            "its time as half open is no longer than before")
    }

    @Test("PAR-8b: after the pairing is removed its token gives nothing any more")
    func repeatedAfterUnpairing() throws {
        let pairing = try fixture.joinWell().pairing
        let token = try #require(fixture.registry.tokens[fixture.link.token])
        _ = fixture.registry.unpair(pairing)
        #expect(fixture.join(try fixture.request()).cause == .unknownToken)
        let others = fixture.join(try fixture.request(by: fixture.stranger), peer: fixture.stranger)
        #expect(others.cause == .unknownToken, "no alarm")
        // As an earlier release has left it.
        fixture.registry = try PairingRegistry(
            rows: [PairingChange.putToken(token).row], sealedUnder: JoinFixture.tokenKey)
        #expect(fixture.join(try fixture.request()).cause == .pairingGone)
    }

    @Test("PAR-11: manual trust pairs without a token, for the trusted role and pin only")
    func manualTrust() throws {
        let trusted = TrustedDevice(pin: fixture.primary.pin, role: .primary, address: "[::1]:4747")
        let attempt = JoinAttempt(credential: .trust(trusted), own: fixture.secondary, exporter: fixture.exporter)
        let request = try attempt.request(peer: fixture.primary.pin)
        #expect(fixture.join(request).cause == .untrustedPin)
        _ = fixture.registry.trust(TrustedDevice(pin: fixture.secondary.pin, role: .primary))
        #expect(fixture.join(request).cause == .untrustedPin)
        _ = fixture.registry.trust(TrustedDevice(pin: fixture.secondary.pin, role: .secondary))
        let (answer, changes) = try fixture.join(request).joined()
        #expect(changes.count == 1 && answer.proof == nil)
        let (again, none) = try fixture.join(request).joined()
        #expect(again.pairing == answer.pairing && none.isEmpty)
        #expect(try attempt.accept(answer, now: fixture.start).address == "[::1]:4747")
    }

    @Test("PAR-6, PAR-9: join and joined are read as they were written")
    func bodies() throws {
        let request = try fixture.request()
        #expect(try JoinRequest(body: request.body) == request)
        let answer = try fixture.joinWell()
        #expect(try JoinAnswer(body: answer.body) == answer)
        let trust = JoinRequest(method: .trust, claim: request.claim, versions: ProtocolVersion.supported)
        #expect(try JoinRequest(body: trust.body) == trust)
    }

    @Test(
        "SES-24: a join with a missing, wrong, oversized or unknown key is refused by that key",
        arguments: [
            ("token", nil), ("token", .data([1])), ("proof", .data([1])), ("method", .string("magic")),
            ("name", .string("")), ("name", .string(String(repeating: "n", count: 65))), ("reportKey", .data([])),
            ("minimum", .integer(0)), ("maximum", .integer(4_294_967_296)), ("surplus", .integer(1)),
        ] as [(String, PropertyListValue?)])
    func faults(key: String, value: PropertyListValue?) throws {
        var body = try JoinFixture().request().body
        body[key] = value
        let error = #expect(throws: WireError.self) { try JoinRequest(body: body) }
        #expect(error?.description.contains("'\(key)'") == true)
    }
}
