// A chain of devices: the word of carriers, the bytes that they pass on, and every attack of a carrier in the middle,
// each by the name that it fails with.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSignedConfiguration
import Testing

/// A primary, a carrier that is its secondary, and a far secondary of the carrier.
private struct Chain {
    struct Device {
        let identifier = UniqueIdentifier.random()
        let key = ReportPrivateKey.generate()
    }

    let app: ApplicationIdentifier
    let top = Device()
    let carrier = Device()
    let far = Device()
    /// Between top and carrier, and between carrier and far.
    let upper = UniqueIdentifier.random()
    let lower = UniqueIdentifier.random()
    var known = FarSecondaries()
    var desired = DesiredConfigurations()
    var slot: ConfigurationSlot
    var counter: UInt64 = 0
    private var farCounter: UInt64 = 0

    init() throws {
        app = try Fixture.application()
        let key = ConfigurationSlotKey(application: app, role: .secondary, target: .vendor(carrier.identifier))
        slot = ConfigurationSlot(key: key, device: far.identifier)
        _ = slot.applicationConnected()
        try learn()
    }

    var target: PairedIdentifier { .vendor(carrier.identifier) }

    func secondary(
        _ pairing: UniqueIdentifier? = nil, _ device: Device? = nil, key: ReportPrivateKey? = nil,
        epoch: UInt64 = 1, target: PairedIdentifier? = nil
    ) -> CarrierStatement.Secondary {
        let device = device ?? far
        return CarrierStatement.Secondary(
            pairing: pairing ?? lower, device: device.identifier, name: "kiosk",
            reportKey: (key ?? device.key).publicKey.key.subjectPublicKeyInfo, epoch: epoch,
            target: target ?? self.target)
    }

    func statement(
        _ secondaries: [CarrierStatement.Secondary], below: [[UInt8]] = [], counter: UInt64
    ) -> [UInt8] {
        CarrierStatement(
            of: carrier.identifier, through: upper, about: app, counter: counter, secondaries: secondaries, below: below
        ).signed(with: carrier.key)
    }

    @discardableResult
    mutating func learn(
        _ secondaries: [CarrierStatement.Secondary]? = nil, below: [[UInt8]] = []
    ) throws -> FarTransition {
        counter += 1
        return try take(statement(secondaries ?? [secondary()], below: below, counter: counter))
    }

    @discardableResult
    mutating func take(
        _ statement: [UInt8], from other: FarSecondaries.Carrier? = nil
    ) throws -> FarTransition {
        let pairing = upper
        return try known.take(
            statement, about: app,
            from: other ?? .init(pairing: upper, device: carrier.identifier, key: carrier.key.publicKey),
            at: top.identifier, isDirect: { $0 == pairing })
    }

    func addressee() throws -> ConfigurationAddressee {
        let known = known
        let far = try #require(known[lower])
        return ConfigurationAddressee(pairing: lower, device: far.facts.device) { [lower] in
            known.target(of: $0, at: lower)
        }
    }

    func envelope(
        _ version: UInt64, _ change: (inout ConfigurationPayload) throws -> Void = { _ in }
    ) throws -> [UInt8] {
        try Fixture.envelope(version: version) { payload in
            payload.target = target
            try change(&payload)
        }
    }

    /// The operator of the top applies an envelope; returns the item for the far secondary.
    mutating func apply(_ envelope: [UInt8]) throws -> ConfigurationItem {
        let transition = try desired.accept(
            try DesiredConfiguration(envelope: envelope, accepted: Fixture.now), for: [try addressee()],
            at: Fixture.now, identifier: { .random() })
        return try #require(transition.deliveries.first)
    }

    /// The far secondary judges bytes as its daemon and app do; returns the verdict.
    mutating func judge(_ envelope: [UInt8], nonce: UniqueIdentifier) throws -> ReportFacts {
        var context = try Fixture.context(.staging)
        (context.target, context.device) = (target, far.identifier)
        let delivery = ConfigurationDelivery(pairing: lower, nonce: nonce)
        var transition = slot.received(envelope, by: delivery, in: context)
        if case .offer(let offer)? = transition.effects.first {
            context.profile = .full
            let verified = try ApplicableConfiguration(verifying: offer.envelope, in: context).verified
            transition = slot.answered(OfferReply(applied: verified), now: Fixture.now)
            _ = Fixture.live(&slot)
        }
        let facts = transition.changes.compactMap { change in
            if case .report(let facts) = change { facts } else { nil }
        }
        return try #require(facts.first)
    }

    /// The far secondary's signed report.
    mutating func report(_ facts: ReportFacts, of device: Device? = nil) -> [UInt8] {
        farCounter += 1
        let device = device ?? far
        return ConfigurationReport(facts, device: device.identifier, counter: farCounter, time: Fixture.now)
            .signed(with: device.key)
    }

    /// The top takes a report about the far secondary.
    @discardableResult
    mutating func take(report: [UInt8]) throws(ReportFailure) -> ForwardedConfiguration {
        guard let facts = known[lower]?.facts, let addressee = try? addressee(),
            let key = try? PublicKey(subjectPublicKeyInfo: facts.reportKey)
        else { throw .wrongDevice }
        return try desired.report(
            report, from: addressee, device: facts.device, key: ReportPublicKey(key), at: Fixture.now,
            identifier: { .random() }
        ).entry
    }

    func standing() throws -> SecondaryStanding? {
        let key = ConfigurationSlotKey(application: app, role: .secondary, target: target)
        return desired.standing(of: try addressee(), for: key)
    }
}

@Suite struct CarrierTests {
    @Test("CFG-101: a statement reads back as it was signed, and names the far secondary with its report key")
    func statement() throws {
        let chain = try Chain()
        let far = try #require(chain.known[chain.lower])
        #expect(far.carrier == chain.upper && far.facts == chain.secondary())
        #expect(chain.known.target(of: chain.app, at: chain.lower) == chain.target)
    }

    @Test("CFG-103, CFG-104: the exact bytes go down, and the report comes up and is verified by the certified key")
    func honest() throws {
        var chain = try Chain()
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

    // MARK: attacks on what goes down

    @Test("CFG-106: a carrier that alters one byte anywhere gets nothing applied, by name")
    func altered() throws {
        var chain = try Chain()
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

    @Test("CFG-106: another target, another app, another key and another side fail by name")
    func misdirected() throws {
        var chain = try Chain()
        let item = try chain.apply(try chain.envelope(1))
        let elsewhere = try chain.envelope(1) { $0.target = .vendor(.random()) }
        #expect(try chain.judge(elsewhere, nonce: item.entry.id).verdict == .rejected(.wrongTarget))
        let narrowed = try chain.envelope(1) { $0.only = [.random()] }
        #expect(try chain.judge(narrowed, nonce: item.entry.id).verdict == .rejected(.wrongTarget))
        let resigned = try ConfigurationSigner.sign(
            try UnverifiedPayload.payload(of: try chain.envelope(1)), with: [Fixture.stranger])
        #expect(try chain.judge(resigned, nonce: item.entry.id).verdict == .rejected(.threshold))
        #expect(chain.slot.active == nil)
    }

    @Test("CFG-106: an older version, replayed or withheld until a newer one is applied, is `rollback`")
    func replayed() throws {
        var chain = try Chain()
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
        var chain = try Chain()
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
        var chain = try Chain()
        let swapped = chain.secondary(key: chain.carrier.key)
        #expect(throws: CarrierFailure.keyChanged) { try chain.learn([swapped]) }
        #expect(try chain.learn([]).gone == [chain.lower])
        #expect(throws: CarrierFailure.keyChanged) { try chain.learn([swapped]) }
        let again = chain.secondary(.random(), chain.far, key: .generate())
        #expect(throws: CarrierFailure.keyChanged) { try chain.learn([again]) }
        #expect(try chain.learn().present == [chain.lower])
        #expect(CarrierFailure.keyChanged.name == "key-changed")
    }

    // MARK: attacks on the statement

    @Test("CFG-102: a statement of a stranger, altered, of another carrier or pairing, or replayed changes nothing")
    func statements() throws {
        var chain = try Chain()
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
        var chain = try Chain()
        let otherTarget = chain.secondary(.random(), .init(), target: .vendor(chain.top.identifier))
        #expect(throws: CarrierFailure.wrongTarget) { try chain.learn([chain.secondary(), otherTarget]) }
        #expect(throws: CarrierFailure.wrongDevice) { try chain.learn([chain.secondary(.random(), chain.top)]) }
        #expect(throws: CarrierFailure.wrongDevice) { try chain.learn([chain.secondary(chain.upper)]) }
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
        var chain = try Chain()
        let last = Chain.Device()
        let pairing = UniqueIdentifier.random()
        let below = { (counter: UInt64, key: ReportPrivateKey) in
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
        #expect(throws: CarrierFailure.replayed) { try chain.learn(below: [older]) }
        let forged = below(6, chain.carrier.key)
        #expect(throws: CarrierFailure.unverified(.threshold)) { try chain.learn(below: [forged]) }
        #expect(throws: CarrierFailure.wrongDevice) { try chain.learn([], below: [honest]) }
        #expect(try chain.learn().gone == [pairing])
    }

    @Test("CFG-101: chains and devices are bounded (LIM-94)")
    func bounds() throws {
        var chain = try Chain()
        let most = (0..<ConfigurationLimits.carriedSecondaries).map { _ in
            chain.secondary(.random(), .init(), key: chain.far.key)
        }
        #expect(try chain.learn(most).present.count == most.count)
        #expect(throws: CarrierFailure.unverified(.payloadMalformed)) {
            try chain.learn(most + [chain.secondary(.random(), .init(), key: chain.far.key)])
        }
        for _ in 0..<ConfigurationLimits.certifiedDevices / most.count {
            let others = (0..<ConfigurationLimits.carriedSecondaries).map { _ in
                chain.secondary(.random(), .init(), key: chain.far.key)
            }
            guard (try? chain.learn(others)) != nil else { break }
        }
        #expect(throws: CarrierFailure.tooMany) {
            try chain.learn(
                (0..<ConfigurationLimits.carriedSecondaries).map { _ in
                    chain.secondary(.random(), .init(), key: chain.far.key)
                })
        }
    }

    @Test("CFG-102: a restored store below makes its epoch higher: reports and statements count anew, keys stay")
    func renewed() throws {
        var chain = try Chain()
        #expect(try chain.learn([chain.secondary(epoch: 2)]).renewed == [chain.lower])
        #expect(try chain.learn([chain.secondary(epoch: 2)]).renewed.isEmpty)
        #expect(throws: CarrierFailure.keyChanged) {
            try chain.learn([chain.secondary(key: .generate(), epoch: 3)])
        }
        _ = chain.known.renewed(
            .init(pairing: chain.upper, device: chain.carrier.identifier, key: chain.carrier.key.publicKey))
        #expect(try chain.take(chain.statement([chain.secondary(epoch: 2)], counter: 1)).present == [chain.lower])
    }

    @Test("CFG-102: rows restore what was certified")
    func restored() throws {
        var chain = try Chain()
        let bytes = chain.statement([chain.secondary()], counter: 7)
        let changes = try chain.take(bytes).changes
        var restored = FarSecondaries()
        for change in changes {
            switch change {
            case .statement(let carrier, let app, let bytes): restored.restore(bytes, about: app, of: carrier)
            case .device(let carrier, let device, let certified):
                restored.restore(try .init(certified.dictionary), device, of: carrier)
            case .unpaired: Issue.record("nothing was unpaired")
            }
        }
        chain.known = restored
        #expect(chain.known[chain.lower]?.facts == chain.secondary())
        #expect(throws: CarrierFailure.replayed) { try chain.take(bytes) }
        #expect(chain.known.unpaired(chain.upper).gone == [chain.lower])
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
        #expect(carried.unpaired(upstream).count == ConfigurationLimits.openDeliveries)
        #expect(carried.way(of: nonces[1], from: downstream, about: downstream) == nil)
    }

    @Test("CFG-105: a carrier announces once what has changed, and again what did not arrive")
    func announcements() throws {
        var carried = CarriedDeliveries()
        let chain = try Chain()
        let (upstream, device) = (chain.upper, chain.carrier.identifier)
        let announce = { (list: [CarrierStatement.Secondary], item: UniqueIdentifier) in
            carried.announce(list, below: [], about: chain.app, to: upstream, of: device, item: item)?.statement
        }
        #expect(announce([], .random()) == nil, "nothing was ever below it")
        let item = UniqueIdentifier.random()
        #expect(announce([chain.secondary()], item)?.counter == 1)
        #expect(announce([chain.secondary()], .random()) == nil)
        #expect(carried.forgetAnnouncement(to: upstream) { lost, _ in lost.item == item }.count == 1)
        #expect(announce([chain.secondary()], .random())?.counter == 2)
        #expect(announce([], .random())?.secondaries == [], "that nothing is left is told")
        #expect(announce([], .random()) == nil)
    }
}

private enum UnverifiedPayload {
    static func payload(of envelope: [UInt8]) throws -> ConfigurationPayload {
        try ConfigurationPayload(try PropertyListReader.readDictionary(try UnverifiedEnvelope(envelope).payload))
    }
}
