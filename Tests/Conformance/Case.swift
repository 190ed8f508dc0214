// The conformance suite as a table: each case has the clause that it proves and what it needs of a world, and runs
// unchanged in every world that has it.

import TandemBase
import TandemSession
import TandemTestSupport
import TandemWire

/// One case.
package struct Case: Sendable, CustomStringConvertible {
    /// A sentence about behaviour.
    package let name: String
    /// Where `Protocol` says so.
    package let clause: String
    package let needs: Set<Ability>
    package let secondaries: Int
    /// Takes a minute of processor time; only long runs have that.
    package let isLong: Bool
    let body: @Sendable (Stage) throws -> Void

    init(
        _ clause: String, _ name: String, needs: Set<Ability> = [], secondaries: Int = 1,
        isLong: Bool = false, _ body: @escaping @Sendable (Stage) throws -> Void
    ) {
        (self.name, self.clause, self.needs, self.secondaries) = (name, clause, needs, secondaries)
        (self.isLong, self.body) = (isLong, body)
    }

    package var description: String { "\(clause): \(name)" }

    /// Runs the case in a fresh world; the log of its apps.
    @discardableResult
    func run(
        in world: any World, seed: UInt64, length: RunLength, patience: Duration? = nil
    ) throws -> [String] {
        let stage = Stage(world, seed: seed, length: length, patience: patience)
        defer {
            stage.closeRawApps()
            world.stop()
        }
        do {
            try body(stage)
        } catch {
            // Also an error of the library or of the system: by itself it names neither case nor seed.
            let account = (stage.log + world.notes.suffix(60)).joined(separator: "\n")
            throw Violation("\(self), seed \(seed): \(error)\n\(account)")
        }
        return stage.log
    }

    /// All of them.
    package static let all =
        MessageCases.all + BroadcastCases.all + UserInfoCases.all + EndCases.all + ContextCases.all + FileCases.all
        + LossCases.all + FrameCases.all + LengthCases.all + RetryCases.all + LaterCases.all + JoinCases.all
        + StateCases.all + StoreCases.all + ConfigurationCases.all
        + ConfigurationRefusalCases.all + KeyCases.all
}

/// A world and what a case has set up there.
final class Stage {
    let world: any World
    var generator: SeededGenerator
    private(set) var apps: [App] = []
    private var rawApps: [RawApp] = []
    private let length: RunLength
    /// The longest wait in real time.
    let patience: Duration
    /// Until then a correct daemon, or an app's library, may wait before it dials again.
    private var endOfPause = MonotonicTime(nanoseconds: 0)

    init(_ world: any World, seed: UInt64, length: RunLength, patience: Duration? = nil) {
        (self.world, self.length) = (world, length)
        self.patience = patience ?? (length == .short ? .seconds(120) : .seconds(1200))
        generator = SeededGenerator(seed: seed)
    }

    /// The log of each app, in the order of their starts.
    var log: [String] { apps.flatMap { app in app.log.map { "\(app.place): \($0)" } } }

    static let appName = "org.example.conformance"

    func app(at place: Place) throws -> App {
        let app = try world.app(at: place)
        apps.append(app)
        let activation = app.activate()
        try wait("\(place)'s app is activated") { activation.value?.isSuccess == true }
        return app
    }

    /// An app without the library that has said nothing yet.
    func rawApp(at place: Place) throws -> RawApp {
        let app = RawApp(try world.connect(to: place), at: place)
        rawApps.append(app)
        return app
    }

    fileprivate func closeRawApps() {
        for app in rawApps { app.close() }
    }

    func pair() throws -> (primary: App, secondary: App) {
        let (primary, secondary) = (try app(at: .primary), try app(at: .secondary(0)))
        try wait("the apps reach each other") { primary.isReachable && secondary.isReachable }
        return (primary, secondary)
    }

    /// Lets time pass until `condition` holds, and throws a violation if it does not within `limit`. In real time the
    /// limit is also at most the stage's patience (two minutes, in a long run twenty, or what the run says) plus the
    /// longer of `pauses` and the rest of the pause of a dialler.
    /// - Parameter pauses: the time that the protocol itself takes.
    func wait(
        _ text: @autoclosure () -> String, within limit: Duration = .seconds(300), pauses: Duration = .zero,
        until condition: () throws -> Bool
    ) throws {
        let pause = max(pauses, endOfPause.since(world.now))
        let limit = isRealTime ? min(limit, pause + patience) : limit
        guard try !world.wait(within: limit, until: condition) else { return }
        let ends = apps.compactMap(\.connectionEnd) + rawApps.compactMap(\.end)
        throw Violation((["in time: \(text())"] + ends).joined(separator: "; "))
    }

    /// The same for a condition that asks a daemon: it is asked every 50 ms.
    func poll(_ text: @autoclosure () -> String, pauses: Duration = .zero, until condition: () throws -> Bool) throws {
        var next = world.now
        try wait(text(), pauses: pauses) {
            guard world.now >= next else { return false }
            let holds = try condition()
            next = world.now + .milliseconds(50)
            return holds
        }
    }

    // MARK: links and daemons that come back

    /// Breaks all links; they come back by themselves.
    func cutLinks() {
        world.cutLinks()
        expectPause()
    }

    func relink() {
        world.isLinkAllowed = true
        expectPause()
    }

    /// - Parameter meanwhile: runs while the daemon is away, with the path of its state directory.
    func restart(_ place: Place, _ ending: Ending, meanwhile: (String) throws -> Void = { _ in }) throws {
        try world.restart(place, ending, meanwhile: meanwhile)
        expectPause()
    }

    /// A connection that is stuck already is dead after some silent intervals (SES-17).
    func endStreamFaults() {
        guard world.streamFaults != nil else { return }
        world.streamFaults = nil
        expectPause(after: Heartbeat.interval * Heartbeat.intervals)
    }

    /// From now on a dialler may wait as long as SES-19 allows: its attempts may have failed until this moment. An app
    /// that has lost its daemon dials likewise (SES-23), and the pauses before the next attempt at an item (DEL-11) are
    /// shorter.
    private func expectPause(after loss: Duration = .zero) { endOfPause = world.now + loss + Backoff.longest }

    /// How often a case does something of which each time costs a way through all processes and back.
    func count(_ count: Int, inRealTime fewer: Int) -> Int { isRealTime && length == .short ? fewer : count }

    /// A time that something takes: a short one where people wait for it.
    func time(_ time: Duration, inRealTime shorter: Duration) -> Duration { isRealTime ? shorter : time }

    var isRealTime: Bool { !world.abilities.contains(.manualTime) }

    /// Lets time pass in which something wrong would show: all of it where time costs nothing.
    func linger(_ time: Duration) {
        pass(isRealTime ? min(time, .milliseconds(400)) : time)
    }

    /// Lets that much time pass.
    func pass(_ time: Duration) { _ = world.wait(within: time) { false } }
}
