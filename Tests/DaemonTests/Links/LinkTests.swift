// A link between two paired devices: hello, frames both ways, heartbeats, goodbyes (SES-1 to SES-4, SES-16 to SES-19).

import TandemBase
import TandemCrypto
import TandemDaemon
import TandemDaemonTestSupport
import TandemPairing
import TandemSession
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@Suite struct LinkTests {
    private let network = TestNetwork()
    private let app = try? ApplicationIdentifier("com.example.lights")

    private func message(_ pairing: UniqueIdentifier) -> Envelope {
        Envelope(.messageData, app: app, pairing: pairing, id: .random(), body: [1, 2, 3])
    }

    @Test func pairedDevicesLinkAndKnowEachOther() throws {
        let (primary, secondary, dialer) = try network.linkedDevices()
        let (near, far) = (try #require(secondary.link), try #require(primary.link))
        #expect(dialer.status == .linked)
        #expect(near.pairing == far.pairing)
        #expect(near.role == .secondary && far.role == .primary)
        #expect(secondary.registry[near.pairing]?.peer == primary.pin)
        #expect(primary.registry[far.pairing]?.peer == secondary.pin)
        #expect(near.peer.name == "gateway" && far.peer.name == "panel")
        #expect(near.agreement == far.agreement)
        #expect(near.agreement.version == .first)
        #expect(near.agreement.capabilities == Set(Capability.allCases))
        #expect(far.peer.role == .secondary && near.peer.role == .primary)
    }

    @Test func framesGoBothWaysAsTheBytesTheyCameIn() throws {
        let (primary, secondary, _) = try network.linkedDevices()
        let (near, far) = (try #require(secondary.link), try #require(primary.link))
        let frame = try message(near.pairing).frame()
        near.frames.send(frame)
        far.frames.send(frame)
        network.scheduler.run()
        #expect(primary.receivedFrames == [frame] && secondary.receivedFrames == [frame])
        #expect(primary.received.first?.kind == .messageData)
    }

    @Test func `SES-92: the answer to a question comes behind all that the peer sent before, and once`() throws {
        let (primary, secondary, _) = try network.linkedDevices()
        let (near, far) = (try #require(secondary.link), try #require(primary.link))
        var receivedBefore: [Int] = []
        far.send(message(far.pairing))
        near.ask { receivedBefore.append(secondary.received.count) }
        network.scheduler.run()
        network.scheduler.advance(by: .seconds(20))
        #expect(receivedBefore == [1])
        #expect(secondary.received.count == 1, "the answer is the link's own")
    }

    @Test func aFullSizedFrameTravelsOnAPinnedLink() throws {
        let (primary, secondary, _) = try network.linkedDevices()
        let near = try #require(secondary.link)
        var envelope = message(near.pairing)
        envelope.body = SecureRandom.bytes(Limits.frame - 400)[...]
        near.send(envelope)
        network.scheduler.run()
        #expect(primary.received.first?.body == envelope.body)
    }

    @Test func thePairingBecomesActiveWithTheFirstHelloOnBothSides() throws {
        let (primary, secondary) = try network.pairedDevices(state: .pending)
        let dialer = try network.dial(from: secondary)
        #expect(dialer.status == .linked && primary.ready.count == 1 && secondary.ready.count == 1)
        #expect(primary.registry.pairings.first?.state == .active)
        #expect(secondary.registry.pairings.first?.state == .active)
        #expect(primary.committed.count > 0 && secondary.committed.count > 0)
    }

    @Test func theServerAnswersAHelloOnlyWhenItsCommitIsDurable() throws {
        let (primary, secondary) = try network.pairedDevices(state: .pending)
        primary.holdsCommits = true
        let dialer = try network.dial(from: secondary)
        #expect(secondary.ready.isEmpty && primary.ready.isEmpty)
        primary.releaseCommits()
        network.scheduler.run()
        #expect(dialer.status == .linked && secondary.ready.count == 1 && primary.ready.count == 1)
    }

    @Test func theClientIsReadyOnlyWhenItsOwnCommitIsDurable() throws {
        let (primary, secondary) = try network.pairedDevices(state: .pending)
        secondary.holdsCommits = true
        let dialer = try network.dial(from: secondary)
        let pairing = try #require(primary.link).pairing
        primary.link?.send(message(pairing))
        network.scheduler.run()
        #expect(secondary.ready.isEmpty && secondary.received.isEmpty)
        secondary.releaseCommits()
        network.scheduler.run()
        #expect(dialer.status == .linked && secondary.ready.count == 1 && secondary.received.count == 1)
    }

    @Test func aCommitThatIsDurableAfterTheConnectionEndedMakesNoLink() throws {
        let (primary, secondary) = try network.pairedDevices()
        primary.holdsCommits = true
        let dialer = try network.dial(from: secondary)
        dialer.stop()
        network.scheduler.run()
        primary.releaseCommits()
        network.scheduler.advance(by: .seconds(20))
        #expect(secondary.ready.isEmpty)
        #expect(primary.context.links.all.isEmpty)
    }

    @Test func silenceIsAnsweredByPingsAndTheLinkLives() throws {
        let (primary, secondary, _) = try network.linkedDevices()
        network.scheduler.advance(by: .seconds(120))
        #expect(primary.closed.isEmpty && secondary.closed.isEmpty)
        #expect(primary.received.isEmpty && secondary.received.isEmpty)
    }

    @Test func aPeerThatNeverAnswersIsSeenWithinThreeHeartbeats() throws {
        let (primary, secondary, dialer) = try network.linkedDevices()
        secondary.link?.frames.pauseReading()
        primary.link?.frames.pauseReading()
        network.isDown = true
        network.scheduler.advance(by: .seconds(14))
        #expect(primary.closed.isEmpty)
        network.scheduler.advance(by: .seconds(2))
        #expect(primary.closed.first == .noHeartbeat)
        #expect(secondary.closed.first == .noHeartbeat)
        #expect(dialer.lastFailure != nil)
    }

    @Test func aGoodbyeIsToldByItsNameOnBothSides() throws {
        let (primary, secondary, _) = try network.linkedDevices()
        network.isDown = true
        primary.link?.end(.stopping)
        #expect(primary.closed == [.ended(.stopping)])
        network.scheduler.run()
        #expect(secondary.closed == [.endedByPeer(.stopping)])
        #expect(primary.context.links.all.isEmpty && secondary.context.links.all.isEmpty)
        network.scheduler.advance(by: .seconds(30))
        #expect(primary.closed.count == 1 && secondary.closed.count == 1)
    }

    @Test func aFrameSentBeforeAGoodbyeStillArrives() throws {
        let (primary, secondary, _) = try network.linkedDevices()
        let link = try #require(primary.link)
        link.send(message(link.pairing))
        link.end(.stopping)
        link.send(message(link.pairing))
        network.scheduler.run()
        #expect(secondary.received.count == 1)
    }

    @Test func aRevokedPeerIsCutAtOnceAndNotLetInAgain() throws {
        let (primary, secondary, dialer) = try network.linkedDevices()
        let pairing = try #require(primary.link).pairing
        _ = primary.registry.unpair(pairing)
        primary.context.links.end(pairing, .unpaired)
        network.scheduler.run()
        #expect(secondary.closed == [.endedByPeer(.unpaired)])
        network.scheduler.advance(by: .seconds(60))
        #expect(primary.ready.count == 1)
        #expect(primary.failures.contains { $0.reason.name == "not-paired" })
        #expect(secondary.failures.contains { $0.reason == .refusedByPeer(.notPaired) })
        #expect(dialer.lastFailure == .ended(.refusedByPeer(.notPaired)))
    }

    @Test func aNewerLinkReplacesTheOlderOne() throws {
        let (primary, secondary, _) = try network.linkedDevices()
        let second = try network.dial(from: secondary)
        #expect(second.status == .linked && primary.ready.count == 2)
        #expect(primary.closed == [.ended(.replaced)])
        #expect(primary.context.links.all.count == 1)
        #expect(primary.context.links.all.first === primary.ready.last)
    }

    @Test func congestionIsToldAndEnds() throws {
        let (primary, secondary, _) = try network.linkedDevices()
        let near = try #require(secondary.link)
        primary.link?.frames.pauseReading()
        var envelope = message(near.pairing)
        envelope.body = [UInt8](repeating: 7, count: 300_000)[...]
        for _ in 0..<6 {
            near.send(envelope)
            network.scheduler.run()
        }
        let (wasCongested, queued) = (near.frames.isCongested, near.frames.queuedBytes)
        #expect(wasCongested && queued > 1_000_000)
        primary.link?.frames.resumeReading()
        network.scheduler.run()
        let isCongested = near.frames.isCongested
        #expect(!isCongested)
        #expect(secondary.drained > 0)
        #expect(primary.received.count == 6)
    }

    @Test func aPeerThatReadsNothingIsASlowConsumer() throws {
        let (primary, secondary, _) = try network.linkedDevices()
        let near = try #require(secondary.link)
        primary.link?.frames.pauseReading()
        var envelope = message(near.pairing)
        envelope.body = [UInt8](repeating: 7, count: 500_000)[...]
        for _ in 0..<12 { near.send(envelope) }
        network.scheduler.run()
        #expect(secondary.closed.first?.name == "slow-consumer")
    }
}
