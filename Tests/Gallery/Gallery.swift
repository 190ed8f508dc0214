// A host app whose pages have every type of entry (Protocol/Pages.md PAG-3), each with a property, a hook or a target
// behind it. Scripts/browser walks its pages by the steps of walk.txt.
//
//     tandem-gallery APP SOCKET SETTINGS-BUNDLE

import Glibc
import PairedConfiguration
import PairedSession

@main enum Main {
    static let arguments = CommandLine.arguments

    static func main() async {
        guard arguments.count == 4 else { exit(2) }
        do {
            // Each start begins with the defaults of the bundle.
            let configuration = GalleryConfiguration(preferences: MemoryPreferences())
            let session = try PairedSession(
                arguments[1], options: PairedSessionOptions(socketPath: arguments[2]), configuration: configuration)
            try await session.activate()
            print("activated")
            fflush(nil)
            for await _ in session.reachabilityUpdates {}
        } catch {
            print("tandem-gallery: \(error)")
            exit(1)
        }
    }
}

/// The properties of the pages. Editors, bounds, choices and defaults are those of the bundle.
///
/// `@unchecked`: every property is a wrapper, and the mutex of the base class's store protects its value.
final class GalleryConfiguration: Configuration, @unchecked Sendable {
    @Preference(access: .counterpart) var power = false
    @Preference(access: .counterpart) var level = 0
    @Preference(access: .counterpart) var build = ""
    @Preference(access: .counterpart) var name = ""
    @Preference(access: .counterpart) var code = ""
    @Preference(access: .counterpart) var notes = ""
    @Preference(access: .counterpart) var guest = ""
    @Preference var nick = ""
    @Preference(access: .signed) var license = ""
    @Preference(access: .counterpart) var speed = ""
    /// Its choices are the app's, and not the page's.
    @Preference(access: .counterpart) var gear = 1
    @Preference(access: .counterpart) var tone = 0
    @Preference(access: .counterpart) var day: PropertyListDate?
    /// Its day and its time have a row each.
    @Preference(access: .counterpart) var start: PropertyListDate?
    /// Minutes of a day, which pages show in a date picker.
    @Preference(access: .counterpart) var wake = 390
    @Preference(access: .counterpart) var drawing = ""
    @Preference(access: .counterpart) var grid = false
    /// On a part of the page that the app hides.
    @Preference(access: .counterpart) var ghost = false
    @Preference(access: .counterpart) var tags: [String] = []
    @Preference(access: .counterpart) var people: [PropertyListValue] = []

    override var settingsBundle: String? { Main.arguments[3] }

    override var pageHooks: PageHooks {
        var hooks = PageHooks()
        hooks.onPress(of: "test", access: .counterpart) {
            switch PageHooks.person {
            case .user: .done("Tested here.")
            case .primary(let name): .done("Tested at \(name).")
            case nil: .done("Tested by nobody.")
            }
        }
        hooks.onPress(of: "fail", access: .counterpart) { .refused("Not now.") }
        hooks.onPress(of: "wipe") { .done("Wiped.") }
        hooks.check("name") { name in
            switch name {
            case .string("ada"): .replaced(.string("Ada"))
            case .string("Eve"): .failedWithShake("Eve may not come in.", replacement: .string("Eva"))
            default: .ok
            }
        }
        hooks.choices(of: "gear") {
            [("One", 1), ("Two", 2)].map { SettingChoice(label: $0, value: .integer($1)) }
        }
        hooks.hiddenKeys { ["attic"] }
        hooks.mail(of: "report") { mail in
            var mail = mail
            mail.to = ["desk@example.org"]
            return .compose(mail)
        }
        hooks.mail(of: "complaint") { _ in .refused("No complaints today.") }
        hooks.date(of: "wake", from: { Self.date(of: $0) }, to: { Self.minutes(of: $0) })
        return hooks
    }

    private static func date(of minutes: SettingValue) -> PropertyListDate? {
        guard case .integer(let minutes) = minutes else { return nil }
        return PropertyListDate(millisecondsSinceReferenceDate: Int64(minutes) * 60_000)
    }

    private static func minutes(of date: PropertyListDate) -> SettingValue? {
        let minutes = date.millisecondsSinceReferenceDate / 60_000 % 1440
        return minutes < 0 ? nil : .integer(Int(minutes))
    }
}
