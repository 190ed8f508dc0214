// Keys that change under a running host app: rotated, revoked and withdrawn from the shell through real daemons, and
// still in force after both were killed.

import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct KeySetApplyTests {
    private static let subject = "--app \(TwoDevices.app) --role secondary"

    private let devices: TwoDevices
    private let target: String

    init() async throws {
        devices = try await TwoDevices(paired: true)
        target = try await devices.target()
    }

    @discardableResult
    private func done(_ line: String) async throws -> String {
        let ending = try await tandem(line.split(separator: " ").map(String.init), in: devices.workspace)
        #expect(ending.status == 0, "\(line): \(ending)")
        return ending.output
    }

    private func apply(_ file: String) async throws -> Program.Ending {
        try await devices.run("hub", "apply", "--app", TwoDevices.app, "--wait", "20s", file)
    }

    private func shows(_ app: Program, _ line: String) async throws -> Bool {
        let name = line.prefix { $0 != "=" }
        return try await holds(within: .seconds(10)) {
            app.output.split(separator: "\n").last { $0.hasPrefix("value \(name)") } == "value \(line)"
        }
    }

    private func sign(_ out: String, by key: String, under set: String, _ value: String) async throws {
        try await done(
            "sign --key \(key) --keyset \(set) \(Self.subject) --target \(target) --version 1 --set \(value) --out \(out)"
        )
    }

    @Test("CFG-84, CFG-85, CFG-92: a rotation, a revocation and a withdrawal reach a running app")
    func keysChangeUnderARunningApp() async throws {
        for key in ["root", "revoker", "first", "next"] { try await done("keys new --out \(key)") }
        try await done(
            "keyset init \(Self.subject) --root root.pub --config first.pub --revoker revoker.pub --key root --out s1")
        try devices.workspace.write("s1.text", try await done("keyset export s1"))
        try await done("trust add --device \(devices.workspace["hub.sock"]) \(Self.subject) --key s1")
        let app = try await devices.startSample(trusting: "s1.text")
        try await sign("one", by: "first", under: "s1", "volume=61")
        #expect(try await apply("one").status == 0)
        #expect(try await shows(app, "volume = 61"))

        try await done("keyset rotate --from s1 --config next.pub --key root --out s2")
        let rotated = try await apply("s2")
        #expect(rotated.status == 0, "\(rotated)")
        #expect(rotated.output.contains("no longer desired: version 1 for \(target) (threshold)"), "\(rotated)")
        #expect(try await apply("one").errors.contains("threshold"))
        try await sign("two", by: "next", under: "s2", "volume=62")
        #expect(try await apply("two").status == 0)
        #expect(try await shows(app, "volume = 62"))
        let list = "trust list --device \(devices.workspace["hub.sock"])"
        #expect(try await done(list).contains("key set 2"), "CTL-27")

        try await done("keyset revoke --from s1 --from s2 --revoke next.pub --withdraw --key revoker --out taken")
        #expect(try await apply("taken").status == 0)
        #expect(try await holds(within: .seconds(10)) { !app.output.hasSuffix("value volume = 62\n") })
        #expect(try await apply("two").errors.contains("threshold"))
        for program in [devices.kiosk, devices.hub] { try await program.end(by: SIGKILL) }
        try await devices.restartHub()
        try await devices.restartKiosk()
        #expect(try await devices.isLinked())
        #expect(try await apply("two").errors.contains("threshold"), "a restart forgets no revocation")
        try await done("keyset rotate --from s1 --from s2 --from taken --config first.pub --key root --out s3")
        #expect(try await apply("s3").status == 0)
        try await sign("three", by: "first", under: "s3", "volume=63")
        // The app may not have connected to the kiosk's new daemon yet: until then it waits for the app.
        #expect(try await eventually { try await apply("three").status == 0 })
        #expect(try await shows(app, "volume = 63"))
    }
}
