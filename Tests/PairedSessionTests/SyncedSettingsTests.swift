// Synced settings between two apps beside the simulator: edits of both sides, what hides them, and the switch.

import Foundation
import PairedConfiguration
import PairedSession
import TandemDaemon
import TandemReactor
import TandemTestSupport
import Testing

/// `@unchecked`: a wrapper around state behind a mutex, which the base class checks.
class PanelConfiguration: Configuration, @unchecked Sendable {
    @Toggle("Mirror the settings") var isMirrored = true
    @Slider("Volume", in: 0...100) var volume = 50
    @Edit("Colour", matching: "^#[0-9a-f]{6}$") var colour: String? = "#000000"
    @Preference("Names of the rooms") var rooms: [String] = []
    @Toggle("Only on this device") var isHere = false

    override var syncedSettings: [any DeclaredProperty] { [$volume, $colour, $rooms] }
    override var syncSwitch: Property<Bool>? { $isMirrored }
}

/// An earlier release, which takes less and has not heard of rooms.
///
/// `@unchecked`: a wrapper around state behind a mutex, which the base class checks.
private final class FormerPanelConfiguration: Configuration, @unchecked Sendable {
    @Slider("Volume", in: 0...60) var volume = 50
    @Edit("Colour", matching: "^#[0-9a-f]{6}$") var colour: String? = "#000000"

    override var syncedSettings: [any DeclaredProperty] { [$volume, $colour] }
}

extension ManualScheduler {
    /// Runs the clock's work and that of the library's own thread, until each has had more turns than an exchange of
    /// two edited sides needs: that thread works in order, so that an action at its end is a wait without time.
    func settle() {
        for _ in 0..<40 {
            run()
            let isDone = DispatchSemaphore(value: 0)
            ConfigurationThread.run { isDone.signal() }
            isDone.wait()
        }
        run()
    }
}

/// An app beside one device of the simulator.
final class MirroredApp<Settings: Configuration> {
    let configuration: Settings
    let session: PairedSession
    let changes = Collector<SettingChanges>()
    let events = Collector<SyncEvent>()
    private let observations: [ConfigurationObservation]

    init(_ configuration: Settings, on endpoint: LocalEndpoint, _ scheduler: ManualScheduler) throws {
        self.configuration = configuration
        // Used on the manual scheduler's thread only, as the session is.
        nonisolated(unsafe) let dialer: any Dialer = SimulatorDialer(endpoint, scheduler)
        let settings = try SessionSettings(
            PairedSessionOptions(application: "com.example.panel"), environment: { _ in nil })
        session = PairedSession(settings, on: scheduler, dialer: dialer)
        observations = [
            configuration.observe { [changes] in changes.add($0) },
            configuration.observeEvents { [events] event in if case .sync(let event) = event { events.add(event) } },
        ]
        try configuration.install(on: session)
    }

    func activate() { session.core.run { $0.activate(waiter: 1) { _ in } } }
}

@Suite struct SyncedSettingsTests {
    private let scheduler = ManualScheduler()
    private let simulator: Simulator

    init() { simulator = Simulator(scheduler: scheduler, software: "simulator of a test", user: 1000, secondaries: 1) }

    private func primary<Settings: Configuration>(_ configuration: Settings) throws -> MirroredApp<Settings> {
        try MirroredApp(configuration, on: simulator.primary, scheduler)
    }

    private func secondary<Settings: Configuration>(_ configuration: Settings) throws -> MirroredApp<Settings> {
        try MirroredApp(configuration, on: simulator.secondaries[0], scheduler)
    }

    @Test("SET-70: a preference that is set, set to nil or removed on one side becomes so on the other")
    func bothWays() throws {
        let (one, two) = (try primary(PanelConfiguration()), try secondary(PanelConfiguration()))
        one.activate()
        two.activate()
        scheduler.settle()
        one.configuration.volume = 70
        one.configuration.isHere = true
        scheduler.settle()
        #expect(two.configuration.volume == 70 && !two.configuration.isHere)
        let change = try #require(two.changes.all.last)
        #expect(change.origin == .counterpart && change.changes.map(\.name) == ["volume"])
        two.configuration.colour = nil
        two.configuration.rooms = ["hall", "kitchen"]
        scheduler.settle()
        #expect(one.configuration.colour == nil && one.configuration.rooms == ["hall", "kitchen"])
        #expect(one.configuration.$colour.layer == .storedPreference)
        two.configuration.$volume.remove()
        one.configuration.$colour.remove()
        scheduler.settle()
        for app in [one, two] {
            #expect(app.configuration.volume == 50 && app.configuration.$volume.layer == .declaredDefault)
            #expect(app.configuration.colour == "#000000" && app.events.all.isEmpty)
        }
    }

    @Test("SET-70, SET-73: both sides are edited without a link, and have the same afterwards as one batch")
    func offline() throws {
        let (one, two) = (try primary(PanelConfiguration()), try secondary(PanelConfiguration()))
        one.configuration.volume = 10
        one.configuration.rooms = ["hall"]
        one.activate()
        scheduler.settle()
        one.configuration.volume = 20
        two.configuration.volume = 30
        two.configuration.colour = "#ff0000"
        two.activate()
        scheduler.settle()
        for configuration in [one.configuration, two.configuration] {
            #expect(configuration.volume == 20 && configuration.colour == "#ff0000" && configuration.rooms == ["hall"])
        }
        #expect(two.changes.all.last?.changes.map(\.name) == ["volume", "rooms"])
        // A newer body takes the place of one that nobody has merged: a side may then see what the other one decided.
        let (events, conflict) = (one.events.all + two.events.all, SyncEvent.conflict("volume"))
        #expect(events == [conflict] || events == [conflict, conflict])
    }

    @Test("SET-23, SET-77: the removal of a synced preference leaves a mark in the store, and that of another none")
    func marks() throws {
        let store = MemoryPreferences()
        let app = PanelConfiguration(preferences: store)
        app.volume = 70
        app.isHere = true
        try app.writePreferences()
        app.$volume.remove()
        app.$isHere.remove()
        try app.writePreferences()
        #expect(store.entries == ["tandem.synced": ["volume": "removed"]])
        #expect(PanelConfiguration(preferences: store).volume == 50)
    }

    @Test("SET-77: a value that breaks a rule here is told and not taken, and an edit here ends that")
    func refused() throws {
        let (one, two) = (try primary(PanelConfiguration()), try secondary(FormerPanelConfiguration()))
        one.activate()
        two.activate()
        scheduler.settle()
        one.configuration.volume = 90
        one.configuration.rooms = ["hall"]
        one.configuration.colour = "#00ff00"
        scheduler.settle()
        #expect(two.configuration.volume == 50 && two.configuration.colour == "#00ff00")
        guard case .notTaken(let error)? = two.events.all.first else { throw Unexpected("nothing was told") }
        #expect(error.property == "volume" && error.rule == .maximum("60") && two.events.all.count == 1)
        #expect(one.configuration.volume == 90, "it is mirrored, and nothing has come back")
        two.configuration.volume = 40
        scheduler.settle()
        #expect(one.configuration.volume == 40 && one.configuration.rooms == ["hall"])
    }

    @Test("SET-79: while the switch is off nothing is sent or taken, and the switch is not synced") func toggle() throws
    {
        let (one, two) = (try primary(PanelConfiguration()), try secondary(PanelConfiguration()))
        one.activate()
        two.activate()
        scheduler.settle()
        two.configuration.isMirrored = false
        one.configuration.volume = 60
        two.configuration.colour = "#0000ff"
        scheduler.settle()
        #expect(two.configuration.volume == 50 && one.configuration.colour == "#000000")
        #expect(one.configuration.isMirrored)
        two.configuration.isMirrored = true
        scheduler.settle()
        #expect(two.configuration.volume == 60 && one.configuration.colour == "#0000ff")
    }

    /// `@unchecked`: a wrapper around state behind a mutex, which the base class checks.
    private final class WrongConfiguration: PanelConfiguration, @unchecked Sendable {
        private static let other = PanelConfiguration()

        override var syncedSettings: [any DeclaredProperty] {
            [$isMirrored, $volume, $volume, FormerPanelConfiguration().$colour]
        }
    }

    @Test("SET-79: to sync the switch, or a property twice, is a mistake of the declaration") func mistakes() {
        let problems = WrongConfiguration(problems: .collect).declarationProblems
        #expect(problems.count == 2)
        for case .invalidSync(let property, _) in problems { #expect(["isMirrored", "volume"].contains(property)) }
    }

    @Test("SES-76: an app that has no synced settings hears nothing of the other's") func otherApp() throws {
        let one = try primary(PanelConfiguration())
        nonisolated(unsafe) let dialer: any Dialer = SimulatorDialer(simulator.secondaries[0], scheduler)
        let settings = try SessionSettings(
            PairedSessionOptions(application: "com.example.panel"), environment: { _ in nil })
        let plain = PairedSession(settings, on: scheduler, dialer: dialer)
        one.activate()
        plain.core.run { $0.activate(waiter: 1) { _ in } }
        scheduler.settle()
        one.configuration.volume = 60
        scheduler.settle()
        #expect(plain.activationState == .activated && !plain.hasContentPending)
        #expect(plain.receivedApplicationContext == nil && one.session.applicationContext == nil)
    }
}
