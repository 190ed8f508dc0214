// Deliveries of key chains to secondaries: each step once and in order, again after a loss, and nothing on the word of
// a report that was not asked for.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSignedConfiguration
import TandemTestSupport
import Testing

@Suite final class KeyChainDeliveriesTests {
    private let key: KeyChainDeliveries.Key
    private let device = UniqueIdentifier.random()
    private let reporter = ReportPrivateKey.generate()
    /// Any bytes: the machine never reads them.
    private var chain = [[1], [2], [3]].map { ChainStep($0) }
    private var deliveries = KeyChainDeliveries()

    init() throws {
        key = KeyChainDeliveries.Key(
            pairing: .random(), subject: KeySubject(application: try Fixture.application(), role: .secondary))
    }

    private func advance(
        _ deliveries: inout KeyChainDeliveries, _ count: Int = 3, isUnderWay: Bool = true, isHandled: Bool = false,
        because occasion: KeyChainDeliveries.Occasion = .changed
    ) -> [KeyChainDeliveries.Item] {
        transition(&deliveries, count, isUnderWay: isUnderWay, isHandled: isHandled, because: occasion).items
    }

    private func transition(
        _ deliveries: inout KeyChainDeliveries, _ count: Int = 3, isUnderWay: Bool = true, isHandled: Bool = false,
        because occasion: KeyChainDeliveries.Occasion = .changed, under trust: TrustMark = .unnamed
    ) -> KeyChainDeliveries.Transition {
        deliveries.advance(
            key, along: Array(chain.prefix(count)), because: occasion, under: trust, isUnderWay: { _ in isUnderWay },
            isHandled: { _ in isHandled }
        ) { .random() }
    }

    private func report(
        _ item: KeyChainDeliveries.Item, _ verdict: Verdict, counter: UInt64, digest: [UInt8]? = nil,
        nonce: UniqueIdentifier? = nil, by signer: ReportPrivateKey? = nil
    ) throws -> [UInt8] {
        let facts = ReportFacts(
            delivery: ConfigurationDelivery(pairing: key.pairing, nonce: nonce ?? item.id),
            key: try Fixture.slotKey(), digest: digest ?? SHA256.digest(item.envelope), transaction: nil, version: nil,
            verdict: verdict, text: nil, good: nil)
        return ConfigurationReport(facts, device: device, counter: counter, time: Fixture.now)
            .signed(with: signer ?? reporter)
    }

    private func take(_ bytes: [UInt8], _ deliveries: inout KeyChainDeliveries) throws {
        _ = try deliveries.report(bytes, through: key.pairing, in: 1, device: device, key: reporter.publicKey)
    }

    @Test("CFG-92: each step goes once, in order, and what comes later follows")
    func eachStepGoesOnceInOrder() throws {
        let first = advance(&deliveries, 2)
        #expect(first.map(\.envelope) == [[1], [2]])
        #expect(advance(&deliveries, 2).isEmpty)
        #expect(advance(&deliveries).map(\.envelope) == [[3]])
        try take(try report(first[0], .applied, counter: 1), &deliveries)
        #expect(deliveries[key]?.accepted == 1)
        #expect(advance(&deliveries).isEmpty)
    }

    @Test("CFG-92: a link of a secondary that lacks nothing costs no copy of what is known of thousands of others")
    func aLinkThatChangesNothingCopiesNothing() {
        let keys = (0..<5_000).map { _ in KeyChainDeliveries.Key(pairing: .random(), subject: key.subject) }
        func link(_ state: inout KeyChainDeliveries, _ key: KeyChainDeliveries.Key, isUnderWay: Bool) {
            _ = state.advance(
                key, along: chain, because: .linked, isUnderWay: { _ in isUnderWay }, isHandled: { _ in false }
            ) { .random() }
        }
        for key in keys { link(&deliveries, key, isUnderWay: true) }
        let known = deliveries
        func time(isUnderWay: Bool) -> Duration {
            let begin = ThreadTime.now
            for _ in 0..<100 {
                var next = known
                link(&next, keys[7], isUnderWay: isUnderWay)
            }
            return ThreadTime.now - begin
        }
        let (nothing, something) = (time(isUnderWay: true), time(isUnderWay: false))
        #expect(nothing < something / 4, "\(nothing), \(something)")
    }

    @Test("CTL-74: what a secondary has accepted, lacks and refuses is what it has reported under its present key")
    func standing() throws {
        func shown(_ epoch: UInt64 = 1, under trust: TrustMark = .unnamed) -> KeyChainDeliveries.Standing {
            deliveries.standing(of: key, along: chain, in: epoch, under: trust)
        }
        let items = advance(&deliveries)
        #expect(shown().last == nil && shown().waiting == 3 && shown().refusal == nil)
        try take(try report(items[0], .applied, counter: 1), &deliveries)
        #expect(shown().last == chain[0] && shown().waiting == 2 && shown().refusal == nil)
        try take(try report(items[1], .rejected(.equivocation), counter: 2), &deliveries)
        #expect(shown().waiting == 2 && shown().refusal?.verdict == .rejected(.equivocation))
        for lost in [shown(2), shown(under: .key(.random()))] {
            #expect(lost.last == nil && lost.waiting == 3 && lost.refusal == nil)
        }
        try take(try report(items[2], .applied, counter: 3), &deliveries)
        #expect(shown().waiting == 0 && shown().refusal == nil)
    }

    @Test("CTL-12: a secondary refuses keys by each last verdict but 'applied' and 'waiting-for-key'")
    func refusals() throws {
        func isRefused(after verdict: Verdict, hasApplication: Bool) throws -> Bool {
            var deliveries = KeyChainDeliveries()
            let items = advance(&deliveries)
            try take(try report(items[0], verdict, counter: 1), &deliveries)
            return deliveries.standing(of: key, along: chain, in: 1).isRefused(hasApplication: hasApplication)
        }
        for rejection in Rejection.allCases {
            #expect(try isRefused(after: .rejected(rejection), hasApplication: true), "\(rejection)")
            let alone = try isRefused(after: .rejected(rejection), hasApplication: false)
            #expect(alone == (rejection != .noKey), "\(rejection) without the app")
        }
        for verdict in [Verdict.applied, .waitingForKey] {
            #expect(try !isRefused(after: verdict, hasApplication: true), "\(verdict)")
        }
        #expect(!deliveries.standing(of: key, along: chain, in: 1).isRefused(hasApplication: true), "no report")
    }

    @Test("CFG-92: a step that left its queue without a report is sent again")
    func aStepWithoutAReportIsSentAgain() throws {
        let first = advance(&deliveries)
        try take(try report(first[0], .applied, counter: 1), &deliveries)
        #expect(advance(&deliveries, isUnderWay: false).map(\.envelope) == [[2], [3]])
    }

    @Test("CFG-92: a handled step whose report may be under way goes again at the next link, not when the chain grows")
    func aHandledStepAwaitsItsReport() throws {
        let first = advance(&deliveries, 2)
        let third = advance(&deliveries, isUnderWay: false, isHandled: true)
        #expect(third.map(\.envelope) == [[3]])
        for (index, item) in (first + third).prefix(2).enumerated() {
            try take(try report(item, .applied, counter: UInt64(index) + 1), &deliveries)
        }
        let again = advance(&deliveries, isUnderWay: false, isHandled: true, because: .linked)
        #expect(again.map(\.envelope) == [[3]])
        let announced = advance(&deliveries, isUnderWay: false, isHandled: true, because: .announced)
        #expect(announced.map(\.envelope) == [[3]])
    }

    @Test("CFG-92: a handled step behind one that was lost goes again behind it, because the secondary lacked that one")
    func aHandledStepBehindALostOneGoesAgain() throws {
        let first = advance(&deliveries, 2)
        let again = deliveries.advance(
            key, along: chain, isUnderWay: { _ in false }, isHandled: { $0 == first[1].id },
            newIdentifier: { .random() })
        #expect(again.items.map(\.envelope) == [[1], [2], [3]] && again.cancelled.isEmpty)
        #expect(throws: ReportFailure.wrongNonce, "about a delivery that no longer counts") {
            try take(try report(first[1], .rejected(.keySetGap), counter: 1), &deliveries)
        }
        for (index, item) in again.items.enumerated() {
            try take(try report(item, .applied, counter: UInt64(index) + 2), &deliveries)
        }
        #expect(deliveries[key]?.accepted == 3)
    }

    @Test("CFG-92: a secondary that has learned its key again, or another one, gets the chain from the beginning")
    func anotherKeyStartsTheChainAgain() throws {
        let trust = TrustMark.key(.random())
        let first = transition(&deliveries, under: trust).items
        for (index, item) in first.enumerated() {
            try take(try report(item, .applied, counter: UInt64(index) + 1), &deliveries)
        }
        for same in [trust, .unnamed] {
            #expect(transition(&deliveries, because: .announced, under: same).items.isEmpty)
        }
        var restored = KeyChainDeliveries()
        try restored.restore(try #require(deliveries.row(of: key)), of: key)
        let again = transition(&restored, because: .announced, under: .key(.random()))
        #expect(again.items.map(\.envelope) == [[1], [2], [3]] && restored[key]?.accepted == 0)
        let gone = transition(&restored, because: .announced, under: .noKey)
        #expect(gone.cancelled == again.items.map(\.id) && gone.items.count == 3)
        let other = TrustMark.key(.random())
        #expect(restored.isBehind(key, along: 3, in: 1, under: other), "a configuration must not overtake it")
        #expect(!restored.isBehind(key, along: 3, in: 1, under: .noKey))
        let late = try report(gone.items[0], .rejected(.keySetGap), counter: 9)
        #expect(throws: ReportFailure.wrongNonce, "judged under another key") {
            try restored.report(
                late, through: key.pairing, in: 1, device: device, key: reporter.publicKey, under: { _ in other })
        }
        #expect(transition(&restored, because: .announced, under: other).cancelled == gone.items.map(\.id))
    }

    @Test("CFG-92: the first trust mark of all starts a chain of which steps were accepted again, once")
    func theFirstMarkStartsTheChainAgain() throws {
        for trust in [TrustMark.key(.random()), .noKey] {
            var deliveries = KeyChainDeliveries()
            for (index, item) in advance(&deliveries).enumerated() {
                try take(try report(item, .applied, counter: UInt64(index) + 1), &deliveries)
            }
            #expect(transition(&deliveries, because: .announced).items.isEmpty)
            #expect(deliveries.isBehind(key, along: 3, in: 1, under: trust), "a configuration must not overtake it")
            let again = transition(&deliveries, because: .announced, under: trust).items
            #expect(again.map(\.envelope) == [[1], [2], [3]])
            try take(try report(again[2], .applied, counter: 9), &deliveries)
            #expect(transition(&deliveries, because: .linked, under: trust).items.isEmpty)
        }
        var waiting = KeyChainDeliveries()
        let first = advance(&waiting)
        try take(try report(first[0], .waitingForKey, counter: 1), &waiting)
        #expect(transition(&waiting, under: .noKey).items.isEmpty, "nothing tells of a key")
        #expect(transition(&waiting, under: .key(.random())).items.count == 3)
    }

    @Test("CFG-92: a first trust mark that comes before any report loses nothing of what is on its way")
    func aFirstMarkBeforeAnyReport() throws {
        let (first, trust) = (advance(&deliveries), TrustMark.key(.random()))
        for (index, item) in first.enumerated() {
            let bytes = try report(item, .applied, counter: UInt64(index) + 1)
            _ = try deliveries.report(
                bytes, through: key.pairing, in: 1, device: device, key: reporter.publicKey, under: { _ in trust })
        }
        let next = transition(&deliveries, because: .announced, under: trust)
        #expect(next.items.isEmpty && next.cancelled.isEmpty && deliveries[key]?.accepted == 3)
    }

    @Test("CFG-95: after a refusal the first step goes again at the next link, the others once it is accepted")
    func aRefusalStartsTheChainAgain() throws {
        let first = advance(&deliveries)
        try take(try report(first[0], .applied, counter: 1), &deliveries)
        try take(try report(first[1], .rejected(.threshold), counter: 2), &deliveries)
        try take(try report(first[2], .rejected(.keySetGap), counter: 3), &deliveries)
        #expect(deliveries[key]?.result?.verdict == .rejected(.keySetGap))
        #expect(advance(&deliveries, isUnderWay: false).isEmpty, "the chain has not grown")
        #expect(advance(&deliveries, isUnderWay: false, because: .announced).isEmpty, "it had a key")
        let alone = advance(&deliveries, isUnderWay: false, because: .linked)
        #expect(alone.map(\.envelope) == [[1]])
        #expect(advance(&deliveries).isEmpty, "the others wait for its answer")
        try take(try report(alone[0], .applied, counter: 4), &deliveries)
        let others = advance(&deliveries)
        #expect(others.map(\.envelope) == [[2], [3]])
        for (index, item) in others.enumerated() {
            try take(try report(item, .applied, counter: 5 + UInt64(index)), &deliveries)
        }
        #expect(deliveries[key]?.accepted == 3)
        #expect(advance(&deliveries, isUnderWay: false).isEmpty)
    }

    @Test("CFG-95: a chain that was accepted and is contradicted later starts again, once on each link")
    func aContradictionStartsTheChainAgain() throws {
        let first = advance(&deliveries)
        #expect(deliveries.doubt(key, along: chain) == false, "it has not reported all of it")
        for (index, item) in first.enumerated() {
            try take(try report(item, .applied, counter: UInt64(index) + 1), &deliveries)
        }
        #expect(deliveries.doubt(key, along: []) == false)
        #expect(deliveries.doubt(key, along: chain) == true)
        #expect(deliveries.isBehind(key, along: 3, in: 1), "a configuration must not overtake it")
        let again = advance(&deliveries)
        #expect(again.map(\.envelope) == [[1], [2], [3]])
        try take(try report(again[2], .applied, counter: 9), &deliveries)
        #expect(deliveries.doubt(key, along: chain) == false, "once")
        #expect(advance(&deliveries, because: .linked).isEmpty)
        #expect(deliveries.doubt(key, along: chain) == true, "on the next link")
    }

    @Test("CFG-95: what is on its way behind a refused step is cancelled, and sent again after it")
    func whatIsBehindARefusedStepIsCancelled() throws {
        let first = advance(&deliveries)
        try take(try report(first[0], .waitingForKey, counter: 1), &deliveries)
        let none = transition(&deliveries)
        #expect(none.items.isEmpty && none.cancelled.isEmpty)
        let again = transition(&deliveries, because: .announced)
        #expect(again.cancelled == [first[1].id, first[2].id])
        #expect(again.items.map(\.envelope) == [[1]], "it may have learned a key")
        #expect(throws: ReportFailure.wrongNonce) {
            try take(try report(first[1], .rejected(.keySetGap), counter: 2), &deliveries)
        }
        let nothing = transition(&deliveries)
        #expect(nothing.items.isEmpty && nothing.cancelled.isEmpty)
    }

    @Test("CFG-95: a refusal of a step that a later anchor has no use for is no answer about the next ones")
    func aRefusalBelowALaterAnchorIsNoAnswer() throws {
        let items = advance(&deliveries)
        let last = chain[2].digest
        try take(try report(items[0], .rejected(.rollback), counter: 1), &deliveries)
        #expect(deliveries[key]?.verdict(on: last, at: 2, along: chain) == nil)
        try take(try report(items[1], .rejected(.oldKeySet), counter: 2), &deliveries)
        #expect(deliveries[key]?.verdict(on: chain[1].digest, at: 1, along: chain) == .rejected(.oldKeySet))
        try take(try report(items[2], .applied, counter: 3), &deliveries)
        #expect(deliveries[key]?.verdict(on: last, at: 2, along: chain) == .applied)
        var refused = KeyChainDeliveries()
        let others = advance(&refused)
        try take(try report(others[0], .rejected(.threshold), counter: 1), &refused)
        let answer = refused[key]?.verdict(on: last, at: 2, along: chain)
        #expect(answer == .rejected(.threshold), "nothing follows from a forged one")
    }

    @Test("CFG-51: a report by another key, on other bytes, replayed or not asked for changes nothing")
    func aFalseReportChangesNothing() throws {
        let items = advance(&deliveries)
        try take(try report(items[0], .applied, counter: 5), &deliveries)
        let before = deliveries
        let bad: [(ReportFailure, [UInt8])] = [
            (.threshold, try report(items[1], .applied, counter: 6, by: .generate())),
            (.wrongNonce, try report(items[1], .applied, counter: 6, digest: Array(repeating: 7, count: 32))),
            (.replayed, try report(items[1], .applied, counter: 5)),
            (.wrongNonce, try report(items[1], .applied, counter: 6, nonce: .random())),
        ]
        for (failure, bytes) in bad {
            #expect(throws: failure) { try take(bytes, &deliveries) }
            #expect(deliveries == before)
        }
    }

    @Test("CFG-92: in a new epoch a secondary gets all of it again, once; of an ended pairing nothing is left")
    func aNewEpochBringsAllOfIt() throws {
        for (index, item) in advance(&deliveries).enumerated() {
            #expect(deliveries.awaits(item.id))
            try take(try report(item, .applied, counter: 1 + UInt64(index)), &deliveries)
        }
        #expect(deliveries.enterEpoch(1, of: key.pairing) == nil)
        #expect(!deliveries.isBehind(key, along: 3, in: 1) && deliveries.isBehind(key, along: 3, in: 2))
        #expect(!deliveries.isBehind(key, along: 0, in: 2), "there is nothing to bring")
        #expect(deliveries.enterEpoch(2, of: key.pairing)?.map(\.key) == [key])
        #expect(deliveries.enterEpoch(2, of: key.pairing) == nil)
        let again = advance(&deliveries)
        #expect(again.count == 3)
        // A restored secondary counts its reports from where it was.
        try take(try report(again[0], .applied, counter: 1), &deliveries)
        #expect(deliveries.unpaired(key.pairing) == [key])
        #expect(deliveries == KeyChainDeliveries())
    }

    @Test("CFG-92: a new epoch takes what waits for the link out of its queue")
    func aNewEpochCancelsWhatWaits() throws {
        #expect(deliveries.enterEpoch(1, of: key.pairing)?.isEmpty == true, "the first is stored, too")
        let items = advance(&deliveries)
        try take(try report(items[0], .applied, counter: 1), &deliveries)
        #expect(deliveries.enterEpoch(2, of: key.pairing)?.flatMap(\.cancelled) == items.dropFirst().map(\.id))
    }

    @Test("CFG-92: a report of the epoch before counts for nothing, even the first one")
    func aReportOfTheEpochBeforeCountsForNothing() throws {
        _ = deliveries.enterEpoch(1, of: key.pairing)
        let items = advance(&deliveries)
        _ = deliveries.enterEpoch(2, of: key.pairing)
        #expect(throws: ReportFailure.wrongNonce) { try take(try report(items[0], .applied, counter: 1), &deliveries) }
        #expect(advance(&deliveries).map(\.envelope) == [[1], [2], [3]])
    }

    @Test("CFG-102: an epoch that was before is no new one")
    func anEpochThatWasBeforeIsNoNewOne() throws {
        for (index, item) in advance(&deliveries).enumerated() {
            try take(try report(item, .applied, counter: 1 + UInt64(index)), &deliveries)
        }
        #expect(deliveries.enterEpoch(2, of: key.pairing)?.count == 1)
        #expect(deliveries.enterEpoch(1, of: key.pairing) == nil)
        #expect(!deliveries.isBehind(key, along: 0, in: 1))
    }

    @Test("CFG-95: a chain that has grown starts again after a refusal, one step at a time")
    func aGrownChainStartsAgain() throws {
        let first = advance(&deliveries, 2)
        try take(try report(first[0], .rejected(.threshold), counter: 1), &deliveries)
        #expect(advance(&deliveries, 2).isEmpty)
        #expect(advance(&deliveries, 3).map(\.envelope) == [[1]])
    }

    @Test("CFG-92: another chain in the place of one starts from its beginning")
    func anotherChainStartsFromItsBeginning() throws {
        let items = advance(&deliveries)
        try take(try report(items[0], .applied, counter: 1), &deliveries)
        let other = [[9], [8]].map { ChainStep($0) }
        let sent = deliveries.advance(
            key, along: other, isUnderWay: { _ in true }, isHandled: { _ in false }, newIdentifier: { .random() })
        #expect(sent.items.map(\.envelope) == other.map(\.envelope))
        #expect(sent.cancelled == [items[1].id, items[2].id])
        #expect(throws: ReportFailure.wrongNonce) { try take(try report(items[1], .applied, counter: 2), &deliveries) }
    }

    @Test("CFG-95: a refusal of a step that another anchor's chain does not have is no answer about that chain")
    func aRefusalIsNoneAlongAnotherChain() throws {
        func standing() -> KeyChainDeliveries.Standing { deliveries.standing(of: key, along: chain, in: 1) }
        let wrong = advance(&deliveries, 1)
        try take(try report(wrong[0], .rejected(.threshold), counter: 1), &deliveries)
        chain = [[9], [8]].map { ChainStep($0) }
        #expect(deliveries[key]?.verdict(on: chain[0].digest, at: 0, along: chain) == nil)
        #expect(standing().waiting == 2 && standing().refusal == nil)
        let first = advance(&deliveries, 1)
        #expect(first.map(\.envelope) == [[9]], "as many steps as the chain before, on the same link")
        try take(try report(first[0], .applied, counter: 2), &deliveries)
        let second = advance(&deliveries)
        #expect(second.map(\.envelope) == [[8]])
        try take(try report(second[0], .rejected(.threshold), counter: 3), &deliveries)
        #expect(advance(&deliveries).isEmpty && standing().refusal?.verdict == .rejected(.threshold))
        chain = [[9], [7]].map { ChainStep($0) }
        #expect(advance(&deliveries).map(\.envelope) == [[9]], "from the beginning, the first step alone")
    }

    @Test("LIM-111: of a long chain 64 steps are on their way, and the others follow as these are accepted")
    func aLongChainGoesInParts() throws {
        let long = (0..<200).map { ChainStep([UInt8($0)]) }
        #expect(deliveries.isBehind(key, along: 1, in: 1), "nothing is on its way yet")
        #expect(!deliveries.isBehind(key, along: 0, in: 1), "there is nothing to bring")
        var sent = deliveries.advance(
            key, along: long, isUnderWay: { _ in true }, isHandled: { _ in false }, newIdentifier: { .random() }
        ).items
        #expect(sent.count == 64)
        #expect(deliveries.goOn(key, along: long) { .random() }.isEmpty)
        var (taken, most) = (0, 0)
        while taken < sent.count {
            // The nonces lead to their step, in whichever place.
            #expect(deliveries.awaits(sent[taken].id))
            try take(try report(sent[taken], .applied, counter: UInt64(taken) + 1), &deliveries)
            #expect(!deliveries.awaits(sent[taken].id))
            taken += 1
            sent += deliveries.goOn(key, along: long) { .random() }
            most = max(most, sent.count - taken)
            #expect(deliveries.isBehind(key, along: long.count, in: 1) == (sent.count < long.count))
        }
        #expect(sent.map(\.envelope) == long.map(\.envelope) && most == 64)
        #expect(deliveries[key]?.accepted == 200)
    }

    @Test("CFG-92: of a secondary that has refused a step nothing is expected")
    func aRefusalHoldsNothingUp() throws {
        let long = (0..<200).map { ChainStep([UInt8($0)]) }
        let sent = deliveries.advance(
            key, along: long, isUnderWay: { _ in true }, isHandled: { _ in false }, newIdentifier: { .random() }
        ).items
        try take(try report(sent[0], .rejected(.threshold), counter: 1), &deliveries)
        #expect(!deliveries.isBehind(key, along: long.count, in: 1))
    }

    @Test("CFG-92: the rows restore the machine")
    func theRowsRestoreTheMachine() throws {
        let items = advance(&deliveries)
        try take(try report(items[0], .applied, counter: 8), &deliveries)
        try take(try report(items[1], .rejected(.keySetGap), counter: 9), &deliveries)
        var restored = KeyChainDeliveries()
        try restored.restore(try #require(deliveries.row(of: key)), of: key)
        let counter = try #require(deliveries.counter(of: key.pairing))
        restored.restore(counter, of: key.pairing)
        #expect(restored == deliveries)
        var damaged = try #require(deliveries.row(of: key))
        damaged["accepted"] = -1
        #expect(throws: FieldError.self) { try restored.restore(damaged, of: key) }
    }
}
