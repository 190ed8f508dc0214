// Applied configurations that an app does not load, because another version of it was installed (CFG-42).

import Glibc
import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSession
import TandemSignedConfiguration
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite struct LoadFaultTests {
    private let secondary: LoneSecondary

    init() throws {
        secondary = try LoneSecondary()
        secondary.host.takesOffers = true
    }

    /// The answer of an app that does not load these bytes.
    private static func refusal(of envelope: [UInt8]) -> OfferReply {
        OfferReply(VerificationFailure(.schema, "volume: 80 is over the maximum 50"), of: envelope)
    }

    /// A registration of a version of the app that says what it does not load.
    private static let naming = TandemSession.Registration(schema: SHA256.digest([1]))

    /// Another start of the app: it is asked to read its files.
    private func restart() {
        secondary.disconnect()
        secondary.connect(Self.naming)
    }

    /// A configuration has passed its trial, and the app has started again (message 1).
    private func applyAndRestart() throws -> [UInt8] {
        secondary.connect()
        let envelope = try secondary.envelope(1)
        try secondary.apply(envelope)
        restart()
        return envelope
    }

    /// A configuration is on trial, and the app has started again (message 1).
    private func beginTrial() throws -> [UInt8] {
        secondary.connect()
        let envelope = try secondary.envelope(1)
        secondary.receive(envelope)
        try secondary.answer(0)
        restart()
        return envelope
    }

    /// The app's answer to its last message.
    private func answerLast(_ reply: PropertyListDictionary) throws {
        try secondary.answer(secondary.host.offers.count - 1, reply)
    }

    @Test("CFG-42: a fault that an app has named ends when the app registers again, also without a schema")
    func anotherRegistration() throws {
        let envelope = try applyAndRestart()
        try secondary.answer(1, Self.refusal(of: envelope).message)
        #expect(secondary.status?["lastVerdict"] == "schema")
        secondary.disconnect()
        secondary.connect()
        #expect(secondary.status?["lastVerdict"] == "applied" && secondary.host.offers.count == 2)
    }

    @Test(
        "CFG-42, CFG-61: what another version of the app does not load is not applied after its trial, but refused",
        arguments: [false, true])
    func duringTheTrial(_ isDiskFull: Bool) throws {
        let envelope = try beginTrial()
        secondary.store.isFull = isDiskFull
        try secondary.answer(1, Self.refusal(of: envelope).message)
        secondary.store.isFull = false
        secondary.scheduler.advance(by: .seconds(60))
        let row = try #require(secondary.status)
        #expect(row["lastVerdict"] == "schema" && row["state"] == "none" && row["version"] == nil)
        #expect(secondary.waiting.count == 1, "the primary reads no trials: it gets the last verdict only")
    }

    @Test("CFG-114, LIM-141: a fault after the trial is reported once, however often the app starts, and so is its end")
    func afterTheTrial() throws {
        secondary.connect()
        let envelope = try secondary.envelope(1)
        try secondary.apply(envelope)
        #expect(secondary.waiting.count == 1)
        for _ in 0..<5 {
            restart()
            try answerLast(Self.refusal(of: envelope).message)
            #expect(secondary.waiting.count == 2)
        }
        restart()
        try answerLast(["tandem.verdict": "applied"])
        #expect(secondary.waiting.count == 2)
        secondary.scheduler.advance(by: ConfigurationLimits.loadReports + .seconds(10))
        #expect(secondary.waiting.count == 3)
    }

    @Test("CFG-43, CFG-114: a fault after the trial for whose report the disk has no room is reported at a later tick")
    func fullDiskAfterTheTrial() throws {
        let envelope = try applyAndRestart()
        secondary.store.isFull = true
        try secondary.answer(1, Self.refusal(of: envelope).message)
        secondary.store.isFull = false
        secondary.scheduler.advance(by: .seconds(21))
        #expect(secondary.waiting.count == 2)
    }

    @Test("CFG-42, CFG-113: an app that cannot read its key sets says nothing of what is applied, and reads once more")
    func unreadKeySets() throws {
        try secondary.trustKeySet()
        let envelope = try applyAndRestart()
        let chain = try #require(secondary.keySets)
        // A damaged chain, which the library cannot tell from another anchor; then a file that it cannot read.
        secondary.writeKeySets(chain + [0])
        try secondary.answer(1, OfferReply(VerificationFailure(.threshold, "no key"), of: envelope).message)
        #expect(secondary.keySets == chain && secondary.host.offers.count == 3)
        try secondary.answer(2, UnjudgedOffer(of: envelope, because: "EIO").message)
        #expect(secondary.host.offers.count == 3, "it reads once more, and not for ever")
        #expect(secondary.status?["lastVerdict"] == "applied" && secondary.waiting.count == 1)
    }

    @Test(
        "CFG-114, CFG-115, LIM-142: an app that cannot read what is applied is reported, asked again, and so is its end"
    )
    func unreadConfiguration() throws {
        _ = try applyAndRestart()
        let unread = UnreadConfiguration(because: "apps: open: Permission denied (EACCES)")
        try secondary.answer(1, unread.message)
        #expect(secondary.status?["lastVerdict"] == "not-judged")
        #expect(secondary.status?["text"] == .string(unread.text))
        #expect(secondary.waiting.count == 2, "the verdict and the fault")
        for number in 2...3 {
            secondary.scheduler.advance(by: ConfigurationLimits.unjudgedPause + .seconds(10))
            try #require(secondary.host.offers.count == number + 1)
            try secondary.answer(number, number == 2 ? unread.message : ["tandem.verdict": "applied"])
            #expect(secondary.waiting.count == 2)
        }
        #expect(secondary.status?["lastVerdict"] == "applied")
        secondary.scheduler.advance(by: ConfigurationLimits.loadReports + .seconds(10))
        #expect(secondary.waiting.count == 3 && secondary.host.offers.count == 4)
    }

    @Test("CFG-61, CFG-115: the trial of a configuration that its app cannot read lasts until the app reads it")
    func unreadConfigurationOnTrial() throws {
        _ = try beginTrial()
        try secondary.answer(1, UnreadConfiguration(because: "EACCES").message)
        secondary.scheduler.advance(by: .seconds(60))
        #expect(secondary.waiting.isEmpty && access(secondary.file("trial.plist"), F_OK) == 0)
        #expect(secondary.status?["lastVerdict"] == "not-judged")
        secondary.scheduler.advance(by: ConfigurationLimits.unjudgedPause)
        try #require(secondary.host.offers.count == 3)
        try secondary.answer(2, ["tandem.verdict": "applied"])
        secondary.scheduler.advance(by: .seconds(60))
        #expect(secondary.waiting.count == 1 && secondary.status?["lastVerdict"] == "applied")
    }

    @Test(
        "CFG-113: what an app judged by damaged key sets is no verdict, also when they are written before it answers",
        arguments: [false, true])
    func answersAcrossARewrite(_ saysSo: Bool) throws {
        try secondary.trustKeySet()
        secondary.connect()
        let (first, second) = (try secondary.envelope(1), try secondary.envelope(2))
        try secondary.apply(first)
        secondary.disconnect()
        secondary.receive(second)
        // A reload and an offer, one behind the other.
        secondary.connect(Self.naming)
        try #require(secondary.host.offers.count == 3)
        let chain = try #require(secondary.keySets)
        secondary.writeKeySets(chain + [0])
        func unread(_ envelope: [UInt8]) -> PropertyListDictionary {
            saysSo
                ? UnjudgedOffer(of: envelope, because: "EIO").message
                : OfferReply(VerificationFailure(.threshold, "no key"), of: envelope).message
        }
        try secondary.answer(1, unread(first))
        #expect(secondary.keySets == chain && secondary.host.offers.count == 4)
        let file = secondary.keySetsFile
        try secondary.answer(2, unread(second))
        #expect(secondary.keySetsFile == file, "another write would hide the answer to the second reload")
        #expect(secondary.status?["lastVerdict"] != "threshold")
        secondary.scheduler.advance(by: .seconds(11))
        try #require(secondary.host.offers.count == 5)
        try secondary.answer(4)
        #expect(secondary.status?["version"] == 2)
    }

    @Test("CFG-61, CFG-113, LIM-142: a trial lasts while the app cannot judge what is on trial, and it is asked again")
    func trialWithoutJudgement() throws {
        let envelope = try beginTrial()
        let unjudged = UnjudgedOffer(of: envelope, because: "EIO").message
        for number in 1...2 { try secondary.answer(number, unjudged) }
        secondary.scheduler.advance(by: .seconds(60))
        #expect(secondary.waiting.isEmpty, "the primary reads no trials: it gets the last verdict only")
        #expect(secondary.host.offers.count == 3)
        secondary.scheduler.advance(by: ConfigurationLimits.unjudgedPause)
        try #require(secondary.host.offers.count == 4)
        try secondary.answer(3, ["tandem.verdict": "applied"])
        secondary.scheduler.advance(by: .seconds(60))
        #expect(secondary.waiting.count == 1 && secondary.host.offers.count == 4)
    }

    @Test("CFG-61, CFG-113: a trial does not pass with the end of an app that could not judge and was asked again")
    func endBeforeTheSecondReload() throws {
        let envelope = try beginTrial()
        try secondary.answer(1, UnjudgedOffer(of: envelope, because: "EIO").message)
        try #require(secondary.host.offers.count == 3)
        secondary.disconnect(inOrder: true)
        secondary.connect()
        #expect(access(secondary.file("trial.plist"), F_OK) == 0)
    }

    @Test("CFG-61, CFG-113: the trial of an app that cannot judge does not pass with a verdict that is not stored")
    func verdictThatIsNotStored() throws {
        let envelope = try beginTrial()
        let unjudged = UnjudgedOffer(of: envelope, because: "EIO").message
        for number in 1...2 { try secondary.answer(number, unjudged) }
        secondary.receive(try secondary.envelope(2))
        try #require(secondary.host.offers.count == 4)
        secondary.store.isFull = true
        try secondary.answer(3)
        secondary.store.isFull = false
        secondary.scheduler.advance(by: .seconds(60))
        #expect(access(secondary.file("trial.plist"), F_OK) == 0)
    }

    @Test("CFG-113: an app reads its files again only once its key sets could be written")
    func unwritableKeySets() throws {
        try secondary.trustKeySet()
        let envelope = try applyAndRestart()
        let (path, chain) = (secondary.file(KeySetChainFile.name), try #require(secondary.keySets))
        // A directory in its place cannot be replaced by a file.
        try #require(unlink(path) == 0 && mkdir(path, 0o700) == 0)
        try secondary.answer(1, UnjudgedOffer(of: envelope, because: "EISDIR").message)
        #expect(secondary.host.offers.count == 2)
        try #require(rmdir(path) == 0)
        secondary.scheduler.advance(by: .seconds(11))
        #expect(secondary.host.offers.count == 3 && secondary.keySets == chain)
    }

    @Test(
        "CFG-116: files that are not as the daemon wrote them are written again when the app registers, which reads them"
    )
    func otherFiles() throws {
        try secondary.trustKeySet()
        secondary.connect()
        try secondary.apply(try secondary.envelope(1))
        func lines() -> Int { secondary.log.all.count { "\($0)".contains("are written again") } }
        let path = secondary.file("configuration.plist")
        let (chain, active) = (secondary.keySets, TemporaryDirectory.read(path))
        for change in ["older", "gone", "longer", "a chain", "more"] {
            secondary.disconnect()
            secondary.scheduler.advance(by: .seconds(10))
            let before = (lines(), secondary.host.offers.count)
            switch change {
            case "older": secondary.write([1, 2, 3], to: "configuration.plist")
            case "gone": try #require(unlink(path) == 0)
            case "longer": secondary.write(Array(repeating: 0, count: 1 << 20), to: "configuration.plist")
            case "a chain": secondary.writeKeySets([1, 2, 3])
            default: secondary.write([1, 2, 3], to: "waived.plist")
            }
            secondary.connect()
            #expect(TemporaryDirectory.read(path) == active && secondary.keySets == chain, "\(change)")
            #expect(access(secondary.file("waived.plist"), F_OK) != 0)
            #expect(lines() == before.0 + 1 && secondary.host.offers.count == before.1 + 1, "\(change)")
        }
        let (written, offers) = (lines(), secondary.host.offers.count)
        restart()
        #expect(lines() == written && secondary.host.offers.count == offers + 1, "its schema is named")
    }

    @Test("CFG-116: of a file that cannot be read the log has the system's error, and does not say that it has changed")
    func unreadableFile() throws {
        secondary.connect()
        try secondary.apply(try secondary.envelope(1))
        let path = secondary.file("configuration.plist")
        let active = TemporaryDirectory.read(path)
        secondary.disconnect()
        secondary.scheduler.advance(by: .seconds(10))
        // The system opens no socket for reading, whoever asks, and a file can replace it.
        try #require(unlink(path) == 0 && mknod(path, S_IFSOCK | 0o600, 0) == 0)
        secondary.connect()
        let lines = secondary.log.all.map { "\($0)" }.filter { $0.contains("are written again") }
        #expect(lines.count == 1 && lines.first?.contains("ENXIO") == true, "\(lines)")
        #expect(lines.first?.contains("were not as") == false)
        #expect(TemporaryDirectory.read(path) == active)
    }

    @Test("CFG-116: a file that cannot be read does not hide in the log that another one was changed")
    func unreadableAndChangedFile() throws {
        secondary.connect()
        try secondary.apply(try secondary.envelope(1))
        secondary.disconnect()
        secondary.scheduler.advance(by: .seconds(10))
        let path = secondary.file("configuration.plist")
        try #require(unlink(path) == 0 && mknod(path, S_IFSOCK | 0o600, 0) == 0)
        secondary.write([1, 2, 3], to: "waived.plist")
        secondary.connect()
        let event = try #require(secondary.log.all.last { "\($0)".contains("are written again") })
        #expect("\(event)".contains("were not as"))
        #expect(event.fields.contains(.text("files", "waived.plist")))
        #expect(event.fields.contains(.text("unread", "configuration.plist")))
    }

    @Test("CFG-116: a user who changes the app's files at every start has them written again once in ten seconds")
    func filesChangedWithoutEnd() throws {
        secondary.connect()
        try secondary.apply(try secondary.envelope(1))
        func lines() -> Int { secondary.log.all.count { "\($0)".contains("are written again") } }
        let path = secondary.file("configuration.plist")
        let active = TemporaryDirectory.read(path)
        func start() {
            secondary.disconnect()
            secondary.write([1, 2, 3], to: "configuration.plist")
            secondary.connect()
        }
        let offers = secondary.host.offers.count
        for _ in 0..<20 { start() }
        #expect(lines() == 1 && TemporaryDirectory.read(path) == [1, 2, 3])
        #expect(secondary.host.offers.count == offers + 1)
        secondary.scheduler.advance(by: .seconds(10))
        #expect(lines() == 2 && TemporaryDirectory.read(path) == active)
        #expect(secondary.host.offers.count == offers + 2, "a reload goes with it")
        secondary.scheduler.advance(by: .seconds(10))
        start()
        #expect(lines() == 3 && TemporaryDirectory.read(path) == active)
    }

    @Test(
        "CFG-116: an answer of other bytes before the files are compared again is no fault, and one after it is",
        arguments: [false, true])
    func otherBytesBeforeTheNextTick(_ isFault: Bool) throws {
        secondary.connect()
        let envelope = try secondary.envelope(1)
        try secondary.apply(envelope)
        let path = secondary.file("configuration.plist")
        let active = TemporaryDirectory.read(path)
        for _ in 0..<2 {
            secondary.disconnect()
            secondary.write([1, 2, 3], to: "configuration.plist")
            secondary.connect(Self.naming)
        }
        let other = ReloadReply.message(loaded: SHA256.digest([1]))
        let offers = secondary.host.offers.count
        try answerLast(other)
        #expect(secondary.host.offers.count == offers && secondary.status?["lastVerdict"] == "applied")
        secondary.scheduler.advance(by: .seconds(10))
        #expect(TemporaryDirectory.read(path) == active)
        try #require(secondary.host.offers.count == offers + 1)
        try answerLast(isFault ? other : ReloadReply.message(loaded: SHA256.digest(envelope)))
        #expect(secondary.host.offers.count == offers + 1)
        let verdict: PropertyListValue = isFault ? "other-loaded" : "applied"
        #expect(secondary.status?["lastVerdict"] == verdict)
    }

    @Test(
        "CFG-113, CFG-116: key sets that change at every start are written again once in ten seconds, after any answer",
        arguments: [false, true])
    func keySetsChangedWithoutEnd(_ isJudged: Bool) throws {
        try secondary.trustKeySet()
        secondary.connect()
        let envelope = try secondary.envelope(1)
        try secondary.apply(envelope)
        let chain = try #require(secondary.keySets)
        let answer =
            isJudged
            ? ReloadReply.message(loaded: SHA256.digest([1])) : UnjudgedOffer(of: envelope, because: "EIO").message
        let offers = secondary.host.offers.count
        for start in 0..<20 {
            secondary.disconnect()
            secondary.writeKeySets([1, 2, 3])
            secondary.connect(Self.naming)
            let expected: [UInt8] = start == 0 ? chain : [1, 2, 3]
            #expect(secondary.keySets == expected)
            try answerLast(answer)
        }
        #expect(secondary.keySets == [1, 2, 3] && secondary.host.offers.count == offers + 20)
        secondary.scheduler.advance(by: .seconds(10))
        #expect(secondary.keySets == chain && secondary.host.offers.count == offers + 21)
    }

    @Test("CTL-76: files with the right bytes do not show that they can be written, and a write does")
    func unwritableFile() throws {
        secondary.connect()
        try secondary.apply(try secondary.envelope(1))
        #expect(secondary.service.unwrittenFiles.isEmpty)
        // In the place of the draft: the file itself stays as it is.
        let draft = secondary.file(".configuration.plist.new")
        try #require(mkdir(draft, 0o700) == 0)
        secondary.receive(try secondary.envelope(2))
        try secondary.answer(secondary.host.offers.count - 1)
        secondary.scheduler.advance(by: .seconds(30))
        #expect(secondary.service.unwrittenFiles.count == 1)
        #expect(secondary.service.unwrittenFiles.first?.contains("configuration.plist") == true)
        let lines = secondary.log.all.map { "\($0)" }.filter { $0.contains(draft) }
        #expect(lines.count == 1, "the attempts go on, and the log has their error once: \(lines)")
        try #require(rmdir(draft) == 0)
        secondary.scheduler.advance(by: .seconds(11))
        #expect(secondary.service.unwrittenFiles.isEmpty)
    }

    @Test("CTL-76: what could not be written for an app is no problem once the app is removed")
    func unwritableFileOfARemovedApp() throws {
        secondary.connect()
        try secondary.apply(try secondary.envelope(1))
        // A directory in its place is neither replaced nor removed.
        let path = secondary.file("configuration.plist")
        try #require(unlink(path) == 0 && mkdir(path, 0o700) == 0)
        secondary.receive(try secondary.envelope(2))
        try secondary.answer(secondary.host.offers.count - 1)
        #expect(secondary.service.unwrittenFiles.count == 1)
        secondary.removeApp()
        #expect(secondary.service.unwrittenFiles.isEmpty)
        secondary.scheduler.advance(by: .seconds(11))
        #expect(secondary.service.unwrittenFiles.isEmpty)
    }

    @Test("CFG-36, CFG-116: an app whose files waited for its first registration reads them")
    func filesOfAFirstRegistration() throws {
        let owner = secondary.host.owner
        secondary.host.owner = nil
        secondary.receive(try secondary.envelope(1))
        #expect(access(secondary.file("staged.plist"), F_OK) != 0)
        secondary.host.owner = owner
        secondary.connect()
        #expect(access(secondary.file("staged.plist"), F_OK) == 0)
        #expect(secondary.host.offeredPairings == [.zero, secondary.queue.pairing], "a reload, and then the offer")
        #expect(!secondary.log.all.contains { "\($0)".contains("are written again") })
    }

    @Test(
        "CFG-114, CFG-116, LIM-142: an app that has loaded other bytes twice has a fault, until it loads what is applied"
    )
    func otherBytesAreLoaded() throws {
        let envelope = try applyAndRestart()
        let other = ReloadReply.message(loaded: SHA256.digest([1]))
        try secondary.answer(1, other)
        #expect(secondary.host.offers.count == 3 && secondary.status?["lastVerdict"] == "applied")
        try secondary.answer(2, other)
        #expect(secondary.host.offers.count == 3 && secondary.status?["lastVerdict"] == "other-loaded")
        #expect(secondary.waiting.count == 2, "the verdict and the fault")
        secondary.scheduler.advance(by: ConfigurationLimits.unjudgedPause + .seconds(10))
        try #require(secondary.host.offers.count == 4)
        try secondary.answer(3, ReloadReply.message(loaded: SHA256.digest(envelope)))
        #expect(secondary.status?["lastVerdict"] == "applied")
    }

    @Test("CFG-61, CFG-116: a trial does not pass with an orderly end of an app that has loaded other bytes")
    func otherBytesOnTrial() throws {
        _ = try beginTrial()
        try secondary.answer(1, ReloadReply.message(loaded: []))
        secondary.disconnect(inOrder: true)
        #expect(access(secondary.file("trial.plist"), F_OK) == 0)
    }

    @Test("CFG-17, CFG-42: an app reads its files again when the operator trusts a key set in place of its bare key")
    func keySetInPlaceOfABareKey() throws {
        secondary.connect()
        try secondary.apply(try secondary.envelope(1))
        let messages = secondary.host.offers.count
        try secondary.trustKeySet()
        #expect(secondary.keySets != nil && secondary.host.offers.count == messages + 1)
        #expect(secondary.host.offers.last?.body == ConfigurationService.reloadBody)
    }

    @Test("CFG-42: a reload names no pairing, whatever waits for the app")
    func pairingOfAReload() throws {
        secondary.connect()
        secondary.receive(try secondary.envelope(1))
        try secondary.answer(0)
        secondary.receive(try secondary.envelope(2))
        restart()
        let pairing = secondary.queue.pairing
        #expect(secondary.host.offeredPairings == [pairing, pairing, .zero, pairing])
    }

    @Test("CFG-42: the answer to a reload counts for what is applied when it comes, and for no other bytes")
    func otherBytes() throws {
        let (former, next) = (try secondary.envelope(1), try secondary.envelope(2))
        func slot(_ envelope: [UInt8]) throws -> ConfigurationSlot {
            let target = try PairedIdentifier(text: "custom:hw-1")
            let key = ConfigurationSlotKey(application: secondary.queue.app, role: .secondary, target: target)
            let record = try ConfigurationRecord(key: key, device: .zero, envelope: envelope)
            return ConfigurationSlot(
                key: key, device: .zero,
                active: ActiveConfiguration(record, applied: secondary.scheduler.wallNow, isWaived: false))
        }
        let (before, after) = (try slot(former), try slot(next))
        let refusal = Self.refusal(of: next).message
        #expect(ReloadReply(refusal, applied: before.shown?.record.digest) == nil)
        let refused = try #require(ReloadReply(refusal, applied: after.shown?.record.digest))
        var answers = ReloadAnswers()
        #expect(answers.take(refused, of: after) != nil)
        #expect(answers.take(refused, of: after) == nil, "the log has it once")
        #expect(answers.fault(of: after)?.rejection == .schema && answers.fault(of: before) == nil)
        let loads = try #require(ReloadReply(["tandem.verdict": "applied"], applied: nil))
        #expect(answers.take(loads, of: after) == nil)
        #expect(answers.fault(of: after) == nil, "an app that loads it has no fault")
    }

    @Test("CFG-42, CFG-43: an answer to a reload of another form says nothing of what is applied")
    func malformedAnswer() throws {
        let envelope = try applyAndRestart()
        try secondary.answer(1, Self.refusal(of: envelope).message)
        let digest = PropertyListValue.data(SHA256.digest(envelope))
        let answers: [PropertyListDictionary] = [
            [:], ["tandem.verdict": "schema"], ["tandem.verdict": "failed", "tandem.digest": digest],
            ["tandem.verdict": "of another release", "tandem.digest": digest],
        ]
        for answer in answers {
            restart()
            try answerLast(answer)
        }
        secondary.scheduler.advance(by: ConfigurationLimits.loadReports + .seconds(10))
        #expect(secondary.waiting.count == 2, "the verdict and the fault, and not that it loads again")
    }

    @Test("CFG-31, CFG-42: the answer to a reload says nothing of a slot whose files the app no longer sees")
    func anotherTarget() throws {
        let envelope = try applyAndRestart()
        let target = secondary.host.target
        secondary.host.target = try PairedIdentifier(text: "custom:hw-2")
        try secondary.answer(1, Self.refusal(of: envelope).message)
        secondary.host.target = target
        #expect(secondary.status?["lastVerdict"] == "applied" && secondary.waiting.count == 1)
    }
}
