// Pages of the console but for settings: the frame of all, the entry, the front page that an operator looks at all day,
// and the apps.

import TandemBase
package import TandemOperations
import TandemPropertyList
import TandemWire

package enum ConsoleFrame {
    /// A whole page.
    /// - Parameter cookie: the browser's; nil before it has been let in.
    package static func page(_ title: String, cookie: String?, _ content: [Markup]) -> Markup {
        .document(
            .init("lang", "en"),
            of: [
                .tag(
                    "head",
                    of: [
                        .single("meta", .init("charset", "utf-8")),
                        .single(
                            "meta", .init("name", "viewport"), .init("content", "width=device-width, initial-scale=1")),
                        .single("meta", .init("name", "color-scheme"), .init("content", "light dark")),
                        .tag("title", text: "\(title) - Tandem"),
                        .single("link", .init("rel", "stylesheet"), .link("href", .style)),
                        .single("link", .init("rel", "icon"), .init("href", "data:,")),
                        .tag("script", .link("src", .script), .flag("defer"), text: ""),
                    ]),
                .tag(
                    "body",
                    of: [.tag("a", .init("class", "skip"), .init("href", "#main"), text: "Skip to the content")]
                        + (cookie.map { [navigation($0)] } ?? [])
                        + [.tag("main", .init("id", "main"), of: content)]),
            ])
    }

    private static func navigation(_ cookie: String) -> Markup {
        .tag(
            "header",
            of: [
                .tag(
                    "nav", .init("aria-label", "Console"),
                    of: [
                        .tag("a", .link("href", .front), text: "Device"), .tag("a", .link("href", .apps), text: "Apps"),
                        .tag("a", .link("href", .pair), text: "Pair"),
                    ]),
                .form(
                    to: .leave, cookie: cookie, of: [.tag("button", .init("type", "submit"), text: "Leave")]),
            ])
    }

    /// The page that asks for the token of the printed address.
    package static func entry(isWrong: Bool) -> Markup {
        page(
            "Enter", cookie: nil,
            [
                .tag("h1", text: "Tandem"),
                isWrong
                    ? .tag(
                        "p", .init("role", "alert"), .init("class", "mistake"), .init("id", "mistakes"),
                        text: "This token is not valid, or was used. The console has printed another address.")
                    : .tag("p", text: "Type what follows # in the address that the console has printed."),
                .tag(
                    "form", .init("method", "post"), .link("action", .enter), .init("id", "enter"),
                    of: [
                        .tag("label", .init("for", "token"), text: "Token"),
                        .single(
                            "input", .init("type", "password"), .init("id", "token"), .init("name", "token"),
                            .init("autocomplete", "off"), .flag("required")),
                        .tag("button", .init("type", "submit"), text: "Enter"),
                    ]),
            ])
    }

    /// The rows for which an answer had no room.
    fileprivate static func leftOut(_ answer: Fact) -> [Markup] { answer.leftOut.map(Markup.alert) }

    /// A page that says why there is no other, with the ways from it.
    package static func failure(_ title: String, _ text: String, cookie: String?, _ ways: [Markup] = []) -> Markup {
        let content = [Markup.tag("h1", text: title), .tag("p", .init("role", "alert"), foreign: text)]
        return page(title, cookie: cookie, content + ways)
    }
}

extension Table {
    /// The table with its caption; it scrolls by itself where it is wider than the screen.
    var markup: Markup {
        guard !rows.isEmpty else { return Markup([]) }
        let head = Markup.tag("tr", of: columns.map { .tag("th", .init("scope", "col"), text: $0) })
        let body = rows.map { cells in
            Markup.tag(
                "tr",
                of: cells.enumerated().map { index, cell in
                    index == 0 ? .tag("th", .init("scope", "row"), foreign: cell) : .tag("td", foreign: cell)
                })
        }
        let region = Markup.tag(
            "div", .init("class", "scroll"), .init("tabindex", "0"), .init("role", "region"),
            .init("aria-label", title),
            of: [
                .tag(
                    "table",
                    of: [.tag("caption", text: title), .tag("thead", of: [head]), .tag("tbody", of: body)])
            ])
        return Markup([region] + advice.map { .tag("p", foreign: $0) })
    }
}

/// The front page: the device with everything that may need an operator.
package enum FrontPage {
    /// Events that the page shows.
    private static var eventCount: Int { 20 }

    package static var questions: [ConsoleQuestion] {
        [.init(.status), .init(.health), .init(.deadLetters), .init(.trace)]
    }

    /// The request for the last events, by the answer that has none of them and says how many there have been: with an
    /// ordinal an answer has the first ones behind it (CTL-20). nil without that answer.
    static func lastEvents(_ trace: ConsoleReply?) -> ConsoleQuestion? {
        guard case .success(let body)? = trace else { return nil }
        let last = body["last"]?.unsignedValue ?? 0
        return ConsoleQuestion(.trace, ["after": PropertyListValue(last - min(last, UInt64(eventCount)))])
    }

    /// The content, from the answers to the requests, the last one with the events. A browser replaces it when the
    /// device changes.
    package static func content(_ replies: [ConsoleReply]) -> [Markup] {
        let mark = LiveState.deviceMark(replies[0])
        return [.tag("div", .init("id", "live"), .events(of: nil, mark: mark), of: parts(replies))]
    }

    /// An answer that failed leaves its part out, and says so. Several that failed for one reason say it once.
    private static func parts(_ replies: [ConsoleReply]) -> [Markup] {
        let bodies = replies.map { Fact((try? $0.get()) ?? [:]) }
        let report = StatusReport(bodies[0])
        var failures: [String] = []
        for case .failure(let error) in replies where !failures.contains(error.description) {
            failures.append(error.description)
        }
        let device = report.device.map { name, text in
            Markup.tag("div", of: [.tag("dt", text: name), .tag("dd", foreign: text)])
        }
        let tables = report.tables + [Table.deadLetters(bodies[2].list("letters")), events(bodies[3])]
        let name = bodies[0].text("name")
        return [.tag("h1", foreign: name.isEmpty ? "Device" : name)] + failures.map(Markup.alert)
            + bodies.flatMap(ConsoleFrame.leftOut) + [health(bodies[1])]
            + tables.map(\.markup) + [.tag("h2", text: "Device"), .tag("dl", of: device)]
    }

    private static func health(_ fact: Fact) -> Markup {
        let problems = fact.list("problems")
        guard !problems.isEmpty else {
            let isKnown = !fact.text("state").isEmpty
            return .tag("p", .init("class", "state \(fact.text("state"))"), text: isKnown ? "Healthy" : "Unknown")
        }
        return Markup([
            .tag("p", .init("class", "state degraded"), foreign: fact.text("state")),
            .tag(
                "ul",
                of: problems.map { problem in
                    .tag(
                        "li",
                        foreign: "\(problem.text("name")) for \(problem.span("since")): \(problem.sentence("text"))")
                }),
        ])
    }

    private static func events(_ fact: Fact) -> Table {
        let columns: [Table.Column] = [
            .date("time", of: "wall"), "step", "direction", "app", "channel", "detail", "id",
        ]
        return Table("recent events", columns, of: fact.list("events").suffix(eventCount).reversed())
    }
}

/// The apps of the device and of its secondaries, with the way to their settings.
package enum AppsPage {
    package static var questions: [ConsoleQuestion] { [.init(.apps), .init(.status)] }

    package static func content(_ replies: [ConsoleReply]) throws(ControlError) -> [Markup] {
        let (answer, status) = (Fact(try replies[0].get()), Fact(try replies[1].get()))
        let apps = answer.list("apps")
        let own = apps.filter { $0.body["uid"] != nil }
        let names = Dictionary(status.list("applications").map { ($0.text("app"), $0.text("name")) }) { first, _ in
            first
        }
        var content = [Markup.tag("h1", text: "Apps")] + [answer, status].flatMap(ConsoleFrame.leftOut)
        content.append(.tag("h2", foreign: "On \(status.text("name"))"))
        content.append(
            list(
                own.map { ($0.text("app"), state(of: $0, named: names[$0.text("app")] ?? "")) }, secondary: nil,
                without: "None."))
        // The role is this device's in the pairing: a daemon may have a side of each.
        for pairing in status.list("pairings") where pairing.text("role") == "primary" {
            guard let id = pairing.body["pairing"]?.identifierValue else { continue }
            content.append(.tag("h2", foreign: "On \(pairing.text("name"))"))
            let reason = pairing.text("reason")
            let state = [pairing.text("level"), reason == "none" ? "" : reason].filter { !$0.isEmpty }
            content.append(.tag("p", foreign: state.joined(separator: ", ")))
            let counterparts = status.list("counterparts").filter { $0.body["pairing"] == pairing.body["pairing"] }
            let known = counterparts.map { app in
                (
                    app.text("app"),
                    [app.text("name"), app.text("version")].filter { !$0.isEmpty }.joined(separator: " ")
                )
            }
            // An app has one identifier on both devices, and belongs to one side of each.
            let ours = own.filter { $0.text("role") != "secondary" }.map { $0.text("app") }
            let others = ours.filter { app in !known.contains { $0.0 == app } }
            content.append(
                list(
                    known + others.map { ($0, "") }, secondary: id,
                    without: "It has announced no app with a manifest or with settings that are open to this device."))
        }
        return content
    }

    private static func state(of app: Fact, named name: String) -> String {
        let configuration = app.text("configuration")
        let words = [
            name, app.body["connected"] == true ? "connected" : "not running",
            configuration == "none" ? "" : configuration,
        ]
        return words.filter { !$0.isEmpty }.joined(separator: ", ")
    }

    private static func list(_ apps: [(String, String)], secondary: UniqueIdentifier?, without none: String) -> Markup {
        guard !apps.isEmpty else { return .tag("p", text: none) }
        return .tag(
            "ul", .init("class", "apps"),
            of: apps.compactMap { name, state in
                guard let app = try? ApplicationIdentifier(name) else { return nil }
                let instance = AppInstance(app: app, secondary: secondary)
                return .tag(
                    "li",
                    of: [
                        .tag("a", .link("href", .settings(instance, page: nil)), foreign: name),
                        .tag("span", foreign: state.isEmpty ? "" : " \(state)"),
                    ])
            })
    }
}
