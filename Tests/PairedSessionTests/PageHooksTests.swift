// Hooks of an app's pages on a session, beside a scripted daemon: registration and answers.

import PairedConfiguration
import PairedSession
import Synchronization
import TandemBase
import TandemCrypto
import TandemPages
import TandemPropertyList
import TandemReactor
import TandemTestSupport
import TandemWire
import Testing

/// `@unchecked`: every property is a wrapper around state behind a mutex, which the base class checks.
private final class HookedConfiguration: Configuration, @unchecked Sendable {
    @Slider("Volume", in: 0...100) var volume = 50
    @Edit("Colour") var colour: String?

    override var pageHooks: PageHooks {
        var hooks = PageHooks()
        hooks.onPress(of: "test") { [self] in volume > 0 ? .done("It sounds at \(volume).") : .refused("Volume 0.") }
        hooks.onPress(of: "quiet", access: .counterpart) { .done() }
        hooks.onPress(of: "who") { .done("\(PageHooks.person.map { "\($0)" } ?? "nobody")") }
        hooks.check("colour") { _ in PageHooks.person == .primary("hub") ? .failed("Not from hub.") : .ok }
        hooks.check("volume") { value in
            switch value {
            case .integer(1): .replaced(.integer(2))
            case .integer(3): .replaced(.string("three"))
            case .integer(4): .failed("Four.", replacement: .integer(5))
            case .integer(6): .failedWithShake("Six.")
            default: .ok
            }
        }
        hooks.choices(of: "colour") { [SettingChoice(label: "Red", value: .string("#ff0000"))] }
        hooks.choices(of: "none") { [SettingChoice(label: "Red", value: .string("#ff0000"))] }
        hooks.hiddenKeys { ["colour"] }
        return hooks
    }
}

/// `@unchecked`: every property is a wrapper around state behind a mutex, which the base class checks.
private final class DateConfiguration: Configuration, @unchecked Sendable {
    @Slider("Hour", in: 0...23) var hour = 7
    @Edit("Late") var late: String?
    @Preference("Day") var day = PropertyListDate(millisecondsSinceReferenceDate: 0)
    @Edit("Word") var word = ""

    override var pageHooks: PageHooks {
        var hooks = PageHooks()
        hooks.date(
            of: "hour",
            from: { value in
                guard case .integer(let hour) = value else { return nil }
                return PropertyListDate(millisecondsSinceReferenceDate: Int64(hour) * 3_600_000)
            },
            to: { date in
                date.millisecondsSinceReferenceDate < 0 ? nil : .integer(Int(date.secondsSinceReferenceDate) / 3600)
            }, shown: { "at \(Int($0.secondsSinceReferenceDate) / 3600)" })
        hooks.check("hour") { $0 == .integer(3) ? .failed("Too early.") : .ok }
        hooks.date(of: "late", from: { _ in nil }, to: { _ in .string("late") })
        hooks.date(of: "day", shown: { _ in "a day" })
        hooks.date(of: "word", shown: { _ in "a word" })
        return hooks
    }
}

/// The place of the bundle of the configuration with mails.
private let bundlePath = Mutex<String?>(nil)

/// `@unchecked`: every property is a wrapper around state behind a mutex, which the base class checks.
private final class MailConfiguration: Configuration, @unchecked Sendable {
    @Slider("Volume", in: 0...100) var volume = 50

    override var settingsBundle: String? { bundlePath.withLock(\.self) }

    override var pageHooks: PageHooks {
        var hooks = PageHooks()
        hooks.mail(of: "ask") { [self] mail in
            var mail = mail
            mail.cc = ["e@f"]
            mail.body = "Volume \(volume)"
            return .compose(mail)
        }
        hooks.mail(of: "tell") { mail in mail == .init(to: ["a@b"]) ? .refused("No account.") : .compose(mail) }
        hooks.mail(of: "none") { .compose($0) }
        hooks.mail(of: "volume") { .compose($0) }
        return hooks
    }
}

/// `@unchecked`: every property is a wrapper around state behind a mutex, which the base class checks.
private final class SilentConfiguration: Configuration, @unchecked Sendable {
    @Slider("Volume", in: 0...100) var volume = 50

    override var pageHooks: PageHooks {
        var hooks = PageHooks()
        hooks.onPress(of: "never") {
            let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
            for await _ in stream {}
            withExtendedLifetime(continuation) {}
            return .done()
        }
        hooks.onPress(of: "long") { .done(String(repeating: "x", count: 70_000)) }
        return hooks
    }
}

/// `@unchecked`: every property is a wrapper around state behind a mutex, which the base class checks.
private final class HangingConfiguration: Configuration, @unchecked Sendable {
    @Slider("Volume", in: 0...100) var volume = 50

    override var pageHooks: PageHooks {
        var hooks = PageHooks()
        hooks.onPress(of: "test") { .done() }
        hooks.check("volume") { _ in .ok }
        hooks.choices(of: "volume") {
            let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
            for await _ in stream {}
            withExtendedLifetime(continuation) {}
            return []
        }
        return hooks
    }
}

/// `@unchecked`: every property is a wrapper around state behind a mutex, which the base class checks.
private final class PlainConfiguration: Configuration, @unchecked Sendable {
    @Slider("Volume", in: 0...100) var volume = 50
}

/// `@unchecked`: every property is a wrapper around state behind a mutex, which the base class checks.
private final class OwnConfiguration: Configuration, @unchecked Sendable {
    @Slider("Volume", in: 0...100) var volume = 50
    @Edit("Colour") var colour: String?
    @Edit("Token", secret: true) var token: String?
    @Edit("Code") var code: String?
    @Preference("Accounts") var accounts: [String] = []

    override var settingsBundle: String? { bundlePath.withLock(\.self) }
}

@Suite(.timeLimit(.minutes(10)), .serialized) struct PageHooksTests {
    private let fixture: SessionFixture

    init() throws { fixture = try SessionFixture() }

    private func start(_ configuration: Configuration) throws {
        try configuration.install(on: fixture.session, in: .memory)
        fixture.activate()
        fixture.scheduler.settle()
    }

    /// Sends a question as a daemon does.
    private func ask(_ message: PropertyListDictionary) throws -> UniqueIdentifier {
        try fixture.daemon.message(message, .configuration, from: .zero, reply: true)
    }

    /// Starts a configuration whose bundle has a page with these entries.
    private func start<Hooked: Configuration>(withEntries entries: String, _ make: () -> Hooked) throws -> Hooked {
        let place = TemporaryDirectory()
        let page =
            "<plist version=\"1.0\"><dict><key>PreferenceSpecifiers</key><array>\(entries)</array></dict></plist>"
        place.write(Array(page.utf8), to: "Root.plist")
        bundlePath.withLock { $0 = place.path }
        defer { withExtendedLifetime(place) { bundlePath.withLock { $0 = nil } } }
        let configuration = make()
        try start(configuration)
        return configuration
    }

    /// The answer to a question, once the tasks of the app's closures have run.
    private func answer(to id: UniqueIdentifier) async throws -> Envelope {
        for _ in 0..<100_000 {
            fixture.scheduler.settle()
            if let answer = fixture.daemon.received.first(where: { $0.id == id }) { return answer }
            await Task.yield()
        }
        throw CancellationError()
    }

    private func answer(
        _ question: PageQuestion, for person: PagePerson? = nil
    ) async throws -> PropertyListDictionary {
        let envelope = try await answer(to: try ask(question.message(by: person)))
        let body = try #require(envelope.body)
        return try #require(PageQuestion.answer(in: Array(body)))
    }

    @Test("SES-80, PAG-34: an app registers the questions that it has hooks for, and `page` if it has any property")
    func registers() throws {
        try start(HookedConfiguration())
        #expect(fixture.daemon.registrations.last?.questions.names == ["page", "press", "validate"])
        let plain = try SessionFixture()
        try PlainConfiguration().install(on: plain.session, in: .memory)
        plain.activate()
        plain.scheduler.settle()
        #expect(plain.daemon.registrations.last?.questions.names == ["page"])
    }

    @Test("SCH-21, PAG-30: the schema that an app announces has the buttons that it opens, and no others")
    func opens() throws {
        #expect(HookedConfiguration().announcedSchema?.buttons == ["quiet"])
        #expect(PlainConfiguration().announcedSchema?.buttons.isEmpty == true)
        let digest = try #require(HookedConfiguration().announcedSchema.map { SHA256.digest($0.bytes) })
        try start(HookedConfiguration())
        #expect(fixture.daemon.registrations.last?.schema == digest)
    }

    @Test(
        "PAG-24, PAG-25: presses, checks and pages are answered by the app's closures, in the types of its properties")
    func answers() async throws {
        let configuration = HookedConfiguration()
        try start(configuration)
        #expect(PressAnswer(try await answer(.press("test"))) == .done("It sounds at 50."))
        configuration.volume = 0
        #expect(PressAnswer(try await answer(.press("test"))) == .refused("Volume 0."))
        #expect(PressAnswer(try await answer(.press("quiet"))) == .done(nil))
        #expect(PressAnswer(try await answer(.press("none"))) == .refused("The app has no such button."))
        func checked(_ value: PropertyListValue) async throws -> PageValidation? {
            let results = try await answer(.validate(["volume": value, "none": 7]))["results"]
            #expect(results?.dictionaryValue?["none"] == nil, "the app does not check it")
            return results?.dictionaryValue?["volume"]?.dictionaryValue.flatMap { PageValidation($0) }
        }
        #expect(try await checked(0) == .ok)
        #expect(try await checked(1) == .replaced(2))
        #expect(try await checked(4) == .failed("Four.", replacement: 5))
        #expect(try await checked(6) == .failed("Six.", replacement: nil, shakes: true))
        #expect(try await checked("text") == nil, "a value of another type is the declared rule's")
        let body = try await answer(.page)
        let page = try #require(RunningPage(body))
        #expect(page.hidden == ["colour"] && page.buttons == ["quiet", "test", "who"])
        #expect(page.choices == ["colour": [.init(label: "Red", value: "#ff0000")]])
    }

    @Test("PAG-33: closures of presses and checks know the person, and nobody where the question names none")
    func person() async throws {
        try start(HookedConfiguration())
        for (person, text): (PagePerson?, String) in [
            (.user(1000), "user(1000)"), (.primary("hub"), "primary(\"hub\")"), (nil, "nobody"),
        ] {
            #expect(PressAnswer(try await answer(.press("who"), for: person)) == .done(text))
            let results = try await answer(.validate(["colour": "#000000"]), for: person)["results"]?.dictionaryValue
            let check = results?["colour"]?.dictionaryValue.flatMap { PageValidation($0) }
            #expect(check == (person == .primary("hub") ? .failed("Not from hub.", replacement: nil) : .ok))
        }
        #expect(PageHooks.person == nil)
    }

    @Test("PAG-31: an app's closure has the parts of a mail's entry, and changes them or refuses the mail")
    func mails() async throws {
        let entries = ["ask", "tell"].map { key in
            "<dict><key>Type</key><string>IASKMailComposeSpecifier</string><key>Key</key><string>\(key)</string>"
                + "<key>IASKMailComposeToRecipents</key><array><string>a@b</string></array></dict>"
        }.joined()
        _ = try start(withEntries: entries) { MailConfiguration(preferences: MemoryPreferences()) }
        #expect(fixture.daemon.registrations.last?.questions.names == ["page"])
        let mail = PageView.Mail(to: ["a@b"], copy: ["e@f"], blindCopy: [], subject: "", body: "Volume 50")
        #expect(
            RunningPage(try await answer(.page))?.mails == ["ask": .compose(mail), "tell": .refused("No account.")])
    }

    @Test("PAG-34: a running app tells what it has set itself, but no secret, and of a list with secrets only that")
    func ownValues() async throws {
        let secure = "<key>Type</key><string>PSTextFieldSpecifier</string><key>IsSecure</key><true/>"
        let entries = """
            <dict>\(secure)<key>Key</key><string>code</string></dict>
            <dict><key>Type</key><string>IASKListGroupSpecifier</string><key>Key</key><string>accounts</string>
            <key>ItemSpecifier</key><dict>\(secure)</dict></dict>
            """
        let configuration = try start(withEntries: entries) { OwnConfiguration(preferences: MemoryPreferences()) }
        #expect(fixture.daemon.registrations.last?.questions.names == ["page"])
        #expect(RunningPage(try await answer(.page)) == RunningPage())
        (configuration.volume, configuration.token, configuration.code) = (70, "swordfish", "1234")
        configuration.accounts = ["ann"]
        let values = RunningPage(try await answer(.page))?.values
        #expect(values == ["volume": .init(.preference, 70), "accounts": .init(.preference, nil, isWithheld: true)])
    }

    @Test("PAG-32: an app's closures make a date of a value, a value of a date, and the text of a date")
    func dates() async throws {
        try start(DateConfiguration())
        #expect(fixture.daemon.registrations.last?.questions.names == ["page", "validate"])
        func at(_ hour: Int64) -> PropertyListDate {
            PropertyListDate(millisecondsSinceReferenceDate: hour * 3_600_000)
        }
        let dates = RunningPage(try await answer(.page))?.dates
        #expect(
            dates == [
                "hour": .init(date: at(7), shown: "at 7"), "late": .init(date: nil),
                "day": .init(date: at(0), shown: "a day"),
            ])
        func made(_ value: PropertyListValue) async throws -> PageValidation? {
            let results = try await answer(.validate(["hour": value]))["results"]
            return results?.dictionaryValue?["hour"]?.dictionaryValue.flatMap { PageValidation($0) }
        }
        #expect(try await made(.date(at(9))) == .replaced(9))
        #expect(try await made(8) == .ok)
        #expect(try await made(.date(at(3))) == .failed("Too early.", replacement: nil))
        #expect(try await made(.date(at(-1))) == .failed("The app has no value for this date.", replacement: nil))
    }

    @Test("LIM-129: of closures for pages that never return 8 run, and presses and checks have the other places")
    func neverReturningPages() async throws {
        try start(HangingConfiguration())
        for _ in 0..<8 { _ = try ask(PageQuestion.page.message()) }
        let next = try await answer(to: try ask(PageQuestion.page.message()))
        #expect(try FailureFrame(next).error().reason == "8 hooks of the app's pages have not returned")
        for _ in 0..<40 {
            #expect(PressAnswer(try await answer(.press("test"))) == .done(nil))
            #expect(try await answer(.validate(["volume": 1]))["results"] == ["volume": ["result": "ok"]])
        }
    }

    @Test("LIM-129: of closures that never return 32 run, and further questions fail; a text that is too long is cut")
    func neverReturning() async throws {
        try start(SilentConfiguration())
        let long = PressAnswer(try await answer(.press("long")))
        #expect(long == .done(String(repeating: "x", count: 200)))
        for _ in 0..<32 { _ = try ask(PageQuestion.press("never").message()) }
        let next = try await answer(to: try ask(PageQuestion.press("never").message()))
        #expect(next.kind == .failure && next.code == SessionError.Code.messageReplyFailed.rawValue)
        let nonsense = try await answer(to: try ask(["tandem.question": "later"]))
        #expect(nonsense.kind == .failure && nonsense.name == "unhandled")
    }
}
