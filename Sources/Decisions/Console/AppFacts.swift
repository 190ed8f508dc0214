// Facts of an app besides its settings, as its daemon knows them.

import TandemBase
import TandemOperations
import TandemPropertyList

/// Name and version of an app, the key of its configuration, and whether the signature of the one that is applied is
/// good.
struct AppFacts {
    private let app: Fact
    private let configurations: [Fact]

    init(_ app: ApplicationIdentifier, _ status: Fact) {
        let isOf = { (fact: Fact) in fact.text("app") == app.description }
        self.app = status.list("applications").first(where: isOf) ?? Fact([:])
        // Those with a pairing are forwarded, and the app of another device judges them.
        configurations = status.list("configurations").filter {
            isOf($0) && !$0.text("version").isEmpty && $0.body["pairing"] == nil
        }
    }

    var markup: Markup {
        let named = [app.text("name"), app.text("version")].filter { !$0.isEmpty }.joined(separator: " ")
        var lines: [Markup] = named.isEmpty ? [] : [.tag("p", foreign: named)]
        if !app.text("connected").isEmpty, app.body["connected"] != true {
            lines.append(.tag("p", text: "The app is not running; edits apply at its next start."))
        }
        if !app.digest("anchor").isEmpty {
            lines.append(.tag("p", foreign: "Configuration key \(app.digest("anchor"))"))
        }
        if app.body["waives"] == true {
            let text = "The app and its device apply configuration with an INVALID signature, too."
            lines.append(.tag("p", .init("class", "mistake"), text: text))
        }
        for configuration in configurations { lines.append(line(configuration)) }
        // Without a name it is no region, which would have nothing to go to.
        return .tag("section", .init("id", "app"), .optional("aria-label", lines.isEmpty ? nil : "App"), of: lines)
    }

    private func line(_ configuration: Fact) -> Markup {
        let state = configuration.text("state")
        var text = "Configuration \(configuration.text("version")): \(state)"
        let waived = "invalid signature allowed"
        let isWaived = configuration.body["waived"] == true
        if isWaived, !state.contains(waived) { text += ", \(waived)" }
        let isRevoked = configuration.text("signer") == "revoked"
        if isRevoked { text += ", signed with a key that was taken back" }
        return isWaived || isRevoked
            ? .tag("p", .init("class", "mistake"), foreign: text) : .tag("p", foreign: text)
    }
}
