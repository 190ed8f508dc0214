// The sample app's hooks, from a browser and from the shell, with real daemons: a press, the app's own check, and what
// is left of a page whose app is stopped, dead or another user's.

import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct PageHookTests {
    private let devices: TwoDevices
    private let app: Program
    private let console: ConsoleProgram
    private static let page = "/apps/\(TwoDevices.app)"

    init() async throws {
        devices = try await TwoDevices()
        try await devices.makeKey()
        app = try await devices.startSample("--pages", TwoDevices.sampleBundle)
        console = try await ConsoleProgram(device: devices.workspace["kiosk.sock"], in: devices.workspace)
        try console.enter()
    }

    private func settings(_ words: String..., input: String = "") async throws -> Program.Ending {
        try await settings(words, input: input)
    }

    private func settings(
        _ words: [String], at socket: String = "kiosk.sock", input: String = ""
    ) async throws -> Program.Ending {
        try await tandem(
            ["settings"] + words + ["--app", TwoDevices.app, "--device", devices.workspace[socket]],
            in: devices.workspace, input: input)
    }

    @Test
    func `CON-20, CTL-58: a button of the sample app is pressed in a browser and in the shell, and says what it did`()
        async throws
    {
        #expect(try await holds(within: .seconds(20)) { try console.get(Self.page).body.contains("name=\"press\"") })
        let form = try console.formToken(Self.page)
        let press = {
            let led = try console.post(Self.page, "form=\(form)&press=alarm")
            #expect(led.status == 303)
            return try console.get(try #require(led.field("Location")))
        }
        let done = try press()
        #expect(done.status == 200 && done.body.contains("The alarm sounds at volume 50."))
        #expect(try await holds(within: .seconds(10)) { app.output.contains("alarm at volume 50") })
        #expect(devices.kiosk.errors.contains("button pressed"))
        #expect(try await settings("set", "volume=0").status == 0)
        #expect(try await holds(within: .seconds(10)) { app.output.contains("value volume = 0") })
        let refused = try press()
        #expect(refused.status == 200 && refused.body.contains("The volume is 0."))
        let shell = try await settings("press", "alarm")
        #expect(shell.status == 1 && shell.errors.contains("The volume is 0."), "\(shell)")
        #expect(try await settings("set", "volume=7").status == 0)
        #expect(try await holds(within: .seconds(10)) { app.output.contains("value volume = 7") })
        let sounded = try await settings("press", "alarm")
        #expect(sounded.status == 0 && sounded.output == "The alarm sounds at volume 7.\n", "\(sounded)")
        let typed = try await settings("edit", input: "6\nquit\n")
        #expect(typed.status == 0 && typed.output.contains("The alarm sounds at volume 7."), "\(typed)")
    }

    @Test
    func `SES-82, PAG-30: the button that the sample app opens is pressed from the hub, and no other`() async throws {
        func far(_ words: String..., input: String = "") async throws -> Program.Ending {
            try await settings(words + ["--secondary", "kiosk"], at: "hub.sock", input: input)
        }
        try await devices.pair()
        /// The pages as the hub has them, as soon as they have the text, and else in the end.
        func pages(with text: String) async throws -> String {
            var pages = ""
            for _ in 0..<200 where !pages.contains(text) { pages = try await far("pages").output }
            return pages
        }
        let shown = try await pages(with: "Can be pressed.")
        #expect(shown.contains("Can be pressed.") && !shown.contains("Message log"), "\(shown)")
        let press = try await far("press", "alarm")
        #expect(press.status == 0 && press.output == "The alarm sounds at volume 50.\n", "\(press)")
        let line = devices.kiosk.errors.split(separator: "\n").last { $0.contains("button pressed") }
        #expect(line?.contains("by=hub") == true && line?.contains("outcome=done") == true, "\(line ?? "")")
        let typed = try await far("edit", input: "2\nquit\n")
        #expect(typed.status == 0 && typed.output.contains("The alarm sounds at volume 50."), "\(typed)")
        let other = try await far("press", "volume")
        #expect(other.status == 1 && other.errors.contains("not-here"), "\(other)")
        try await app.end(by: SIGKILL)
        #expect(try await pages(with: "The app does not run").contains("The app does not run"))
        #expect(try await far("press", "alarm").errors.contains("not-running"))
    }

    @Test
    func `PAG-26, CTL-60: the sample app's own check refuses a value from everywhere, and puts another into the field`()
        async throws
    {
        let form = try console.formToken(Self.page)
        let refused = try console.post(Self.page, "form=\(form)&b.colour=&v.colour=%23000000&b.volume=50&v.volume=9")
        #expect(refused.status == 422 && refused.body.contains("Black gives no light."))
        #expect(refused.body.contains("name=\"v.colour\" value=\"#101010\"") && refused.body.contains("wrong shake"))
        let shell = try await settings("set", "colour=#000000")
        #expect(shell.status == 1 && shell.errors.contains("Black gives no light."), "\(shell)")
        #expect(try console.post(Self.page, "form=\(form)&b.colour=&v.colour=%23101010").status == 303)
        #expect(try await holds(within: .seconds(10)) { app.output.contains("value colour = #101010") })
        #expect(!app.output.contains("#000000") && !app.output.contains("value volume = 9"))
    }

    @Test func `PAG-28, THR-137: a page is whole without its app, whether that is stopped or dead, and says so`()
        async throws
    {
        #expect(try await holds(within: .seconds(20)) { try console.get(Self.page).body.contains("name=\"press\"") })
        let form = try console.formToken(Self.page)
        try await app.pause()
        let stopped = try console.get(Self.page)
        #expect(stopped.status == 200 && stopped.body.contains("The app does not answer"))
        let unchecked = try await settings("set", "colour=#000000")
        #expect(unchecked.status == 0 && unchecked.errors.contains("its own checks were not made"), "\(unchecked)")
        let typed = try await settings("edit", input: "3 #000001\nquit\n")
        #expect(typed.status == 0 && typed.errors.contains("its own checks were not made"), "\(typed)")
        let press = try await settings("press", "alarm")
        #expect(press.status == 1 && press.errors.contains("no-answer"), "\(press)")
        app.signal(SIGCONT)
        #expect(try await holds(within: .seconds(10)) { try console.get(Self.page).body.contains("name=\"press\"") })
        try await app.end(by: SIGKILL)
        let dead = { try console.get(Self.page) }
        #expect(try await holds(within: .seconds(10)) { try dead().body.contains("The app does not run") })
        #expect(try dead().body.contains("This button works in the app alone."))
        #expect(try console.post(Self.page, "form=\(form)&press=alarm").status == 422)
        #expect(try await settings("press", "alarm").errors.contains("not-running"))
        #expect(try console.post(Self.page, "form=\(form)&b.volume=50&v.volume=61").status == 303)
    }
}
