// snippet.kiosk
// A kiosk's settings, printed at the start and whenever one of them changes. An argument sets the brightness.

import PairedConfiguration
import PairedSession

/// `@unchecked`: every property is a wrapper around state behind a lock, which the base class checks.
final class KioskConfiguration: Configuration, @unchecked Sendable {
    @Slider("Brightness in percent", in: 10...100) var brightness = 60
    @Edit("Greeting", matching: "^.{1,40}$") var greeting = "Welcome"

    override var publicKey: String? { TrustAnchor.publicKey }
}

let configuration = KioskConfiguration()
let session = try PairedSession("com.example.kiosk", configuration: configuration)
try await session.activate()
if let wish = CommandLine.arguments.dropFirst().first.flatMap({ Int($0) }) {
    do { try configuration.$brightness.set(wish) } catch { print(error) }
}
print("brightness \(configuration.brightness), greeting \(configuration.greeting)")
for await changes in configuration.updates {
    for change in changes.changes { print("\(change.name) is \(change.new.text) (\(changes.origin))") }
}
// snippet.end
