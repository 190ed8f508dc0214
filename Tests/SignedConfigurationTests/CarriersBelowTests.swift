// Carriers below a carrier: none of them, however malicious, costs another device anything, and a ring of devices comes
// to rest.

import TandemBase
import TandemCrypto
import TandemSignedConfiguration
import TandemTestSupport
import Testing

@Suite final class CarriersBelowTests {
    private var chain: Chain

    init() throws { chain = try Chain() }

    @Test("CFG-102: a fault in a statement below costs that one only, and has its name")
    func faultsBelow() throws {
        let sibling = Chain.Device()
        let (beside, next) = (UniqueIdentifier.random(), UniqueIdentifier.random())
        let own = [chain.secondary(), chain.secondary(beside, sibling)]
        let target = PairedIdentifier.vendor(chain.far.identifier)
        func one(_ pairing: UniqueIdentifier, _ device: Chain.Device) -> CarrierStatement.Secondary {
            chain.secondary(pairing, device, target: target)
        }
        let faults: [(CarrierFailure, [UInt8])] = [
            (.wrongDevice, chain.below([one(next, chain.top)])),
            (.wrongDevice, chain.below([one(next, chain.carrier)])),
            (.wrongDevice, chain.below([one(next, chain.far)])),
            (.wrongDevice, chain.below([one(chain.upper, .init())])),
            (.wrongTarget, chain.below([chain.secondary(next, .init())])),
            (.wrongApplication, chain.below([], about: try ApplicationIdentifier("org.example.other"))),
            (.wrongDevice, chain.below([], by: sibling)),
            (.unverified(.threshold), chain.below([], by: .init(identifier: chain.far.identifier))),
        ]
        for (failure, below) in faults {
            let transition = try chain.learn(own, below: [below])
            #expect(transition.passedOver == [failure])
            #expect(Set(transition.present) == [chain.lower, beside] && transition.gone.isEmpty)
        }
        let twice = chain.below([one(next, .init())], counter: 2)
        #expect(try chain.learn(own, below: [twice, twice]).passedOver == [.wrongDevice])
        #expect(Set(chain.known.pairings) == [chain.lower, beside, next])
    }

    @Test("CFG-102: a carrier below that names its sibling's pairing and device with its own key gains neither")
    func theftFromASibling() throws {
        let (sibling, thief, victim) = (Chain.Device(), Chain.Device(), Chain.Device())
        let (beside, thieving, pairing) = (
            UniqueIdentifier.random(), UniqueIdentifier.random(), UniqueIdentifier.random()
        )
        let own = [
            chain.secondary(thieving, thief), chain.secondary(beside, sibling, installed: false), chain.secondary(),
        ]
        let honest = chain.below(
            [chain.secondary(pairing, victim, target: .vendor(sibling.identifier))], by: sibling, through: beside)
        try chain.learn(own, below: [honest])
        #expect(chain.known[beside] == nil, "it only carries")
        // The one that it knows, with its own key; and its sibling itself, likewise.
        let target = PairedIdentifier.vendor(thief.identifier)
        let theft = chain.below(
            [
                chain.secondary(pairing, victim, key: thief.key, target: target),
                chain.secondary(beside, sibling, key: thief.key, target: target),
            ], by: thief, through: thieving)
        let transition = try chain.learn(own, below: [theft, honest])
        #expect(Set(transition.contested) == [pairing, beside] && transition.gone.isEmpty)
        #expect(chain.known[beside] == nil)
        let key = victim.key.publicKey.key.subjectPublicKeyInfo
        #expect(chain.known[pairing]?.facts.reportKey == key)
        // Nor once nobody else names it: it is gone first, with all that it reported.
        #expect(try chain.learn(own, below: [theft]).gone == [pairing])
    }

    @Test("CFG-102: a carrier below that repeats its sibling's word about a device changes neither target nor name")
    func repeatedWord() throws {
        let (sibling, thief, victim) = (Chain.Device(), Chain.Device(), Chain.Device())
        let (beside, thieving, pairing) = (
            UniqueIdentifier.random(), UniqueIdentifier.random(), UniqueIdentifier.random()
        )
        let own = [chain.secondary(thieving, thief), chain.secondary(beside, sibling)]
        let target = PairedIdentifier.vendor(sibling.identifier)
        let honest = chain.below(
            [chain.secondary(pairing, victim, target: target)], by: sibling, through: beside)
        try chain.learn(own, below: [honest])
        let custom = try PairedIdentifier(text: "custom:elsewhere")
        let claims = [
            chain.secondary(pairing, victim, epoch: 9, target: custom),
            chain.secondary(beside, sibling, target: custom),
        ]
        let repeated = chain.below(claims, by: thief, through: thieving)
        let transition = try chain.learn(own, below: [repeated, honest])
        #expect(chain.known[pairing]?.facts.epoch == 1 && transition.gone.isEmpty)
        #expect(chain.known.target(of: chain.app, at: pairing) == target)
        #expect(chain.known.target(of: chain.app, at: beside) == chain.target)
    }

    @Test("CFG-102: a hijacked carrier puts no other device behind a pairing that it named, for no app")
    func devicesStay() throws {
        let puppet = Chain.Device()
        let swapped = chain.secondary(chain.lower, puppet)
        #expect(try chain.learn([chain.secondary(), chain.secondary(.random(), puppet)]).passedOver.isEmpty)
        #expect(try chain.learn([swapped]).passedOver == [.wrongDevice])
        let other = try ApplicationIdentifier("org.example.other")
        let about = CarrierStatement(
            of: chain.carrier.identifier, through: chain.upper, about: other, counter: 99, secondaries: [swapped]
        ).signed(with: chain.carrier.key)
        let carrier = FarSecondaries.Carrier(
            pairing: chain.upper, device: chain.carrier.identifier, key: chain.carrier.key.publicKey)
        let (top, upper) = (chain.top.identifier, chain.upper)
        let transition = try chain.known.take(
            about, about: other, from: carrier, at: top, now: Fixture.now, isDirect: { $0 == upper })
        #expect(transition.passedOver == [.wrongDevice])
        #expect(try chain.learn([]).present.isEmpty)
        #expect(try chain.learn([swapped]).passedOver == [.wrongDevice])
        #expect(chain.known.isEmpty)
    }

    @Test("CTL-38, CFG-102: one that a carrier states no longer stays known as gone, until it is stated again")
    func hidden() throws {
        #expect(chain.known.hidden.isEmpty)
        let changes = try chain.learn([]).changes
        let hidden = try #require(chain.known.hidden.first)
        #expect(hidden.device == chain.far.identifier && hidden.carrier == chain.upper)
        #expect(hidden.gone.name == "kiosk" && hidden.gone.since == Fixture.now)
        var restored = FarSecondaries()
        for case .certified(let path, let pairing, let certified) in changes {
            restored.restore(try .init(certified.dictionary), of: pairing, through: path)
        }
        #expect(restored.hidden.map(\.pairing) == [chain.lower])
        // Paired again there, under another identifier.
        try chain.learn([chain.secondary(.random())])
        #expect(chain.known.hidden.isEmpty)
        try chain.learn()
        #expect(chain.known.hidden.isEmpty)
    }

    @Test("CTL-38: what was behind an unpaired carrier, and no other one states, stays known as gone, within LIM-85")
    func left() throws {
        var rows = chain.known.unpaired(chain.upper, at: Fixture.now).changes
        let hidden = try #require(chain.known.hidden.first)
        #expect(hidden.device == chain.far.identifier && hidden.carrier == nil && hidden.gone.since == Fixture.now)
        var restored = FarSecondaries()
        for case .certified(let path, let pairing, let certified) in rows {
            #expect(path.isEmpty)
            restored.restore(try .init(certified.dictionary), of: pairing, through: path)
        }
        #expect(restored.hidden == [hidden] && restored.carriers.isEmpty)
        // Stated again, and hidden before the carrier goes.
        rows = try chain.learn().changes
        #expect(chain.known.hidden.isEmpty && rows.contains(.forgotten(chain.lower)))
        try chain.learn([])
        _ = chain.known.unpaired(chain.upper, at: Fixture.now + .seconds(9))
        #expect(chain.known.hidden.map(\.gone.since) == [Fixture.now], "since it was stated no longer")
        for round in 0...ConfigurationLimits.rows / 100 {
            try chain.learn((0..<100).map { _ in chain.secondary(.random(), .init(), key: chain.far.key) })
            let later = Fixture.now + .seconds(10 + round)
            rows = chain.known.unpaired(chain.upper, at: later).changes
        }
        #expect(chain.known.hidden.count == ConfigurationLimits.rows)
        #expect(rows.contains(.forgotten(chain.lower)), "the oldest goes first")
    }

    @Test("CTL-68: an operator ends the rows of a device that is gone, and of no other; another hiding makes a new one")
    func forgotten() throws {
        #expect(chain.known.forget(chain.far.identifier).changes.isEmpty, "it is stated")
        try chain.learn([])
        #expect(chain.known.forget(UniqueIdentifier.random()).changes.isEmpty)
        #expect(chain.known.hidden.count == 1)
        let changes = chain.known.forget(chain.far.identifier).changes
        guard case .certified(_, let pairing, let certified)? = changes.first, changes.count == 1 else {
            Issue.record("one row, which keeps its key: \(changes)")
            return
        }
        #expect(pairing == chain.lower && certified.gone == nil && chain.known.hidden.isEmpty)
        #expect(chain.known.forget(chain.far.identifier).changes.isEmpty, "once")
        try chain.learn()
        try chain.learn([])
        #expect(chain.known.hidden.count == 1)
        _ = chain.known.unpaired(chain.upper, at: Fixture.now)
        #expect(chain.known.hidden.map(\.carrier) == [nil])
        #expect(chain.known.forget(chain.far.identifier).changes == [.forgotten(chain.lower)])
        #expect(chain.known.hidden.isEmpty)
    }

    /// Another carrier of the top, and its statement that the first one is below it, with what that one has.
    private func moved(_ chain: Chain) -> (carrier: FarSecondaries.Carrier, statement: [UInt8]) {
        let (other, pairing, between) = (Chain.Device(), UniqueIdentifier.random(), UniqueIdentifier.random())
        let inner = chain.below([chain.secondary()], by: chain.carrier, through: between)
        let first = chain.secondary(
            between, chain.carrier, target: .vendor(other.identifier), installed: false)
        let statement = CarrierStatement(
            of: other.identifier, through: pairing, about: chain.app, counter: 1, secondaries: [first], below: [inner]
        ).signed(with: other.key)
        let carrier = FarSecondaries.Carrier(pairing: pairing, device: other.identifier, key: other.key.publicKey)
        return (carrier, statement)
    }

    @Test("CFG-102: what another carrier has stated all the time is behind it once its first one is unpaired")
    func movedCarrier() throws {
        let other = moved(chain)
        #expect(try chain.take(other.statement, from: other.carrier).contested == [chain.lower])
        #expect(chain.known[chain.lower]?.carrier == chain.upper)
        let transition = chain.known.unpaired(chain.upper, at: Fixture.now)
        #expect(transition.gone == [chain.lower], "what was reported goes")
        #expect(transition.chosenAgain == [chain.app: [chain.lower]])
        #expect(chain.known[chain.lower]?.carrier == other.carrier.pairing)
        #expect(chain.known.hidden.isEmpty)
        var restored = FarSecondaries()
        for case .statement(let carrier, let app, let accepted) in transition.changes {
            restored.restore(try AcceptedStatement(accepted.dictionary), about: app, of: carrier)
        }
        #expect(restored[chain.lower]?.carrier == other.carrier.pairing)
        #expect(restored.restored().changes.isEmpty)
    }

    @Test("CFG-102: one that its carrier states no longer is behind another one that states the same device and key")
    func statedElsewhere() throws {
        let other = moved(chain)
        let thief = Chain.Device()
        let thieving = FarSecondaries.Carrier(pairing: .random(), device: thief.identifier, key: thief.key.publicKey)
        let theft = CarrierStatement(
            of: thief.identifier, through: thieving.pairing, about: chain.app, counter: 1,
            secondaries: [chain.secondary(key: thief.key, target: .vendor(thief.identifier))]
        ).signed(with: thief.key)
        try chain.take(theft, from: thieving)
        try chain.take(other.statement, from: other.carrier)
        let transition = try chain.learn([])
        #expect(transition.gone == [chain.lower] && transition.chosenAgain == [chain.app: [chain.lower]])
        #expect(
            chain.known[chain.lower]?.carrier == other.carrier.pairing, "the nearer one names another key"
        )
        #expect(try chain.learn().contested == [chain.lower], "it stays with the one that has it now")
    }

    @Test("CFG-102: a start chooses what statements name and no stored word counts for")
    func chosenAtAStart() throws {
        let other = moved(chain)
        try chain.take(other.statement, from: other.carrier)
        // As an earlier version left it: the first carrier is unpaired, and its rows are gone.
        let stored = try #require(chain.known.statement(of: other.carrier.pairing, about: chain.app))
        var restored = FarSecondaries()
        restored.restore(try AcceptedStatement(stored.dictionary), about: chain.app, of: other.carrier.pairing)
        #expect(restored.isEmpty)
        let transition = restored.restored()
        #expect(transition.chosenAgain == [chain.app: [chain.lower]] && transition.changes.count == 1)
        #expect(restored[chain.lower]?.carrier == other.carrier.pairing)
    }

    @Test("CFG-102: a restart does not forget which carrier named a pairing first")
    func firstComeAfterARestart() throws {
        chain.known = FarSecondaries()
        let thief = Chain.Device()
        let other = UniqueIdentifier.random()
        var rows = try chain.learn().changes
        let theft = CarrierStatement(
            of: thief.identifier, through: other, about: chain.app, counter: 1,
            secondaries: [chain.secondary(key: thief.key, target: .vendor(thief.identifier))]
        ).signed(with: thief.key)
        rows += try chain.take(theft, from: .init(pairing: other, device: thief.identifier, key: thief.key.publicKey))
            .changes
        for rows in [rows, rows.reversed()] {
            var restored = FarSecondaries()
            for change in rows {
                if case .statement(let carrier, let app, let accepted) = change {
                    restored.restore(try AcceptedStatement(accepted.dictionary), about: app, of: carrier)
                }
            }
            #expect(restored[chain.lower]?.carrier == chain.upper)
        }
    }

    @Test("CFG-102: a few bytes that are named again and again at each level are counted before they are read (LIM-94)")
    func repeated() throws {
        // Read one by one, these would be 63 times 64 to the third: 40 seconds of an idle machine.
        var chain = try Chain()
        let nested = (0..<3).reduce(chain.below([], counter: 2)) { inner, _ in
            chain.below([], below: Array(repeating: inner, count: ConfigurationLimits.carriedStatements), counter: 2)
        }
        let outermost = Array(repeating: nested, count: ConfigurationLimits.carriedStatements - 1)
        #expect(throws: CarrierFailure.tooMany) { try chain.learn(below: outermost) }
    }

    @Test("CFG-102: a secondary or a statement that a list names again is not read again, and no known key is parsed")
    func readOnce() throws {
        let named = CarrierStatement.Secondary(
            pairing: .random(), device: .random(), name: "kiosk",
            reportKey: PrivateKey.generate(.ecdsaP256).publicKey.subjectPublicKeyInfo, epoch: 1,
            target: .vendor(chain.far.identifier), installed: true)
        let inner = chain.below(Array(repeating: named, count: 128), counter: 2)
        let own = Array(repeating: chain.secondary(), count: 128)
        let below = Array(repeating: inner, count: ConfigurationLimits.carriedStatements - 1)
        let begin = ThreadTime.now
        let transition = try chain.learn(own, below: below)
        let accepted = try #require(chain.known.statement(of: chain.upper, about: chain.app))
        for _ in 0..<1_000 { #expect(accepted.extent?.statements == ConfigurationLimits.carriedStatements) }
        // Read one by one, the 8,192 keys alone take longer, each time.
        #expect(ThreadTime.now - begin < .milliseconds(500), "\(ThreadTime.now - begin)")
        #expect(transition.present.count == 2)
        #expect(transition.passedOver.count { $0 == .unverified(.payloadMalformed) } == 2 * 127)
        #expect(transition.passedOver.count { $0 == .wrongDevice } == below.count - 1)
    }

    @Test("CFG-102: a key is parsed once for all new devices that a statement gives it to, and with no room not at all")
    func parsedOnce() throws {
        let fast = try time(naming: PrivateKey.generate(.ed25519).publicKey.subjectPublicKeyInfo)
        let slow = try time(naming: PrivateKey.generate(.ecdsaP256).publicKey.subjectPublicKeyInfo)
        // OpenSSL takes ten times as long for the second: parsed for each device it doubles the time of a statement.
        #expect(slow < fast * 3 / 2, "\(slow), \(fast)")
    }

    /// The least time for one of three statements that give a key to 610 new devices.
    private func time(naming key: [UInt8]) throws -> Duration {
        var chain = try Chain()
        let makers = (0..<6).map { _ in (device: Chain.Device(), pairing: UniqueIdentifier.random()) }
        let other = { (maker: UniqueIdentifier) in
            CarrierStatement.Secondary(
                pairing: .random(), device: .random(), name: "kiosk", reportKey: key, epoch: 1, target: .vendor(maker),
                installed: true)
        }
        var least: Duration?
        for counter in 1...3 {
            let below = makers.map { maker in
                chain.below(
                    (0..<85).map { _ in other(maker.device.identifier) }, by: maker.device, through: maker.pairing,
                    counter: UInt64(counter))
            }
            let own = makers.map { chain.secondary($0.pairing, $0.device) }
            let begin = ThreadTime.now
            let present = try chain.learn(
                own + (0..<100).map { _ in other(chain.carrier.identifier) }, below: below
            ).present.count
            let passed = ThreadTime.now - begin
            least = min(least ?? passed, passed)
            #expect(present == (counter == 3 ? 110 : 616), "LIM-94: the third one finds room for four below")
        }
        return try #require(least)
    }

    @Test("CFG-102: a key that is none is found when it is first named, and costs no other secondary anything")
    func noKey() throws {
        let pairing = UniqueIdentifier.random()
        let named = chain.secondary(pairing, .init())
        let broken = CarrierStatement.Secondary(
            pairing: pairing, device: named.device, name: named.name, reportKey: [1, 2, 3], epoch: named.epoch,
            target: named.target, installed: true)
        let transition = try chain.learn([broken, chain.secondary()])
        #expect(transition.passedOver == [.unverified(.payloadMalformed)] && transition.present == [chain.lower])
        #expect(try chain.learn([named, chain.secondary()]).present.count == 2)
    }

    @Test("CFG-102: carriers in a row, statements, and the pairings that those far below name are bounded (LIM-94)")
    func bounds() throws {
        // Each has the next one for its secondary.
        let row = [(chain.far, chain.lower)] + (0..<4).map { _ in (Chain.Device(), UniqueIdentifier.random()) }
        var below: [UInt8]?
        for index in row.indices.dropLast().reversed() {
            let ((maker, pairing), next) = (row[index], row[index + 1])
            let secondary = chain.secondary(next.1, next.0, target: .vendor(maker.identifier))
            below = chain.below([secondary], below: below.map { [$0] } ?? [], by: maker, through: pairing)
        }
        let transition = try chain.learn(below: [try #require(below)])
        #expect(transition.passedOver == [.tooMany])
        #expect(Set(transition.present) == Set(row.dropLast().map(\.1)), "four carriers in a row")
        let many = (0..<ConfigurationLimits.carriedStatements).map { _ in chain.below([], counter: 2) }
        #expect(throws: CarrierFailure.tooMany) { try chain.learn(below: many) }
        // One far below that names new pairings without end: it fills its own room only.
        var counter: UInt64 = 2
        func flood() -> [UInt8] {
            counter += 1
            let named = (0..<ConfigurationLimits.carriedSecondaries).map { _ in
                chain.secondary(.random(), .init(), key: chain.far.key, target: .vendor(chain.far.identifier))
            }
            return chain.below(named, counter: counter)
        }
        var last: [CarrierFailure] = []
        for _ in 0...ConfigurationLimits.certifiedDevices / ConfigurationLimits.carriedSecondaries {
            let statement = flood()
            last = try chain.learn(below: [statement]).passedOver
        }
        #expect(!last.isEmpty && last.allSatisfy { $0 == .tooMany })
        let new = chain.secondary(.random(), .init())
        #expect(try chain.learn([chain.secondary(), new]).present.count == 2)
    }

    @Test("CFG-105: the longest statement fits an envelope with those below it, and leaves out what does not (LIM-2)")
    func room() throws {
        let chain = try Chain()
        // Longer as UTF-16 than as the UTF-8 that is limited.
        let text = { (count: Int) in String((0..<count - 2).map { _ in "abcdefghij".randomElement() ?? "a" }) + "ä" }
        let secondary = { (device: UniqueIdentifier, target: PairedIdentifier) in
            CarrierStatement.Secondary(
                pairing: .random(), device: device, name: text(64),
                reportKey: ReportPrivateKey.generate().publicKey.key.subjectPublicKeyInfo, epoch: UInt64(UInt32.max),
                target: target, installed: true)
        }
        let many = try (0..<ConfigurationLimits.carriedSecondaries + 1).map { _ in
            secondary(.random(), try PairedIdentifier(text: "custom:" + text(CustomIdentifier.maximumLength)))
        }
        let full = CarrierStatement.bare(of: chain.carrier.identifier, through: chain.upper, about: chain.app, many)
        #expect(full.signed(with: chain.carrier.key).count <= ConfigurationLimits.envelope)
        #expect(full.secondaries == Array(many.prefix(full.secondaries.count)) && full.secondaries.count > 64)
        let usual = (0..<ConfigurationLimits.carriedSecondaries).map { _ in secondary(.random(), chain.target) }
        let bare = CarrierStatement.bare(of: chain.carrier.identifier, through: chain.upper, about: chain.app, usual)
        #expect(bare.secondaries == usual, "one target for all, as a primary has")
        var carried = CarriedDeliveries()
        let offers = try usual.prefix(60).map { secondary in
            let maker = Chain.Device(identifier: secondary.device)
            let below = many.prefix(2).map { $0 }
            let bytes = chain.below(below, by: maker, through: secondary.pairing)
            var known = FarSecondaries()
            _ = try known.take(
                bytes, about: chain.app,
                from: .init(pairing: secondary.pairing, device: maker.identifier, key: maker.key.publicKey),
                at: chain.top.identifier, now: Fixture.now, isDirect: { _ in false })
            return try #require(known.statement(of: secondary.pairing, about: chain.app))
        }
        let now = MonotonicTime(nanoseconds: 0)
        let (below, leftOut) = carried.chooseBelow(
            Array(offers), about: chain.app, to: chain.upper, notNaming: [], room: bare.room, now: now)
        #expect(!below.isEmpty && leftOut > 0 && below.count + leftOut == offers.count)
        let whole = CarrierStatement(
            of: bare.device, through: bare.pairing, about: bare.application, counter: .max >> 1,
            secondaries: bare.secondaries, below: below
        ).signed(with: chain.carrier.key)
        #expect(whole.count <= ConfigurationLimits.envelope)
        let again = carried.chooseBelow(
            Array(offers), about: chain.app, to: chain.upper, notNaming: [], room: .max, now: now)
        #expect(again.below == below, "what is left out stays so for a while")
        let later = carried.chooseBelow(
            Array(offers), about: chain.app, to: chain.upper, notNaming: [], room: .max,
            now: now + ConfigurationLimits.leftOut)
        #expect(later.below.count == offers.count)
    }

    @Test(
        "CFG-105, LIM-96: a ring of devices comes to rest, however long it is, and forgets an app that none has any more",
        arguments: 2...9)
    func rings(length: Int) throws {
        var ring = try Ring(length)
        let hasRested = ring.rest(has: Set(0..<length))
        #expect(hasRested, "each has the app")
        for node in ring.nodes where length > 2 { #expect(!node.far.isEmpty, "each knows one far below") }
        let hasForgotten = ring.rest(has: [])
        #expect(hasForgotten)
        for node in ring.nodes { #expect(node.far.isEmpty) }
    }
}

/// Devices of which each is the primary of the next one and the last one is that of the first.
private struct Ring {
    struct Node {
        let device = UniqueIdentifier.random()
        let key = ReportPrivateKey.generate()
        /// With its primary.
        let pairing = UniqueIdentifier.random()
        var far = FarSecondaries()
        var carried = CarriedDeliveries()
    }

    let app: ApplicationIdentifier
    private(set) var nodes: [Node]

    init(_ length: Int) throws {
        app = try Fixture.application()
        nodes = (0..<length).map { _ in Node() }
    }

    /// All of them state and listen at the same time, again and again; returns whether that has an end.
    mutating func rest(has: Set<Int>) -> Bool {
        for _ in 0..<60 {
            let statements = nodes.indices.map { statement(of: $0, has) }
            guard statements.contains(where: { $0 != nil }) else { return true }
            for (index, statement) in statements.enumerated() {
                guard let statement else { continue }
                let (maker, reader) = (nodes[index], (index + nodes.count - 1) % nodes.count)
                let carrier = FarSecondaries.Carrier(
                    pairing: maker.pairing, device: maker.device, key: maker.key.publicKey)
                let direct = maker.pairing
                _ = try? nodes[reader].far.take(
                    statement, about: app, from: carrier, at: nodes[reader].device, now: Fixture.now,
                    isDirect: { $0 == direct })
            }
        }
        return false
    }

    /// As a daemon makes it.
    private mutating func statement(of index: Int, _ has: Set<Int>) -> [UInt8]? {
        let (node, below) = (nodes[index], (index + 1) % nodes.count)
        let (primary, secondary) = (nodes[(index + nodes.count - 1) % nodes.count], nodes[below])
        let carries = node.far.applications(behind: secondary.pairing).contains(app)
        var named: [CarrierStatement.Secondary] = []
        if secondary.device != primary.device, has.contains(below) || carries {
            named.append(
                .init(
                    pairing: secondary.pairing, device: secondary.device, name: "next",
                    reportKey: secondary.key.publicKey.key.subjectPublicKeyInfo, epoch: 1,
                    target: .vendor(node.device), installed: has.contains(below)))
        }
        let offers = named.compactMap { node.far.statement(of: $0.pairing, about: app) }
        let chosen = nodes[index].carried.chooseBelow(
            offers, about: app, to: node.pairing, notNaming: [node.device, primary.device], room: 60_000,
            now: MonotonicTime(nanoseconds: 0))
        return nodes[index].carried.announce(
            named, below: chosen.below, about: app, to: node.pairing, in: 1, of: node.device, item: .random()
        )?.statement.signed(with: node.key)
    }
}
