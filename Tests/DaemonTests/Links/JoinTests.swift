// Joining over real TLS and the real registry (PAR-4 to PAR-12): the proof is bound to the connection, the token is
// consumed once, and the answer leaves only when it is durable.

import TandemBase
import TandemCrypto
import TandemDaemon
import TandemDaemonTestSupport
import TandemPairing
import TandemPropertyList
import TandemReactor
import TandemTLS
import TandemTestSupport
import TandemWire
import Testing

@Suite struct JoinTests {
    private let network = TestNetwork()
    private let primary: LinkedDevice
    private let secondary: LinkedDevice

    init() throws {
        primary = try LinkedDevice("gateway", on: network.scheduler)
        secondary = try LinkedDevice("panel", on: network.scheduler)
        try network.attach(primary)
    }

    private func link(pin: KeyIdentifier? = nil) throws -> JoinLink {
        let token = try #require(JoinTokenIdentifier(bytes: SecureRandom.bytes(16)))
        let secret = SecretBytes(randomCount: 16)
        let expires = network.scheduler.wallNow + .seconds(900)
        let link = try JoinLink(
            address: TestNetwork.address, token: token, secret: secret, primary: pin ?? primary.pin, expires: expires)
        _ = primary.registry.issue(link)
        return link
    }

    private final class Outcome {
        var result: Result<PairingRecord, JoinFailure>?

        var error: JoinFailure? {
            guard case .failure(let error) = result else { return nil }
            return error
        }

        var record: PairingRecord? { try? result?.get() }
    }

    private func join(
        _ secondary: LinkedDevice, _ credential: JoinAttempt.Credential, over dialling: StreamSource? = nil
    ) -> Outcome {
        let outcome = Outcome()
        network.scheduler.start { [network] in
            let client = JoinClient(credential, own: secondary.own, context: secondary.context)
            do throws(JoinFailure) {
                let source = dialling ?? network.dialling
                let record = try await client.join(over: source) { record async throws(JoinFailure) in
                    let changes: [PairingChange]
                    do throws(JoinAnswerError) { changes = try secondary.registry.joined(record) } catch {
                        throw .answer(error)
                    }
                    await secondary.commit(changes)
                }
                outcome.result = .success(record)
            } catch { outcome.result = .failure(error) }
        }
        return outcome
    }

    @Test func aJoinMakesAPendingPairingOnBothSidesThatTheFirstHelloActivates() throws {
        let outcome = join(secondary, .link(try link()))
        network.scheduler.run()
        let record = try #require(outcome.record)
        #expect(record.peer == primary.pin && record.state == .pending)
        #expect(primary.registry[record.pairing]?.peer == secondary.pin)
        #expect(primary.registry[record.pairing]?.state == .pending)
        let dialer = try network.dial(from: secondary)
        #expect(dialer.status == .linked)
        #expect(primary.registry[record.pairing]?.state == .active)
    }

    @Test(arguments: DeviceRole.allCases)
    func aJoinSucceedsOnlyWhenTheCommitOfEachSideIsDurable(role: DeviceRole) throws {
        let device = role == .primary ? primary : secondary
        device.holdsCommits = true
        let outcome = join(secondary, .link(try link()))
        network.scheduler.run()
        #expect(outcome.result == nil)
        device.releaseCommits()
        network.scheduler.run()
        #expect(outcome.record != nil)
    }

    @Test func aLinkWithAnotherPinIsRefusedBeforeAnythingIsSent() throws {
        let other = DevicePrivateKey.generate().publicKey.identifier
        let outcome = join(secondary, .link(try link(pin: other)))
        network.scheduler.run()
        guard case .connection(let reason)? = outcome.error
        else { throw Unexpected("\(String(describing: outcome.error))") }
        #expect(reason.name == "wrong-pin")
        #expect(primary.pairingEvents.isEmpty)
    }

    @Test("PAR-6: a device does not dial its own link, and refuses its own key as any other refused join")
    func ownLink() throws {
        let own = try link()
        let outcome = join(primary, .link(own))
        network.scheduler.run()
        #expect(outcome.error == .answer(.ownDevice) && network.connections == 0)
        let peer = try RawLink(over: network.connect(to: primary.acceptor), identity: TLSIdentity(key: primary.key))
        network.scheduler.run()
        let claim = PairingRegistry.OwnDevice(
            pin: try LinkedDevice("x", on: network.scheduler).pin, claim: primary.claim)
        let attempt = JoinAttempt(credential: .link(own), own: claim, exporter: try #require(peer.channelBinding))
        try peer.send(Envelope(.join).with(body: attempt.request(peer: primary.pin).body))
        network.scheduler.run()
        #expect(peer.refusals == ["join-refused"] && primary.registry.pairings.isEmpty)
        #expect(primary.pairingEvents == [.joinRefused(.ownKey, peer: primary.pin)])
    }

    @Test func aTokenIsConsumedOnceAndTheSameDeviceMayRepeat() throws {
        let other = try LinkedDevice("kiosk", on: network.scheduler)
        let link = try link()
        let first = join(secondary, .link(link))
        network.scheduler.run()
        let again = join(secondary, .link(link))
        let thief = join(other, .link(link))
        network.scheduler.run()
        #expect(again.record?.pairing == first.record?.pairing)
        #expect(thief.error == .connection(.refusedByPeer(.joinRefused)))
        #expect(thief.error?.text(afterLinkTo: "hub.example:4747").contains("tandem pair") == true)
        #expect(primary.registry.pairings.count == 1)
        #expect(primary.pairingEvents.contains(.joinRefused(.consumedByAnother, peer: other.pin)))
    }

    @Test func ofManyDevicesThatJoinAtOnceWithOneLinkExactlyOneGetsIn() throws {
        primary.holdsCommits = true
        let link = try link()
        let devices = try (0..<8).map { try LinkedDevice("panel \($0)", on: network.scheduler) }
        let outcomes = devices.map { join($0, .link(link)) }
        network.scheduler.run()
        primary.releaseCommits()
        network.scheduler.run()
        #expect(outcomes.compactMap(\.record).count == 1)
        #expect(outcomes.compactMap(\.error) == Array(repeating: .connection(.refusedByPeer(.joinRefused)), count: 7))
        #expect(primary.registry.pairings.count == 1)
    }

    @Test func devicesThatJoinAtOnceWithTheirOwnLinksAllGetIn() throws {
        let devices = try (0..<8).map { try LinkedDevice("panel \($0)", on: network.scheduler) }
        let outcomes = try devices.map { join($0, .link(try link())) }
        network.scheduler.run()
        #expect(Set(outcomes.compactMap(\.record?.pairing)).count == 8)
        #expect(primary.registry.pairings.count == 8)
    }

    @Test func aProofMadeForAnotherConnectionIsRefused() throws {
        let link = try link()
        let identity = try TLSIdentity(key: secondary.key)
        let first = try RawLink(over: network.connect(to: primary.acceptor), identity: identity)
        network.scheduler.run()
        let exporter = try #require(first.channelBinding)
        let attempt = JoinAttempt(credential: .link(link), own: secondary.own, exporter: exporter)
        let request = try attempt.request(peer: primary.pin)
        let second = try RawLink(over: network.connect(to: primary.acceptor), identity: identity)
        try second.send(Envelope(.join).with(body: request.body))
        network.scheduler.run()
        #expect(second.refusals == ["join-refused"])
        try first.send(Envelope(.join).with(body: request.body))
        network.scheduler.run()
        #expect(first.received.map(\.kind) == [.joined])
    }

    @Test("PAR-8: a link that has expired is refused by the primary, and the person is told by whose clock")
    func expiredLink() throws {
        let link = try link()
        network.scheduler.advance(by: .seconds(901))
        let outcome = join(secondary, .link(link))
        network.scheduler.run()
        #expect(outcome.error == .connection(.refusedByPeer(.joinRefused)))
        #expect(outcome.error?.description.contains("has expired by the primary's clock") == true)
        #expect(primary.pairingEvents == [.joinRefused(.expired, peer: secondary.pin)])
        #expect(primary.registry.pairings.isEmpty)
    }

    @Test("PAR-9: a join that the primary cannot store, or does not answer, says that the link may be used again")
    func notStored() throws {
        let link = try link()
        primary.storesNothing = true
        let full = join(secondary, .link(link))
        network.scheduler.run()
        #expect(full.error == .connection(.refusedByPeer(.stopping)))
        (primary.storesNothing, primary.holdsCommits) = (false, true)
        let cut = join(secondary, .link(link))
        network.scheduler.run()
        network.takeDown()
        network.scheduler.advance(by: .seconds(11))
        let advice = "join again: a join link stays good for this device until it expires"
        for outcome in [full, cut] {
            #expect(outcome.error?.text(afterLinkTo: link.address).hasSuffix(advice) == true)
            #expect(outcome.error?.description.contains("join link") == false, "a device joined by trust has no link")
        }
        #expect(cut.error?.text(afterLinkTo: link.address).contains("if the primary is at \(link.address), ") == true)
        network.isDown = false
        primary.holdsCommits = false
        primary.releaseCommits()
        let again = join(secondary, .link(link))
        network.scheduler.run()
        #expect(again.record?.peer == primary.pin)
    }

    @Test func manualTrustNeedsBothSides() throws {
        let trusted = TrustedDevice(pin: primary.pin, role: .primary, address: TestNetwork.address)
        let early = join(secondary, .trust(trusted))
        network.scheduler.run()
        #expect(early.error == .connection(.refusedByPeer(.joinRefused)))
        _ = primary.registry.trust(TrustedDevice(pin: secondary.pin, role: .secondary))
        let outcome = join(secondary, .trust(trusted))
        network.scheduler.run()
        #expect(outcome.record?.peer == primary.pin)
        #expect(primary.registry.pairings.count == 1)
    }

    @Test func aBrokenJoinIsRefusedByItsKey() throws {
        let peer = try RawLink(
            over: network.connect(to: primary.acceptor), identity: TLSIdentity(key: .generate()))
        try peer.send(Envelope(.join).with(body: ["method": "token", "name": "x"]))
        network.scheduler.run()
        #expect(peer.refusals == ["envelope"])
    }

    /// The join against a primary that answers with this body, whatever it is asked, and the names of its refusals.
    private func join(answeredWith body: PropertyListDictionary) throws -> (outcome: Outcome, refusals: [String]) {
        var peer: RawLink?
        let outcome = join(
            secondary, .link(try link()),
            over: StreamSource { [network] _, completion in
                let (near, far) = InProcessStream.pair(on: network.scheduler)
                peer = try? RawLink(over: far, identity: TLSIdentity(key: primary.key), side: .server)
                completion(.success(near))
                return {}
            })
        network.scheduler.run()
        try #require(peer).send(Envelope(.joined).with(body: body))
        network.scheduler.run()
        return (outcome, try #require(peer).refusals)
    }

    @Test("PAR-6, PAR-9: an answer to a join that does not read is refused as 'envelope', and nothing is stored")
    func brokenAnswer() throws {
        let (outcome, refusals) = try join(answeredWith: ["name": "gateway"])
        #expect(refusals == ["envelope"])
        guard case .malformed? = outcome.error else { throw Unexpected("\(String(describing: outcome.error))") }
        #expect(secondary.registry.pairings.isEmpty)
    }

    @Test("PAR-8: an answer to a join with a report key that is none is refused as 'envelope', with the fault")
    func anAnswerWithABrokenReportKey() throws {
        let answer = JoinAnswer(
            pairing: .random(), epoch: 1, claim: JoinClaim(name: "gateway", reportKey: [1, 2, 3]),
            proof: [UInt8](repeating: 0, count: 32))
        let (outcome, refusals) = try join(answeredWith: answer.body)
        #expect(refusals == ["envelope"])
        let fault = "joined: reportKey: this is not a key that can be read: no SubjectPublicKeyInfo"
        #expect(outcome.error == .malformed(fault))
        #expect(secondary.registry.pairings.isEmpty)
    }

    @Test func aReportKeyThatIsNoKeyIsRefused() throws {
        let link = try link()
        let peer = try RawLink(over: network.connect(to: primary.acceptor), identity: TLSIdentity(key: secondary.key))
        network.scheduler.run()
        let own = PairingRegistry.OwnDevice(
            pin: secondary.pin, claim: JoinClaim(name: "panel", reportKey: [1, 2, 3]))
        let attempt = JoinAttempt(credential: .link(link), own: own, exporter: try #require(peer.channelBinding))
        let request = try attempt.request(peer: primary.pin)
        try peer.send(Envelope(.join).with(body: request.body))
        network.scheduler.run()
        #expect(peer.refusals == ["envelope"])
        #expect(primary.registry.pairings.isEmpty)
    }

    @Test func aPrimaryThatNeverAnswersEndsTheJoinInTime() throws {
        primary.holdsCommits = true
        let outcome = join(secondary, .link(try link()))
        network.scheduler.advance(by: .seconds(11))
        #expect(outcome.error?.description.isEmpty == false)
    }

    @Test func aJoinWithNobodyThereFailsWithTheAddress() throws {
        network.isDown = true
        let outcome = join(try LinkedDevice("panel", on: network.scheduler), .link(try link()))
        network.scheduler.run()
        guard case .unreachable? = outcome.error else { throw Unexpected("\(String(describing: outcome.error))") }
    }
}
