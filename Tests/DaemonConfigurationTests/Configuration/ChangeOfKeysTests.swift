// Changes of keys at a primary and what they end (CFG-94), beside an apply at the same time and on a disk that fails.

import TandemCrypto
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSignedConfiguration
import TandemTestSupport
import Testing

@testable import TandemDaemon

@Suite struct ChangeOfKeysTests {
    private let primary: OnePrimary

    init() throws { primary = try OnePrimary() }

    @Test("CFG-94: what is applied while its key is being revoked does not stay desired")
    func anApplyBesideARevocation() throws {
        let revoked = try primary.revocation()
        primary.store.hold(commits: true)
        primary.begin(revoked)
        primary.begin(try primary.envelope(1))
        #expect(primary.store.heldCount == 2, "the key is good as long as the revocation is not durable")
        primary.store.doOne()
        primary.scheduler.run()
        primary.store.goOn()
        primary.scheduler.run()
        #expect(primary.desired == [])
        #expect(primary.apply(try primary.envelope(2)) == "threshold")
    }

    @Test(
        "CFG-73, CFG-95: a secondary that refuses keys of which it reported all gets them and the configuration again")
    func keysThatAreRefused() throws {
        for rejection in [Rejection.threshold, .oldKeySet] {
            let primary = try OnePrimary()
            let second = try primary.set(2)
            #expect(primary.apply(second) == nil)
            primary.link()
            primary.receive(try primary.applied(second, counter: 1))
            let envelope = try primary.envelope(1, under: 2)
            #expect(primary.apply(envelope) == nil)
            let before = primary.waiting
            let refused = Verdict.rejected(rejection)
            primary.receive(try primary.applied(envelope, counter: 2, verdict: refused))
            let again = primary.waiting.filter { !before.contains($0) }
            try #require(again.count == 2, "the key set, and then the configuration")
            primary.receive(try primary.applied(second, counter: 3, nonce: again[0]))
            primary.receive(try primary.applied(envelope, counter: 4, nonce: again[1], verdict: refused))
            #expect(primary.waiting.allSatisfy { before.contains($0) || again.contains($0) }, "once on a link")
        }
    }

    @Test("CFG-75, CFG-92, CTL-25: a caller hears at once that what waited for keys is withdrawn")
    func theEndOfWhatWaitsForKeys() throws {
        // More steps than are on their way to a secondary that is away.
        for version in 2...80 { #expect(primary.apply(try primary.set(UInt64(version))) == nil) }
        var outcome: ApplyOutcome?
        primary.begin(try primary.envelope(1, under: 80), wait: .seconds(30)) { outcome = $0 }
        #expect(outcome == nil && primary.desired == [1], "\(String(describing: outcome))")
        #expect(primary.apply(try primary.revocation(under: 80)) == nil)
        guard case .results(let results, _) = outcome else { throw Unexpected("\(String(describing: outcome))") }
        #expect(results.map(\.ending) == [.withdrawn])
    }

    @Test("CFG-94, CTL-26: the answer to a change of keys has what that ends, once")
    func whatEndsIsAnswered() throws {
        let envelope = try primary.envelope(3)
        #expect(primary.apply(envelope) == nil)
        let revoked = try primary.revocation()
        for isFirst in [true, false] {
            var outcome: ApplyOutcome?
            primary.begin(revoked) { outcome = $0 }
            primary.scheduler.advance(by: .milliseconds(1))
            guard case .results(let results, _) = outcome else { throw Unexpected("\(String(describing: outcome))") }
            let ended = results.first?.ended ?? []
            #expect(ended.map(\.version) == (isFirst ? [3] : []))
            #expect(ended.allSatisfy { $0.digest == SHA256.digest(envelope) && $0.reason == .threshold })
            #expect(results.dropFirst().allSatisfy { $0.ended.isEmpty })
        }
        #expect(primary.desired == [])
    }

    @Test("CFG-94: on a full disk the revocation says so, sends no step, and the same request goes on")
    func aRevocationOnADiskThatFills() throws {
        #expect(primary.apply(try primary.envelope(1)) == nil)
        let revoked = try primary.revocation()
        var outcome: ApplyOutcome?
        primary.store.hold(commits: true)
        primary.begin(revoked) { outcome = $0 }
        primary.store.isFull = false
        primary.store.doOne()
        primary.store.isFull = true
        primary.scheduler.run()
        primary.store.goOn()
        primary.scheduler.run()
        guard case .failed(let failure) = outcome else { throw Unexpected("\(String(describing: outcome))") }
        #expect(failure.name == "full" && primary.desired == [1])
        primary.store.isFull = false
        #expect(primary.apply(revoked) == nil)
        #expect(primary.desired == [])
    }

    @Test("CFG-94, DEL-31: what a change of keys ends makes room on a full disk")
    func theEndUsesTheReserve() throws {
        #expect(primary.apply(try primary.envelope(1)) == nil)
        let revoked = try primary.revocation()
        primary.store.hold(commits: true)
        primary.begin(revoked)
        primary.store.doOne()
        (primary.store.isFull, primary.store.hasReserve) = (true, true)
        primary.scheduler.run()
        primary.store.goOn()
        primary.scheduler.run()
        #expect(primary.desired == [])
    }

    @Test("CFG-83, DEL-31: a full disk takes a revocation, and no key set")
    func aRevocationOnAFullDisk() throws {
        (primary.store.isFull, primary.store.hasReserve) = (true, true)
        #expect(primary.apply(try primary.set(2)) == "store")
        #expect(primary.apply(try primary.revocation()) == nil)
        (primary.store.isFull, primary.store.hasReserve) = (false, false)
        #expect(primary.apply(try primary.envelope(1)) == "threshold")
    }

    @Test("CFG-84: a well-signed key set or revocation that does not say whose it is, is no configuration")
    func aNamelessStatement() throws {
        let payload = try PropertyListWriter.write(["typ": "keyset", "spec": "1.0"] as PropertyListDictionary)
        let holders = primary.holders
        for (type, key) in [(SignedPayloadType.keySet, holders.root), (.revocation, holders.revoker)] {
            let statement = try SignedEnvelope.bytes(payload, type: type, signedWith: [key])
            #expect(primary.apply(statement) == "payload-malformed")
        }
        #expect(primary.apply(try primary.set(2)) == nil)
    }

    @Test("LIM-134, CFG-72: a secondary that changes its key without end costs eight deliveries in ten seconds")
    func endlessChangesOfAKey() throws {
        #expect(primary.apply(try primary.set(2)) == nil)
        primary.link()
        var waiting = [primary.waiting]
        for _ in 0..<100 {
            primary.announceAnotherKey()
            if primary.waiting != waiting.last { waiting.append(primary.waiting) }
        }
        // The first key is that of the delivery that waits.
        #expect(waiting.count == 8 && Set(waiting.map(\.count)) == [1])
        primary.scheduler.advance(by: .seconds(10))
        #expect(primary.waiting.count == 1 && primary.waiting != waiting.last, "the last one counts")
    }
}
