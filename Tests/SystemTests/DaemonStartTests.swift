// Faults at a daemon's start: the daemon reports each with its place and the remedy, exits with 1, and changes no file
// that it found.

import Foundation
import TandemTestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct DaemonStartTests {
    private let workspace: Workspace
    init() { workspace = Workspace() }

    private func start(environment: [String: String] = [:]) throws -> Program {
        let arguments = ["secondary", "--state", workspace["state"], "--local", workspace["local.sock"]]
        let name = "daemon-\(UInt32.random(in: 0 ... .max))"
        return try Program("tandem", arguments, named: name, in: workspace, environment: environment)
    }

    /// Starts once so that there is a state, and stops.
    private func makeState() async throws {
        let daemon = try start()
        try #require(try await holds(within: .seconds(20)) { daemon.output.contains("ready") }, "\(daemon.errors)")
        #expect(try await daemon.end(by: SIGTERM).status == 0)
    }

    private func expectRefusal(
        _ message: String, _ options: String..., role: String = "secondary", local: String = "local.sock"
    ) async throws {
        let ending = try await tandem(
            [role, "--state", workspace["state"], "--local", workspace[local]] + options, in: workspace)
        #expect(ending.status == 1, "\(ending)")
        #expect(ending.errors.contains(message), "\(ending)")
    }

    @Test func `CTL-65: a daemon tells its supervisor that it serves, lives and ends`() async throws {
        let supervisor = SupervisorSocket(at: workspace["notify"])
        let daemon = try start(environment: ["NOTIFY_SOCKET": workspace["notify"], "WATCHDOG_USEC": "20000"])
        var heard: [String] = []
        let lives = try await holds(within: .seconds(20)) {
            heard += supervisor.all()
            return heard.contains("WATCHDOG=1")
        }
        #expect(lives, "\(heard) \(daemon.errors)")
        #expect(heard.first == "READY=1\nSTATUS=ready: host apps at \(workspace["local.sock"])")
        #expect(try await daemon.end(by: SIGTERM).status == 0)
        #expect(supervisor.all().contains { $0.hasPrefix("STOPPING=1") })
    }

    @Test func `CTL-65: an address that no supervisor can have ends the start`() async throws {
        let ending = try await start(environment: ["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 200)]).ending()
        #expect(ending.status == 2 && ending.errors.contains("NOTIFY_SOCKET '/xxx"), "\(ending)")
    }

    @Test(arguments: ["--config nowhere.plist", "--listen 192.0.2.1:4747", "--colour"])
    func `CTL-65: the journal finds each line that says why a daemon does not start as an error`(
        options: String
    ) async throws {
        let tandem = Program.directory.appendingPathComponent("tandem").path
        let script = "export JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2); exec \(tandem) secondary \(options)"
        let places = " --state \(workspace["state"]) --local \(workspace["local.sock"])"
        let ending = try await Program("/bin/sh", ["-c", script + places], named: "journal", in: workspace).ending()
        let lines = ending.errors.split(separator: "\n")
        #expect(ending.status != 0 && !lines.isEmpty, "\(ending)")
        #expect(lines.allSatisfy { $0.hasPrefix("<") }, "\(ending)")
        #expect(lines.contains { $0.hasPrefix("<3>") }, "\(ending)")
    }

    @Test func aPortInUseIsNamed() async throws {
        let port = try FreePort.find()
        let first = try Program(
            "tandem",
            [
                "primary", "--state", workspace["other"], "--local", workspace["other.sock"], "--listen",
                "127.0.0.1:\(port)",
            ], named: "first", in: workspace)
        try #require(try await holds(within: .seconds(20)) { first.output.contains("ready") }, "\(first.errors)")
        try await expectRefusal("\(port)", "--listen", "127.0.0.1:\(port)", role: "primary")
        #expect(try await first.end(by: SIGTERM).status == 0)
    }

    @Test func aStateDirectoryInUseIsRefusedAndItsDaemonGoesOn() async throws {
        let daemon = try start()
        try #require(try await holds(within: .seconds(20)) { daemon.output.contains("ready") }, "\(daemon.errors)")
        try await expectRefusal("in use by process \(daemon.pid)", local: "second.sock")
        #expect(try await tandem("status", "--device", workspace["local.sock"], in: workspace).status == 0)
    }

    @Test func aLocalSocketInUseIsRefused() async throws {
        let daemon = try start()
        try #require(try await holds(within: .seconds(20)) { daemon.output.contains("ready") }, "\(daemon.errors)")
        let ending = try await tandem(
            "secondary", "--state", workspace["second"], "--local", workspace["local.sock"], in: workspace)
        #expect(ending.status == 1)
        #expect(ending.errors.contains(workspace["local.sock"]), "\(ending)")
        #expect(try await tandem("status", "--device", workspace["local.sock"], in: workspace).status == 0)
    }

    @Test(.enabled(if: geteuid() == 0)) func aStateDirectoryOfAnotherUserIsRefused() async throws {
        try FileManager.default.createDirectory(atPath: workspace["state"], withIntermediateDirectories: false)
        #expect(chown(workspace["state"], 65_534, 65_534) == 0)
        try await expectRefusal("belongs to user 65534")
    }

    @Test func aStateDirectoryThatOthersMayWriteIsRefused() async throws {
        try FileManager.default.createDirectory(
            atPath: workspace["state"], withIntermediateDirectories: false, attributes: [.posixPermissions: 0o777])
        try await expectRefusal("chmod go-w")
    }

    @Test func aDeviceKeyThatOthersCanReadIsRefused() async throws {
        try await makeState()
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: workspace["state/device.pem"])
        try await expectRefusal("chmod 600")
    }

    @Test(
        "A store that the daemon's user may not use is refused by its mode and the command to run, not as a disk error",
        .enabled("root's rights can be given up here", Program.canLackRights),
        arguments: [("/tandem.sqlite", 0o400, "chmod u+rw "), ("", 0o500, "chmod u+rwx ")] as [(String, mode_t, String)]
    )
    func closedStore(file: String, mode: mode_t, remedy: String) async throws {
        try await makeState()
        let place = workspace["state"] + file
        #expect(chmod(place, mode) == 0)
        let arguments = ["secondary", "--state", workspace["state"], "--local", workspace["local.sock"]]
        let daemon = try Program.withoutRights("tandem", arguments, named: "closed", in: workspace)
        let ending = try await daemon.ending()
        #expect(chmod(place, 0o700) == 0)
        #expect(ending.status == 1 && !ending.errors.contains("SQLite"), "\(ending)")
        for part in [remedy + place, "mode 0\(String(mode, radix: 8))", "user \(geteuid())"] {
            #expect(ending.errors.contains(part), "\(ending)")
        }
    }

    @Test func aCorruptStoreIsRefusedAndLeftAsItIs() async throws {
        try await makeState()
        let rubbish = String(repeating: "rubbish!", count: 1024)
        try workspace.write("state/tandem.sqlite", rubbish)
        try await expectRefusal("it was left as it is")
        #expect(try workspace.text("state/tandem.sqlite") == rubbish)
    }

    @Test func aTruncatedStoreIsRefused() async throws {
        try await makeState()
        try workspace.write("state/tandem.sqlite", "")
        try await expectRefusal("tandem.sqlite")
    }

    @Test func aMissingStoreIsNotReplacedByAnEmptyOne() async throws {
        try await makeState()
        try FileManager.default.removeItem(atPath: workspace["state/tandem.sqlite"])
        try await expectRefusal("is missing")
        #expect(!FileManager.default.fileExists(atPath: workspace["state/tandem.sqlite"]))
    }

    @Test func aStoreOfANewerVersionIsRefused() async throws {
        try await makeState()
        let edit =
            "import sqlite3;c=sqlite3.connect('state/tandem.sqlite');c.execute('PRAGMA user_version=99');c.close()"
        let python = Process()
        python.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        python.currentDirectoryURL = URL(fileURLWithPath: workspace.path)
        python.arguments = ["-c", edit]
        try python.run()
        python.waitUntilExit()
        try await expectRefusal("version 99")
    }

    @Test func aSocketThatACrashLeftBehindIsReplaced() async throws {
        let daemon = try start()
        try #require(try await holds(within: .seconds(20)) { daemon.output.contains("ready") }, "\(daemon.errors)")
        try await daemon.end(by: SIGKILL)
        #expect(FileManager.default.fileExists(atPath: workspace["local.sock"]))
        let next = try start()
        #expect(try await holds(within: .seconds(20)) { next.output.contains("ready") }, "\(next.errors)")
    }

    @Test func aGroupAndAnAddressThatTheMachineLacksAreRefusedWithTheNextStep() async throws {
        try await expectRefusal("addgroup --system no-such-group", "--local-group", "no-such-group")
        // An address for documents, which no interface has.
        try await expectRefusal("'ip address' lists them", "--listen", "192.0.2.1:4747", role: "primary")
    }

    @Test func listeningOnEveryAddressNeedsAnAdvertisedOne() async throws {
        try await expectRefusal("--advertise", "--listen", "0.0.0.0:\(FreePort.find())", role: "primary")
    }
}
