// A carrier between two that misbehave: however fast they speak, what waits in its queues and what it says stay small.

import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemDelivery
import TandemPropertyList
import TandemSignedConfiguration
import TandemWire
import Testing

@testable import TandemDaemon

@Suite struct CarrierServiceTests {
    private let carrier: OneCarrier

    init() throws { carrier = try OneCarrier() }

    private func frame(_ envelope: String = "envelope", slot: UInt8 = 0, to far: UniqueIdentifier? = nil) -> [UInt8] {
        CarriedConfiguration(
            to: far ?? carrier.below, slot: [UInt8](repeating: slot, count: 32), envelope: Array(envelope.utf8)
        ).bytes
    }

    private func report(
        _ nonce: UniqueIdentifier, _ number: Int64, _ verdict: String? = nil, onTrial: Bool? = nil
    ) throws -> [UInt8] {
        var fields: PropertyListDictionary = ["nonce": .data(nonce.bytes), "number": .integer(number)]
        fields["verdict"] = verdict.map { .string($0) }
        fields["trial"] = onTrial.map { .boolean($0) }
        return try SignedEnvelope.bytes(
            try PropertyListWriter.write(fields), type: .report, signedWith: [PrivateKey.generate(.ed25519)])
    }

    /// The statement that waits for the primary.
    private func statement() -> UniqueIdentifier? { carrier.waiting(for: carrier.above).last }

    @Test("CFG-105, LIM-95: an app below that comes and goes costs one statement in two seconds")
    func paced() {
        var statements: Set<UniqueIdentifier> = []
        for number in 0..<100 {
            carrier.install(number % 2 == 0)
            carrier.pass(.milliseconds(20))
            statement().map { _ = statements.insert($0) }
        }
        #expect((1...2).contains(statements.count), "\(statements.count)")
        carrier.install()
        carrier.pass(.seconds(3))
        #expect(statement().map { !statements.contains($0) } == true, "the last state arrives")
    }

    @Test("CFG-105, LIM-94: a secondary that has ever new apps is stated for some of them, and the others stay")
    func apps() throws {
        let apps = try (10..<60).map { try ApplicationIdentifier("org.example.app\($0)") }
        for app in apps {
            carrier.install(true, app)
            carrier.pass(.seconds(3))
            carrier.install(false, app)
        }
        let stated = apps.filter { !carrier.waiting(for: carrier.above, of: $0).isEmpty }
        #expect(stated == Array(apps.prefix(ConfigurationLimits.carriedApplications)))
        #expect(carrier.hasNoted("more apps of a secondary than a carrier states"))
        carrier.install(true, apps[0])
        let before = carrier.waiting(for: carrier.above, of: apps[0])
        carrier.pass(.seconds(3))
        #expect(carrier.waiting(for: carrier.above, of: apps[0]) != before)
    }

    @Test(
        "CFG-105: a secondary that trusts another key, or none, is stated again, and one that announces the same is not"
    )
    func anotherKeyBelow() throws {
        let key = TrustMark.key(.random())
        carrier.announce(key)
        carrier.install()
        carrier.pass(.seconds(3))
        var last = try #require(statement())
        for trust in [TrustMark.noKey, .key(.random()), key] {
            carrier.announce(trust)
            carrier.pass(.seconds(3))
            let next = try #require(statement())
            #expect(next != last)
            last = next
            for same in [trust, .unnamed] {
                carrier.announce(same)
                carrier.pass(.seconds(12))
                #expect(statement() == last)
            }
        }
    }

    @Test("CFG-105, LIM-90: after an item that ended undelivered below, one more statement a minute later")
    func lost() throws {
        carrier.install()
        carrier.pass(.seconds(3))
        let first = try #require(statement())
        let item = carrier.receive(frame(), from: carrier.above)
        #expect(carrier.waiting(for: carrier.below) == [item], "CFG-103: it keeps its identifier")
        for _ in 0..<10 { carrier.service.ended(item, in: carrier.queue(carrier.below), .withdrawn(.expired)) }
        carrier.pass(.seconds(59))
        #expect(statement() == first)
        carrier.pass(.seconds(4))
        let second = try #require(statement())
        #expect(second != first)
        carrier.service.ended(.random(), in: carrier.queue(carrier.below), .withdrawn(.expired))
        carrier.pass(.seconds(120))
        #expect(statement() == second, "an item of its own is its own")
    }

    @Test("CFG-104: of a flood of reports about one item one waits, and one about no item goes no further")
    func flood() throws {
        carrier.install()
        carrier.pass(.seconds(3))
        let item = carrier.receive(frame(), from: carrier.above)
        let before = carrier.waiting(for: carrier.above).count
        for number in 0..<50 { carrier.receive(try report(item, Int64(number)), from: carrier.below) }
        #expect(carrier.waiting(for: carrier.above).count == before + 1)
        for number in 0..<50 { carrier.receive(try report(.random(), Int64(number)), from: carrier.below) }
        #expect(carrier.waiting(for: carrier.above).count == before + 1)
        #expect(carrier.hasNoted("report refused"))
    }

    @Test("CFG-104: a follow-up does not take the place of the last verdict, which none of those before keeps waiting")
    func followUpOfTheLastVerdict() throws {
        carrier.install()
        carrier.pass(.seconds(3))
        let item = carrier.receive(frame(), from: carrier.above)
        let before = carrier.waiting(for: carrier.above).count
        let reports: [(verdict: String, onTrial: Bool?, waiting: Int)] = [
            ("waiting-for-app", nil, 1), ("applied", true, 1), ("applied", false, 2), ("applied", false, 2),
            ("threshold", nil, 3), ("threshold", nil, 3),
        ]
        for (number, one) in reports.enumerated() {
            carrier.receive(try report(item, Int64(number), one.verdict, onTrial: one.onTrial), from: carrier.below)
            #expect(carrier.waiting(for: carrier.above).count == before + one.waiting, "\(one)")
        }
    }

    @Test("CFG-104, LIM-85: of a flood of configurations in ever new slots as many wait as have a way back")
    func slotFlood() {
        carrier.install()
        var last: [UniqueIdentifier] = []
        for number in 0..<100 {
            let id = carrier.receive(frame("envelope \(number)", slot: UInt8(number)), from: carrier.above)
            last = (last + [id]).suffix(ConfigurationLimits.openDeliveries)
        }
        #expect(carrier.waiting(for: carrier.below) == last)
    }

    @Test("CFG-103, DEL-12: an item for which the queue below has no room is no dead letter, and leaves when there is")
    func noRoomBelow() throws {
        let carrier = try OneCarrier(room: 5)
        carrier.install()
        let others = (0..<5).map { _ in OutboundItem(id: .random(), payload: [1]) }
        let queue = carrier.queue(carrier.below)
        for item in others { carrier.delivery.submissions.submit(item, to: queue) { _ in } }
        carrier.pass()
        let envelope = CarriedConfiguration(
            to: carrier.below, slot: [UInt8](repeating: 0, count: 32), envelope: Array("envelope".utf8))
        let item = carrier.arrive(envelope.bytes, as: 1, from: carrier.above)
        for _ in 0..<600 { carrier.pass(.seconds(1)) }
        #expect(
            carrier.hasNoted("no room below for more of a primary's items")
                && !carrier.waiting(for: carrier.below).contains(item))
        for item in others.prefix(3) { carrier.delivery.submissions.cancel(item.id, in: queue) { _ in } }
        carrier.pass(.seconds(60))
        #expect(carrier.waiting(for: carrier.below).last == item)
    }

    @Test("CFG-103, LIM-47: a primary gets its part of the queue below, and the next one finds room")
    func part() throws {
        let carrier = try OneCarrier(room: 8)
        carrier.install()
        let flood = (1...6).map { number in
            let envelope = CarriedConfiguration(
                to: carrier.below, slot: [UInt8](repeating: UInt8(number), count: 32), envelope: [UInt8(number)])
            return carrier.arrive(envelope.bytes, as: UInt64(number), from: carrier.above)
        }
        carrier.pass(.seconds(60))
        let queue = carrier.queue(carrier.below)
        #expect(carrier.waiting(for: carrier.below) == Array(flood.prefix(4)))
        #expect(carrier.hasNoted("no room below for more of a primary's items"))
        carrier.delivery.submissions.submit(OutboundItem(id: .random(), payload: [1]), to: queue) { _ in }
        carrier.pass()
        #expect(carrier.waiting(for: carrier.below).count == 5)
        for item in flood.prefix(4) { carrier.delivery.submissions.cancel(item, in: queue) { _ in } }
        carrier.pass(.seconds(60))
        #expect(carrier.waiting(for: carrier.below).suffix(2) == flood.suffix(2), "nothing is lost")
    }

    @Test("CFG-103: a primary whose part is full still replaces what waits in a slot")
    func newerInFullPart() throws {
        let carrier = try OneCarrier(room: 4)
        carrier.install()
        let first = carrier.receive(frame("first", slot: 1, to: carrier.below), from: carrier.above)
        let other = carrier.receive(frame("other", slot: 2, to: carrier.below), from: carrier.above)
        #expect(carrier.waiting(for: carrier.below) == [first, other])
        let newer = carrier.receive(frame("newer", slot: 1, to: carrier.below), from: carrier.above)
        #expect(carrier.waiting(for: carrier.below) == [other, newer])
    }

    @Test("DEL-12: a carried item is no dead letter while the disk is full, and leaves when there is room")
    func fullDisk() {
        carrier.install()
        carrier.pass(.seconds(3))
        carrier.disk.hold(commits: true)
        let item = carrier.arrive(frame(), as: 1, from: carrier.above)
        carrier.disk.doOne()
        carrier.pass()
        #expect(carrier.disk.heldCount == 1)
        // The item is stored, and the way of it is not.
        (carrier.disk.isFull, carrier.disk.hasReserve) = (true, true)
        carrier.disk.goOn()
        for _ in 0..<600 { carrier.pass(.seconds(1)) }
        #expect(carrier.delivery.deadLetters().isEmpty)
        carrier.disk.isFull = false
        for _ in 0..<120 { carrier.pass(.seconds(1)) }
        #expect(carrier.waiting(for: carrier.below) == [item])
    }

    @Test("CFG-103: what is for no device below, or for an app that it does not have, goes no further")
    func foreign() throws {
        carrier.install()
        let other = try ApplicationIdentifier("org.example.other")
        carrier.receive(frame(to: .random()), from: carrier.above)
        carrier.receive(frame(to: carrier.above), from: carrier.above)
        carrier.receive(frame(), from: carrier.above, about: other)
        #expect(carrier.waiting(for: carrier.below).isEmpty)
        #expect(carrier.waiting(for: carrier.below, of: other).isEmpty)
        #expect(carrier.hasNoted("configuration for a device that is not below this one"))
    }

    @Test("CFG-103: the same step again takes the place of the one that waits, and what is taken back waits no longer")
    func slots() {
        carrier.install()
        carrier.receive(frame("step", slot: 1), from: carrier.above)
        let second = carrier.receive(frame("step", slot: 1), from: carrier.above)
        let other = carrier.receive(frame("next", slot: 2), from: carrier.above)
        #expect(carrier.waiting(for: carrier.below) == [second, other])
        carrier.receive(CarriedCancellation(to: .random(), item: second).bytes, from: carrier.above)
        #expect(carrier.waiting(for: carrier.below) == [second, other], "of another way")
        carrier.receive(CarriedCancellation(to: carrier.below, item: second).bytes, from: carrier.above)
        #expect(carrier.waiting(for: carrier.below) == [other])
    }

    @Test("CFG-103: a carrier passes on what is taken back, also of what waits here: it may have left before")
    func takenBackBelow() throws {
        let (far, device) = (UniqueIdentifier.random(), try #require(carrier.secondary.device))
        let facts = CarrierStatement.Secondary(
            pairing: far, device: .random(), name: "the last",
            reportKey: ReportPrivateKey.generate().publicKey.key.subjectPublicKeyInfo, epoch: 1,
            target: .vendor(device), installed: true)
        let statement = CarrierStatement(
            of: device, through: carrier.below, about: carrier.app, counter: 1, secondaries: [facts])
        carrier.receive(statement.signed(with: carrier.key), from: carrier.below)
        let item = carrier.receive(frame(to: far), from: carrier.above)
        #expect(carrier.waiting(for: carrier.below) == [item])
        let cancellation = carrier.receive(CarriedCancellation(to: far, item: item).bytes, from: carrier.above)
        #expect(carrier.waiting(for: carrier.below) == [cancellation])
    }
}
