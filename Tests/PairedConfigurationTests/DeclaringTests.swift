// Declarations of an app: names, types, defaults, `reset()`, mistakes at start, assignments that break a rule.

import PairedConfiguration
import Synchronization
import TandemCrypto
import Testing

@Suite struct DeclaringTests {
    @Test func propertiesWithoutAValueHaveTheirTypesOwn() {
        let bare = BareConfiguration()
        #expect(!bare.boolean)
        #expect(bare.integer == 0)
        #expect(bare.float == 0)
        #expect(bare.double == 0)
        #expect(bare.optional == nil)
        #expect(bare.text.isEmpty)
        #expect(bare.declarationProblems.isEmpty)
    }

    @Test func namesEditorsAndDescriptionsAreFoundOnce() {
        let app = AppConfiguration()
        #expect(
            app.declarations.map(\.name) == [
                "logging", "volume", "maxDecibel", "accuracy", "colour", "rating", "duration", "font", "background",
            ])
        #expect(app.$volume.declaration.icon == .volume)
        #expect(app.$volume.declaration.summary == "Alarm volume")
        #expect(app.$colour.declaration.allowsNothing)
        #expect(app.$rating.declaration.choices.map(\.label) == ["Low", "Average", "Excellent"])
        #expect(app.declarationProblems.isEmpty)
        #expect(app.snapshot["volume"] == .integer(75))
    }

    @Test func settingThrowsTheRuleAndChangesNothing() throws {
        let app = AppConfiguration()
        #expect(throws: SettingError(property: "volume", value: "101", rule: .maximum("100"))) {
            try app.$volume.set(101)
        }
        #expect(app.volume == 75)
        try app.$volume.set(100)
        #expect(app.volume == 100)
        #expect(app.$volume.layer == .storedPreference)
        app.$volume.remove()
        #expect(app.volume == 75)
        try app.$maxDecibel.set(120.41)
        #expect(throws: SettingError.self) { try app.$rating.set(51) }
        #expect(throws: SettingError.self) { try app.$colour.set("add8e6") }
        app.colour = "#ffe4e1"
        #expect(app.colour == "#ffe4e1")
        app.colour = nil
        #expect(app.colour == nil)
        #expect(app.$colour.layer == .storedPreference)
        app.duration = 46
        #expect(app.duration == 46)
    }

    @Test("CFG-17: a key that can verify nothing is a mistake in the declaration, once for each role that has its own")
    func unusableKeys() {
        let sound = AppConfiguration.key.publicKey.key.pem
        let both = Keys.problems([.primary: "garbage", .secondary: "garbage"]).map(\.description)
        #expect(both.count == 1 && both.first?.hasPrefix("publicKey: ") == true)
        #expect(both.first?.hasSuffix("[no-key]") == true)
        let own = Keys.problems([.primary: sound, .secondary: "garbage"]).map(\.description)
        #expect(own.count == 1 && own.first?.hasPrefix("publicKey(for: .secondary): ") == true)
        #expect(Keys.problems([.primary: "a", .secondary: "b"]).count == 2)
        #expect(Keys.problems([.primary: sound]).isEmpty && Keys.problems([:]).isEmpty)
    }

    @Test("CFG-17: an unusable key stops a debug build and no release build, whose app registers all the same")
    func unusableKeyStops() {
        let found = Keys.problems([.primary: "garbage"])
        #expect(ProblemPolicy.stop.stops(found, debug: true) && !ProblemPolicy.stop.stops(found, debug: false))
    }

    @Test func mistakesAreReportedTogetherWithPropertyValueAndRule() {
        let broken = BrokenConfiguration()
        let texts = broken.declarationProblems.map(\.description)
        #expect(texts.contains { $0.contains("'stray'") })
        #expect(texts.contains("default of volume: 49 is under the minimum 50"))
        #expect(texts.count == 2)
        #expect(broken.volume == 60)
        #expect(broken.level == 4)
        #expect(broken.$level.layer == .declaredDefault)
        #expect(broken.inherited)
        #expect(broken.declarations.map(\.name) == ["inherited", "volume", "level"])
    }

    #if DEBUG
        @Test func anInvalidAssignmentStopsADebugBuild() async {
            await #expect(processExitsWith: .failure) {
                let app = AppConfiguration()
                app.volume = 101
            }
        }

        @Test func aBrokenDeclarationStopsADebugBuild() async {
            /// `@unchecked` is not true here, as `count` has no lock; no other thread sees it before the process ends.
            final class Stray: Configuration, @unchecked Sendable {
                var count = 0
            }
            await #expect(processExitsWith: .failure) { _ = Stray() }
        }
    #endif

    @Test func observersAreToldOncePerBatchAndMaySetValuesThemselves() async {
        let app = AppConfiguration()
        let seen = Mutex<[SettingChanges]>([])
        let observation = app.observe { changes in
            seen.withLock { $0.append(changes) }
            if changes["volume"] != nil { app.logging = true }
        }
        app.volume = 80
        app.volume = 80
        // The library's thread may be the one that delivers.
        await ConfigurationThread.rest()
        #expect(
            seen.withLock { $0 }.map(\.changes) == [
                [SettingChange(name: "volume", old: .integer(75), new: .integer(80))],
                [SettingChange(name: "logging", old: .boolean(false), new: .boolean(true))],
            ])
        observation.cancel()
        app.volume = 81
        await ConfigurationThread.rest()
        #expect(seen.withLock(\.count) == 2)
    }

    @Test func anObserversEndEndsTheObservationsOfWhatItAloneKept() {
        final class Panel: Sendable {
            private let observation: ConfigurationObservation

            init(_ app: AppConfiguration) { observation = app.observe { _ in } }
        }
        let app = AppConfiguration()
        weak var kept: Panel?
        func observeWithPanel() -> ConfigurationObservation {
            let panel = Panel(app)
            kept = panel
            return app.observe { _ in withExtendedLifetime(panel) {} }
        }
        let observation = observeWithPanel()
        #expect(kept != nil)
        observation.cancel()
        #expect(kept == nil)
    }

    @Test func updatesAreASequence() async {
        let app = AppConfiguration()
        var updates = app.updates.makeAsyncIterator()
        app.volume = 80
        app.logging = true
        #expect(await updates.next()?["volume"]?.new == .integer(80))
        let second = await updates.next()
        #expect(second?.origin == .local)
        #expect(second?["logging"]?.new == .boolean(true))
    }

    @Test func concurrentWritersLoseNothing() async {
        let app = AppConfiguration()
        await withTaskGroup(of: Void.self) { group in
            for volume in 50...100 {
                group.addTask { app.volume = volume }
                group.addTask { _ = app.snapshot }
            }
        }
        #expect((50...100).contains(app.volume))
        #expect(app.snapshot["volume"] == .integer(app.volume))
    }

    @Test("SET-51: a mistake stops a debug build; a release build only if a property could never have a value")
    func mistakesThatStop() {
        let harmless = DeclarationProblem.invalidDateFormat(reason: "no")
        let structural = DeclarationProblem.noProperties
        #expect(
            ProblemPolicy.stop.stops([harmless], debug: true) && !ProblemPolicy.stop.stops([harmless], debug: false))
        #expect(ProblemPolicy.stop.stops([harmless, structural], debug: false))
        #expect(!ProblemPolicy.stop.stops([], debug: true) && !ProblemPolicy.collect.stops([structural], debug: true))
    }

    @Test("fixed and editable choices are of reals, too, and each slider has its icon")
    func choicesOfReals() throws {
        let app = RealChoices()
        app.gain = 1.5
        app.limit = 12.25
        #expect(throws: SettingError.self) { try app.$gain.set(0.75) }
        #expect(app.gain == 1.5 && app.limit == 12.25)
        #expect(app.declarations.compactMap(\.icon) == [.speed, .capacity, .numeric, .brightness, .volume])
    }

    @Test("CFG-22: a class that says nothing allows invalid signatures in a debug build only")
    func invalidSignatures() {
        #if DEBUG
            #expect(BareConfiguration().allowsInvalidSignatures)
        #else
            #expect(!BareConfiguration().allowsInvalidSignatures)
        #endif
        #expect(!AppConfiguration().allowsInvalidSignatures)
    }
}

/// `@unchecked`: a wrapper around state behind a mutex, which the base class checks.
private final class RealChoices: Configuration, @unchecked Sendable {
    @Choice("Gain", ["Half": 0.5, "More": 1.5]) var gain: Float = 0.5
    @EditableChoice("Limit", in: 0...100, ["Low": 2.5]) var limit = 2.5
    @Slider("Speed", in: 0...9, icon: .speed) var speed = 1
    @Slider("Capacity", in: 0...9, icon: .capacity) var capacity = 1
    @Slider("Number", in: 0...9, icon: .numeric) var number = 1
    @Slider("Brightness", in: 0...9, icon: .brightness) var brightness = 1
    @Slider("Volume", in: 0...9, icon: .volume) var volume = 1
}

/// The keys that ``KeysConfiguration`` names while a test runs.
private enum Keys {
    @TaskLocal static var named: [DeviceRole: String] = [:]

    /// The mistakes in a declaration with these keys.
    static func problems(_ keys: [DeviceRole: String]) -> [DeclarationProblem] {
        $named.withValue(keys) { KeysConfiguration().declarationProblems }
    }
}

/// `@unchecked`: its property is a wrapper around state behind a mutex.
private final class KeysConfiguration: Configuration, @unchecked Sendable {
    @Toggle("On") var isOn = false

    required init() { super.init(problems: .collect) }

    override func publicKey(for role: DeviceRole) -> String? { Keys.named[role] }
}
