// New epochs of a pairing at a primary (CFG-72, CFG-92, CFG-102): on a full disk, and of secondaries behind others. A
// rejection by one of these may end on the same link (CFG-73). Another key has the effect of a new epoch.

import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemReactor
import TandemSignedConfiguration
import TandemTestSupport
import Testing

@testable import TandemDaemon

@Suite struct NewEpochTests {
    private let primary: OnePrimary

    init() throws { primary = try OnePrimary() }

    /// A secondary behind the primary's own.
    private struct Far {
        let pairing = UniqueIdentifier.random()
        let device = UniqueIdentifier.random()
        let key = ReportPrivateKey.generate()
    }

    /// The primary's own secondary states the far ones, in this epoch.
    private func state(
        _ far: Far, beside others: [Far] = [], epoch: UInt64, counter: UInt64, after pause: Duration = .seconds(3)
    ) throws {
        let carrier = try #require(primary.secondary.device)
        let facts = ([far] + others).map { far in
            CarrierStatement.Secondary(
                pairing: far.pairing, device: far.device, name: "the other",
                reportKey: far.key.publicKey.key.subjectPublicKeyInfo, epoch: epoch, target: .vendor(carrier),
                installed: true)
        }
        let statement = CarrierStatement(
            of: carrier, through: primary.secondary.pairing, about: primary.subject.application, counter: counter,
            secondaries: facts)
        primary.receive(statement.signed(with: primary.reporter))
        primary.scheduler.advance(by: pause)
    }

    /// The far one has applied a configuration.
    private func applied(_ far: Far) throws {
        primary.link()
        try state(far, epoch: 3, counter: 1)
        let envelope = try primary.envelope(1)
        #expect(primary.apply(envelope) == nil)
        for item in primary.waiting {
            let report = try primary.applied(
                envelope, counter: 7, nonce: item, by: (far.pairing, far.device, far.key))
            primary.receive(CarriedReport(from: far.pairing, report: report).bytes)
        }
        #expect(primary.appliedCount == 1)
    }

    @Test("CFG-73, LIM-137: what a far secondary rejects for another identifier comes again on the same link")
    func rejectedFar() throws {
        let far = Far()
        primary.link()
        try state(far, epoch: 3, counter: 1)
        let envelope = try primary.envelope(1)
        #expect(primary.apply(envelope) == nil)
        let items = primary.waiting
        for item in items {
            let report = try primary.applied(
                envelope, counter: 7, nonce: item, verdict: .rejected(.wrongTarget),
                by: (far.pairing, far.device, far.key))
            primary.receive(CarriedReport(from: far.pairing, report: report).bytes)
        }
        primary.scheduler.advance(by: ConfigurationLimits.reconsideration - .seconds(60))
        #expect(primary.waiting == items)
        primary.scheduler.advance(by: .seconds(120))
        #expect(primary.waiting.count { !items.contains($0) } == 1)
    }

    /// The link of a new epoch, which the primary cannot enter; then the disk has room again.
    private func linkOnAFullDisk() {
        primary.epoch = 2
        primary.store.isFull = true
        primary.link()
        primary.store.isFull = false
        // A full disk is looked at once in a second (LIM-56).
        primary.scheduler.advance(by: .seconds(2))
    }

    @Test(
        "CFG-72: a new epoch that a full disk did not let the primary enter begins with the next delivery")
    func fullDisk() throws {
        primary.link()
        let first = try primary.envelope(1)
        #expect(primary.apply(first) == nil)
        primary.receive(try primary.applied(first, counter: 7))
        #expect(primary.appliedCount == 1)
        linkOnAFullDisk()
        let second = try primary.envelope(2)
        #expect(primary.apply(second) == nil)
        // A restored secondary counts its reports from where it was.
        primary.receive(try primary.applied(second, counter: 1))
        #expect(primary.appliedCount == 1)
    }

    @Test("CFG-72: a report in an epoch that a full disk kept the primary from entering makes it deliver again")
    func askedAgain() throws {
        primary.link()
        let envelope = try primary.envelope(1)
        #expect(primary.apply(envelope) == nil)
        let item = try #require(primary.waiting.last)
        linkOnAFullDisk()
        primary.receive(try primary.applied(envelope, counter: 1, nonce: item))
        #expect(primary.appliedCount == 0 && primary.waiting != [item])
        let again = try #require(primary.waiting.last)
        primary.receive(try primary.applied(envelope, counter: 2, nonce: again))
        #expect(primary.appliedCount == 1)
    }

    @Test("CFG-72, LIM-56: what a full disk kept from a secondary at its link comes to it once there is room")
    func broughtLater() throws {
        primary.link()
        let envelope = try primary.envelope(1)
        #expect(primary.apply(envelope) == nil)
        let item = try #require(primary.waiting.last)
        primary.epoch = 2
        primary.store.isFull = true
        primary.link()
        primary.scheduler.advance(by: .seconds(60))
        #expect(primary.waiting == [item])
        primary.store.isFull = false
        primary.scheduler.advance(by: .seconds(11))
        let again = try #require(primary.waiting.last)
        #expect(again != item)
        primary.receive(try primary.applied(envelope, counter: 1, nonce: again))
        #expect(primary.appliedCount == 1)
    }

    @Test("CFG-72, LIM-56: a chain that starts again on a full disk comes once there is room")
    func keysBroughtLater() throws {
        #expect(primary.apply(try primary.set(2)) == nil)
        primary.link()
        let item = try #require(primary.waiting.last)
        primary.announceAnotherKey()
        let before = primary.waiting
        primary.store.isFull = true
        primary.announceAnotherKey()
        primary.scheduler.advance(by: .seconds(30))
        #expect(primary.waiting == before)
        primary.store.isFull = false
        primary.scheduler.advance(by: .seconds(11))
        #expect(primary.waiting.count == 1 && primary.waiting != before && primary.waiting != [item])
    }

    @Test("CFG-102: after a new epoch with the carrier, a lower far epoch counts as new")
    func bothRestored() throws {
        let far = Far()
        try applied(far)
        try state(far, epoch: 3, counter: 2)
        #expect(primary.appliedCount == 1, "nothing is new")
        primary.epoch = 2
        try state(far, epoch: 2, counter: 1)
        #expect(primary.appliedCount == 0)
    }

    @Test("CFG-102, CFG-105: a far secondary that lost its key is stated in a higher epoch, and gets all of it again")
    func farKeyLost() throws {
        let far = Far()
        try applied(far)
        let before = primary.waiting
        try state(far, epoch: 4, counter: 2)
        #expect(primary.appliedCount == 0 && !Set(primary.waiting).subtracting(before).isEmpty)
    }

    @Test("CFG-72, CFG-102: the link of a carrier costs a few commits, however many secondaries are behind it")
    func commitsOfALink() throws {
        let (first, others) = (Far(), (0..<40).map { _ in Far() })
        primary.link()
        try state(first, beside: others, epoch: 1, counter: 1)
        #expect(primary.apply(try primary.envelope(1)) == nil)
        let (before, commits) = (Set(primary.waiting), primary.store.commits)
        primary.epoch = 2
        primary.link()
        primary.scheduler.advance(by: .milliseconds(100))
        #expect(Set(primary.waiting).subtracting(before).count > others.count, "each gets it again")
        #expect(primary.store.commits - commits < 10, "\(primary.store.commits - commits)")
    }

    @Test("CFG-102: of thousands of secondaries 128 share a commit, so that none holds up the loop for all")
    func partsOfThousands() {
        let peers = Array(repeating: primary.secondary, count: 300)
        #expect(peers.commitBatches.map(\.count) == [128, 128, 44])
        #expect(Array(peers.prefix(128)).commitBatches.count == 1 && [ConfigurationPeer]().commitBatches.isEmpty)
    }

    @Test("CFG-102: an earlier epoch of the far pairing alone is no new one")
    func alternating() throws {
        let far = Far()
        try applied(far)
        for (index, epoch) in [2, 3, 2, 3].enumerated() {
            try state(far, epoch: UInt64(epoch), counter: 2 + UInt64(index))
            #expect(primary.appliedCount == 1)
        }
    }

    /// A configuration for the far one has left its queue, and no report has answered it.
    private func unanswered(_ far: Far) throws {
        primary.link()
        try state(far, epoch: 2, counter: 1)
        #expect(primary.apply(try primary.envelope(1)) == nil)
        primary.lose()
    }

    @Test("CFG-103, CFG-117, LIM-90: statements bring what is not answered again once a minute, however many come")
    func statementsWithoutNews() throws {
        let far = Far()
        try unanswered(far)
        var times = 0
        for counter: UInt64 in 2...6 {
            try state(far, epoch: 2, counter: counter)
            if !primary.waiting.isEmpty { times += 1 }
            primary.lose()
        }
        #expect(times == 1)
        primary.scheduler.advance(by: ConfigurationLimits.repetition)
        #expect(primary.waiting.count == 1, "the later ones are not forgotten")
    }

    @Test("CFG-72, CFG-103: a statement with a new far secondary brings nothing to the others within the minute")
    func newBesideUnanswered() throws {
        let (far, other) = (Far(), Far())
        try unanswered(far)
        try state(far, epoch: 2, counter: 2)
        primary.lose()
        try state(far, beside: [other], epoch: 2, counter: 3)
        #expect(primary.waiting.count == 1, "the new one gets it")
        primary.lose()
        primary.link()
        primary.scheduler.advance(by: .milliseconds(100))
        #expect(primary.waiting.count == 3, "the next link brings it to all, also to the near secondary")
    }

    @Test("CFG-102, CFG-103: an epoch that alternates brings what is not answered again, once")
    func alternatingUnanswered() throws {
        let far = Far()
        try unanswered(far)
        try state(far, epoch: 2, counter: 2)
        primary.lose()
        var times = 0
        for (index, epoch) in [3, 2, 3, 2, 3].enumerated() {
            try state(far, epoch: UInt64(epoch), counter: 3 + UInt64(index))
            if !primary.waiting.isEmpty { times += 1 }
            primary.lose()
        }
        #expect(times == 1)
    }

    @Test("CFG-103, LIM-95: ever new epochs and forged reports in them cost no more looks than statements")
    func risingEpochs() throws {
        let far = Far()
        try applied(far)
        let before = primary.waiting
        for epoch: UInt64 in 4...23 {
            try state(far, epoch: epoch, counter: epoch, after: .zero)
            primary.receive(CarriedReport(from: far.pairing, report: [1, 2, 3]).bytes)
        }
        let atOnce = Set(primary.waiting).subtracting(before).count
        #expect(atOnce <= 2, "one look at most: what is taken back and what comes again")
        primary.scheduler.advance(by: .seconds(3))
        #expect(Set(primary.waiting).subtracting(before).count <= 4)
    }

    @Test("CFG-103: carriers are told of what is taken back, also of what waits here: it may have left before")
    func takenBackEverywhere() throws {
        primary.link()
        try state(Far(), epoch: 1, counter: 1)
        #expect(primary.apply(try primary.envelope(1)) == nil)
        let delivered = Set(primary.waiting)
        #expect(!delivered.isEmpty)
        let (service, subject) = (primary.service, primary.subject)
        let key = ConfigurationSlotKey(
            application: subject.application, role: .secondary, target: .vendor(primary.device))
        primary.scheduler.start { _ = try? await service.withdraw(key, version: nil) }
        primary.scheduler.run()
        #expect(primary.waiting.count == 1 && delivered.isDisjoint(with: primary.waiting), "the cancellation")
    }

    @Test("CFG-72: a key that a secondary names while its first configuration is stored has that delivered again")
    func announcedMeanwhile() throws {
        primary.link()
        primary.announceAnotherKey()
        primary.store.hold(commits: true)
        let envelope = try primary.envelope(1)
        primary.begin(envelope)
        #expect(primary.store.heldCount == 1)
        primary.announceAnotherKey()
        primary.store.goOn()
        primary.scheduler.advance(by: .milliseconds(10))
        #expect(primary.waiting.count == 1, "the delivery before is taken back")
        primary.receive(try primary.applied(envelope, counter: 1))
        #expect(primary.appliedCount == 1)
    }
}
