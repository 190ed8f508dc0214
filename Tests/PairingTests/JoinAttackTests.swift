// Each attack on a join fails, with one and the same answer to the network and a log line of its own (PAR-7,
// PAR-8).

import TandemBase
import TandemCrypto
import TandemPairing
import Testing

final class JoinAttackTests {
    private var fixture: JoinFixture

    init() throws { fixture = try JoinFixture() }

    @Test("PAR-7: a man in the middle has another exporter, so the proof he passes on is wrong")
    func manInTheMiddle() throws {
        let passedOn = try fixture.request(exporter: [UInt8](repeating: 0xAA, count: 32))
        #expect(fixture.join(passedOn).cause == .wrongProof)
    }

    @Test("PAR-7: a man in the middle with a key of his own cannot use the victim's proof")
    func otherKey() throws {
        #expect(fixture.join(try fixture.request(), peer: fixture.stranger).cause == .wrongProof)
    }

    @Test("PAR-7: a recorded exchange replayed on a new connection is refused")
    func replay() throws {
        let recorded = try fixture.request()
        _ = fixture.join(recorded)
        #expect(fixture.join(recorded, exporter: [UInt8](repeating: 2, count: 32)).cause == .wrongProof)
    }

    @Test("PAR-9: the secondary's own proof sent back to it is not the primary's")
    func reflection() throws {
        guard case .token(_, let proof) = try fixture.request().method else { throw JoinFixture.NotJoined() }
        let reflected = JoinAnswer(pairing: .random(), epoch: 1, claim: fixture.primary.claim, proof: proof)
        #expect(throws: JoinAnswerError.wrongProof) { try fixture.attempt().accept(reflected, now: fixture.start) }
    }

    @Test("PAR-8b: a second use by another device is refused and alarmed")
    func secondUse() throws {
        _ = try fixture.joinWell()
        let second = try fixture.request(by: fixture.stranger)
        let outcome = fixture.join(second, peer: fixture.stranger)
        #expect(outcome.cause == .consumedByAnother)
        guard case .refused(_, let event) = outcome else { return }
        #expect(event.logEvent.level == .error)
    }

    @Test("PAR-8a, LIM-10: an expired token is refused at its very second, and works just before")
    func expired() throws {
        #expect(fixture.join(try fixture.request(), after: .seconds(900)).cause == .expired)
        #expect(fixture.join(try fixture.request(), after: .milliseconds(899_999)).cause == nil)
    }

    @Test("PAR-5, LIM-10: a token with more than 24 h and 5 min left has expired, used or not: the clock was set back")
    func clockSetBack() throws {
        // It is made for 15 minutes; a clock that is corrected by seconds ends no link of 24 h.
        let longest = Duration.seconds(900 - 86_400 - 300)
        let longer = longest - .milliseconds(1)
        #expect(fixture.registry.tokens.current(now: fixture.start + longest).count == 1)
        #expect(fixture.registry.tokens.current(now: fixture.start + longer).isEmpty)
        #expect(fixture.join(try fixture.request(), after: longer).cause == .expired)
        #expect(fixture.join(try fixture.request(), after: longest).cause == nil)
        #expect(fixture.join(try fixture.request(), after: longer).cause == .expired, "also by the device that used it")
        #expect(fixture.registry.expire(now: fixture.start + longest).isEmpty)
        #expect(fixture.registry.expire(now: fixture.start + longer).contains(.removeToken(fixture.link.token)))
        #expect(fixture.registry.tokens[fixture.link.token] == nil)
    }

    @Test("PAR-23, PAR-8a: a link that was taken back is unknown; one that was used is not taken back")
    func takenBack() throws {
        #expect(fixture.registry.cancel(fixture.link.token)?.count == 1)
        #expect(fixture.join(try fixture.request()).cause == .unknownToken)
        #expect(fixture.registry.cancel(fixture.link.token) == nil)
        #expect(fixture.registry.tokens.current(now: fixture.start).isEmpty)
        var used = try JoinFixture()
        _ = try used.joinWell()
        #expect(used.registry.cancel(used.link.token) == nil)
        #expect(used.registry.tokens.current(now: used.start).map(\.identifier) == [used.link.token])
        #expect(used.registry.tokens.current(now: used.link.expires).isEmpty)
    }

    @Test("PAR-8a, LIM-10: five wrong proofs use the token up; the right proof is then refused as the sixth attempt")
    func sixthAttempt() throws {
        let wrong = try fixture.request(exporter: [1])
        for _ in 0..<5 { #expect(fixture.join(wrong).cause == .wrongProof) }
        #expect(fixture.join(try fixture.request()).cause == .attemptsUsedUp)
    }

    @Test("PAR-8: of two simultaneous joins by two devices exactly one wins")
    func simultaneous() throws {
        let (first, second) = (try fixture.request(), try fixture.request(by: fixture.stranger))
        let causes = [fixture.join(second, peer: fixture.stranger).cause, fixture.join(first).cause]
        #expect(causes == [nil, .consumedByAnother])
        #expect(fixture.registry.pairings.count == 1)
    }

    @Test("PAR-8a: an unknown token is refused")
    func unknownToken() throws {
        fixture.registry = JoinFixture.emptyRegistry
        #expect(fixture.join(try fixture.request()).cause == .unknownToken)
    }

    @Test("PAR-8a: every cause has a log line of its own and shows no secret; the peer gets one answer")
    func distinctLines() throws {
        let pin = try JoinFixture().stranger.pin
        let events = JoinRefusalCause.allCases.map { PairingEvent.joinRefused($0, peer: pin).logEvent }
        #expect(Set(events.map(\.message.description)).count == JoinRefusalCause.allCases.count)
        let fields = Set(events.flatMap { $0.fields.map(\.name) })
        #expect(fields == ["peer"])
    }

    @Test("PAR-7: a changed name, report key or token breaks the proof")
    func tampered() throws {
        let request = try fixture.request()
        let claims = [
            JoinClaim(name: "other", reportKey: request.claim.reportKey),
            JoinClaim(name: request.claim.name, reportKey: [1]),
            JoinClaim(name: "pane", reportKey: Array("l".utf8)),  // a boundary moved between two parts
        ]
        for claim in claims {
            let changed = JoinRequest(method: request.method, claim: claim, versions: request.versions)
            #expect(fixture.join(changed).cause == .wrongProof)
        }
    }

    @Test("PAR-9: the secondary accepts no answer with another name, key, pairing or connection")
    func tamperedAnswer() throws {
        let good = try fixture.joinWell()
        let claim = JoinClaim(name: "other", reportKey: good.claim.reportKey)
        let answers = [
            JoinAnswer(pairing: .random(), epoch: 1, claim: good.claim, proof: good.proof),
            JoinAnswer(pairing: good.pairing, epoch: 1, claim: claim, proof: good.proof),
            JoinAnswer(pairing: good.pairing, epoch: 1, claim: good.claim, proof: nil),
        ]
        for answer in answers {
            #expect(throws: JoinAnswerError.wrongProof) { try fixture.attempt().accept(answer, now: fixture.start) }
        }
        let elsewhere = fixture.attempt(exporter: [3])
        #expect(throws: JoinAnswerError.wrongProof) { try elsewhere.accept(good, now: fixture.start) }
        #expect(try fixture.attempt().accept(good, now: fixture.start).pairing == good.pairing)
    }

    @Test("PAR-6: nothing is sent to a device that shows another pin")
    func wrongPin() throws {
        #expect(throws: JoinAnswerError.wrongPin) {
            try fixture.attempt().request(peer: fixture.stranger.pin)
        }
    }

    @Test("PAR-17: a primary cannot overwrite another primary's pairing by answering with its identifier")
    func takenPairing() throws {
        let record = try fixture.attempt().accept(try fixture.joinWell(), now: fixture.start)
        var secondary = JoinFixture.emptyRegistry
        _ = try secondary.joined(record)
        let intruder = PairingRecord(
            pairing: record.pairing, role: .secondary, peer: fixture.stranger.pin, claim: fixture.stranger.claim,
            created: fixture.start)
        #expect(throws: JoinAnswerError.pairingTaken) { try secondary.joined(intruder) }
    }
}
