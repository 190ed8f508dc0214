// Console as a state machine: a request from a browser becomes requests to the daemon, and their answers become the
// answer. It owns the browsers that were let in, and nothing else; bytes, sockets and time belong to the executable.

package import TandemBase
package import TandemOperations
package import TandemPropertyList
import TandemSettings
package import TandemWire

/// A request to the daemon.
package struct ConsoleQuestion: Sendable, Equatable {
    /// The command of CTL-3.
    package let command: ControlName
    /// Its body.
    package let body: PropertyListDictionary
    /// The time that the daemon may take.
    package let time: Duration

    /// A request.
    package init(_ command: ControlName, _ body: PropertyListDictionary = [:], time: Duration = .zero) {
        self.command = command
        self.body = body
        self.time = time
    }
}

/// The daemon's answer to a request.
package typealias ConsoleReply = Result<PropertyListDictionary, ControlError>

/// The next step of a request of a browser.
package enum ConsoleStep {
    /// The answer.
    case answer(WebAnswer)
    /// The answer, by which a browser was let in: the address for the next one is to be printed.
    case welcome(WebAnswer)
    /// Requests to the daemon, one after the other; their answers in the same order lead to the next step.
    case ask([ConsoleQuestion], then: ([ConsoleReply]) -> ConsoleStep)
    /// A stream of changes, of an app's settings or of the device.
    case stream(AppPlace?)
}

/// One console.
package struct Console: ~Copyable {
    private var sessions: ConsoleSessions
    private let gate: RequestGate
    private let cookieName: String
    private let cookieEnd: String

    /// - Parameters:
    ///   - scheme: `http`, or `https`.
    ///   - hosts: the names by which it may be called, each with its port where that is not the scheme's own.
    ///   - name: the cookie's name: browsers send the cookies of one port to all ports of a host.
    ///   - random: makes this many unpredictable bytes.
    package init(scheme: String, hosts: [String], cookie name: String, random: @escaping (Int) -> [UInt8]) {
        sessions = ConsoleSessions(random: random)
        gate = RequestGate(scheme: scheme, hosts: hosts)
        cookieName = name
        cookieEnd = "; Path=/; HttpOnly; SameSite=Strict" + (scheme == "https" ? "; Secure" : "")
    }

    /// The token of the address that lets the next browser in.
    package var entryToken: String { sessions.entryToken }

    /// The refusal of a request by its head, before its body is read; nil if the body may come.
    package func refusal(of head: WebRequest) -> WebAnswer? { gate.refusal(of: head) }

    /// The first step of a request that the head did not refuse.
    package mutating func answer(to request: WebRequest, now: MonotonicTime) -> ConsoleStep {
        guard let route = ConsoleRoute(path: request.path) else {
            return .answer(WebAnswer(404, "there is no such page\n"))
        }
        let isForm = request.method == "POST"
        switch route {
        case .style: return .answer(WebAnswer(200, ConsoleFiles.style, type: "text/css; charset=utf-8"))
        case .script: return .answer(WebAnswer(200, ConsoleFiles.script, type: "text/javascript; charset=utf-8"))
        case .enter where isForm: return enter(request, now)
        default: break
        }
        guard let cookie = request.cookie(cookieName), sessions.knows(cookie, now: now) else {
            if case .events = route { return .answer(WebAnswer(403, "this browser has not been let in\n")) }
            return .answer(WebAnswer(403, ConsoleFrame.entry(isWrong: false)))
        }
        guard isForm else { return page(route, cookie) }
        guard let fields = FormFields(request.body) else {
            return .answer(Self.failure(400, "Refused", "This is no form, or it has too many fields.", cookie))
        }
        guard FormToken.isValid(fields, for: route, cookie: cookie) else {
            return .answer(
                Self.failure(403, "Refused", "The form is not of this page. Load the page again.", cookie))
        }
        return form(route, fields, cookie)
    }

    private mutating func enter(_ request: WebRequest, _ now: MonotonicTime) -> ConsoleStep {
        let token = FormFields(request.body)?["token"] ?? ""
        guard let cookie = sessions.enter(token, now: now) else {
            return .answer(WebAnswer(403, ConsoleFrame.entry(isWrong: true)))
        }
        return .welcome(.seeOther(.front, cookie: "\(cookieName)=\(cookie)\(cookieEnd)"))
    }

    private func page(_ route: ConsoleRoute, _ cookie: String) -> ConsoleStep {
        switch route {
        case .front, .enter:
            return .ask(FrontPage.questions) { replies in
                .answer(
                    WebAnswer(
                        200,
                        ConsoleFrame.page(
                            "Device", cookie: cookie,
                            [
                                .tag(
                                    "div", .init("id", "live"), .link("data-events", .events(nil)),
                                    of: FrontPage.content(replies))
                            ])))
            }
        case .apps:
            return .ask(AppsPage.questions) { replies in
                Self.answer(cookie) { () throws(ControlError) in
                    WebAnswer(200, ConsoleFrame.page("Apps", cookie: cookie, try AppsPage.content(replies)))
                }
            }
        case .settings(let place, let page):
            return .ask(Self.questions(place) + [ConsoleQuestion(.status)]) { replies in
                Self.answer(cookie) { () throws(ControlError) in
                    let form = try SettingsForm(schema: try replies[0].get(), state: try replies[1].get())
                    return Self.page(
                        200, SettingsPage(place, page: page, form, status: try? replies[2].get(), cookie: cookie),
                        place, cookie)
                }
            }
        case .events(let place): return .stream(place)
        case .leave, .style, .script: return .answer(WebAnswer(405, "this address takes a form\n"))
        }
    }

    private mutating func form(_ route: ConsoleRoute, _ fields: FormFields, _ cookie: String) -> ConsoleStep {
        switch route {
        case .leave:
            sessions.leave(cookie)
            return .answer(.seeOther(.front, cookie: "\(cookieName)=; Max-Age=0\(cookieEnd)"))
        case .settings(let place, let page):
            return .ask(Self.questions(place)) { replies in
                let form: SettingsForm
                do throws(ControlError) {
                    form = try SettingsForm(schema: try replies[0].get(), state: try replies[1].get())
                } catch { return .answer(Self.failure(error, cookie)) }
                return Self.change(place, page, form, fields, cookie)
            }
        case .front, .enter, .apps, .events, .style, .script:
            return .answer(WebAnswer(405, "this address takes no form\n"))
        }
    }

    /// The requests for an app's settings.
    package static func questions(_ place: AppPlace) -> [ConsoleQuestion] {
        [ConsoleQuestion(.settingsSchema, body(place)), ConsoleQuestion(.settingsGet, body(place))]
    }

    /// The request that waits for a change of an app's settings.
    package static func waiting(_ place: AppPlace, after ordinal: UInt64, atMost wait: Duration) -> ConsoleQuestion {
        var body = body(place)
        body["after"] = PropertyListValue(ordinal)
        body["wait"] = .integer(wait.saturatingMilliseconds)
        return ConsoleQuestion(.settingsGet, body, time: wait)
    }

    private static func body(_ place: AppPlace) -> PropertyListDictionary {
        var body: PropertyListDictionary = ["app": .string(place.app.description)]
        body["pairing"] = place.secondary.map { .data($0.bytes) }
        return body
    }

    /// The step of a form of settings: a reset, or values that are judged as a whole.
    private static func change(
        _ place: AppPlace, _ page: String?, _ form: SettingsForm, _ fields: FormFields, _ cookie: String
    ) -> ConsoleStep {
        let route = ConsoleRoute.settings(place, page: page)
        let refuse = { (mistakes: FormMistakes) -> ConsoleStep in
            let shown = SettingsPage(place, page: page, form, cookie: cookie, refused: (fields, mistakes))
            return .answer(Self.page(422, shown, place, cookie))
        }
        var body = body(place)
        let command: ControlName
        if let keys = form.reset(by: fields, onPage: page) {
            command = .settingsReset
            body["keys"] = .array(keys.map { .string($0) })
        } else {
            command = .settingsSet
            do throws(FormMistakes) {
                let changes = try form.changes(in: fields, by: place.author)
                guard changes != FormChanges() else { return .answer(.seeOther(route)) }
                body["values"] = .dictionary(changes.values)
                if !changes.nothing.isEmpty { body["nothing"] = .array(changes.nothing.map { .string($0) }) }
            } catch { return refuse(error) }
        }
        return .ask([ConsoleQuestion(command, body)]) { replies in
            switch replies[0] {
            case .success: .answer(.seeOther(route))
            case .failure(.refused(_, let text)): refuse(FormMistakes(texts: ["": text]))
            case .failure(let error): .answer(Self.failure(error, cookie))
            }
        }
    }

    // MARK: answers

    private static func page(
        _ status: Int, _ page: SettingsPage, _ place: AppPlace, _ cookie: String
    ) -> WebAnswer {
        WebAnswer(status, ConsoleFrame.page(place.app.description, cookie: cookie, page.content))
    }

    private static func answer(
        _ cookie: String, _ make: () throws(ControlError) -> WebAnswer
    ) -> ConsoleStep {
        do throws(ControlError) { return .answer(try make()) } catch { return .answer(failure(error, cookie)) }
    }

    private static func failure(_ status: Int, _ title: String, _ text: String, _ cookie: String) -> WebAnswer {
        WebAnswer(status, ConsoleFrame.failure(title, text, cookie: cookie))
    }

    /// A failure of the daemon: what it refuses is the browser's fault, and everything else is not.
    private static func failure(_ error: ControlError, _ cookie: String) -> WebAnswer {
        switch error {
        case .refused: failure(404, "Refused", error.description, cookie)
        case .failed: failure(502, "No answer", error.description, cookie)
        case .unanswered: failure(504, "No answer", error.description, cookie)
        }
    }
}

extension AppPlace {
    /// The person at the console, as the app's device sees them.
    fileprivate var author: SettingAuthor { secondary.map { .primary($0) } ?? .user }
}
