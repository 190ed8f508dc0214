// Typed configuration on a session: declared, installed, read and observed.

import PairedConfiguration
import PairedSession

// snippet.declare
/// `@unchecked`: every property is a wrapper around state behind a lock, which the base class checks.
final class KitchenConfiguration: Configuration, @unchecked Sendable {
    @Toggle("Write a line for every message") var logging = false
    @Slider("Alarm volume", in: 0...100, icon: .volume) var volume = 50
    @Edit("Colour of the light", matching: "^#[a-f0-9]{6}$") var colour: String?
    @Choice("Rating", ["low": 10, "average": 50]) var rating = 50
    @EditableChoice("Seconds between readings", in: 1...3600, ["often": 10, "rarely": 600]) var pause = 60

    /// The text of the key that signs for this app (`tandem keys new` writes it), compiled in.
    override var publicKey: String? { nil }

    /// The counterpart has the same, however far away it is when either is changed.
    override var syncedSettings: [any DeclaredProperty] { [$volume, $colour] }
}
// snippet.end

// snippet.configured
func configured(_ configuration: KitchenConfiguration) async throws -> PairedSession {
    let session = try PairedSession("com.example.kitchen", configuration: configuration)
    try await session.activate()  // the stored values are loaded when this returns
    return session
}
// snippet.end

// snippet.values
func use(_ configuration: KitchenConfiguration) throws(SettingError) {
    print(configuration.volume, configuration.colour ?? "no colour")
    try configuration.$volume.set(70)  // throws the rule that a value breaks
    print(configuration.$volume.layer)  // what is signed hides what is set here
    configuration.$volume.remove()
}
// snippet.end

// snippet.observe
func observe(_ configuration: KitchenConfiguration) async {
    let events = configuration.observeEvents { event in
        switch event {
        case .applied(let applied): print("version \(applied.version) for \(applied.target.text)")
        case .rejected(let rejection): print("refused as \(rejection.name): \(rejection.detail)")
        case .notApplied(let failure): print("\(failure.file): \(failure.rejection)")
        case .deactivated: print("nothing signed is active")
        case .fileLoaded(let load): print("configuration file: \(load.file ?? "none")")
        case .fileRefused(let failure): print("\(failure.file): \(failure.rejection)")
        case .declarationProblem(let problem): print("mistake in a declaration: \(problem)")
        case .preferences(let event): print("preferences: \(event)")
        case .sync(let event): print("synced settings: \(event)")
        case .assignmentIgnored(let error), .editIgnored(let error): print("ignored: \(error)")
        }
    }
    for await changes in configuration.updates where changes["volume"] != nil {
        print("by \(changes.origin): \(configuration.volume)")
    }
    events.cancel()
}
// snippet.end
