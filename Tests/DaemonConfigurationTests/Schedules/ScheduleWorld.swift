// World of a random schedule: whole daemons on a manual clock, one app at the secondary, and operators who do what the
// steps say. It compares the daemons with the model after each step, and once all has settled.

import Glibc
import TandemBase
import TandemCrypto
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSession
import TandemSignedConfiguration
import TandemTestSupport
import TandemWire

final class ScheduleWorld {
    /// The devices of a schedule.
    enum Shape: CaseIterable { case pair, twoPrimaries, twoSecondaries }

    /// The facts that are the same in all steps of a schedule.
    struct Character {
        let shape: Shape
        /// The disks of a primary and a secondary are small.
        let hasSmallDisks: Bool
        /// Some configurations have a lifetime.
        let lapses: Bool
        /// The apps keep an account of their starts (CFG-65).
        let countsStarts: Bool

        init(of seed: UInt64) {
            shape = Shape.allCases[Int(seed % 3)]
            hasSmallDisks = seed % 4 == 0
            lapses = seed % 5 == 0
            countsStarts = seed / 2 % 2 == 0
        }
    }

    let nodes: TwoNodes
    let history: SignedHistory
    let character: Character
    let apps: [TwoNodes.Place: ScheduledApp]
    private(set) var violations: [String] = []
    /// How far the clock of all devices is ahead of the signer's.
    var offset = Duration.zero
    /// The highest version signed for each target.
    var highest: [PairedIdentifier: UInt64] = [:]
    /// Requests that wait for their answer.
    private var unanswered: [Int: (place: TwoNodes.Place, command: String)] = [:]
    private var requests = 0
    private(set) var disks: [TwoNodes.Place: SmallDisk] = [:]
    var full: Set<TwoNodes.Place> = []
    /// Something was given to a secondary's own daemon, of which no primary hears (CTL-5).
    var wasLocal = false
    /// The identifiers of the primaries.
    private(set) var vendors: [TwoNodes.Place: PairedIdentifier] = [:]

    init(_ character: Character) throws {
        self.character = character
        let shape = character.shape
        nodes = try TwoNodes()
        vendors[.primary] = nodes.target
        history = try SignedHistory(of: nodes.app)
        if character.hasSmallDisks {
            for place in [TwoNodes.Place.primary, .secondary] {
                guard let disk = SmallDisk(), disk.resize("8m") else { continue }
                nodes.stop(place)
                nodes.states[place] = "\(disk.path)/state"
                disks[place] = disk
                try nodes.start(place)
            }
            vendors[.primary] = .vendor(try nodes.device(of: nodes.primary))
        }
        var apps: [TwoNodes.Place: ScheduledApp] = [:]
        for place in shape == .twoSecondaries ? [TwoNodes.Place.secondary, .other] : [.secondary] {
            let state = nodes.states[place] ?? nodes.directory.path("\(place)-state")
            apps[place] = ScheduledApp(
                history, in: "\(state)/apps/\(nodes.app)", on: nodes.clock, countsStarts: character.countsStarts)
        }
        self.apps = apps
        try nodes.pair()
        if shape != .pair { try startOther() }
        for place in primaries { _ = nodes.trust(history.anchor, at: node(place)) }
        for place in secondaries { startApp(at: place) }
        pass(.milliseconds(500))
    }

    private func startOther() throws {
        try nodes.startOther(as: shape == .twoPrimaries ? .primary : .secondary)
        if shape == .twoPrimaries {
            vendors[.other] = .vendor(try nodes.device(of: nodes.other))
            try nodes.pair(nodes.other, nodes.secondary)
        } else {
            try nodes.pair(nodes.primary, nodes.other)
        }
    }

    private var shape: Shape { character.shape }
    var primaries: [TwoNodes.Place] { shape == .twoPrimaries ? [.primary, .other] : [.primary] }
    var secondaries: [TwoNodes.Place] { shape == .twoSecondaries ? [.secondary, .other] : [.secondary] }

    func violate(_ text: String) { if !violations.contains(text) { violations.append(text) } }

    // MARK: time

    /// Lets time pass; what dies meanwhile is started again.
    func pass(_ time: Duration) {
        let end = nodes.clock.now + time
        while nodes.clock.now < end {
            nodes.run(until: { nodes.clock.now >= end || apps.values.contains(where: \.isDying) })
            let dying = apps.filter { $0.value.isDying }
            guard !dying.isEmpty else { continue }
            let soon = nodes.clock.now + .milliseconds(300)
            nodes.run(until: { nodes.clock.now >= soon })
            for app in dying.values { app.end(inOrder: false) }
            nodes.run(until: { nodes.clock.now >= soon + .milliseconds(200) })
            for place in dying.keys { startApp(at: place) }
        }
    }

    /// The signer's clock.
    var now: UInt64 { (nodes.clock.wallNow + (Duration.zero - offset)).seconds }

    // MARK: requests

    /// Begins a request and lets it go its way; an answer must come before the end.
    func begin(
        _ place: TwoNodes.Place, _ command: String, _ body: PropertyListDictionary,
        then: ((ControlAnswer) -> Void)? = nil
    ) {
        requests += 1
        let number = requests
        unanswered[number] = (place, command)
        nodes.begin(node(place), command, body) { [weak self] answer in
            self?.unanswered[number] = nil
            then?(answer)
        }
    }

    /// Asks and waits.
    func ask(_ place: TwoNodes.Place, _ command: String, _ body: PropertyListDictionary = [:]) -> ControlAnswer? {
        var answer: ControlAnswer?
        begin(place, command, body) { answer = $0 }
        let end = nodes.clock.now + .seconds(60)
        nodes.run(until: { answer != nil || nodes.clock.now > end })
        if answer == nil { violate("\(command) at the \(place) has no answer after a minute") }
        return answer
    }

    func node(_ place: TwoNodes.Place) -> Node {
        switch place {
        case .primary: nodes.primary
        case .secondary: nodes.secondary
        case .other: nodes.other
        case .last: nodes.last
        }
    }

    /// Nothing of a daemon that has ended is waited for.
    private func forgetRequests(to place: TwoNodes.Place) { unanswered = unanswered.filter { $0.value.place != place } }

    /// Each request has an answer by now.
    func checkRequests() {
        for (place, command) in unanswered.values { violate("\(command) at the \(place) never had an answer") }
    }

    // MARK: the app

    func app(_ place: TwoNodes.Place) -> ScheduledApp {
        guard let app = apps[place] else { preconditionFailure("no app at the \(place)") }
        return app
    }

    func startApp(at place: TwoNodes.Place) {
        guard !app(place).isRunning else { return }
        connectApp(at: place, isNewProcess: true)
    }

    /// A new process, or the one that lives on beside a daemon that has started again.
    private func connectApp(at place: TwoNodes.Place, isNewProcess: Bool) {
        let app = app(place)
        let registration = TandemSession.Registration(
            anchor: KeySetText.text(of: history.anchor), allowsInvalidSignatures: app.waives)
        do {
            _ = try nodes.connect(to: place, registration) { app.prepare($0, isNewProcess: isNewProcess) }
        } catch { violate("the app cannot connect: \(error)") }
    }

    // MARK: the daemons

    func restart(_ place: TwoNodes.Place) throws {
        let wasRunning = apps[place]?.isRunning == true
        end(place)
        try nodes.start(place)
        forgetRequests(to: place)
        if wasRunning { connectApp(at: place, isNewProcess: false) }
    }

    /// Stops a daemon, in order. The rest of one in this process would go on with the files of the next.
    private func end(_ place: TwoNodes.Place) {
        weak let former = node(place)
        nodes.stop(place)
        apps[place]?.letGo()
        let latest = nodes.clock.now + .seconds(60)
        nodes.run(until: { former == nil || nodes.clock.now > latest })
        if former != nil { violate("the \(place)'s daemon is still there a minute after its end") }
    }

    /// The daemon ends where it stands: what it has committed is there, and it has done nothing since.
    /// - Parameter rounds: the commits that it may still await.
    func crash(_ place: TwoNodes.Place, after rounds: Int) throws {
        let wasRunning = apps[place]?.isRunning == true
        for _ in 0..<rounds {
            for place in primaries + secondaries { node(place).settleStore() }
            nodes.clock.run()
        }
        node(place).settleStore()
        let state = nodes.states[place] ?? nodes.directory.path("\(place)-state")
        let kept = Self.files(in: state)
        let wasDown = nodes.network.isDown
        nodes.network.takeDown()
        end(place)
        for path in Self.files(in: state).keys where kept[path] == nil { unlink(path) }
        for (path, bytes) in kept {
            if TemporaryDirectory.read(path) == bytes { continue }
            Self.write(bytes, to: path)
        }
        unlink("\(state)/tandem.sqlite-shm")
        nodes.network.isDown = wasDown
        forgetRequests(to: place)
        try nodes.start(place)
        if wasRunning { connectApp(at: place, isNewProcess: false) }
    }

    private static func write(_ bytes: [UInt8], to path: String) {
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        _ = Glibc.write(descriptor, bytes, bytes.count)
    }

    private static func files(in folder: String) -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for name in TemporaryDirectory.names(in: folder) {
            let path = "\(folder)/\(name)"
            var facts = stat()
            guard lstat(path, &facts) == 0 else { continue }
            if facts.st_mode & S_IFMT == S_IFDIR {
                files.merge(Self.files(in: path)) { first, _ in first }
            } else if facts.st_mode & S_IFMT == S_IFREG, !name.hasSuffix("-shm"),
                let bytes = TemporaryDirectory.read(path)
            {
                files[path] = bytes
            }
        }
        return files
    }

    // MARK: what the daemons say

    /// The chosen primary of a secondary; nil if none is.
    func chosen(by secondary: TwoNodes.Place) -> TwoNodes.Place? {
        let rows = ask(secondary, "status")?.body.rows("pairings") ?? []
        let peer = rows.first { $0["active"] == true }?["peer"]?.identifierValue
        return primaries.first { place in peer.map { vendors[place] == .vendor($0) } ?? false }
    }

    /// The secondary's slot of a primary's target.
    func held(at place: TwoNodes.Place, for primary: TwoNodes.Place) -> PropertyListDictionary? {
        let rows = ask(place, "status")?.body.rows("configurations") ?? []
        return rows.first { $0["target"]?.stringValue == vendors[primary]?.text && $0["pairing"] == nil }
    }

    func desired(of place: TwoNodes.Place, at primary: TwoNodes.Place) -> PropertyListDictionary? {
        let rows = ask(primary, "status")?.body.rows("desired") ?? []
        let (target, name) = (vendors[primary]?.text, "the \(place)")
        return rows.first { $0["target"]?.stringValue == target && $0["name"]?.stringValue == name }
    }

    func keySet(of place: TwoNodes.Place) -> PropertyListDictionary? {
        ask(place, "trust-list")?.body.rows("anchors").first
    }

    // MARK: invariants

    /// After each step.
    func check() {
        for place in secondaries {
            if !full.contains(place) { checkFiles(at: place) }
            for text in app(place).violations { violate("the \(place)'s app: \(text)") }
        }
    }

    /// The configuration that the secondary reports as active is the one that the app's files hold.
    private func checkFiles(at place: TwoNodes.Place) {
        let app = app(place)
        for attempt in 0..<3 {
            let primary = chosen(by: place)
            app.target = primary.flatMap { vendors[$0] }
            let held = primary.flatMap { self.held(at: place, for: $0) }
            let digest = held?["applied"] == nil ? nil : held?["digest"]?.dataValue
            if held?["waived"] != true, let one = digest.flatMap(history.configuration) { note(one, app) }
            let file = app.waivedDigest ?? app.activeDigest
            if digest == file { return }
            if attempt == 2 { violate("the \(place)'s status and its app's files differ") }
            pass(.milliseconds(500 + 10_000 * attempt))
        }
    }

    /// The secondary has this one as active.
    private func note(_ one: SignedHistory.Configuration, _ app: ScheduledApp) {
        let (mark, epoch, target) = (app.marks[one.payload.target], history.latest.epoch, one.payload.target)
        if let mark, one.version < mark.version, mark.keySet >= epoch, !failed(mark.version, target, app) {
            violate("version \(one.version) is active after \(mark.version)")
        }
        app.marks[target] = (one.version, one.payload.keySetVersion)
    }

    /// A version whose trial failed gives way to the last good one (CFG-63), one with an invalid signature to the one
    /// below it.
    private func failed(_ version: UInt64, _ target: PairedIdentifier, _ app: ScheduledApp) -> Bool {
        history.configurations.contains {
            $0.version == version && $0.payload.target == target
                && ($0.nature != .good || (app.sights[$0.digest] ?? 0) >= 3 || $0.signers.isEmpty)
        }
    }
}
