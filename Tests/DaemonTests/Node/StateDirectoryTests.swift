// A daemon's state directory: other users who can list it, pass through it or own parts of it, and the state of a
// daemon of the other role.

import Glibc
import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemTestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct StateDirectoryTests {
    private let nodes: TwoNodes

    init() throws { nodes = try TwoNodes() }

    @Test(arguments: [TwoNodes.Place.primary, .secondary])
    func `a state directory that other users can list is one warning at each start`(place: TwoNodes.Place) throws {
        let message = "other users can list the state directory: 'chmod go-r' ends that"
        #expect(!nodes.hasNoted(message))
        nodes.stop(place)
        let path = nodes.directory.path("\(place)-state")
        #expect(chmod(path, 0o711) == 0)
        try nodes.restart(place)
        #expect(!nodes.hasNoted(message))
        #expect(chmod(path, 0o750) == 0)
        try nodes.restart(place)
        #expect(nodes.hasNoted(message))
        nodes.stop()
    }

    @Test(
        arguments: [
            ("tandem.sqlite", 0o640), ("tandem.sqlite-reserve", 0o666), ("tandem.sqlite-wal", 0o604), ("spool", 0o755),
            ("partial", 0o710),
        ] as [(String, mode_t)])
    func `THR-6: a part of the state that is open to others stops the start, with the command to run`(
        name: String, mode: mode_t
    ) throws {
        nodes.stop(.primary)
        let path = nodes.directory.path("primary-state/\(name)")
        let isDirectory = !name.hasPrefix("tandem")
        if isDirectory {
            mkdir(path, 0o700)
        } else if access(path, F_OK) != 0 {
            nodes.directory.write([], to: "primary-state/\(name)")
        }
        #expect(chmod(path, mode) == 0)
        let error = #expect(throws: NodeError.self) { try nodes.make(nodes.options(.primary)) }
        #expect(error?.description.contains("chmod \(isDirectory ? 700 : 600) \(path)") == true, "\(error as Any)")
        #expect(chmod(path, isDirectory ? 0o700 : 0o600) == 0)
        try nodes.start(.primary)
        nodes.stop()
    }

    @Test func `THR-6: a copy whose parts are all open to others is refused once, with a command for each`() throws {
        nodes.stop(.primary)
        mkdir(nodes.directory.path("primary-state/spool"), 0o700)
        let modes: [(name: String, mode: mode_t)] = [
            ("device.pem", 0o600), ("report.pem", 0o600), ("tandem.sqlite", 0o600), ("spool", 0o700),
        ]
        func path(_ name: String) -> String { nodes.directory.path("primary-state/\(name)") }
        for (name, mode) in modes { #expect(chmod(path(name), mode | 0o044) == 0) }
        let error = #expect(throws: NodeError.self) { try nodes.make(nodes.options(.primary)) }
        let lines = error?.description.split(separator: "\n") ?? []
        #expect(lines.count >= modes.count, "\(lines)")
        for (name, mode) in modes {
            let command = "chmod \(String(mode, radix: 8)) \(path(name))"
            #expect(lines.contains { $0.hasSuffix(command) }, "\(lines)")
        }
        for (name, mode) in modes { #expect(chmod(path(name), mode) == 0) }
        try nodes.start(.primary)
        nodes.stop()
    }

    @Test(.enabled(if: geteuid() == 0, "only root gives files away"))
    func `THR-6: a store of another user stops the start, with the command to run`() throws {
        nodes.stop(.primary)
        let path = nodes.directory.path("primary-state/tandem.sqlite")
        #expect(chown(path, 12_345, gid_t.max) == 0)
        let error = #expect(throws: NodeError.self) { try nodes.make(nodes.options(.primary)) }
        #expect(error?.description.contains("chown 0 \(path)") == true, "\(error as Any)")
        #expect(chown(path, 0, gid_t.max) == 0)
        nodes.stop()
    }

    @Test func `PAR-25: another device's key file beside a store is a warning at each start, until its own is back`()
        throws
    {
        let message = "the key file is not the one that paired devices know: they refuse this device"
        func exchange(_ key: [UInt8]?) throws {
            nodes.stop(.primary)
            nodes.directory.write(try #require(key), to: "primary-state/device.pem")
            try nodes.start(.primary)
        }
        let path = nodes.directory.path("primary-state/device.pem")
        let own = TemporaryDirectory.read(path)
        let other = TemporaryDirectory.read(nodes.directory.path("secondary-state/device.pem"))
        let before = try nodes.status(of: nodes.primary)["fingerprint"]?.stringValue ?? "-"
        try exchange(other)
        try exchange(own)
        #expect(!nodes.hasNoted(message), "nobody knows the device yet")
        try nodes.pair()
        try nodes.restart(.primary)
        #expect(!nodes.hasNoted(message))
        try exchange(other)
        try nodes.restart(.primary)
        let lines = nodes.lines(message)
        #expect(lines.count == 2 && lines.allSatisfy { $0.contains(path) && $0.contains(before) }, "\(lines)")
        try exchange(own)
        nodes.waitForLink()
        try nodes.restart(.primary)
        #expect(nodes.lines(message).count == 2)
        nodes.stop()
    }

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    @Test func `CTL-70: a start with a group lets other users' apps through what an earlier start has closed`() throws {
        let message = "other users can now pass through this directory, because localGroup is set"
        let paths = ["secondary-state", "secondary-state/apps"].map { nodes.directory.path($0) }
        #expect(paths.map(mode) == [0o700, 0o700])
        nodes.localGroup = "root"
        try nodes.restart(.secondary)
        #expect(paths.map(mode) == [0o711, 0o711])
        #expect(nodes.lines(message) == paths.map { "info \(message) path=\($0)" })
        try nodes.restart(.secondary)
        #expect(nodes.lines(message).count == 2, "nothing is left to open")
        nodes.stop()
    }

    @Test(.enabled(if: geteuid() == 0, "only root gives directories away"))
    func `CTL-70: an app's directory that a copy of the state gave to another user is one line with the remedy`() throws
    {
        let message = "an app's directory belongs to another user, and is not used"
        try nodes.startApp().disconnect()
        try nodes.restart(.secondary)
        #expect(!nodes.hasNoted(message))
        nodes.stop(.secondary)
        let path = nodes.directory.path("secondary-state/apps/\(nodes.app)")
        #expect(chown(path, 12_345, gid_t.max) == 0)
        try nodes.start(.secondary)
        let lines = nodes.lines(message)
        #expect(lines.count == 1 && lines[0].contains("owner=12345"), "\(lines)")
        #expect(lines.first?.contains("chown -R 0 \(path)") == true, "\(lines)")
        #expect(!nodes.hasNoted("edits of a pairing that has ended stay until the next start"))
        // No line names a way that is none, such as another user for the app.
        let others = nodes.notes.map { "\($0)" }.filter { $0.contains("belongs to user 12345") }
        #expect(others.allSatisfy { $0.contains("chown -R 0 \(path)") && !$0.contains("run as") }, "\(others)")
        nodes.stop()
    }

    @Test func `CTL-70: a primary's state that is started as a secondary's is one warning`() throws {
        let message =
            "paired secondaries cannot reach this device, which listens nowhere: start a primary, or name --listen"
        try nodes.pair()
        try nodes.restart(.primary)
        try nodes.restart(.secondary)
        #expect(!nodes.hasNoted(message), "a secondary listens nowhere, and its primary is dialled")
        nodes.stop()
        let role = NodeOptions(
            role: .secondary, name: "the hub", state: nodes.directory.path("primary-state"),
            local: nodes.directory.path("another.sock"))
        let node = try nodes.make(role)
        try node.start()
        #expect(nodes.lines(message) == ["warning \(message) secondaries=1"])
        node.abandon()
    }
}
