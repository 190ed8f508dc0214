// A device's signed word: what it says, and everything that makes a primary disbelieve it.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSignedConfiguration
import Testing

@Suite struct ReportTests {
    private static let key = ReportPrivateKey.generate()

    private static func facts(
        _ verdict: Verdict, by delivery: ConfigurationDelivery = Fixture.delivery, text: String? = nil,
        waived: Bool = false, trial: Bool? = nil
    ) throws -> ReportFacts {
        ReportFacts(
            delivery: delivery, key: try Fixture.slotKey(), digest: SHA256.digest([1, 2, 3]), transaction: .random(),
            version: 7, verdict: verdict, text: text,
            good: GoodConfiguration(version: 7, digest: SHA256.digest([1, 2, 3])), isWaived: waived, isOnTrial: trial)
    }

    private static func report(
        _ verdict: Verdict = .applied, text: String? = nil, waived: Bool = false, trial: Bool? = nil,
        counter: UInt64 = 1, form: ConfigurationReport.Form = .second
    ) throws -> ConfigurationReport {
        ConfigurationReport(
            try facts(verdict, text: text, waived: waived, trial: trial), device: try Fixture.device(),
            counter: counter, time: Fixture.now, form: form)
    }

    private static func earlyFailure() throws -> ReportFacts {
        try facts(.rejected(.threshold), by: ConfigurationDelivery(pairing: .random(), nonce: .random()))
    }

    private static func account() throws -> ReportAccount {
        ReportAccount(
            key: key.publicKey, device: try Fixture.device(), pairing: Fixture.delivery.pairing,
            open: [Fixture.delivery.nonce])
    }

    @Test("CFG-50: a report reads back as it was signed")
    func aReportReadsBackAsItWasSigned() throws {
        var account = try Self.account()
        let report = try Self.report(text: "fine")
        #expect(try account.accept(report.signed(with: Self.key)) == report)
        #expect(account.counter == 1)
        #expect(account.open.isEmpty)
    }

    @Test("CFG-51: a replayed report is refused")
    func aReplayedReportIsRefused() throws {
        var account = try Self.account()
        let waiting = try Self.report(.waitingForApplication, counter: 5).signed(with: Self.key)
        _ = try account.accept(waiting)
        #expect(throws: ReportFailure.replayed) { try account.accept(waiting) }
        let older = try Self.report(counter: 4).signed(with: Self.key)
        #expect(throws: ReportFailure.replayed) { try account.accept(older) }
        #expect(try account.accept(try Self.report(counter: 6).signed(with: Self.key)).facts.verdict == .applied)
        let afterwards = try Self.report(counter: 7).signed(with: Self.key)
        #expect(throws: ReportFailure.wrongNonce) { try account.accept(afterwards) }
    }

    @Test("CFG-51: a report that one about another app has overtaken is accepted, and none that one about its app has")
    func overtakenReports() throws {
        var fleet = try Fleet()
        let items = try ["org.example.alarm", "org.example.lamp"].map { name in
            let app = try ApplicationIdentifier(name)
            return try fleet.delivered(try Fixture.envelope(version: 1) { $0.application = app })
        }
        /// The member's report with this counter.
        func report(_ counter: UInt64, _ item: ConfigurationItem, _ verdict: Verdict, onTrial: Bool? = nil) throws {
            fleet.members[0].counter = counter - 1
            _ = try fleet.report(0, item, verdict, onTrial: onTrial)
        }
        try report(3, items[0], .applied, onTrial: true)
        try report(1, items[1], .applied, onTrial: true)
        try report(2, items[1], .failed)
        let standing = fleet.desired.standing(of: fleet.addressee(0), for: items[1].entry.key)
        #expect(standing?.verdict == "failed")
        #expect(throws: ReportFailure.replayed) { try report(2, items[0], .failed) }
        #expect(fleet.standing(0)?.verdict == "applied")
    }

    @Test("CFG-51, CFG-98: a counter that an earlier release has kept for all apps counts for each of them")
    func countersInRows() throws {
        var counter = try #require(ReportCounter(["epoch": 2, "value": 4]))
        #expect(throws: ReportFailure.replayed) { try counter.accept(try Self.report(counter: 4)) }
        try counter.accept(try Self.report(counter: 5))
        var restored = try #require(ReportCounter(counter.dictionary))
        #expect(restored == counter)
        #expect(throws: ReportFailure.replayed) { try restored.accept(try Self.report(counter: 5)) }
    }

    @Test("CFG-51: another's report is refused and changes nothing")
    func anothersReportIsRefusedAndChangesNothing() throws {
        var account = try Self.account()
        let foreign = try Self.report(counter: 9).signed(with: ReportPrivateKey.generate())
        #expect(throws: ReportFailure.threshold) { try account.accept(foreign) }
        var elsewhere = ReportAccount(
            key: Self.key.publicKey, device: .random(), pairing: Fixture.delivery.pairing,
            open: [Fixture.delivery.nonce])
        let own = try Self.report().signed(with: Self.key)
        #expect(throws: ReportFailure.wrongDevice) { try elsewhere.accept(own) }
        #expect(account.counter == 0)
        #expect(throws: Never.self) { try account.accept(own) }
    }

    @Test("CFG-51: every bit of a signed report matters")
    func everyBitOfASignedReportMatters() throws {
        let bytes = try Self.report().signed(with: Self.key)
        for index in bytes.indices {
            var account = try Self.account()
            var changed = bytes
            changed[index] ^= 0x10
            #expect(throws: ReportFailure.self, "byte \(index)") { try account.accept(changed) }
            #expect(account.counter == 0)
        }
    }

    @Test("CFG-51: a configuration is no report")
    func aConfigurationIsNoReport() throws {
        var account = try Self.account()
        let payload = try PropertyListWriter.write(try Self.report().dictionary)
        let asConfiguration = try SignedEnvelope.bytes(payload, type: .configuration, signedWith: [Self.key.key])
        #expect(throws: ReportFailure.wrongType) { try account.accept(asConfiguration) }
        let twice = try SignedEnvelope.bytes(payload, type: .report, signedWith: [Self.key.key, Self.key.key])
        #expect(throws: ReportFailure.threshold) { try account.accept(twice) }
        #expect(throws: ReportFailure.malformed) { try account.accept([1, 2, 3]) }
    }

    @Test(
        "CFG-50: a report of another form is refused",
        arguments: [
            ("typ", "config"), ("device", .data([1])), ("counter", 0), ("verdict", "fine"), ("text", 7),
            ("goodVer", nil), ("extra", 1), ("nonce", nil), ("role", "both"),
            ("text", .string(String(repeating: "x", count: 257))),
        ] as [(String, PropertyListValue?)])
    func aReportOfAnotherFormIsRefused(field: String, value: PropertyListValue?) throws {
        var fields = try Self.report().dictionary
        fields[field] = value
        let bytes = try SignedEnvelope.bytes(
            try PropertyListWriter.write(fields), type: .report, signedWith: [Self.key.key])
        var account = try Self.account()
        #expect(throws: ReportFailure.payloadMalformed) { try account.accept(bytes) }
    }

    @Test("CFG-50: text is cut at the limit on a whole character")
    func textIsCutAtTheLimitOnAWholeCharacter() throws {
        let text = String(repeating: "\u{20ac}", count: 200)
        let facts = try Self.facts(.rejected(.threshold), text: text)
        #expect(facts.text?.utf8.count == 255)
    }

    @Test("CFG-51, CFG-67: 'applied' on trial leaves its nonce open, and the last verdict finishes it")
    func onTrial() throws {
        for last in [try Self.report(.applied, trial: false, counter: 2), try Self.report(.failed, counter: 2)] {
            var account = try Self.account()
            let trying = try Self.report(.applied, waived: true, trial: true)
            let told = try account.accept(trying.signed(with: Self.key))
            #expect(told == trying && told.isProvisional && told.facts.isWaived)
            #expect(!account.open.isEmpty)
            #expect(try !account.accept(last.signed(with: Self.key)).isProvisional)
            #expect(account.open.isEmpty)
        }
    }

    @Test("CFG-67: the first form says less, and never more than is true")
    func firstForm() throws {
        #expect(try Self.report(.failed).facts.inFirstForm == nil)
        #expect(try Self.report(.applied, trial: true).facts.inFirstForm == nil)
        let passed = try #require(try Self.report(.applied, waived: true, trial: false).facts.inFirstForm)
        #expect(passed.verdict == .applied && passed.text == "its invalid signature was allowed")
        #expect(!passed.isWaived && passed.isOnTrial == nil)
        let first = ConfigurationReport(
            passed, device: try Fixture.device(), counter: 1, time: Fixture.now, form: .first)
        #expect(first.dictionary["spec"] == "1.0" && first.dictionary["trial"] == nil)
        #expect(try ConfigurationReport(first.dictionary) == first)
    }

    @Test("CFG-50, CFG-67: a form has its own fields only", arguments: ["waived", "trial", "verdict"])
    func fieldsOfTheSecondForm(field: String) throws {
        var fields = try Self.report(.superseded, form: .first).dictionary
        fields[field] = field == "verdict" ? "failed" : true
        #expect(throws: FieldError.self) { try ConfigurationReport(fields) }
        var second = try Self.report(.superseded).dictionary
        second["trial"] = true
        #expect(throws: FieldError.self, "it belongs to 'applied'") { try ConfigurationReport(second) }
        second["trial"] = nil
        second["waived"] = false
        #expect(throws: FieldError.self, "absent, or true") { try ConfigurationReport(second) }
    }

    @Test("CFG-25: every verdict has one name")
    func everyVerdictHasOneName() {
        let verdicts =
            [Verdict.applied, .waitingForApplication, .waitingForKey, .superseded, .failed]
            + Rejection.allCases.map { .rejected($0) }
        #expect(Set(verdicts.map(\.name)).count == verdicts.count)
        for verdict in verdicts { #expect(Verdict(name: verdict.name) == verdict) }
        #expect(Verdict(name: "Applied") == nil)
    }

    @Test("CFG-52: every failure before step 9 is an early one, and no other is")
    func everyFailureBeforeStepNineIsEarly() {
        let early = Rejection.allCases.filter(\.isEarly)
        #expect(
            early == [
                .oversize, .malformed, .shape, .noKey, .weakKey, .unknownAlgorithm, .duplicateKeyIdentifier,
                .threshold, .keySetExpired,
            ])
    }

    @Test("CFG-94: threshold and old-keyset come of a change of keys, and no other rejection does")
    func rejectionsThatComeOfKeys() {
        #expect(Rejection.allCases.filter(\.comesOfKeys) == [.threshold, .oldKeySet])
    }

    @Test("CFG-73: a rejection or a failure is a refusal, except where a usable key or the clock is missing")
    func refusals() {
        let open: [Rejection] = [.noKey, .weakKey, .unknownAlgorithm, .clockUnset]
        for rejection in Rejection.allCases {
            #expect(Verdict.rejected(rejection).isRefusal == !open.contains(rejection), "\(rejection)")
        }
        let verdicts = [Verdict.applied, .waitingForApplication, .waitingForKey, .superseded, .failed]
        #expect(verdicts.filter(\.isRefusal) == [.failed])
    }

    @Test("CFG-52: early failures are reported at most once a minute, the last with the count of those left out")
    func earlyFailuresAreReportedAtMostOnceAMinuteWithTheirCount() throws {
        var gate = EarlyFailureGate()
        let start = MonotonicTime(nanoseconds: 1_000_000_000)
        let facts = try Self.earlyFailure()
        #expect(gate.failed(facts, at: start) == [facts])
        for second in 1...59 { #expect(gate.failed(facts, at: start + .seconds(second)).isEmpty) }
        let due = gate.failed(facts, at: start + .seconds(60))
        #expect(due.count == ConfigurationLimits.openDeliveries && due.dropLast().allSatisfy { $0 == facts })
        #expect(due.last?.text == "60 in a row; the last: threshold")
        #expect(gate.failed(facts, at: start + .seconds(61)).isEmpty)
    }

    @Test("CFG-52, LIM-85: each failure that a primary waits for is reported when the minute is over, the oldest first")
    func eachFailureOfABurst() throws {
        var gate = EarlyFailureGate()
        let start = MonotonicTime(nanoseconds: 1_000_000_000)
        let failures = try (0...ConfigurationLimits.openDeliveries).map { _ in try Self.earlyFailure() }
        for failure in failures { _ = gate.failed(failure, at: start) }
        #expect(gate.due(at: start + .seconds(60)) == Array(failures.dropFirst()), "none was left out")
        #expect(!gate.isHolding)
    }

    @Test("CFG-52: of statements about keys the last failure of a burst is reported when its minute is over")
    func theLastFailureOfABurstIsReportedWhenItsMinuteIsOver() throws {
        var gate = EarlyFailureGate(isStatement: true)
        let start = MonotonicTime(nanoseconds: 1_000_000_000)
        #expect(gate.failed(try Self.earlyFailure(), at: start).count == 1)
        #expect(!gate.isHolding)
        #expect(gate.failed(try Self.earlyFailure(), at: start + .seconds(4)).isEmpty)
        let last = try Self.earlyFailure()
        #expect(gate.failed(last, at: start + .seconds(5)).isEmpty)
        #expect(gate.due(at: start + .seconds(59)).isEmpty)
        let due = gate.due(at: start + .seconds(60))
        #expect(due.map(\.delivery) == [last.delivery] && due[0].text == "2 in a row; the last: threshold")
        #expect(gate.due(at: start + .seconds(300)).isEmpty)
    }
}
