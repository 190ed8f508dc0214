// Console as a state machine: a request from a browser becomes requests to the daemon, and their answers become the
// answer. It owns the browsers that were let in, and nothing else; bytes, sockets and time belong to the executable.

package import TandemBase
package import TandemOperations
import TandemPages
package import TandemPropertyList
package import TandemWire

package struct ConsoleQuestion: Sendable, Equatable {
    /// The command of CTL-3.
    package let command: ControlName
    package let body: PropertyListDictionary
    /// The time that the daemon may take.
    package let time: Duration

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
    case answer(WebAnswer)
    /// The answer, by which a browser was let in: the address for the next one is to be printed.
    case welcome(WebAnswer)
    /// Requests to the daemon, one after the other; their answers in the same order lead to the next step.
    case ask([ConsoleQuestion], then: ([ConsoleReply]) -> ConsoleStep)
    /// A stream of events for a page of an app's settings or of the device, which was made of the state with this mark.
    case stream(AppInstance?, mark: String)
}

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
    package func refusal(of head: WebRequest) -> WebAnswer? {
        if let refusal = gate.refusal(of: head) { return refusal }
        let isLong = head.values("content-length").contains { (Int($0) ?? .max) > RequestGate.strangerLimit }
        guard isLong, !sessions.hasKnown(among: head.cookies(cookieName)) else { return nil }
        return WebAnswer(403, "this browser has not been let in\n", closes: true)
    }

    /// The first step of a request that the head did not refuse.
    package mutating func answer(to request: WebRequest, now: MonotonicTime) -> ConsoleStep {
        guard let route = ConsoleRoute(path: request.path) else {
            return .answer(.notFound())
        }
        let isForm = request.method == "POST"
        switch route {
        case .style where !isForm: return .answer(WebAnswer(200, ConsoleFiles.style, type: "text/css; charset=utf-8"))
        case .script where !isForm:
            return .answer(WebAnswer(200, ConsoleFiles.script, type: "text/javascript; charset=utf-8"))
        case .style, .script: return .answer(Self.formRefused(by: route))
        case .enter where isForm: return enter(request, now)
        default: break
        }
        guard let cookie = sessions.known(among: request.cookies(cookieName), now: now) else {
            if case .events = route { return .answer(WebAnswer(403, "this browser has not been let in\n")) }
            return .answer(WebAnswer(403, ConsoleFrame.entry(isWrong: false)))
        }
        guard isForm else { return page(route, request, cookie) }
        guard let fields = FormFields(request.body) else {
            return .answer(
                Self.failure(
                    400, "Refused",
                    "This is no form, or it has too many fields. Go back in the browser, which has what you typed.",
                    cookie))
        }
        guard FormToken.isValid(fields, for: route, cookie: cookie) else {
            return .answer(
                Self.failure(403, "Refused", "The form is not of this page. Load the page again.", cookie))
        }
        return form(route, fields, request.languages, cookie)
    }

    private mutating func enter(_ request: WebRequest, _ now: MonotonicTime) -> ConsoleStep {
        guard let fields = FormFields(request.body) else {
            return .answer(WebAnswer(400, ConsoleFrame.entry(isWrong: true)))
        }
        guard let cookie = sessions.enter(fields["token"] ?? "", now: now) else {
            return .answer(WebAnswer(403, ConsoleFrame.entry(isWrong: true)))
        }
        return .welcome(.seeOther(.front, cookie: "\(cookieName)=\(cookie)\(cookieEnd)"))
    }

    private func page(_ route: ConsoleRoute, _ request: WebRequest, _ cookie: String) -> ConsoleStep {
        switch route {
        case .front, .enter:
            return .ask(FrontPage.questions) { replies in
                guard let events = FrontPage.lastEvents(replies.last) else { return Self.front(replies, cookie) }
                return .ask([events]) { Self.front(replies.dropLast() + $0, cookie) }
            }
        case .apps:
            return .ask(AppsPage.questions) { replies in
                do throws(ControlError) {
                    return .answer(Self.page(200, "Apps", cookie, try AppsPage.content(replies)))
                } catch { return .answer(Self.failure(error, cookie)) }
            }
        case .pair: return pairing(cookie).show()
        case .settings(let instance, let page):
            return .ask(Self.questions(instance)) { replies in
                Self.settings(instance, page, request.languages, replies, cookie) { settings, view in
                    let page = SettingsPage(
                        settings: settings, view: view, languages: request.languages, cookie: cookie,
                        outcome: request.query.flatMap {
                            FormOutcome($0, for: instance.route(view.name), cookie: cookie)
                        })
                    let sought = request.sought
                    return .answer(
                        sought.isEmpty
                            ? page.answer : page.results(for: sought, settings.search(sought, request.languages)))
                }
            }
        case .item(let instance, let list, let number):
            let draft = DraftRequest(
                instance: instance, list: list, item: number, languages: request.languages, cookie: cookie)
            return .ask(Self.questions(instance)) { replies in draft.show(replies) }
        case .events(let instance):
            // The head alone would open a stream that nobody reads.
            guard request.method == "GET" else {
                return .answer(.methodRefused("this address is a stream\n", by: route))
            }
            return .stream(instance, mark: request.mark)
        case .leave, .style, .script: return .answer(.methodRefused("this address takes a form\n", by: route))
        }
    }

    private static func front(_ replies: [ConsoleReply], _ cookie: String) -> ConsoleStep {
        .answer(page(200, "Device", cookie, FrontPage.content(replies)))
    }

    private mutating func form(
        _ route: ConsoleRoute, _ fields: FormFields, _ languages: [String], _ cookie: String
    ) -> ConsoleStep {
        switch route {
        case .leave:
            sessions.leave(cookie)
            return .answer(.seeOther(.front, cookie: "\(cookieName)=; Max-Age=0\(cookieEnd)"))
        case .pair: return pair(fields, cookie)
        case .settings(let instance, let page):
            let input = SettingsInput(fields)
            let unsent = UnsentForm(input: input, route: route, cookie: cookie)
            return Self.judged(instance) { replies, again in
                Self.settings(instance, page, languages, replies, cookie, unsent) { settings, view in
                    Self.change(settings, view, input, languages, cookie, again)
                }
            }
        case .item(let instance, let list, let number):
            let draft = DraftRequest(instance: instance, list: list, item: number, languages: languages, cookie: cookie)
            return Self.judged(instance) { replies, again in draft.done(replies, SettingsInput(fields), again) }
        case .events: return .answer(.methodRefused("this address is a stream\n", by: route))
        case .front, .enter, .apps, .style, .script:
            return .answer(Self.formRefused(by: route))
        }
    }

    /// The step of a form of the page of pairing. A form that makes a link counts once, whatever becomes of it: a
    /// browser that loads the answer again sends the form again.
    private mutating func pair(_ fields: FormFields, _ cookie: String) -> ConsoleStep {
        if let token = fields["cancel"] { return pairing(cookie).cancel(token) }
        guard sessions.takeLinkForm(fields["make"], of: cookie) else {
            return pairing(cookie).show(409, refusal: "This form was sent before, and a link is shown once.")
        }
        return pairing(cookie).make()
    }

    private func pairing(_ cookie: String) -> PairingPage {
        PairingPage(number: sessions.linkForm(of: cookie), cookie: cookie)
    }

    private static func questions(_ instance: AppInstance) -> [ConsoleQuestion] {
        [
            ConsoleQuestion(.settingsSchema, body(instance)), state(of: instance),
            ConsoleQuestion(.settingsPage, body(instance)), ConsoleQuestion(.status),
        ]
    }

    /// The request for an app's values.
    package static func state(of instance: AppInstance) -> ConsoleQuestion {
        ConsoleQuestion(.settingsGet, body(instance))
    }

    /// The request that waits for a change of an app's settings.
    package static func waiting(_ instance: AppInstance, after ordinal: UInt64, atMost wait: Duration)
        -> ConsoleQuestion
    {
        var body = body(instance)
        body["after"] = PropertyListValue(ordinal)
        body["wait"] = .integer(wait.saturatingMilliseconds)
        return ConsoleQuestion(.settingsGet, body, time: wait)
    }

    private static func body(_ instance: AppInstance) -> PropertyListDictionary {
        var body: PropertyListDictionary = ["app": .string(instance.app.description)]
        body["pairing"] = instance.secondary.map { .data($0.bytes) }
        return body
    }

    /// The next step of a request about a page, from the answers of the daemon.
    private static func settings(
        _ instance: AppInstance, _ page: String?, _ languages: [String], _ replies: [ConsoleReply], _ cookie: String,
        _ unsent: UnsentForm? = nil, _ next: (AppSettings, PageView) -> ConsoleStep
    ) -> ConsoleStep {
        do throws(ControlError) {
            let settings = try AppSettings(instance, replies)
            guard let view = settings.view(page, languages) else {
                return .answer(failure(404, "Not found", "The app has no such page.", cookie))
            }
            return next(settings, view)
        } catch { return .answer(failure(error, cookie, unsent)) }
    }

    /// The step of a form, by what the daemon has now. A list that somebody has changed between reading and storing is
    /// read, and its form is judged, once more.
    private static func judged(
        _ instance: AppInstance, isAgain: Bool = false,
        _ judge: @escaping ([ConsoleReply], _ again: (() -> ConsoleStep)?) -> ConsoleStep
    ) -> ConsoleStep {
        .ask(questions(instance)) { replies in
            judge(replies, isAgain ? nil : { judged(instance, isAgain: true, judge) })
        }
    }

    /// The step of a form of settings: a change of a list, a press, a reset, or values that are judged as a whole.
    private static func change(
        _ settings: AppSettings, _ view: PageView, _ form: SettingsInput, _ languages: [String], _ cookie: String,
        _ again: (() -> ConsoleStep)?
    ) -> ConsoleStep {
        let route = settings.instance.route(view.name)
        let refuse = { (input: PageInput?, refusal: FormRefusal) -> ConsoleStep in
            let view = input.flatMap { settings.view(view.name, languages, errors: $0.texts) } ?? view
            let shown = SettingsPage(
                settings: settings, view: view, languages: languages, cookie: cookie, refused: input, refusal: refusal)
            return .answer(shown.answer)
        }
        if let change = form.itemChange {
            guard let list = settings.list(change.key, languages),
                let items = change.done(in: list, cookie: cookie)
            else { return refuse(nil, FormRefusal(422, ItemChange.gone)) }
            return store(items, in: list, of: settings, cookie, again) { refuse(nil, $0) }
        }
        if let key = form.press {
            guard let row = settings.button(key, on: view) else {
                return refuse(nil, FormRefusal(422, "The app does not take this press now."))
            }
            return press(key, row.name, settings.instance, from: route, cookie)
        }
        if let reset = form.reset(on: view, of: settings) {
            return take(back: reset, view, settings.instance, cookie) { refuse(nil, $0) }
        }
        let input = form.values(on: view, of: settings)
        guard input.errors.isEmpty else { return refuse(input, FormRefusal()) }
        return store(input, on: view, settings, cookie) { refusal in
            guard !refusal.checks.isEmpty else { return refuse(input, refusal) }
            var refused = input
            refused.refuse(refusal.checks, in: settings.replacing(refusal.checks).view(view.name, languages) ?? view)
            return refuse(refused, FormRefusal())
        }
    }

    /// The step of values that the page's rules take.
    private static func store(
        _ input: PageInput, on view: PageView, _ settings: AppSettings, _ cookie: String,
        refuse: @escaping (FormRefusal) -> ConsoleStep
    ) -> ConsoleStep {
        let route = settings.instance.route(view.name)
        let keys = Set(input.values.keys).union(input.empty)
        guard !keys.isEmpty else {
            let same = FormOutcome("Nothing was changed: every value is the one that was there.")
            return .answer(same.leading(to: route, cookie: cookie))
        }
        var body = body(settings.instance)
        body["values"] = .dictionary(input.values)
        if !input.empty.isEmpty { body["nothing"] = .array(input.empty.map { .string($0) }) }
        return send(ConsoleQuestion(.settingsSet, body), refuse: refuse) { answer in
            let saved = FormOutcome(saved: view.names(of: keys), answer, naming: view.name(of:))
            return saved.leading(to: route, cookie: cookie)
        }
    }

    private static func take(
        back reset: SettingsInput.Reset, _ view: PageView, _ instance: AppInstance, _ cookie: String,
        refuse: @escaping (FormRefusal) -> ConsoleStep
    ) -> ConsoleStep {
        let route = instance.route(view.name)
        var body = body(instance)
        let outcome: FormOutcome
        switch reset {
        case .all: outcome = FormOutcome("All edits of the app were reset.")
        case .keys([]):
            return .answer(FormOutcome("There was no edit to reset.").leading(to: route, cookie: cookie))
        case .keys(let keys):
            body["keys"] = .array(keys.map { .string($0) })
            outcome = FormOutcome(EditReport.reset(view.names(of: Set(keys))))
        }
        return send(ConsoleQuestion(.settingsReset, body), refuse: refuse) { _ in
            outcome.leading(to: route, cookie: cookie)
        }
    }

    /// The step of a press: the browser goes back to the page, which says how it ended.
    private static func press(
        _ key: String, _ name: String, _ instance: AppInstance, from route: ConsoleRoute, _ cookie: String
    ) -> ConsoleStep {
        var body = body(instance)
        body["key"] = .string(key)
        return .ask([ConsoleQuestion(.settingsPress, body)]) { replies in
            .answer(FormOutcome(replies[0], of: name).leading(to: route, cookie: cookie))
        }
    }

    /// The step of a list's new items.
    /// - Parameter again: judges the form once more; nil the second time.
    static func store(
        _ items: [PropertyListValue], in list: EditableList, of settings: AppSettings, _ cookie: String,
        _ again: (() -> ConsoleStep)?, refuse: @escaping (FormRefusal) -> ConsoleStep
    ) -> ConsoleStep {
        var body = body(settings.instance)
        body["values"] = .dictionary([list.key: .array(items)])
        body["tags"] = .dictionary(list.tags)
        let (name, row) = (list.row.name, list.row.id)
        let route = settings.instance.route(list.page.name)
        return send(ConsoleQuestion(.settingsSet, body), again, refuse: refuse) { answer in
            FormOutcome(saved: [name], answer) { _ in name }.leading(to: route, at: row, cookie: cookie)
        }
    }

    /// The step of a change: the browser goes back to the page, or sees why the daemon has refused it.
    private static func send(
        _ change: ConsoleQuestion, _ again: (() -> ConsoleStep)? = nil, refuse: @escaping (FormRefusal) -> ConsoleStep,
        taken: @escaping (PropertyListDictionary) -> WebAnswer
    ) -> ConsoleStep {
        .ask([change]) { replies in
            switch replies[0] {
            case .success(let answer): return .answer(taken(answer))
            case .failure(let error):
                if let again, error.isRefusal(.schema) { return again() }
                return refuse(FormRefusal(error))
            }
        }
    }

    // MARK: answers

    private static func formRefused(by route: ConsoleRoute) -> WebAnswer {
        .methodRefused("this address takes no form\n", by: route)
    }

    static func page(_ status: Int, _ title: String, _ cookie: String, _ content: [Markup]) -> WebAnswer {
        WebAnswer(status, ConsoleFrame.page(title, cookie: cookie, content))
    }

    /// A page that may answer a form.
    /// - Parameter refusal: why the form was refused; nil for one that was not, and without a form.
    static func page(_ title: String, _ refusal: FormRefusal?, _ cookie: String, _ content: [Markup]) -> WebAnswer {
        page(refusal?.status ?? 200, refusal == nil ? title : "Not saved: \(title)", cookie, content)
    }

    static func failure(
        _ status: Int, _ title: String, _ text: String, _ cookie: String, _ ways: [Markup] = []
    ) -> WebAnswer {
        WebAnswer(status, ConsoleFrame.failure(title, text, cookie: cookie, ways))
    }

    /// A failure of the daemon: what it refuses is the browser's fault, and everything else is not.
    /// - Parameter unsent: the form that came; without an answer, or with one that is no judgement, it can be sent
    ///   again.
    static func failure(_ error: ControlError, _ cookie: String, _ unsent: UnsentForm? = nil) -> WebAnswer {
        // The same request may be taken a moment later.
        let isFull = error.isRefusal(.full)
        guard let status = isFull ? 503 : error.statusWithoutAnswer else {
            return failure(404, "Refused", error.description, cookie)
        }
        let title = isFull ? "Too many requests" : "No answer"
        return failure(status, title, error.description, cookie, unsent?.markup ?? [])
    }
}
