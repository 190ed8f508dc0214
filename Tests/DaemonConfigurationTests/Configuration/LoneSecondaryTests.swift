// The configuration of a secondary alone: reports for which their queue has no room, and verdicts and ends for which
// the disk has none.

import Glibc
import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemSignedConfiguration
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite struct LoneSecondaryTests {
    private let secondary: LoneSecondary

    init() throws { secondary = try LoneSecondary() }

    private var refused: Int { secondary.log.all.count { "\($0.message)" == "report not queued" } }

    @Test("CFG-50: of a full queue one report asks for room, and again at the next tick; all leave when there is room")
    func fullQueue() throws {
        for version in 1...100 { secondary.receive(try secondary.envelope(UInt64(version))) }
        #expect(secondary.waiting.count == LoneSecondary.room)
        #expect((1...2).contains(refused), "\(refused)")
        let before = refused
        secondary.scheduler.advance(by: .seconds(30))
        #expect(refused - before <= 4, "\(refused - before): one for each tick, and not for each report")
        let first = secondary.waiting
        for id in first { secondary.delivery.submissions.cancel(id, in: secondary.queue) { _ in } }
        secondary.scheduler.advance(by: .seconds(11))
        let waiting = secondary.waiting
        #expect(waiting.count == LoneSecondary.room && Set(waiting).isDisjoint(with: first))
    }

    @Test("CFG-50: a report is put into its queue and removed once, however many verdicts a slow disk still stores")
    func slowDisk() throws {
        let store = secondary.store
        let (count, before) = (LoneSecondary.room, store.commits)
        store.hold(commits: true)
        // Versions that are one, of which all but the first are refused: each has one report.
        for _ in 0..<count { secondary.receive(try secondary.envelope(1)) }
        while store.heldCount > 0 {
            store.doOne()
            secondary.scheduler.run()
            try #require(store.commits - before <= 3 * count, "each verdict, its report in the queue, and its removal")
        }
        #expect(secondary.waiting.count == count)
    }

    @Test("CFG-43, CFG-62: a verdict, a start and an end of an app for which the disk has no room are made up for")
    func fullDisk() throws {
        let (host, store, scheduler) = (secondary.host, secondary.store, secondary.scheduler)
        host.takesOffers = true
        secondary.receive(try secondary.envelope(1))
        #expect(host.offers.isEmpty)
        // The start.
        store.isFull = true
        secondary.connect()
        #expect(host.offers.isEmpty)
        store.isFull = false
        scheduler.advance(by: .seconds(11))
        #expect(host.offers.count == 1)
        // The verdict.
        store.isFull = true
        try secondary.answer(0)
        store.isFull = false
        scheduler.advance(by: .seconds(21))
        #expect(host.offers.count == 2)
        // The end of the app, and its next start.
        store.isFull = true
        host.offers[1].completion(.disconnected)
        secondary.service.disconnected(secondary.queue.app, as: .secondary, inOrder: false)
        secondary.connect()
        store.isFull = false
        scheduler.advance(by: .seconds(21))
        try #require(host.offers.count == 3)
        try secondary.answer(2)
        scheduler.advance(by: .seconds(1))
        #expect(secondary.service.status.stateName(of: secondary.queue.app) == "applied")
    }

    @Test("CFG-43: an answer that waits for a slow disk is not made up for as one that could not be stored")
    func waitingAnswer() throws {
        let (host, store, scheduler) = (secondary.host, secondary.store, secondary.scheduler)
        host.takesOffers = true
        secondary.receive(try secondary.envelope(1))
        store.hold(commits: true)
        // Behind the registration another commit, and behind that the tick, which finds the app not yet registered.
        secondary.connect()
        secondary.receive(try secondary.envelope(1))
        scheduler.advance(by: .seconds(11))
        store.doOne()
        scheduler.run()
        try #require(host.offers.count == 1)
        try secondary.answer(0)
        while store.heldCount > 0 {
            store.doOne()
            scheduler.run()
        }
        #expect(host.offers.count == 1)
        #expect(secondary.service.status.stateName(of: secondary.queue.app) == "applied")
    }

    @Test("CFG-43: an answer that a slow disk refuses in the end takes no offer back that was made since")
    func refusedAnswer() throws {
        let (host, store, scheduler) = (secondary.host, secondary.store, secondary.scheduler)
        func finishCommits() {
            while store.heldCount > 0 {
                store.doOne()
                scheduler.run()
            }
        }
        host.takesOffers = true
        secondary.connect()
        secondary.receive(try secondary.envelope(1))
        try #require(host.offers.count == 1)
        store.hold(commits: true)
        try secondary.answer(0)
        // The tick finds the offer ended, and its verdict not in force.
        scheduler.advance(by: .seconds(11))
        store.isBusy = true
        store.doOne()
        store.isBusy = false
        scheduler.run()
        finishCommits()
        try #require(host.offers.count == 2)
        try secondary.answer(1)
        finishCommits()
        #expect(host.offers.count == 2)
        #expect(secondary.service.status.stateName(of: secondary.queue.app) == "applied")
    }

    @Test("CFG-17: an app's anchor for which the disk has no room is trusted once there is room, and not before")
    func fullDiskForAnAnchor() throws {
        let (service, subject) = (secondary.service, KeySubject(application: secondary.queue.app, role: .secondary))
        secondary.scheduler.start { try? await service.replaceKey(subject, with: nil) }
        secondary.scheduler.run()
        func lines(_ message: String) -> Int { secondary.log.all.count { "\($0.message)" == message } }
        let before = lines("configuration key trusted")
        secondary.store.isFull = true
        secondary.connect(TandemSession.Registration(anchor: secondary.signer.publicKey.key.pem))
        secondary.scheduler.advance(by: .seconds(11))
        #expect(service.anchor(of: subject.application) == nil && lines("configuration key trusted") == before)
        #expect(lines("configuration key not stored") >= 1)
        secondary.store.isFull = false
        secondary.scheduler.advance(by: .seconds(21))
        #expect(service.anchor(of: subject.application)?.source == .application)
        #expect(lines("configuration key trusted") == before + 1)
    }

    @Test("CFG-17: an anchor that was not stored is not trusted once the operator has changed the trusted key")
    func decidedMeanwhile() throws {
        let (service, subject) = (secondary.service, KeySubject(application: secondary.queue.app, role: .secondary))
        func removeKey() {
            secondary.scheduler.start { try? await service.replaceKey(subject, with: nil) }
            secondary.scheduler.run()
        }
        removeKey()
        secondary.store.isFull = true
        secondary.connect(TandemSession.Registration(anchor: secondary.signer.publicKey.key.pem))
        secondary.store.isFull = false
        removeKey()
        secondary.scheduler.advance(by: .seconds(21))
        #expect(service.anchor(of: subject.application) == nil)
    }

    @Test("CFG-32, CFG-35: of two contents of one version that arrive together one is judged first, and no other waits")
    func twoAtOnce() throws {
        let (first, second) = (try secondary.envelope(1), try secondary.envelope(1))
        secondary.receive(first, second)
        #expect(secondary.waiting.count == 2, "each has its report")
        let refusals = secondary.log.all.filter { "\($0)".contains("equivocation") }
        #expect(refusals.count == 1)
        secondary.host.takesOffers = true
        secondary.connect()
        try #require(secondary.host.offers.count == 1)
        let offer = try PropertyListReader.readDictionary(secondary.host.offers[0].body)
        #expect(offer["tandem.configuration"] == .data(first))
        try secondary.answer(0)
        #expect(secondary.service.status.stateName(of: secondary.queue.app) == "applied")
    }

    @Test("CFG-113: an app that cannot read its key sets gets them again, is asked until it can, and burns no version")
    func unreadKeySets() throws {
        secondary.host.takesOffers = true
        secondary.connect()
        let envelope = try secondary.envelope(1)
        secondary.receive(envelope)
        // No file that an app could read; this daemon has no chain, and removes it.
        let path = secondary.file(KeySetChainFile.name)
        try #require(symlink("/dev/null", path) == 0)
        for number in 0..<5 {
            try #require(secondary.host.offers.count == number + 1)
            try secondary.answer(number, UnjudgedOffer(of: envelope, because: "EIO").message)
            #expect(secondary.waiting.count == 1, "one report, and no verdict")
            secondary.scheduler.advance(by: .seconds(11))
        }
        #expect(access(path, F_OK) != 0)
        try secondary.answer(5)
        #expect(secondary.service.status.stateName(of: secondary.queue.app) == "applied")
    }

    @Test("CFG-93, CFG-113: a verdict of an app whose key sets are damaged burns nothing; they are written again")
    func damagedKeySets() throws {
        try secondary.trustKeySet()
        secondary.host.takesOffers = true
        secondary.connect()
        let path = secondary.file(KeySetChainFile.name)
        let chain = try #require(secondary.keySets)
        secondary.receive(try secondary.envelope(1))
        // A file with a damaged end, and no file at all.
        for number in 0..<2 {
            try #require(unlink(path) == 0)
            if number == 0 { secondary.writeKeySets(chain + [0]) }
            try secondary.answer(number, verdict: "threshold")
            #expect(secondary.waiting.count == 1 && secondary.keySets == chain)
            secondary.scheduler.advance(by: .seconds(11))
            try #require(secondary.host.offers.count == number + 2)
        }
        try secondary.answer(2, verdict: "threshold")
        #expect(secondary.waiting.count == 2, "with the same key sets it is a verdict")
    }

    @Test("CFG-113: key sets that the app cannot read are written again, also over the same bytes")
    func sameKeySets() throws {
        try secondary.trustKeySet()
        secondary.host.takesOffers = true
        secondary.connect()
        let chain = try #require(secondary.keySets)
        let envelope = try secondary.envelope(1)
        secondary.receive(envelope)
        let before = secondary.keySetsFile
        try secondary.answer(0, UnjudgedOffer(of: envelope, because: "EACCES").message)
        #expect(secondary.keySetsFile != before && secondary.keySets == chain)
    }

    @Test("CFG-113: key sets that were written over the same bytes are written again only once their file has changed")
    func sameKeySetsAtEachRegistration() throws {
        try secondary.trustKeySet()
        secondary.host.takesOffers = true
        secondary.connect()
        let envelope = try secondary.envelope(1)
        secondary.receive(envelope)
        func fileAfterAnAnswer() throws -> UInt64? {
            let unjudged = UnjudgedOffer(of: envelope, because: "EACCES")
            try secondary.answer(secondary.host.offers.count - 1, unjudged.message)
            return secondary.keySetsFile
        }
        func restart() {
            secondary.disconnect()
            secondary.scheduler.advance(by: .seconds(11))
            secondary.connect()
        }
        let file = try fileAfterAnAnswer()
        for _ in 0..<3 {
            restart()
            #expect(try fileAfterAnAnswer() == file)
        }
        try #require(chmod(secondary.file(KeySetChainFile.name), 0o400) == 0)
        restart()
        #expect(try fileAfterAnAnswer() != file, "its user may not have been able to read it")
    }

    @Test("CFG-52: the last verdict on what has waited for its app is not held back behind other failures")
    func lastVerdictAfterAFailure() throws {
        secondary.receive(try secondary.envelope(1))
        secondary.receive([0])
        #expect(secondary.waiting.count == 2, "it waits, and the first failure of a minute")
        secondary.host.takesOffers = true
        secondary.connect()
        try secondary.answer(0, verdict: "threshold")
        #expect(secondary.waiting.count == 3)
        secondary.receive([1])
        #expect(secondary.waiting.count == 3, "the next failure is held back")
    }

    @Test("CFG-22, CFG-23: the mark of a revoked signer is not shown beside a waived version above what it has signed")
    func revokedSignerBelowAWaivedOne() throws {
        let lenient = try LoneSecondary(allowsInvalidSignatures: true)
        let holders = KeyHolders(of: lenient.queue.app)
        try lenient.trustKeySet(of: holders)
        lenient.host.takesOffers = true
        lenient.connect(TandemSession.Registration(allowsInvalidSignatures: true))
        try lenient.apply(try lenient.envelope(1))
        lenient.receive(try holders.revocation(of: lenient.signer, under: 1))
        #expect(lenient.status?["signer"] == "revoked" && lenient.status?["version"] == 1)
        try lenient.apply(try lenient.envelope(2, signedWith: ConfigurationPrivateKey.generate()))
        #expect(lenient.status?["waived"] == true && lenient.status?["version"] == 2)
        #expect(lenient.status?["signer"] == nil)
    }

    @Test(
        "CFG-22, CFG-36: a permission whose end the disk refuses at the start ends at a later tick, its file as well",
        arguments: [true, false])
    func lateEndOfAPermission(_ isDiskFull: Bool) throws {
        let former = try LoneSecondary(allowsInvalidSignatures: true)
        former.host.takesOffers = true
        former.connect(TandemSession.Registration(allowsInvalidSignatures: true))
        try former.apply(try former.envelope(1, signedWith: ConfigurationPrivateKey.generate()))
        #expect(former.service.signedValues(of: former.queue.app).isWaived)
        let path = former.file("waived.plist")
        former.store.isFull = isDiskFull
        // A directory in its place cannot be removed as a file.
        if !isDiskFull { try #require(rename(path, path + ".aside") == 0 && mkdir(path, 0o700) == 0) }
        let strict = try LoneSecondary(after: former)
        #expect(strict.service.signedValues(of: strict.queue.app).isWaived == isDiskFull)
        former.store.isFull = false
        if !isDiskFull { try #require(rmdir(path) == 0 && rename(path + ".aside", path) == 0) }
        // The first failure of a minute, which holds back no end of a permission (CFG-52).
        strict.receive([0])
        strict.scheduler.advance(by: .seconds(11))
        #expect(!isDiskFull || strict.waiting.count == 2, "the failure and the end")
        #expect(!strict.service.signedValues(of: strict.queue.app).isWaived && access(path, F_OK) != 0)
    }

    @Test("CFG-61, CFG-63: key sets that cannot be written keep no trial from its end while a waived version waits")
    func endOfATrialWithoutKeySets() throws {
        let lenient = try LoneSecondary(allowsInvalidSignatures: true)
        let registration = TandemSession.Registration(allowsInvalidSignatures: true)
        try lenient.trustKeySet()
        lenient.host.takesOffers = true
        lenient.connect(registration)
        try lenient.apply(try lenient.envelope(1))
        lenient.receive(try lenient.envelope(2))
        try lenient.answer(lenient.host.offers.count - 1)
        lenient.receive(try lenient.envelope(3, signedWith: ConfigurationPrivateKey.generate()))
        #expect(lenient.status?["trial"] == true)
        // A directory in the file's place.
        let path = lenient.file(KeySetChainFile.name)
        try #require(unlink(path) == 0 && mkdir(path, 0o700) == 0)
        for _ in 1..<ConfigurationLimits.attempts {
            lenient.disconnect()
            lenient.connect(registration)
        }
        lenient.disconnect()
        #expect(lenient.status?["trial"] != true && lenient.status?["version"] == 1)
    }
}
