// Signed configuration through real daemons and a real host app: applied, refused by name, and kept over kills.

import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct ConfigurationTests {
    private let devices: TwoDevices
    private let target: String

    init() async throws {
        devices = try await TwoDevices(paired: true)
        try await devices.makeKey()
        target = try await devices.target()
    }

    private func sign(_ version: Int, _ values: String...) async throws -> String {
        try await devices.sign(version, values, for: target)
    }

    private func apply(_ file: String, wait: String = "20s") async throws -> Program.Ending {
        try await devices.run("hub", "apply", "--app", TwoDevices.app, "--wait", wait, file)
    }

    /// `tandem configuration` at the hub.
    private func configuration(_ words: String...) async throws -> Program.Ending {
        try await tandem(
            ["configuration"] + words + ["--device", devices.workspace["hub.sock"]], in: devices.workspace)
    }

    /// Whether the app's last word on a value is this one, now or soon.
    private func shows(_ app: Program, _ name: String, _ value: String) async throws -> Bool {
        try await holds(within: .seconds(10)) {
            let lines = app.output.split(separator: "\n").filter { $0.hasPrefix("value \(name) = ") }
            return lines.last == "value \(name) = \(value)"
        }
    }

    @Test func aConfigurationIsAppliedAsAWholeAndKeptOverKills() async throws {
        let app = try await devices.startSample()
        let first = try await apply(sign(1, "volume=75", "logging=true", "colour=#aabbcc"))
        #expect(first.status == 0, "\(first)")
        #expect(first.output.contains("applied"))
        #expect(try await shows(app, "volume", "75"))
        #expect(try await shows(app, "colour", "#aabbcc"))
        #expect(try await apply(sign(2, "volume=80")).status == 0)
        #expect(try await shows(app, "volume", "80"))
        #expect(try await shows(app, "logging", "false"))
        for program in [devices.kiosk, devices.hub, app] { program.signal(SIGKILL) }
        for program in [devices.kiosk, devices.hub, app] { _ = try await program.ending() }
        try await devices.restartHub()
        try await devices.restartKiosk()
        #expect(try await devices.status(of: "kiosk").contains("\"version\":2"))
        let again = try await devices.startSample(named: "app-again")
        #expect(try await shows(again, "volume", "80"))
        #expect(try await devices.isLinked())
        #expect(try await apply(sign(3, "volume=81")).status == 0)
    }

    @Test("CFG-60: a link on standard input is applied as the file is that it stands for")
    func aLinkIsApplied() async throws {
        let app = try await devices.startSample()
        let signed = try await tandem(
            "sign", "--key", "signing", "--app", TwoDevices.app, "--role", "secondary", "--version", "1", "--target",
            target, "--set", "volume=75", "--out", "linked", "--link", in: devices.workspace)
        #expect(signed.status == 0 && signed.output.contains("tandem:apply/1?e="), "\(signed)")
        let applied = try await tandem(
            "apply", "--app", TwoDevices.app, "--device", devices.workspace["hub.sock"], "--wait", "20s", "-",
            in: devices.workspace, input: signed.output)
        #expect(applied.status == 0 && applied.output.contains("applied"), "\(applied)")
        #expect(try await shows(app, "volume", "75"))
        #expect(try await apply("linked").status == 0, "the file has the same bytes")
        let other = try await apply(sign(1, "volume=76"))
        #expect(other.status == 1 && (other.output + other.errors).contains("equivocation"), "\(other)")
    }

    @Test func `CFG-35: a disk that fails while it is applied leaves the last good one, and a good disk applies it`()
        async throws
    {
        let environment = try await FailingSync.environment(in: devices.workspace, below: "/apps/")
        try await devices.kiosk.end(by: SIGTERM)
        try await devices.restartKiosk(environment: environment)
        let app = try await devices.startSample()
        #expect(try await apply(sign(1, "volume=75")).status == 0)
        try devices.workspace.write("bad", "")
        let second = try await apply(sign(2, "volume=80"), wait: "3s")
        #expect(!second.output.contains("applied"), "\(second)")
        #expect(devices.kiosk.errors.contains("configuration file not written"), "\(devices.kiosk.errors)")
        #expect(devices.kiosk.isRunning)
        #expect(try await devices.status(of: "kiosk").contains("\"version\":1"))
        for program in [devices.kiosk, app] { try await program.end(by: SIGKILL) }
        try FileManager.default.removeItem(atPath: devices.workspace["bad"])
        try await devices.restartKiosk()
        let again = try await devices.startSample(named: "app-again")
        #expect(try await shows(again, "volume", "80"))
        #expect(try await apply(sign(3, "volume=81")).status == 0)
    }

    @Test func eachBadConfigurationIsRefusedByItsNameWithItsReasonAndChangesNothing() async throws {
        let app = try await devices.startSample()
        let good = try await sign(2, "volume=75")
        #expect(try await apply(good).status == 0)
        try await devices.makeKey("other")
        let refusals = [
            (
                try await devices.sign(3, ["volume=99"], for: target, by: "other"), "threshold",
                "valid signatures by trusted keys: 0 of 1 needed"
            ),
            (try await sign(1, "volume=99"), "rollback", "version 2 is desired; sign a higher version"),
            (try await sign(2, "volume=99"), "equivocation", "a secondary has taken other bytes of version 2"),
            (
                try await devices.sign(3, ["volume=99"], for: "custom:elsewhere"), "wrong-target",
                "it is for 'custom:elsewhere'"
            ),
            (try await sign(3, "volume=101"), "schema", "volume"),
            (try await sign(3, "nothing=1"), "schema", "nothing"),
            (try await sign(3, "volume=true"), "schema", "volume"),
            (try await sign(3, "colour=red"), "schema", "colour"),
        ]
        for (file, name, reason) in refusals {
            let refused = try await apply(file)
            #expect(refused.status == 1, "\(name): \(refused)")
            let text = refused.output + refused.errors
            #expect(text.contains(name) && text.contains(reason), "\(name): \(refused)")
        }
        #expect(try await apply(good).status == 0, "the same bytes again are applied already")
        #expect(try await shows(app, "volume", "75"))
        #expect(try await devices.status(of: "kiosk").contains("\"version\":2"))
    }

    @Test func withoutTheAppItWaitsAndIsAppliedWhenTheAppComes() async throws {
        let first = try await devices.startSample()
        try await first.end(by: SIGTERM)
        let waiting = try await apply(sign(1, "volume=66"), wait: "2s")
        #expect(waiting.status == 1)
        #expect(waiting.output.contains("waiting-for-app"), "\(waiting)")
        let app = try await devices.startSample(named: "app-late")
        #expect(try await shows(app, "volume", "66"))
        let isReported = try await holds(within: .seconds(10)) { devices.hub.errors.contains("verdict=applied") }
        #expect(isReported)
    }

    @Test func `CFG-62, CFG-63: an app that a value kills three times has the old one back, and the primary knows`()
        async throws
    {
        let app = try await devices.startSample("--crash-at", "66")
        #expect(try await apply(sign(1, "volume=75")).status == 0)
        let sent = try await devices.run("hub", "send", "--app", TwoDevices.app, "{\"hello\":1}")
        #expect(sent.status == 0, "\(sent)")
        // The app has said that it works, which the kiosk sees at its next tick.
        var looks = 0
        while try await devices.status(of: "kiosk").contains("\"trial\":true"), looks < 100 {
            looks += 1
            try await Task.sleep(for: .milliseconds(200))
        }
        #expect(looks < 100)
        let bad = try await sign(2, "volume=66")
        #expect(try await apply(bad, wait: "2s").status == 1)
        #expect(try await app.ending().status != 0)
        for start in 2...3 {
            let dying = try await devices.startSample(named: "app-\(start)", "--crash-at", "66")
            #expect(try await dying.ending().status != 0)
            #expect(dying.output.contains("value volume = 66"), "it has seen it again")
        }
        #expect(try await holds(within: .seconds(10)) { devices.hub.errors.contains("verdict=failed") })
        let last = try await devices.startSample(named: "app-4", "--crash-at", "66")
        #expect(try await shows(last, "volume", "75"))
        #expect(try await devices.status(of: "kiosk").contains("\"version\":1"))
        let again = try await apply(bad)
        #expect(again.status == 1 && again.output.contains("rollback"), "\(again)")
        #expect(try await apply(sign(3, "volume=70")).status == 0)
        #expect(try await shows(last, "volume", "70"))
    }

    @Test func `CTL-25, CFG-70: Ctrl-C leaves it desired and says how to end that; the kiosk gets it when it is back`()
        async throws
    {
        try await devices.kiosk.end(by: SIGTERM)
        let arguments = ["--device", devices.workspace["hub.sock"], "--app", TwoDevices.app, "--wait", "60s"]
        let apply = try Program(
            "tandem", ["apply"] + arguments + [try await sign(1, "volume=66")], named: "apply", in: devices.workspace)
        var listed = try await configuration("list")
        for _ in 0..<100 where !listed.output.contains("no app at 1") {
            try await Task.sleep(for: .milliseconds(100))
            listed = try await configuration("list")
        }
        #expect(listed.output.contains("no app at 1"), "\(listed)")
        // The command itself has no answer before this.
        try await Task.sleep(for: .milliseconds(500))
        let ending = try await apply.end(by: SIGINT)
        #expect(ending.status == 1, "\(ending)")
        #expect(ending.errors.contains("stays desired, and is delivered to kiosk"), "\(ending)")
        #expect(ending.errors.contains("tandem configuration withdraw --app \(TwoDevices.app)"), "\(ending)")
        try await devices.restartKiosk()
        let app = try await devices.startSample()
        #expect(try await shows(app, "volume", "66"))
        let shown = try await configuration("show", TwoDevices.app)
        #expect(shown.status == 0 && shown.output.contains("history"), "\(shown)")
        let withdrawn = try await configuration("withdraw", TwoDevices.app)
        #expect(withdrawn.output.contains("version 1") && withdrawn.output.contains("kiosk"), "\(withdrawn)")
        #expect(try await configuration("withdraw", TwoDevices.app).status == 1)
        #expect(try await shows(app, "volume", "66"))
    }

    @Test func aDifferentKeyLaterIsAnAnchorConflict() async throws {
        try await devices.makeKey("other")
        func add(_ key: String) async throws -> Program.Ending {
            try await tandem(
                "trust", "add", "--device", devices.workspace["kiosk.sock"], "--app", TwoDevices.app, "--role",
                "secondary", "--key", key, in: devices.workspace)
        }
        #expect(try await add("signing.pub").status == 0)
        #expect(try await add("signing.pub").status == 0)
        let other = try await add("other.pub")
        #expect(other.status == 1)
        #expect(other.errors.contains("anchor-conflict"), "\(other)")
        let list = try await tandem(
            "trust", "list", "--json", "--device", devices.workspace["kiosk.sock"], in: devices.workspace)
        #expect(list.output.contains(TwoDevices.app))
    }
}
