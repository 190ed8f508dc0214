// A peer that floods a receiver of files: while a large part is read again, beyond every window, and with gaps. The
// tests count memory and disk operations, and measure no time.

import Glibc
import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemFiles
import TandemTestSupport
import TandemWire
import Testing

@Suite struct FileFloodTests {
    private let devices: FileDevices
    private var receiver: FileDevice { devices.receiver }

    init() throws { devices = try FileDevices() }

    private func key(_ app: String, _ number: UInt64) throws -> FileKey {
        let app = try ApplicationIdentifier(app)
        return FileKey(QueueKey(pairing: devices.queue.pairing, app: app, channel: .file), devices.key(number).id)
    }

    private func item(_ key: FileKey, size: Int64) throws -> Envelope {
        let manifest = FileManifest(FileDescription(name: "x", size: size), digest: Array(repeating: 0, count: 32))
        return try Envelope(
            .item, app: key.queue.app, pairing: key.queue.pairing, id: key.id, channel: .file, sequence: 1
        ).with(body: manifest.dictionary)
    }

    private func chunk(_ key: FileKey, at offset: Int, _ byte: UInt8 = 0) -> Envelope {
        Envelope(
            .chunk, app: key.queue.app, pairing: key.queue.pairing, id: key.id, channel: .file,
            offset: UInt64(offset), body: [UInt8](repeating: byte, count: 65_536))
    }

    private func path(_ key: FileKey) -> String {
        "\(receiver.path)/partial/\(key.queue.pairing)/\(key.queue.app)/\(key.id)"
    }

    private func written(_ key: FileKey) -> Int {
        var status = stat()
        return stat(path(key), &status) == 0 ? Int(status.st_size) : 0
    }

    /// A partial file that an earlier life of the receiver left: zeros, which take no space.
    private func leave(_ size: Int, of key: FileKey) throws {
        let spool = FileSpool(hashed: "partial", in: try OwnedDirectory(path: receiver.path))
        _ = try spool.open(SpoolKey(pairing: key.queue.pairing, app: key.queue.app, item: key.id))
        #expect(truncate(path(key), size) == 0)
    }

    /// Each job of the disk that is under way ends, and what it leads to begins.
    private func step() {
        devices.scheduler.run()
        receiver.files.waitForDisk()
        devices.scheduler.run()
    }

    private func fetches(of key: FileKey) -> [Envelope] {
        receiver.sent.filter { $0.kind == .fetch && $0.id == key.id && $0.app == key.queue.app }
    }

    @Test("LIM-31: 256 files of one device are open at once, and a further one comes again")
    func manyApps() throws {
        let keys = try (0...256).map { try key("app\($0)", UInt64($0 + 1)) }
        for key in keys { #expect(try receiver.files.receive(item(key, size: 65_536))) }
        for _ in 0..<4 { step() }
        #expect(keys.map { fetches(of: $0).count } == Array(repeating: 1, count: 256) + [0])
        #expect(receiver.files.receive(chunk(keys[0], at: 0)))
        for _ in 0..<4 { step() }
        #expect(try receiver.files.receive(item(keys[256], size: 65_536)))
        for _ in 0..<4 { step() }
        #expect(fetches(of: keys[256]).count == 1)
    }

    @Test("FIL-8, LIM-29: what comes while a part is read again is not kept, and another app's file passes meanwhile")
    func whileReadingAgain() throws {
        let (large, small) = (try key("org.example.large", 1), try key("org.example.small", 2))
        let found = 128 << 20
        try leave(found, of: large)
        let announced = try item(large, size: Int64(found) + 1 << 20)
        #expect(receiver.files.receive(announced))
        step()
        #expect(try receiver.files.receive(item(small, size: 65_536)))
        var steps = 0
        while fetches(of: large).isEmpty, steps < 100 {
            steps += 1
            for place in 0..<100 { #expect(receiver.files.receive(chunk(large, at: found + place * 65_536))) }
            #expect(receiver.files.receive(announced))
            if fetches(of: small).count == 1 { #expect(receiver.files.receive(chunk(small, at: 0))) }
            step()
            guard steps == 8 else { continue }
            // It was written and compared: its digest is made up.
            let compared = receiver.sent.filter { $0.kind == .failure && $0.id == small.id }
            #expect(compared.map(\.name) == ["digest-mismatch"] && fetches(of: large).isEmpty, "others have their turn")
        }
        #expect((9...20).contains(steps), "eight MiB at a time")
        #expect(fetches(of: large).map(\.offset) == [UInt64(found)] && fetches(of: large)[0].name == "restart")
        #expect(written(large) == found, "nothing of it was kept")
        for place in 0..<4 { #expect(receiver.files.receive(chunk(large, at: found + place * 65_536))) }
        step()
        #expect(written(large) == found + 4 * 65_536, "what it asked for is taken")
    }

    @Test("FIL-7, LIM-29: of senders that keep to no window a link's receiver holds two windows, and asks for the rest")
    func beyondTheWindow() throws {
        let keys = try (UInt64(1)...20).map { try key("org.example.app\($0)", $0) }
        for key in keys { #expect(try receiver.files.receive(item(key, size: 10 * 65_536))) }
        for _ in 0..<8 { step() }
        #expect(keys.allSatisfy { fetches(of: $0).count == 1 })
        receiver.sent = []
        for key in keys {
            for place in 0..<10 { #expect(receiver.files.receive(chunk(key, at: place * 65_536))) }
        }
        for _ in 0..<8 { step() }
        let held = keys.reduce(0) { $0 + written($1) }
        #expect(held == 16 * 65_536)
        receiver.sent = []
        devices.scheduler.advance(by: .seconds(31))
        for key in keys {
            let again = fetches(of: key)
            #expect(again.map(\.offset) == [UInt64(written(key))] && again.first?.name == "restart")
        }
    }

    @Test("FIL-14: however many gaps come while files are swept, the disk is asked once more")
    func gaps() throws {
        let orphan = devices.key(9)
        try leave(1, of: orphan)
        receiver.items.isCommitting = true
        for sequence in UInt64(1)...1000 {
            let gap = Envelope(
                .gap, app: devices.queue.app, pairing: devices.queue.pairing, channel: .file, sequence: sequence,
                name: "cancelled")
            #expect(receiver.files.receive(gap))
        }
        #expect(receiver.items.gaps.count == 1000 && receiver.items.askedForKept == 1)
        receiver.items.endCommit()
        for _ in 0..<8 { step() }
        #expect(receiver.items.askedForKept == 2)
        #expect(try receiver.names(in: "partial").isEmpty)
    }
}
