// Random schedules for the library's sessions over whole daemons: each step has random numbers of its own, so that a
// schedule that fails is made shorter by leaving steps out.

import PairedSession
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire

@testable import TandemConformance

/// One schedule: apps on a primary and two secondaries, whatever happens to them, and the end of it all.
///
/// `@unchecked`: only the world's thread uses it.
final class AppSchedule: @unchecked Sendable {
    private let seed: UInt64
    private let world: ManualWorld
    private let stage: Stage
    private let journal = ScheduleJournal()
    private let directory = TemporaryDirectory()
    private var random: SeededGenerator
    private let secondaries: Int
    private var players: [Place: Player] = [:]
    /// The processes that have ended; their memory goes without a word.
    private var dead: [Player] = []
    private var pairings: [Place: UniqueIdentifier] = [:]
    private var lastNumber: Int64 = 0
    private var lastProcess = 0
    private var isCalm = false
    private(set) var log: [String] = []

    init(seed: UInt64) throws {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        secondaries = seed % 3 == 0 ? 2 : 1
        world = try ManualWorld(seed: seed, secondaries: secondaries)
        stage = Stage(world, seed: seed, length: .short)
        for (number, pairing) in world.pairings.enumerated() { note(pairing, .secondary(number)) }
        if draw(2) == 0 { world.appDelay = .zero ... .milliseconds(3) }
        if draw(2) == 0 {
            var faults = FaultPlan(seed: seed)
            faults.delay = .zero ... .milliseconds(20)
            world.streamFaults = faults
            world.cutLinks()
        }
        for place in places { try start(place) }
        try stage.wait("the apps reach each other") { [self] in players.values.allSatisfy(\.app.isReachable) }
    }

    private var places: [Place] { [.primary] + (0..<secondaries).map { .secondary($0) } }

    private func note(_ pairing: UniqueIdentifier, _ place: Place) {
        pairings[place] = pairing
        journal.secondaries[pairing] = place
    }

    private func draw(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

    private func chance(_ percent: Int) -> Bool { draw(100) < percent }

    private func say(_ text: String) { log.append("\(world.now.nanoseconds / 1_000_000) \(text)") }

    // MARK: the run

    /// Plays the steps with these numbers and judges.
    /// - Returns: what did not hold; and the log.
    func run(_ steps: [Int]) -> [String] {
        defer { stop() }
        do {
            for step in steps {
                random = SeededGenerator(seed: seed &* 1_000_003 &+ UInt64(step))
                try play(step)
            }
            try calm()
        } catch { journal.fault("\(error)") }
        journal.judge()
        return journal.faults
    }

    /// The steps, the calls, the sights, and the last lines of the daemons.
    var trace: [String] { log + journal.account + world.notes.suffix(40) }

    private func stop() {
        for player in players.values {
            world.end(player.app, .orderly)
            player.named?.finish()
        }
        world.stop()
    }

    private func settle() { _ = world.wait(within: .zero) { true } }

    private func play(_ step: Int) throws {
        let place = places[draw(places.count)]
        say("step \(step)")
        switch draw(100) {
        case 0..<12: burst(place, [.message, .data, .note][draw(3)])
        case 12..<16: burst(place, .broadcast)
        case 16..<25: burst(place, .userInfo)
        case 25..<28: burst(place, .deliver)
        case 28..<31: burst(place, .urgent)
        case 31..<36: burst(place, .context)
        case 36..<39: burst(place, .file)
        case 39..<43: burst(place, .receipts)
        case 43..<50: takeBack()
        case 50..<54: giveUp()
        case 54..<57: ask(place)
        case 57..<64: release(place)
        case 64..<68: world.cutLinks()
        case 68..<70: world.isLinkAllowed.toggle()
        case 70..<74: try restart(place)
        case 74..<80: try endOrStart(place)
        case 80..<83: seed % 3 == 0 ? try switchActive() : changeDelegate(place)
        case 83..<85: try pairOrUnpair(place)
        case 85..<87: changeDelegate(place)
        default: pass()
        }
        // Most steps follow each other at once, as the calls of one app do.
        if draw(3) > 0 { settle() }
        if draw(3) == 0 { pass() }
    }

    private func changeDelegate(_ place: Place) {
        guard let named = players[place]?.named else { return }
        say("\(place)'s delegate \(named.changeDelegate() ? "comes" : "goes")")
    }

    private func pass() {
        let time = [1, 5, 50, 300, 2_000, 12_000][[0, 0, 1, 1, 2, 2, 3, 3, 4, 5][draw(10)]]
        say("pass \(time)")
        stage.pass(.milliseconds(time))
    }

    // MARK: calls

    private func burst(_ place: Place, _ kind: CallKind) {
        guard let player = players[place] else { return }
        for _ in 0...draw(3) {
            if let named = player.named { call(named, kind) } else { call(player, kind) }
        }
        // The tasks begin in this turn, before the app knows more.
        settle()
    }

    private func target(of player: Player) -> UniqueIdentifier? {
        guard chance(40) else { return nil }
        if player.place == .primary { return pairings[.secondary(draw(secondaries))] }
        return pairings[player.place]
    }

    private func call(_ player: Player, _ kind: CallKind) {
        lastNumber += 1
        let (number, pairing) = (lastNumber, target(of: player))
        say("\(player.place) calls \(kind.rawValue) \(number)\(pairing == nil ? "" : " bound")")
        let call: Call
        switch kind {
        case .userInfo, .urgent: call = player.transfer(number, kind, to: pairing, options())
        case .file: call = player.transferFile(number, file(number), to: pairing)
        case .context: call = player.update(number, to: pairing)
        case .receipts:
            call = player.giveAll(number, until: AcknowledgementLevel.allCases[draw(3)], .seconds(1 + draw(20)))
        case .note, .broadcast: call = player.tell(number, kind, to: pairing)
        default: call = player.ask(number, kind, to: pairing, .seconds(1 + draw(30)))
        }
        settleKnown(call, player, pairing)
    }

    /// The path of a new file.
    private func file(_ number: Int64) -> String {
        directory.write(Array(repeating: 7, count: draw(3) * 40_000), to: "file \(number)")
        return directory.path("file \(number)")
    }

    private func call(_ named: NamedFace, _ kind: CallKind) {
        lastNumber += 1
        say("\(named.player.place) calls \(kind.rawValue) \(lastNumber) by name")
        let call: Call
        switch kind {
        case .message, .receipts, .deliver: call = named.sendMessage(lastNumber)
        case .data: call = named.sendData(lastNumber)
        case .note, .broadcast: call = named.sendNote(lastNumber)
        case .userInfo, .urgent: call = named.transfer(lastNumber, kind)
        case .file: call = named.transferFile(lastNumber, file(lastNumber))
        default: call = named.update(lastNumber)
        }
        settleKnown(call, named.player, nil)
    }

    private func options() -> TransferOptions {
        var options = TransferOptions()
        switch draw(6) {
        case 0: options.supersedeKey = "key \(draw(2))"
        case 1: options.timeToLive = .seconds(1 + draw(20))
        case 2: options.after = journal.calls.last { $0.transfer != nil }?.id
        default: break
        }
        return options
    }

    /// The standing after the call is taken once its task has begun.
    private func settleKnown(_ call: Call, _ player: Player, _ pairing: UniqueIdentifier?) {
        if draw(2) == 0 { settle() }
        call.after = draw(2) == 0 ? nil : player.standing(of: pairing)
        if call.endings.isEmpty, call.error == nil { call.after = nil }
    }

    private func takeBack() {
        if let named = players.values.compactMap(\.named).sorted(by: { $0.player.process < $1.player.process })
            .randomElement(using: &random),
            draw(2) == 0
        {
            return named.takeBack().map { say("\(named.player.place) takes \($0) back by name") } ?? ()
        }
        let items = journal.calls.filter { $0.transfer != nil && journal.gone[$0.process] == nil }
        guard let subject = items.suffix(6).randomElement(using: &random), let player = players[subject.place],
            let transfer = subject.transfer
        else { return }
        lastNumber += 1
        say("\(player.place) takes \(subject.kind.rawValue) \(subject.number) back")
        let call = player.begin(lastNumber, .cancel, to: nil) { _, _ throws(SessionError) in
            .cancellation(try await transfer.cancel())
        }
        call.subject = subject
    }

    private func giveUp() {
        let open = journal.calls.filter { $0.endings.isEmpty && journal.gone[$0.process] == nil }
        guard let call = open.randomElement(using: &random) else { return }
        say("gives \(call.number) up")
        call.isGivenUp = true
        call.task?.cancel()
    }

    private func ask(_ place: Place) {
        guard let player = players[place] else { return }
        lastNumber += 1
        say("\(place) asks \(lastNumber)")
        switch draw(3) {
        case 0: list(player)
        case 1 where player.named == nil: takeFormerBack(player)
        default:
            let limit = Duration.seconds(1 + draw(20))
            _ = player.begin(lastNumber, .drained, to: nil, timeout: limit) { session, _ throws(SessionError) in
                try await session.drained(timeout: limit)
                return .done
            }
        }
    }

    private func list(_ player: Player) {
        guard let pairing = target(of: player) else { return }
        let items = journal.calls.filter { [journal] in
            $0.kind == .userInfo && $0.place == player.place && $0.transfer?.pairing == pairing
                && !journal.unpaired.contains(pairing)
        }
        let ended = items.filter { !$0.outcomes.isEmpty }
        let open = items.filter { $0.outcomes.isEmpty }
        _ = player.begin(lastNumber, .outstanding, to: pairing) { session, call throws(SessionError) in
            let listed = try await session.outstandingTransfers().map(\.id)
            call.stale = ended.filter { listed.contains($0.transfer?.id ?? .zero) }
            call.missing = open.filter { item in
                guard let transfer = item.transfer, transfer.isOpen, !transfer.isDemoted else { return false }
                return !listed.contains(transfer.id)
            }
            return .done
        }
    }

    /// Takes an item back that may be of a former process.
    private func takeFormerBack(_ player: Player) {
        let kind = Transfer.Kind.allCases[draw(3)]
        _ = player.begin(lastNumber, .cancel, to: target(of: player)) { [journal] session, call throws(SessionError) in
            guard let item = try await session.outstandingTransfers(kind).last else { return .done }
            let number = item.body.flatMap { try? PropertyListReader.readDictionary($0)["n"]?.integerValue }
            call.subject = journal.calls.first { $0.id == item.id || $0.number == number }
            return .cancellation(try await session.cancelTransfer(item))
        }
    }

    private func release(_ place: Place) {
        guard let player = players[place] else { return }
        say("\(place) lets handlers return: \(player.heldMessages.count) \(player.heldItems.count)")
        if draw(2) == 0 { player.release(message: draw(max(1, player.heldMessages.count))) }
        player.release(item: draw(max(1, player.heldItems.count)))
    }

    // MARK: processes

    private func start(_ place: Place) throws {
        lastProcess += 1
        let player = Player(
            try world.app(at: place), process: lastProcess, world: world, journal: journal,
            draw: { [weak self] in self?.draw($0) ?? 0 })
        player.rule = { [weak self] in self?.rule() ?? .answer }
        players[place] = player
        say("\(place) starts process \(lastProcess)")
        player.start(named: isNamed(place))
    }

    /// A place uses one of the two faces in all of its processes.
    private func isNamed(_ place: Place) -> Bool {
        switch seed / 3 % 4 {
        case 0: place == .primary
        case 1: place != .primary
        case 2: true
        default: false
        }
    }

    private func rule() -> HandlerRule {
        guard !isCalm else { return .answer }
        switch draw(20) {
        case 0..<14: return .answer
        case 14..<17: return .hold
        case 17: return .drop
        default: return .fail
        }
    }

    private func endOrStart(_ place: Place) throws {
        guard let player = players.removeValue(forKey: place) else { return try start(place) }
        end(player, draw(2) == 0 ? .orderly : .killed)
        if draw(2) == 0 { try start(place) }
    }

    private func end(_ player: Player, _ ending: Ending) {
        say("\(player.place) process \(player.process) is \(ending.participle)")
        // An orderly end lets calls end.
        world.end(player.app, ending)
        journal.gone[player.process] = journal.sights.count
        dead.append(player)
        _ = Unmanaged.passRetained(player)
    }

    private func restart(_ place: Place) throws {
        let ending: Ending = draw(2) == 0 ? .orderly : .killed
        say("\(place)'s daemon is \(ending.participle)")
        journal.restarts[place, default: []].append(journal.sights.count)
        try stage.restart(place, ending)
    }

    // MARK: pairings

    private func switchActive() throws {
        guard secondaries > 1, let pairing = pairings[.secondary(draw(secondaries))] else { return }
        say("switches")
        journal.hasSwitched = true
        try stage.answer(to: .switch, ["pairing": .data(pairing.bytes)], at: .primary)
    }

    private func pairOrUnpair(_ place: Place) throws {
        guard place != .primary, seed % 2 == 0 else { return }
        journal.hasUnpaired = true
        if let pairing = pairings.removeValue(forKey: place) {
            say("unpairs \(place)")
            journal.unpaired.insert(pairing)
            let asked: Place = draw(2) == 0 ? .primary : place
            try stage.answer(to: .unpair, ["pairing": .data(pairing.bytes), "yes": true], at: asked)
        } else {
            try join(place)
        }
    }

    private func join(_ place: Place) throws {
        guard world.isLinkAllowed else { return }
        let joined = try stage.result(of: .join, ["link": .string(try stage.joinLink())], at: place)
        say("pairs \(place): \(joined.fault)")
        if joined.code != 0 {
            // Its own end of a former pairing is its operator's to end.
            for row in try stage.answer(to: .status, at: place)["pairings"]?.arrayValue ?? [] {
                guard let former = row.dictionaryValue?["pairing"] else { continue }
                try stage.answer(to: .unpair, ["pairing": former, "yes": true], at: place)
            }
        }
        guard joined.code == 0, let pairing = try joined.dictionaryBody()["pairing"]?.identifierValue else { return }
        // One that the primary still had: it goes on in another epoch (PAR-16).
        if journal.unpaired.contains(pairing) { journal.rejoined.insert(pairing) }
        note(pairing, place)
    }

    // MARK: the end

    /// All is in order again, and everything ends.
    private func calm() throws {
        say("calm")
        isCalm = true
        world.streamFaults = nil
        stage.relink()
        world.cutLinks()
        for place in places where players[place] == nil { try start(place) }
        for place in places where place != .primary && pairings[place] == nil {
            for _ in 0..<40 where pairings[place] == nil {
                stage.pass(.seconds(10))
                try join(place)
            }
        }
        for player in players.values {
            player.releaseAll()
            player.named?.calm()
        }
        try stage.wait("the apps reach each other at last", within: .seconds(300)) { [self] in
            players.values.allSatisfy {
                $0.app.isReachable && $0.session.activationState == .activated
                    && $0.named?.isReady != false
            }
        }
        for player in players.values { player.releaseAll() }
        try stage.wait("every call ends", within: .seconds(900)) { [self] in journal.calls.allSatisfy(hasEnded) }
        // Its didFinish comes once the other device has it; a judgement follows.
        _ = world.wait(within: .seconds(120)) { [self] in journal.calls.allSatisfy(journal.isGiven) }
        try checkContexts()
        try checkOutstanding()
        checkEnds()
        try checkStatus()
        for player in players.values { player.named?.check() }
    }

    private func hasEnded(_ call: Call) -> Bool {
        guard journal.gone[call.process] == nil else { return true }
        if call.endings.isEmpty { return false }
        if call.isNamed { return !call.kind.isItem || !call.finishes.isEmpty }
        return call.transfer == nil || !call.outcomes.isEmpty || call.silence != nil
    }

    /// DEL-20: the last context of each side is the one that is there.
    private func checkContexts() throws {
        for place in places where place != .primary {
            for (from, to) in [(Place.primary, place), (place, .primary)] {
                guard let sender = players[from], let receiver = players[to], let pairing = pairings[place],
                    receiver.named == nil || receiver.session.pairedDevice?.pairing == pairing
                else { continue }
                lastNumber += 1
                let (number, content) = (lastNumber, ["n": .integer(lastNumber)] as PropertyListDictionary)
                let call = sender.update(number, to: pairing)
                try stage.wait("the last context comes", within: .seconds(100)) { [self] in
                    !call.endings.isEmpty && journal.sights.contains { $0.number == number }
                }
                let here = sender.session.session(for: pairing).applicationContext
                let there = receiver.session.session(for: pairing).receivedApplicationContext
                if here != content || there != content {
                    journal.fault("SES-52: contexts are \(here as Any), \(there as Any)")
                }
            }
        }
    }

    /// SES-54: nothing is outstanding once all has ended.
    private func checkOutstanding() throws {
        let lists = Later<(Place, [OutstandingTransfer])>()
        var count = 0
        let pass: () throws -> Void = { [self] in
            for player in players.values {
                for pairing in player.session.pairedDevices.map(\.pairing) {
                    for kind in Transfer.Kind.allCases {
                        count += 1
                        player.run {
                            let items = try? await player.session.session(for: pairing).outstandingTransfers(kind)
                            lists.add((player.place, items ?? []))
                        }
                    }
                }
            }
            let wanted = count
            try stage.wait("lists come") { lists.values.count == wanted }
        }
        // Items of former processes, and those of whole devices, end in their own time.
        var isEmpty = false
        for _ in 0..<30 where !isEmpty {
            let before = lists.values.count
            try pass()
            isEmpty = lists.values[before...].allSatisfy { $0.1.isEmpty }
            if !isEmpty { stage.pass(.seconds(10)) }
        }
        if !isEmpty { journal.fault("SES-54: still outstanding: \(lists.values.suffix(12).filter { !$0.1.isEmpty })") }
    }

    /// CTL-3: no daemon keeps anything for a device that has ended.
    private func checkStatus() throws {
        // A context for another pairing than a delegate's own is put off.
        guard secondaries == 1 else { return }
        for place in places {
            for row in try stage.answer(to: .status, at: place)["pairings"]?.arrayValue ?? [] {
                let waiting = row.dictionaryValue?["waiting"]?.integerValue ?? 0
                if waiting != 0 { journal.fault("CTL-3: at \(place) \(waiting) items wait") }
            }
        }
    }

    /// SES-50, SES-85: each process is told an end once at most, and of an accepted item some process is.
    private func checkEnds() {
        let all = Array(players.values) + dead
        for player in all {
            for (id, endings) in player.app.endings where endings.count > 1 {
                journal.fault("SES-85: process \(player.process) was told of \(id) as \(endings.map(\.summary))")
            }
            if player.app.contextEnds > 0 { journal.fault("SES-50: a context has an outcome") }
        }
        for call in journal.calls where call.kind.isItem {
            guard let transfer = call.transfer, !journal.unpaired.contains(transfer.pairing) else { continue }
            let told = Set(all.flatMap { $0.app.endings[transfer.id]?.map(\.summary) ?? [] })
            if told.count != 1 { journal.fault("SES-50: of \(call.description) was told \(told)") }
            if let own = call.outcomes.first?.summary, !told.contains(own) {
                journal.fault("SES-50: of \(call.description) was told \(told), and it ended \(own)")
            }
        }
    }
}

extension Transfer {
    fileprivate var isOpen: Bool { if case .finished = state { false } else { true } }
}

extension PropertyListValue {
    var identifierValue: UniqueIdentifier? { dataValue.flatMap { UniqueIdentifier(bytes: $0) } }
}
