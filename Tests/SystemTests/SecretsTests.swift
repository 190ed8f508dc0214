// Nothing secret is ever in what an operator sees: canaries travel through everything that carries secrets, and then
// all logs, traces, dumps and status are searched for them. Text of others is escaped there and truncated (LIM-13).

import Foundation
import PairedSession
import TandemBase
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct SecretsTests {
    private static let payload = "CANARY-PAYLOAD-5f3759df"
    private static let identifier = "CANARY-IDENTIFIER-2b992ddf"

    @Test func `no payload, link, key or custom identifier is in a log, a trace, a dump or the metrics`() async throws {
        let devices = try await TwoDevices(hubOptions: ["--log", "debug"], kioskOptions: ["--log", "debug"])
        let sockets = ["--device", devices.workspace["hub.sock"], "--device", devices.workspace["kiosk.sock"]]
        let link = try await tandem(
            "pair", "--device", devices.workspace["hub.sock"], "--link-only", in: devices.workspace)
        let joined = try await tandem(
            "join", "--device", devices.workspace["kiosk.sock"], in: devices.workspace, input: link.output)
        #expect(joined.status == 0)
        try #require(await devices.isLinked())
        let follower = try Program("tandem", ["trace", "--follow"] + sockets, named: "follow", in: devices.workspace)
        let apps = try DeviceApps(devices.workspace, identifier: Self.identifier)
        try await apps.activate()
        try await apps.sender.sendMessageDataWithoutReply(Array(Self.payload.utf8))
        try await apps.sender.updateApplicationContext(["secret": .string(Self.payload)])
        // Again and again: the follower may begin late.
        let isFollowed = try await eventually {
            _ = try await apps.sender.sendMessage(["secret": .string(Self.payload)])
            try await apps.sender.transferUserInfo(["n": 1, "secret": .string(Self.payload)], until: .handled)
            return follower.output.contains("answered") && follower.output.contains("userInfo")
        }
        #expect(isFollowed, "\(follower.output)")
        await apps.end()
        var seen = [follower.output, follower.errors, try await dump(in: devices.workspace)]
        for name in ["hub", "kiosk"] {
            seen.append(try await devices.run(name, "status", "--prometheus").output)
            seen.append(try await devices.run(name, "health", "--json").output)
        }
        devices.hub.signal(SIGTERM)
        devices.kiosk.signal(SIGTERM)
        for program in [devices.hub, devices.kiosk] {
            let ending = try await program.ending()
            seen += [ending.output, ending.errors]
        }
        #expect(seen.joined().contains("link ready"), "the logs are there")
        for (name, secret) in try secrets(of: devices, link: link.output) {
            for text in seen { #expect(!text.contains(secret), "\(name) is shown in: \(text.prefix(2000))") }
        }
    }

    @Test func `what a peer chose is escaped and cut, and cannot forge a line`() async throws {
        let evil = "\u{1B}[31mevil\u{202E}\nerror forged"
        let devices = try await TwoDevices(
            hubOptions: ["--log", "debug"], kioskOptions: ["--name", evil], paired: true)
        let status = try await devices.run("hub", "status").output
        let raw = try RawSocket("unix:\(devices.workspace["hub.sock"])")
        let long = String(repeating: "x", count: 10_000)
        raw.write(
            try Envelope(.hello).with(body: ["minimum": .string(long + evil), "software": .string(evil)]).frame().bytes
                .copied())
        #expect(try await holds(within: .seconds(5)) { raw.isClosed })
        try await devices.kiosk.end(by: SIGTERM)
        try await Task.sleep(for: .milliseconds(200))
        for text in [status, devices.hub.errors] {
            #expect(!text.contains("\u{1B}") && !text.contains("\u{202E}"))
            #expect(!text.split(separator: "\n").contains { $0.hasPrefix("error forged") })
            #expect(!text.contains(String(repeating: "x", count: 400)))
        }
        #expect(devices.hub.errors.contains("evil"))
    }

    @Test func `dates and reals at the ends of their range, and what lies beyond, crash nobody`() async throws {
        let devices = try await TwoDevices(
            hubOptions: ["--log", "debug"], kioskOptions: ["--log", "debug"], paired: true)
        let apps = try DeviceApps(devices.workspace)
        try await apps.activate()
        for milliseconds in [Int64.min, -62_135_596_800_000, 0, 253_402_300_799_999, .max] {
            let message = "{\"when\":{\"$date\":\(milliseconds)},\"real\":1.7976931348623157e308}"
            _ = try await devices.run("hub", "send", "--app", TwoDevices.app, message)
        }
        // A NaN and an infinity where a hello has a real that nobody asked for: refused by name (FRM-6).
        for bits in [Double.nan.bitPattern, Double.infinity.bitPattern] {
            let socket = try RawSocket("unix:\(devices.workspace["hub.sock"])")
            socket.write(try frame(replacing: 1.5, with: bits))
            #expect(try await holds(within: .seconds(5)) { socket.isClosed })
        }
        #expect(devices.hub.isRunning && devices.kiosk.isRunning)
        _ = try await apps.sender.sendMessage(["still": "there"])
        await apps.end()
    }

    @Test func `a daemon's memory is closed to the other processes of its user, and in no core file`() async throws {
        let workspace = Workspace()
        // Root reads everything, so that as root the daemon is another user's.
        let user: uid_t = getuid() == 0 ? 65_534 : getuid()
        let place = workspace["of-the-user"]
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        try #require(chmod(workspace.path, 0o711) == 0 && chown(place, user, gid_t.max) == 0)
        let asUser = getuid() == 0 ? ["setpriv", "--reuid=\(user)", "--clear-groups"] : []
        let tandem = URL(fileURLWithPath: "tandem", relativeTo: Program.directory).path
        let other = try Program("/usr/bin/env", asUser + ["sleep", "60"], named: "other", in: workspace)
        let daemon = try Program(
            "/usr/bin/env",
            asUser + [tandem, "secondary", "--state", "\(place)/state", "--local", "\(place)/daemon.sock"],
            named: "daemon", in: workspace)
        #expect(try await holds(within: .seconds(20)) { daemon.output.contains("ready") }, "\(daemon.errors)")
        #expect(try await holds(within: .seconds(5)) { owner(ofMemoryOf: other) == user }, "as the system has it")
        #expect(owner(ofMemoryOf: daemon) == 0)
        for program in [other, daemon] { try await program.end(by: SIGTERM) }
    }

    /// The user who may read it.
    private func owner(ofMemoryOf program: Program) -> uid_t? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: "/proc/\(program.pid)/mem")
        return (attributes?[.ownerAccountID] as? NSNumber)?.uint32Value
    }

    @Test(.enabled(if: getuid() == 0, "only root reads the memory of a daemon"))
    func `PAR-5, PAR-13: a link's secret is once in its maker until unpair, and never in the device that has joined`()
        async throws
    {
        let devices = try await TwoDevices()
        let link = try await devices.run("hub", "pair", "--link-only").output
        let text = try #require(link.firstMatch(of: /secret=([\w-]{22})/)).1
        let base64 = String(text).replacing("-", with: "+").replacing("_", with: "/") + "=="
        let secret = try #require(Data(base64Encoded: base64))
        #expect(memory(of: devices.hub).contains { $0.range(of: secret) != nil }, "the search finds it")
        let joined = try await tandem(
            "join", "--device", devices.workspace["kiosk.sock"], in: devices.workspace, input: link)
        #expect(joined.status == 0, "\(joined)")
        try #require(await devices.isLinked())
        for canary in [secret, Data(text.utf8)] {
            #expect(!memory(of: devices.kiosk).contains { $0.range(of: canary) != nil })
        }
        // The hub keeps it until it expires or the pairing ends, because the same device may repeat its join: in one
        // place, and sealed in its store.
        #expect(memory(of: devices.hub).map { occurrences(of: secret, in: $0) }.reduce(0, +) == 1)
        try expectNone(of: secret, in: devices.workspace["hub"])
        #expect(try await devices.run("hub", "unpair", "kiosk", "--yes").status == 0)
        let isGone = try await holds(within: .seconds(5)) {
            !memory(of: devices.hub).contains { $0.range(of: secret) != nil }
        }
        #expect(isGone, "after unpair")
        try expectNone(of: secret, in: devices.workspace["hub"])
    }

    private func expectNone(of secret: Data, in state: String) throws {
        let files = try #require(FileManager.default.enumerator(atPath: state)?.allObjects as? [String])
        #expect(files.contains { $0.hasPrefix("tandem.sqlite") })
        for file in files {
            let content = FileManager.default.contents(atPath: "\(state)/\(file)") ?? Data()
            #expect(content.range(of: secret) == nil, "\(file)")
        }
    }

    private func occurrences(of secret: Data, in memory: Data) -> Int {
        var (count, rest) = (0, memory.startIndex..<memory.endIndex)
        while let found = memory.range(of: secret, in: rest) {
            count += 1
            rest = found.upperBound..<memory.endIndex
        }
        return count
    }

    /// The memory of a program that it can write to. The program runs, and what it gives back meanwhile cannot be read:
    /// the rest of that mapping still counts.
    private func memory(of program: Program) -> [Data] {
        let maps = (try? String(contentsOfFile: "/proc/\(program.pid)/maps", encoding: .utf8)) ?? ""
        let file = open("/proc/\(program.pid)/mem", O_RDONLY)
        defer { close(file) }
        return maps.split(separator: "\n").compactMap { line in
            guard let range = line.firstMatch(of: /^([0-9a-f]+)-([0-9a-f]+) rw/),
                let start = Int(range.1, radix: 16), let end = Int(range.2, radix: 16)
            else { return nil }
            return memory(at: start..<end, in: file)
        }
    }

    /// The readable bytes of a mapping, with zeros in place of pages that are gone.
    private func memory(at range: Range<Int>, in file: Int32) -> Data {
        var (bytes, done) = ([UInt8](repeating: 0, count: range.count), 0)
        while done < range.count {
            let count = bytes[done...].withUnsafeMutableBytes { buffer in
                pread(file, buffer.baseAddress, buffer.count, range.lowerBound + done)
            }
            done += count > 0 ? count : 4096
        }
        return Data(bytes)
    }

    private func secrets(of devices: TwoDevices, link: String) throws -> [(String, String)] {
        let token = link.trimmingCharacters(in: .whitespacesAndNewlines)
        var secrets = [("payload", Self.payload), ("identifier", Self.identifier), ("link", String(token.suffix(24)))]
        let base64 = Data(Self.payload.utf8).base64EncodedString()
        secrets.append(("payload in base64", String(base64.prefix(24))))
        for device in ["hub", "kiosk"] {
            for file in ["device.pem", "report.pem"] {
                let lines = try devices.workspace.text("\(device)/\(file)").split(separator: "\n")
                for line in lines where !line.hasPrefix("---") { secrets.append((file, String(line))) }
            }
        }
        return secrets
    }

    /// A dump of frames that carry the canaries.
    private func dump(in workspace: Workspace) async throws -> String {
        let frame = try Envelope(.control, id: .random(), command: "join").with(body: ["link": .string(Self.payload)])
            .frame()
        try Data(frame.bytes.copied()).write(to: URL(fileURLWithPath: workspace["capture"]))
        let dump = try await tandem("dump", workspace["capture"], in: workspace)
        #expect(dump.status == 0 && dump.output.contains("control"), "\(dump)")
        return dump.output
    }

    /// A hello with a real whose bytes are others.
    private func frame(replacing real: Double, with bits: UInt64) throws -> [UInt8] {
        let hello: PropertyListDictionary = ["minimum": 1, "maximum": 1, "software": "x", "x": .real(real)]
        let body = try PropertyListWriter.write(hello)
        let (old, new) = (bytes(of: real.bitPattern), bytes(of: bits))
        let place = try #require(body.indices.first { body[$0...].starts(with: old) })
        var changed = body
        changed.replaceSubrange(place..<place + 8, with: new)
        return try Envelope(.hello, body: changed).frame().bytes.copied()
    }

    private func bytes(of bits: UInt64) -> [UInt8] { withUnsafeBytes(of: bits.bigEndian) { Array($0) } }
}
