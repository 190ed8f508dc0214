// Page of pairing: a form makes a join link, which is a secret. The answer to that form shows it, once; the console
// keeps nothing of it, and everything else on the page names links by their tokens, which open nothing.

import TandemBase
import TandemOperations
import TandemPropertyList
import TandemQRCode
import TandemWire

struct PairingPage {
    /// The number of the browser's next form that makes a link: one that is sent twice makes no second link.
    let number: UInt64
    let cookie: String

    private static let status = ConsoleQuestion(.status)

    /// The page as it is now.
    func show(_ status: Int = 200, refusal: String? = nil) -> ConsoleStep {
        .ask([Self.status]) { replies in page(status, replies[0], refusal: refusal) }
    }

    /// Makes a link, and shows it.
    func make() -> ConsoleStep {
        .ask([ConsoleQuestion(.pair), Self.status]) { replies in
            switch replies[0] {
            case .success(let made): page(200, replies[1], made: Fact(made))
            case .failure(let error): page(422, replies[1], refusal: error.description)
            }
        }
    }

    /// Takes a link back.
    /// - Parameter token: its token in hexadecimal digits.
    func cancel(_ token: String) -> ConsoleStep {
        let body: PropertyListDictionary = ["token": .data(Hexadecimal.decode(token) ?? [])]
        return .ask([ConsoleQuestion(.pairCancel, body), Self.status]) { replies in
            switch replies[0] {
            case .success: .answer(.seeOther(.pair))
            case .failure(let error): page(422, replies[1], refusal: error.description)
            }
        }
    }

    private func page(
        _ code: Int, _ status: ConsoleReply, refusal: String? = nil, made: Fact? = nil
    ) -> ConsoleStep {
        let alert = refusal.map { [Markup.alert($0)] } ?? []
        let content = [Markup.tag("h1", text: "Pair a device")] + alert + (made.map(secret) ?? [])
        switch status {
        case .success(let facts):
            let all = content + parts(Fact(facts), isMade: made != nil)
            return .answer(Console.page(code, "Pair", cookie, all))
        // A link that was made is shown whatever else fails: it is shown once.
        case .failure where made != nil: return .answer(Console.page(code, "Pair", cookie, content))
        case .failure(let error): return .answer(Console.failure(error, cookie))
        }
    }

    /// The parts of the page. The links come first for the person who has just made one.
    private func parts(_ status: Fact, isMade: Bool) -> [Markup] {
        let isSecondary = status.text("role") == "secondary"
        let other: [Markup] = isSecondary ? joining(status.text("local")) : []
        guard !status.texts("listening").isEmpty else {
            let text = "This daemon accepts no device links. Start it with --listen to pair a device."
            return isSecondary ? other : [.tag("p", text: text)]
        }
        let making: [Markup] = [
            .tag("p", text: "A join link pairs one other device with this one. It may be used once, for 15 minutes."),
            form(.hidden("make", "\(number)"), button: "Make a join link", id: "make"),
        ]
        let made: [Markup] = [.tag("h2", text: "Join links"), links(status)]
        return (isMade ? made + making : making + made) + other
    }

    /// The links that may be used, and those that were; replaced when the device changes.
    private func links(_ status: Fact) -> Markup {
        let reports = status.list("links").map(JoinLinkReport.init)
        let content: [Markup] =
            reports.isEmpty ? [.tag("p", text: "No link is open.")] : [.tag("ul", of: reports.map(item))]
        return .tag(
            "div", .init("id", "live"), .events(of: nil, mark: LiveState.deviceMark(.success(status.body))),
            .init("aria-live", "polite"), of: content)
    }

    private func item(_ link: JoinLinkReport) -> Markup {
        if let user = link.user { return .tag("li", foreign: "Link \(link.name) was used by \(user).") }
        let token = Hexadecimal.encode(link.token)
        return .tag(
            "li",
            of: [
                .tag(
                    "p", text: "Link \(link.name) may be used for \(link.span), with \(link.attempts) attempts left."),
                form(.hidden("cancel", token), button: "Take back link \(link.name)", id: "cancel-\(token)"),
            ])
    }

    private func joining(_ socket: String) -> [Markup] {
        [
            .tag("h2", text: "Join a primary"),
            .tag(
                "p",
                text: "This device is a secondary: it joins its primary with a link that the primary has made. "
                    + "Run this command here, and give it the link on its standard input:"),
            .tag("p", of: [.tag("code", text: "tandem join --device \(socket)")]),
        ]
    }

    private func form(_ field: Markup, button: String, id: String) -> Markup {
        .form(
            to: .pair, cookie: cookie,
            of: [field, .tag("button", .init("type", "submit"), .init("id", id), text: button)])
    }

    private func secret(_ made: Fact) -> [Markup] {
        guard let link = made.body["link"]?.stringValue else {
            return [.tag("p", .init("role", "alert"), text: "The daemon answered without a link.")]
        }
        return [
            .tag(
                "section", .init("class", "secret"), .init("aria-labelledby", "secret"),
                of: [
                    .tag("h2", .init("id", "secret"), text: "Link \(JoinLinkReport(made).name)"),
                    .tag(
                        "p",
                        text:
                            "Anyone who has this link can pair with this device once. It is shown this one time: read "
                            + "the code with the other device, or give the text to tandem join there."),
                    (try? QRCode(link))?.markup ?? Markup([]),
                    .tag("p", of: [.tag("code", text: link)]),
                    .tag("p", text: "It expires at \(made.date("expires"))."),
                    .tag("p", of: [.tag("a", .link("href", .pair), text: "Hide the link")]),
                ])
        ]
    }
}

extension QRCode {
    /// The code as a drawing within the page: dark on light in either colour scheme, or readers do not find it.
    fileprivate var markup: Markup {
        let side = width + 2 * Self.quietZone
        let runs = (0..<width).flatMap { row in
            self.runs(in: row).map {
                "M\($0.lowerBound + Self.quietZone) \(row + Self.quietZone)h\($0.count)v1h-\($0.count)z"
            }
        }
        return .tag(
            "svg", .init("class", "code"), .init("viewBox", "0 0 \(side) \(side)"), .init("role", "img"),
            .init("aria-label", "QR code of the join link"), .init("shape-rendering", "crispEdges"),
            of: [
                .tag("rect", .init("width", "\(side)"), .init("height", "\(side)"), .init("fill", "#fff"), text: ""),
                .tag("path", .init("d", runs.joined()), .init("fill", "#000"), text: ""),
            ])
    }

    /// The columns of dark modules that lie side by side.
    private func runs(in row: Int) -> [Range<Int>] {
        var (runs, start): ([Range<Int>], Int?) = ([], nil)
        for column in 0...width {
            if isDark(column: column, row: row) {
                start = start ?? column
            } else if let first = start {
                runs.append(first..<column)
                start = nil
            }
        }
        return runs
    }
}
