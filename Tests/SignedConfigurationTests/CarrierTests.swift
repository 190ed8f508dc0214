// A chain of devices: the word of carriers, the bytes that they pass on, and every attack of a carrier in the middle,
// each by the name that it fails with.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSignedConfiguration
import TandemWire
import Testing

@Suite final class CarrierTests {
    private var chain: Chain

    init() throws { chain = try Chain() }

    @Test("CFG-101: a statement reads back as it was signed, and names the far secondary with its report key")
    func statement() throws {
        let chain = try Chain()
        let far = try #require(chain.known[chain.lower])
        #expect(far.carrier == chain.upper && far.facts == chain.secondary())
        #expect(chain.known.target(of: chain.app, at: chain.lower) == chain.target)
    }

    @Test("CFG-103, CFG-104: the exact bytes go down, and the report comes up and is verified by the certified key")
    func honest() throws {
        let envelope = try chain.envelope(1)
        let item = try chain.apply(envelope)
        let frame = CarriedConfiguration(to: chain.lower, slot: SHA256.digest([]), envelope: item.envelope).bytes
        let carried = try #require(CarriedConfiguration(frame))
        #expect(carried.envelope == envelope && carried.to == chain.lower)
        #expect(CarriedConfiguration(envelope) == nil, "an envelope for the carrier itself is none")
        let report = chain.report(try chain.judge(carried.envelope, nonce: item.entry.id))
        #expect(ConfigurationReport.claimedNonce(report) == item.entry.id)
        let up = try #require(CarriedReport(CarriedReport(from: chain.lower, report: report).bytes))
        #expect(try chain.take(report: up.report).verdict == "applied")
        #expect(try chain.standing()?.staleSince == nil)
    }

    @Test("CFG-102, LIM-133: a secondary that does not read is passed over by its name, and the others count")
    func faultySecondary() throws {
        let bad = chain.secondary(.random(), .init(), epoch: Limits.lastEpoch + 1)
        let transition = try chain.learn([bad, chain.secondary(epoch: 2)])
        #expect(transition.passedOver.map(\.name) == ["payload-malformed"])
        #expect(chain.known.pairings == [chain.lower] && chain.known.epoch(of: chain.lower) == 2)
        let stored = try #require(chain.known.statement(of: chain.upper, about: chain.app))
        var restored = FarSecondaries()
        restored.restore(try AcceptedStatement(stored.dictionary), about: chain.app, of: chain.upper)
        #expect(restored.pairings == [chain.lower])
    }

    // MARK: attacks on what goes down

    @Test("CFG-106: a carrier that alters one byte anywhere gets nothing applied, by name")
    func altered() throws {
        let envelope = try chain.envelope(1)
        let item = try chain.apply(envelope)
        let names: Set<Verdict> = [
            .rejected(.malformed), .rejected(.shape), .rejected(.threshold), .rejected(.wrongType),
        ]
        for index in stride(from: 0, to: envelope.count, by: 3) {
            var bytes = envelope
            bytes[index] ^= 1
            #expect(names.contains(try chain.judge(bytes, nonce: item.entry.id).verdict), "byte \(index)")
        }
        #expect(chain.slot.active == nil)
        #expect(try chain.judge(envelope, nonce: item.entry.id).verdict == .applied, "the next valid one applies")
    }

    @Test("CFG-51, CFG-106: what a carrier sends instead is refused by name, and answers nothing of the top's")
    func exchanged() throws {
        let now = Fixture.now.seconds
        let other = try ApplicationIdentifier("org.example.other")
        let resigned = try ConfigurationSigner.sign(
            try UnverifiedPayload.payload(of: try chain.envelope(1)), with: [Fixture.stranger])
        let instead: [(Rejection, [UInt8])] = [
            (.wrongTarget, try chain.envelope(1) { $0.target = .vendor(.random()) }),
            (.wrongTarget, try chain.envelope(1) { $0.only = [.random()] }),
            (.wrongApplication, try chain.envelope(1) { $0.application = other }),
            (.wrongRole, try chain.envelope(1) { $0.role = .primary }), (.threshold, resigned),
            (.expired, try chain.envelope(1) { ($0.issued, $0.expires) = (now - 100, now - 50) }),
            (.future, try chain.envelope(1) { $0.notBefore = now + 4_000 }),
            (.oldKeySet, try chain.envelope(1) { $0.keySetVersion = 2 }),
            (.oversize, [UInt8](repeating: 0, count: ConfigurationLimits.envelope + 1)),
        ]
        let item = try chain.apply(try chain.envelope(1))
        let before = chain.slot
        for (rejection, bytes) in instead {
            let facts = try chain.judge(bytes, nonce: item.entry.id)
            #expect(facts.verdict == .rejected(rejection))
            #expect(chain.slot == before, "\(rejection)")
            let report = chain.report(facts)
            #expect(throws: ReportFailure.wrongNonce, "\(rejection): it is about other bytes") {
                try chain.take(report: report)
            }
        }
        #expect(try chain.standing()?.verdict == nil, "the top still waits for a verdict")
        let report = chain.report(try chain.judge(item.envelope, nonce: item.entry.id))
        #expect(try chain.take(report: report).verdict == "applied")
    }

    @Test("CFG-106: what a carrier passes on too late or too early has its name at the top, and the next one applies")
    func mistimed() throws {
        let now = Fixture.now.seconds
        let schema = VerificationFailure(.schema, "volume: too loud")
        let cases: [(Rejection, VerificationFailure?, (inout ConfigurationPayload) -> Void)] = [
            (.expired, nil, { ($0.issued, $0.expires) = (now - 100, now - 50) }),
            (.future, nil, { $0.notBefore = now + 4_000 }),
            // The rotation to this key set has not been passed on.
            (.oldKeySet, nil, { $0.keySetVersion = 2 }),
            // An update of the app with the schema for it has not come yet.
            (.schema, schema, { $0.values = ["volume": 101] }),
        ]
        for (rejection, refusal, change) in cases {
            var chain = try Chain()
            try expectApplied(version: 1, &chain)
            let item = try chain.apply(try chain.envelope(2, change))
            let report = chain.report(try chain.judge(item.envelope, nonce: item.entry.id, refusing: refusal))
            #expect(try chain.take(report: report).verdict == rejection.rawValue)
            #expect(try chain.standing()?.verdict == rejection.rawValue)
            #expect(chain.slot.active?.record.version == 1, "\(rejection)")
            try expectApplied(version: 3, &chain)
        }
    }

    private func expectApplied(version: UInt64, _ chain: inout Chain) throws {
        let item = try chain.apply(try chain.envelope(version))
        let report = chain.report(try chain.judge(item.envelope, nonce: item.entry.id))
        #expect(try chain.take(report: report).verdict == "applied")
        #expect(chain.slot.active?.record.version == version)
    }

    @Test("CFG-106: an older version, replayed or withheld until a newer one is applied, is `rollback`")
    func replayed() throws {
        let old = try chain.envelope(1)
        let first = try chain.apply(old)
        try chain.take(report: chain.report(try chain.judge(old, nonce: first.entry.id)))
        let new = try chain.envelope(2)
        let second = try chain.apply(new)
        #expect(try chain.standing()?.staleSince != nil, "withheld: it shows as stale")
        try chain.take(report: chain.report(try chain.judge(new, nonce: second.entry.id)))
        #expect(try chain.judge(old, nonce: .random()).verdict == .rejected(.rollback))
        let withheld = try chain.apply(try chain.envelope(3))
        let newer = try chain.apply(try chain.envelope(4))
        try chain.take(report: chain.report(try chain.judge(newer.envelope, nonce: newer.entry.id)))
        let late = chain.report(try chain.judge(withheld.envelope, nonce: withheld.entry.id))
        #expect(try chain.take(report: late).verdict == "rollback")
        #expect(chain.slot.active?.record.version == 4)
        #expect(try chain.standing()?.reported == 4)
    }

    @Test("CFG-106: a key set of the carrier's own is `threshold`, and so is what is signed under it")
    func keySetSwapped() throws {
        let root = PrivateKey.generate(.ed25519)
        let thief = PrivateKey.generate(.ed25519)
        let set = { (version: UInt64, config: PrivateKey, root: PrivateKey) in
            try KeyStatementSigner.sign(
                KeySetDocument(
                    subject: KeySubject(application: try Fixture.application(), role: .secondary), version: version,
                    issued: Fixture.now.seconds - 60,
                    roles: [
                        .configuration: ([config.publicKey], 1), .keySet: ([root.publicKey], 1),
                        .revocation: ([root.publicKey], 1),
                    ]), with: [root])
        }
        var history = try KeySetHistory(anchor: try set(1, Fixture.key.key, root))
        let swapped = try set(2, thief, thief)
        do {
            _ = try history.take(swapped)
            Issue.record("a key set of the carrier's own was taken")
        } catch { #expect(error.rejection == .threshold) }
        #expect(history.current.version == 1)
        var chain = try Chain()
        let item = try chain.apply(try chain.envelope(1))
        let forged = try ConfigurationSigner.sign(
            try UnverifiedPayload.payload(of: item.envelope), with: [ConfigurationPrivateKey(thief)])
        #expect(try chain.judge(forged, nonce: item.entry.id).verdict == .rejected(.threshold))
        #expect(try chain.judge(item.envelope, nonce: item.entry.id).verdict == .applied)
    }

    // MARK: attacks on what comes up

    @Test("CFG-106: a report that is forged, altered, of another device, or replayed is refused by name")
    func reports() throws {
        let envelope = try chain.envelope(1)
        let item = try chain.apply(envelope)
        let facts = try chain.judge(envelope, nonce: item.entry.id)
        let other = Chain.Device()
        for forger in [chain.carrier, other, chain.top] {
            let forged = ConfigurationReport(facts, device: chain.far.identifier, counter: 9, time: Fixture.now)
                .signed(with: forger.key)
            #expect(throws: ReportFailure.threshold) { try chain.take(report: forged) }
        }
        let elsewhere = ConfigurationReport(facts, device: other.identifier, counter: 9, time: Fixture.now)
            .signed(with: chain.far.key)
        #expect(throws: ReportFailure.wrongDevice) { try chain.take(report: elsewhere) }
        let report = chain.report(facts)
        for index in stride(from: 0, to: report.count, by: 3) {
            var bytes = report
            bytes[index] ^= 1
            #expect(throws: ReportFailure.self) { try chain.take(report: bytes) }
        }
        #expect(try chain.standing()?.verdict == nil, "nothing has changed")
        #expect(try chain.take(report: report).verdict == "applied")
        #expect(throws: ReportFailure.replayed) { try chain.take(report: report) }
        let unasked = try chain.judge(try chain.envelope(2), nonce: .random())
        let answer = chain.report(unasked)
        #expect(throws: ReportFailure.wrongNonce) { try chain.take(report: answer) }
    }

    @Test("CFG-106: another report key for a device that a carrier has named is `key-changed`, also once it was gone")
    func reportKeySwapped() throws {
        let swapped = chain.secondary(key: chain.carrier.key)
        let transition = try chain.learn([swapped])
        #expect(transition.passedOver == [.keyChanged] && transition.gone == [chain.lower])
        #expect(try chain.learn([swapped]).passedOver == [.keyChanged])
        let again = chain.secondary(.random(), chain.far, key: .generate())
        #expect(try chain.learn([again]).passedOver == [.keyChanged])
        #expect(chain.known.isEmpty)
        #expect(try chain.learn().present == [chain.lower])
        #expect(CarrierFailure.keyChanged.name == "key-changed")
    }

    // MARK: attacks on the statement

    @Test("CFG-102: a statement of a stranger, altered, of another carrier or pairing, or replayed changes nothing")
    func statements() throws {
        let good = chain.statement([], counter: 9)
        let stranger = CarrierStatement(
            of: chain.carrier.identifier, through: chain.upper, about: chain.app, counter: 9, secondaries: []
        ).signed(with: .generate())
        #expect(throws: CarrierFailure.unverified(.threshold)) { try chain.take(stranger) }
        for index in stride(from: 0, to: good.count, by: 3) {
            var bytes = good
            bytes[index] ^= 1
            #expect(throws: CarrierFailure.self) { try chain.take(bytes) }
        }
        let elsewhere = CarrierStatement(
            of: chain.carrier.identifier, through: .random(), about: chain.app, counter: 9, secondaries: []
        ).signed(with: chain.carrier.key)
        #expect(throws: CarrierFailure.wrongDevice) { try chain.take(elsewhere) }
        let other = CarrierStatement(
            of: chain.carrier.identifier, through: chain.upper, about: try ApplicationIdentifier("org.example.other"),
            counter: 9, secondaries: []
        ).signed(with: chain.carrier.key)
        #expect(throws: CarrierFailure.wrongApplication) { try chain.take(other) }
        #expect(throws: CarrierFailure.replayed) { try chain.take(chain.statement([], counter: chain.counter)) }
        #expect(chain.known.pairings == [chain.lower])
        #expect(try chain.take(good).gone == [chain.lower])
    }

    @Test("CFG-102: a carrier that claims a target, device or pairing that is not its own is refused by name")
    func claims() throws {
        let otherTarget = chain.secondary(.random(), .init(), target: .vendor(chain.top.identifier))
        let faults: [(CarrierFailure, CarrierStatement.Secondary)] = [
            (.wrongTarget, otherTarget), (.wrongDevice, chain.secondary(.random(), chain.top)),
            (.wrongDevice, chain.secondary(.random(), chain.carrier)),
            (.wrongDevice, chain.secondary(chain.upper, .init())),
            (.keyChanged, chain.secondary(.random(), key: .generate())),
        ]
        for (failure, claim) in faults {
            let transition = try chain.learn([claim, chain.secondary()])
            #expect(transition.passedOver == [failure])
            #expect(transition.present == [chain.lower], "the others stay")
        }
        // The pairing of another carrier's secondary.
        let thief = Chain.Device()
        let pairing = UniqueIdentifier.random()
        let theft = CarrierStatement(
            of: thief.identifier, through: pairing, about: chain.app, counter: 1,
            secondaries: [chain.secondary(target: .vendor(thief.identifier))]
        ).signed(with: thief.key)
        let thieving = FarSecondaries.Carrier(pairing: pairing, device: thief.identifier, key: thief.key.publicKey)
        let transition = try chain.take(theft, from: thieving)
        #expect(transition.contested == [chain.lower] && transition.present.isEmpty)
        #expect(chain.known[chain.lower]?.carrier == chain.upper)
        #expect(try chain.learn([chain.secondary(target: try Fixture.target())]).present == [chain.lower])
        #expect(chain.known.target(of: chain.app, at: chain.lower) == (try Fixture.target()), "a custom one is a claim")
    }

    @Test("CFG-101: a longer chain certifies key by key, and no carrier in it can change what is below it")
    func longer() throws {
        let last = Chain.Device()
        let pairing = UniqueIdentifier.random()
        func below(_ counter: UInt64, _ key: ReportPrivateKey) -> [UInt8] {
            CarrierStatement(
                of: chain.far.identifier, through: chain.lower, about: chain.app, counter: counter,
                secondaries: [chain.secondary(pairing, last, target: .vendor(chain.far.identifier))]
            ).signed(with: key)
        }
        let honest = below(5, chain.far.key)
        #expect(Set(try chain.learn(below: [honest]).present) == [chain.lower, pairing])
        #expect(chain.known[pairing]?.carrier == chain.upper)
        try chain.learn(below: [honest])
        let older = below(4, chain.far.key)
        #expect(try chain.learn(below: [older]).passedOver == [.replayed])
        #expect(try chain.learn(below: [honest]).present.count == 2)
        let forged = below(6, chain.carrier.key)
        #expect(try chain.learn(below: [forged]).passedOver == [.unverified(.threshold)])
        #expect(try chain.learn([], below: [honest]).passedOver == [.wrongDevice])
        #expect(try chain.learn(below: [honest]).present.count == 2)
        #expect(try chain.learn().gone == [pairing])
    }

    @Test("CFG-101: chains and devices are bounded (LIM-94)")
    func bounds() throws {
        let most = (0..<ConfigurationLimits.carriedSecondaries).map { _ in
            chain.secondary(.random(), .init(), key: chain.far.key)
        }
        #expect(try chain.learn(most).present.count == most.count)
        #expect(throws: CarrierFailure.unverified(.payloadMalformed)) {
            try chain.learn(most + [chain.secondary(.random(), .init(), key: chain.far.key)])
        }
        var faults: [CarrierFailure] = []
        for _ in 0...ConfigurationLimits.certifiedDevices / most.count {
            let others = (0..<ConfigurationLimits.carriedSecondaries).map { _ in
                chain.secondary(.random(), .init(), key: chain.far.key)
            }
            faults += try chain.learn(others).passedOver
        }
        #expect(!faults.isEmpty && faults.allSatisfy { $0 == .tooMany })
        #expect(try chain.learn(most).present.count == most.count, "those that it has named before have their room")
    }

    @Test("CFG-102: a restored store below makes its epoch higher: reports and statements count again, keys stay")
    func renewed() throws {
        try chain.learn([chain.secondary(epoch: 2)])
        #expect(chain.known[chain.lower]?.facts.epoch == 2 && chain.known.epoch(of: chain.lower) == 2)
        #expect(try chain.learn([chain.secondary(key: .generate(), epoch: 3)]).passedOver == [.keyChanged])
        let restored = chain.statement([chain.secondary(epoch: 2)], counter: 1)
        #expect(throws: CarrierFailure.replayed) { try chain.take(restored) }
        let carrier = FarSecondaries.Carrier(
            pairing: chain.upper, device: chain.carrier.identifier, epoch: 2, key: chain.carrier.key.publicKey)
        #expect(try chain.take(restored, from: carrier).present == [chain.lower])
        #expect(throws: CarrierFailure.replayed) { try chain.take(restored, from: carrier) }
    }

    @Test("CFG-103: a statement announces a far secondary that is new, has another target or a higher epoch than ever")
    func announced() throws {
        #expect(try chain.learn([chain.secondary(epoch: 2)]).announced == [chain.lower])
        for epoch: UInt64 in [1, 2, 1, 2] {
            let transition = try chain.learn([chain.secondary(epoch: epoch)])
            #expect(transition.present == [chain.lower] && transition.announced.isEmpty, "\(epoch)")
        }
        let beside = UniqueIdentifier.random()
        let both = [chain.secondary(epoch: 2), chain.secondary(beside, .init())]
        #expect(try chain.learn(both).announced == [beside])
        let stored = try #require(chain.known.statement(of: chain.upper, about: chain.app))
        chain.known = FarSecondaries()
        chain.known.restore(try AcceptedStatement(stored.dictionary), about: chain.app, of: chain.upper)
        #expect(try chain.learn([chain.secondary(epoch: 2)]).announced.isEmpty, "the rows have it")
        let target = try Fixture.target()
        #expect(try chain.learn([chain.secondary(epoch: 2, target: target)]).announced == [chain.lower])
        #expect(try chain.learn([chain.secondary(epoch: 3, target: target)]).announced == [chain.lower])
    }

    @Test("CFG-102: rows restore what was certified")
    func restored() throws {
        chain.known = FarSecondaries()
        let bytes = chain.statement([chain.secondary()], counter: 7)
        var restored = FarSecondaries()
        for change in try chain.take(bytes).changes {
            switch change {
            case .statement(let carrier, let app, let accepted):
                restored.restore(try AcceptedStatement(accepted.dictionary), about: app, of: carrier)
            case .certified(let path, let pairing, let certified):
                restored.restore(try .init(certified.dictionary), of: pairing, through: path)
            case .unpaired, .forgotten: Issue.record("nothing was unpaired")
            }
        }
        chain.known = restored
        #expect(chain.known[chain.lower]?.facts == chain.secondary())
        #expect(throws: CarrierFailure.replayed) { try chain.take(bytes) }
        #expect(
            try chain.take(
                chain.statement([chain.secondary(), chain.secondary(.random(), key: .generate())], counter: 9)
            )
            .passedOver == [.keyChanged])
        #expect(chain.known.unpaired(chain.upper, at: Fixture.now).gone == [chain.lower])
        #expect(chain.known.isEmpty)
    }

    // MARK: the carrier

    @Test("CFG-104: a carrier passes a report up only for what it carried, and by the way that it came")
    func ways() throws {
        var carried = CarriedDeliveries()
        let app = try Fixture.application()
        let (upstream, downstream) = (UniqueIdentifier.random(), UniqueIdentifier.random())
        let way = { (nonce: UniqueIdentifier) in
            CarriedDeliveries.Way(
                nonce: nonce, application: app, upstream: upstream, downstream: downstream, to: downstream)
        }
        let nonces = (0...ConfigurationLimits.openDeliveries).map { _ in UniqueIdentifier.random() }
        var changes: [CarriedChange] = []
        for nonce in nonces { changes += carried.carry(way(nonce)) }
        #expect(carried.carry(way(nonces[1])).isEmpty, "the same item again")
        #expect(carried.way(of: nonces[0], from: downstream, about: downstream) == nil, "the oldest is forgotten")
        #expect(changes.contains(.forgotten(nonces[0])))
        #expect(carried.way(of: nonces[1], from: downstream, about: downstream)?.upstream == upstream)
        #expect(carried.way(of: nonces[1], from: .random(), about: downstream) == nil, "of another pairing")
        #expect(carried.way(of: nonces[1], from: downstream, about: .random()) == nil, "about another device")
        #expect(carried.way(of: .random(), from: downstream, about: downstream) == nil)
        for case .way(let way) in changes { #expect(try CarriedDeliveries.Way(way.dictionary) == way) }
        for _ in 0...ConfigurationLimits.stepsUnderWay {
            let step = CarriedDeliveries.Way(
                nonce: .random(), application: app, upstream: upstream, downstream: downstream, to: downstream,
                isKeyStatement: true)
            changes += carried.carry(step)
        }
        #expect(carried.way(of: nonces[1]) != nil, "steps of a key chain take no configuration's room")
        let kept = ConfigurationLimits.openDeliveries + ConfigurationLimits.stepsUnderWay
        #expect(carried.unpaired(upstream).count == kept)
        #expect(carried.way(of: nonces[1], from: downstream, about: downstream) == nil)
    }

    @Test("CFG-105: a carrier announces once what has changed, and again what did not arrive")
    func announcements() throws {
        var carried = CarriedDeliveries()
        let chain = try Chain()
        let (upstream, device) = (chain.upper, chain.carrier.identifier)
        var epoch: UInt64 = 1
        let announce = { (list: [CarrierStatement.Secondary], item: UniqueIdentifier) in
            carried.announce(
                list, below: [], about: chain.app, to: upstream, in: epoch, of: device, item: item)?.statement
        }
        #expect(announce([], .random()) == nil, "nothing was ever below it")
        let item = UniqueIdentifier.random()
        #expect(announce([chain.secondary()], item)?.counter == 1)
        #expect(announce([chain.secondary()], .random()) == nil)
        #expect(carried.forgetAnnouncement(to: upstream) { lost, _ in lost.item == item }.count == 1)
        #expect(announce([chain.secondary()], .random())?.counter == 2)
        #expect(announce([], .random())?.secondaries == [], "that nothing is left is told")
        #expect(announce([], .random()) == nil)
        epoch = 2
        #expect(announce([], .random())?.secondaries == [], "a primary that was restored may have lost it")
        #expect(announce([], .random()) == nil)
    }

    @Test("CFG-105: a statement that would say the same is found without writing it, until it is lost")
    func sameStatement() throws {
        var carried = CarriedDeliveries()
        let chain = try Chain()
        let (list, item) = ([chain.secondary()], UniqueIdentifier.random())
        let hasNamed = { (list: [CarrierStatement.Secondary], epoch: UInt64) in
            carried.hasNamed(list, about: chain.app, to: chain.upper, in: epoch)
        }
        let announce = { (below: [[UInt8]]) in
            _ = carried.announce(
                list, below: below, about: chain.app, to: chain.upper, in: 1, of: chain.carrier.identifier, item: item)
        }
        #expect(!hasNamed([], 1) && !hasNamed(list, 1), "nothing was announced")
        announce([])
        #expect(hasNamed(list, 1) && !hasNamed([], 1) && !hasNamed(list, 2))
        #expect(carried.forgetAnnouncement(to: chain.upper) { lost, _ in lost.item == item }.count == 1)
        #expect(!hasNamed(list, 1), "it did not arrive")
        announce([[1]])
        #expect(!hasNamed(list, 1), "the one below may change")
        announce([])
        #expect(hasNamed(list, 1))
        _ = carried.unpaired(chain.upper)
        #expect(!hasNamed(list, 1))
    }

    @Test("CFG-105: another key of a secondary is a higher epoch of it, once, and stays in the rows")
    func keysOfSecondaries() throws {
        var carried = CarriedDeliveries()
        let chain = try Chain()
        let (app, below) = (chain.app, chain.lower)
        #expect(carried.note([app: .unnamed], of: below).isEmpty && carried.statedEpoch(of: below, in: 3) == 3)
        let first = TrustMark.key(.random())
        #expect(carried.note([app: first], of: below).count == 1 && carried.statedEpoch(of: below, in: 3) == 3)
        #expect(carried.note([app: .unnamed], of: below).isEmpty && carried.note([app: first], of: below).isEmpty)
        #expect(carried.note([app: .noKey], of: below).count == 1 && carried.statedEpoch(of: below, in: 3) == 4)
        let changes = carried.note([app: .key(.random())], of: below)
        #expect(carried.statedEpoch(of: below, in: 3) == 5 && carried.statedEpoch(of: .random(), in: 3) == 3)
        #expect(carried.statedEpoch(of: below, in: Limits.lastEpoch) == Limits.lastEpoch)
        var restored = CarriedDeliveries()
        for case .trusted(let pairing, let trust) in changes {
            #expect(pairing == below)
            restored.restore(try CarriedDeliveries.StatedTrust(trust.dictionary), of: pairing)
            #expect(throws: FieldError.self) { try CarriedDeliveries.StatedTrust(["v": 1, "losses": -1, "marks": []]) }
        }
        #expect(restored.statedEpoch(of: below, in: 3) == 5)
        #expect(restored.note([app: first], of: below).count == 1 && restored.statedEpoch(of: below, in: 3) == 6)
        #expect(restored.unpaired(below) == [.unpaired(below)] && restored.statedEpoch(of: below, in: 3) == 3)
    }

    @Test("CFG-105: the first key of all is a higher epoch where the app was stated before: by an earlier release")
    func firstKeyOfASecondary() throws {
        var carried = CarriedDeliveries()
        let chain = try Chain()
        _ = carried.announce(
            [chain.secondary()], below: [], about: chain.app, to: chain.upper, in: 1, of: chain.carrier.identifier,
            item: .random())
        _ = carried.note([chain.app: .key(.random())], of: chain.lower)
        #expect(carried.statedEpoch(of: chain.lower, in: 1) == 2)
    }

    @Test("CFG-102, CFG-105: rows keep the epoch of statements; those of before are read")
    func epochsInRows() throws {
        let changes = try chain.learn().changes
        let accepted = changes.lazy.compactMap { if case .statement(_, _, let one) = $0 { one } else { nil } }.first
        var row = try #require(accepted).dictionary
        #expect(try AcceptedStatement(row) == accepted)
        (row["v"], row["epoch"], row["renewed"]) = (1, nil, false)
        #expect(try AcceptedStatement(row) == accepted)
        row["renewed"] = true
        #expect(try AcceptedStatement(row) != accepted)
        var carried = CarriedDeliveries()
        let announced = carried.announce(
            [chain.secondary()], below: [], about: chain.app, to: chain.upper, in: 1, of: chain.carrier.identifier,
            item: .random())
        for case .announced(_, _, let announcement) in try #require(announced).changes {
            var row = announcement.dictionary
            row["epoch"] = nil
            #expect(try CarriedDeliveries.Announcement(row) == announcement)
        }
    }
}

private enum UnverifiedPayload {
    static func payload(of envelope: [UInt8]) throws -> ConfigurationPayload {
        try ConfigurationPayload(try PropertyListReader.readDictionary(try UnverifiedEnvelope(envelope).payload))
    }
}
