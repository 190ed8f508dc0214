// An app's part in its settings pages while it runs: a button, a check of its own, choices and a hidden row.

import PairedConfiguration

/// `@unchecked`: every property is a wrapper around state behind a lock, which the base class checks.
final class LampPages: Configuration, @unchecked Sendable {
    @Toggle("Show the scenes") var showsScenes = false
    @Edit("Colour of the light") var colour: String?

    // snippet.hooks
    override var pageHooks: PageHooks {
        var hooks = PageHooks()
        hooks.onPress(of: "alarm") { .done("It sounds.") }
        hooks.check("colour") { $0 == .string("#000000") ? .failed("Black gives no light.") : .ok }
        hooks.choices(of: "colour") { [SettingChoice(label: "Red", value: .string("#ff0000"))] }
        hooks.hiddenKeys { [self] in showsScenes ? [] : ["scenes"] }
        return hooks
    }
    // snippet.end
}
