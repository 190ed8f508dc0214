// Files and a machine at its limits: a disk that fills while they come, directories that cannot be opened, commits that
// take their time, and an app that begins more than it goes on with.

import Glibc
import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemFiles
import TandemPropertyList
import TandemReactor
import TandemTestSupport
import TandemWire
import Testing

@Suite struct FileFaultTests {
    private let bytes = [UInt8](repeating: 7, count: 10 * 65_536)

    @Test("FIL-13: space that is gone when the bytes come is not taken from the reserve, on either side")
    func spaceRunsOut() throws {
        let devices = try FileDevices()
        devices.tell(try #require(devices.handOver(bytes)).get())
        devices.run(chunks: 2)
        devices.receiver.files.limits.reserve = 1 << 60
        devices.run()
        devices.sender.sent.append(devices.chunk(Array(bytes[..<65_536]), at: 2 * 65_536, of: devices.key(1)))
        devices.run()
        #expect(devices.failures.map(\.name) == ["insufficient-space"])
        #expect(devices.receiver.items.stored.isEmpty)

        var result: Result<[UInt8], FileRefusal>?
        let key = devices.key(2)
        devices.announce(key) { result = $0 }
        devices.settle()
        devices.sender.files.limits.reserve = 1 << 60
        #expect(devices.sender.take(devices.chunk([1], at: 0, of: key)))
        devices.settle()
        guard case .failure(.noSpace)? = result else { throw Unexpected("a part was written without room") }
    }

    @Test("FIL-13: a receiver tells whether there may be room later, or the file is larger than its whole file system")
    func roomLater() throws {
        let devices = try FileDevices()
        let manifest = try #require(devices.handOver(bytes)).get()
        let spool = FileSpool(hashed: "any", in: try OwnedDirectory(path: devices.receiver.path))
        let whole = try spool.wholeSpace()
        // The first needs all there is: never more than that, and more than is free, as the sender's copy is there,
        // too.
        for (reserve, mayRetry) in [(whole - Int64(bytes.count), true), (whole, false)] {
            devices.receiver.files.limits.reserve = reserve
            devices.tell(manifest)
            devices.run()
            let failure = try #require(devices.failures.last)
            let body = try failure.dictionaryBody()
            #expect(failure.code == 7015 && failure.name == "insufficient-space" && body["retry"] == .boolean(mayRetry))
            #expect(body["actual"] == .integer(reserve + Int64(bytes.count)))
            if !mayRetry { #expect(body["limit"] == .integer(whole)) }
            let line = try #require(devices.receiver.log.all.last)
            #expect(line.fields.first == .text("what", "a file is not taken: insufficient-space"))
            #expect(line.fields.suffix(2).map(\.name) == ["actual", "limit"], "the operator sees what is missing")
            #expect(line.fields.suffix(2).first?.value == .integer(reserve + Int64(bytes.count)))
        }
        #expect(devices.failures.count == 2 && devices.receiver.items.stored.isEmpty)
    }

    /// Runs the body while this process has no free descriptor.
    private static func withoutDescriptors(_ body: () -> Void) throws {
        try Linux.setDescriptorLimit(200)
        var held: [CInt] = []
        while case let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC), descriptor >= 0 { held.append(descriptor) }
        body()
        for descriptor in held { close(descriptor) }
    }

    @Test("DEL-12: a device without a free descriptor costs a file no attempt, on either side")
    func exhaustion() async {
        await #expect(processExitsWith: .exitCode(42)) {
            let devices = try FileDevices()
            let manifest = try #require(devices.handOver([UInt8](repeating: 7, count: 65_536))).get()
            try Self.withoutDescriptors {
                devices.tell(manifest)
                devices.run()
            }
            let failure = try #require(devices.failures.last)
            #expect(failure.name == "queue-full")
            #expect(try failure.dictionaryBody()["retry"] == .boolean(true))

            // The receiver asks for the file, and now the sender has no descriptor to read it.
            devices.tell(manifest)
            for frame in devices.sender.sent { #expect(devices.receiver.files.receive(frame)) }
            devices.sender.sent = []
            devices.settle()
            try Self.withoutDescriptors { devices.run() }
            #expect(devices.sender.items.unreadable.isEmpty && devices.receiver.items.stored.isEmpty)
            devices.scheduler.advance(by: FileLimits().silence)
            devices.run()
            #expect(devices.receiver.items.stored.count == 1)
            exit(42)
        }
    }

    @Test("SES-73: a file under way to an app that is removed ends there, and is stored for nobody")
    func appIsRemoved() throws {
        let devices = try FileDevices()
        devices.tell(try #require(devices.handOver(bytes)).get())
        devices.run(chunks: 2)
        #expect(try devices.receiver.names(in: "partial").count == 1)
        devices.receiver.files.clear(devices.queue.app)
        devices.run()
        #expect(devices.receiver.items.stored.isEmpty && devices.failures.isEmpty)
        #expect(try devices.receiver.names(in: "partial").isEmpty)
    }

    @Test("FIL-6: a fetch of what is not under way moves no disk and no log, and is counted")
    func strayFetches() throws {
        let devices = try FileDevices()
        devices.sender.items.isUnderWay = false
        for number in UInt64(1)...20 {
            let fetch = Envelope(
                .fetch, app: devices.queue.app, pairing: devices.queue.pairing, id: devices.key(number).id,
                channel: .file, name: "restart", offset: 0)
            #expect(devices.sender.files.receive(fetch))
        }
        devices.settle()
        #expect(devices.sender.items.unreadable.isEmpty)
        #expect(devices.sender.counters.counter("files.stray").value == 20)
    }

    @Test(
        "FIL-5: a peer that changes its mind with each frame gives the disk one file at a time, and the last one wins")
    func changesItsMind() throws {
        let devices = try FileDevices()
        let manifest = try #require(devices.handOver([1, 2, 3])).get()
        for number in UInt64(2)...500 { devices.tell(manifest, number: number) }
        devices.tell(manifest)
        devices.run()
        #expect(devices.receiver.items.stored.map(\.id) == [devices.key(1).id])
        #expect(try devices.receiver.names(in: "partial") == ["\(devices.key(1).id)"])
    }

    @Test("FIL-9: another file under an identifier that waits for its handler is refused, and changes nothing of it")
    func duplicate() throws {
        let devices = try FileDevices()
        for (sequence, size) in [(UInt64(1), 100), (2, 50)] {
            let bytes = [UInt8](repeating: UInt8(sequence), count: size)
            devices.tell(try #require(devices.handOver(bytes)).get(), sequence: sequence)
            devices.run()
        }
        #expect(devices.failures.map(\.name) == ["duplicate-id"])
        let delivery = try #require(devices.hand()).get()
        let path = try #require(delivery["path"]?.stringValue)
        #expect(try FileReading.read(path: path, limit: 200) == [UInt8](repeating: 1, count: 100))
    }

    @Test("LIM-31: a thousand files that wait for their turn go with their app, and others have their turn")
    func manyWait() throws {
        let devices = try FileDevices(senderLimits: FileLimits { $0.uploads = 1 })
        var ended = 0
        for number in UInt64(1)...1000 {
            devices.announce(devices.key(number)) { _ in ended += 1 }
        }
        devices.settle()
        let last = devices.chunk([1], at: 0, of: devices.key(1000))
        #expect(!devices.sender.take(last), "it has not begun")
        devices.sender.files.uploads.sourceLeft(devices.sender.source)
        devices.settle()
        #expect(ended == 0)
        #expect(try devices.sender.names(in: "spool").isEmpty)
        let manifest = try #require(devices.handOver([1], number: 2000)).get()
        #expect(!manifest.isEmpty)
    }

    /// The sender's next run, which still counts the files of the one before.
    private func restarted(_ devices: FileDevices, _ limits: FileLimits) throws -> FileDelivery {
        let again = FileDelivery(
            in: try OwnedDirectory(path: devices.sender.path), scheduler: devices.scheduler, limits: limits,
            inbox: { _ in nil })
        again.restore(
            sent: [devices.key(1)], received: [], pairings: [devices.queue.pairing], apps: [devices.queue.app])
        return again
    }

    @Test("LIM-43: what a user's apps hand over and nobody fetches has a limit in bytes, also after a restart")
    func spoolBudget() throws {
        let limits = FileLimits { $0.spooled = 150 }
        let devices = try FileDevices(senderLimits: limits)
        _ = try #require(devices.handOver([UInt8](repeating: 1, count: 200))).get()
        let refusal = FileRefusal.overBudget(actual: 200, limit: 150)
        #expect(devices.handOver([1], number: 2) == .failure(refusal))
        #expect(refusal.body["actual"] == 200 && refusal.name == "queue-full" && refusal.code == .genericError)
        let again = try restarted(devices, limits)
        defer { again.close() }
        for _ in 0..<4 {
            again.waitForDisk()
            devices.scheduler.run()
        }
        var answer: Result<[UInt8], FileRefusal>?
        again.uploads.take(devices.key(3), body: ["name": "x", "size": 1], from: devices.sender.source) {
            answer = $0
        }
        #expect(answer == .failure(refusal))
        devices.sender.files.released(devices.key(1).id, in: devices.queue, .outbound)
        let manifest = try #require(devices.handOver([1], number: 2)).get()
        #expect(!manifest.isEmpty)
    }

    @Test("LIM-43: a file that ends while those of an earlier run are counted is not charged")
    func endsWhileCounted() throws {
        let limits = FileLimits { $0.spooled = 150 }
        let endings: [(FileDelivery, FileKey) -> Void] = [
            { $0.released($1.id, in: $1.queue, .outbound) },
            { $0.removePairing($1.queue.pairing, apps: [$1.queue.app]) },
        ]
        for end in endings {
            let devices = try FileDevices(senderLimits: limits)
            _ = try #require(devices.handOver([UInt8](repeating: 1, count: 200))).get()
            let again = try restarted(devices, limits)
            defer { again.close() }
            end(again, devices.key(1))
            for _ in 0..<4 {
                again.waitForDisk()
                devices.scheduler.run()
            }
            var answer: Result<[UInt8], FileRefusal>?
            again.uploads.take(devices.key(3), body: ["name": "x", "size": 1], from: devices.sender.source) {
                answer = $0
            }
            #expect(answer == nil, "it waits for its bytes")
        }
    }

    @Test("LIM-43: a file that waits for its turn stays charged when an earlier item of its identifier ends")
    func waitsUnderTheSameIdentifier() throws {
        let devices = try FileDevices(
            senderLimits: FileLimits {
                $0.uploads = 1
                $0.spooled = 150
            })
        devices.announce(devices.key(1), size: 1)
        devices.announce(devices.key(2), size: 149)
        devices.sender.files.released(devices.key(2).id, in: devices.queue, .outbound)
        var answer: Result<[UInt8], FileRefusal>?
        devices.announce(devices.key(3), size: 1) { answer = $0 }
        devices.settle()
        #expect(answer == .failure(.overBudget(actual: 150, limit: 150)))
    }

    @Test("LIM-43: what came through a pairing and is not handled has a limit in bytes")
    func receivedBudget() throws {
        let devices = try FileDevices(receiverLimits: FileLimits { $0.received = 150 })
        let manifests = try (1...2).map { number in
            try #require(devices.handOver([UInt8](repeating: 1, count: 100), number: number)).get()
        }
        devices.tell(manifests[0])
        devices.run()
        devices.tell(manifests[1], number: 2, sequence: 2)
        devices.run()
        #expect(devices.failures.map(\.name) == ["queue-full"])
        #expect(try devices.failures.first?.dictionaryBody()["limit"] == 150)
        devices.receiver.items.kept = []
        devices.receiver.files.released(devices.key(1).id, in: devices.queue, .inbound)
        devices.tell(manifests[1], number: 2, sequence: 2)
        devices.run()
        #expect(devices.receiver.items.stored.count == 2)
    }

    @Test("FIL-11: an app's directory that cannot be opened now loses no file")
    func noInbox() throws {
        let devices = try FileDevices()
        devices.tell(try #require(devices.handOver(bytes)).get())
        devices.run()
        devices.receiver.hasInbox = false
        guard case .failure(.later)? = devices.hand() else { throw Unexpected("it is not missing") }
        devices.receiver.hasInbox = true
        let delivery = try #require(devices.hand()).get()
        #expect(delivery["name"] == "file.bin")
    }

    @Test("FIL-14: what is removed after a gap is not a file that became an item meanwhile")
    func completeWhileSweeping() throws {
        let devices = try FileDevices()
        let manifests = try [UInt64(1), 2].map { try #require(devices.handOver(bytes, number: $0)).get() }
        devices.tell(manifests[0])
        devices.run()
        devices.tell(manifests[1], number: 2, sequence: 2)
        devices.run(chunks: 1)
        devices.receiver.items.isCommitting = true
        devices.receiver.items.kept = []
        devices.receiver.files.offers.sweep(devices.queue)
        devices.cut()
        devices.tell(manifests[1], number: 2, sequence: 2)
        devices.run()
        #expect(devices.receiver.items.stored.count == 2)
        devices.receiver.items.endCommit()
        devices.settle()
        #expect(try devices.receiver.names(in: "partial") == ["\(devices.key(2).id)"])
    }

    @Test("LIM-51, SES-60: files that are announced and not handed over have a limit for each user")
    func announced() throws {
        let devices = try FileDevices(senderLimits: FileLimits { $0.described = 10_000 })
        var refused: [FileRefusal] = []
        func announce(_ number: UInt64, app: String? = nil) throws {
            let queue = try app.map {
                QueueKey(pairing: devices.queue.pairing, app: try ApplicationIdentifier($0), channel: .file)
            }
            devices.announce(FileKey(queue ?? devices.queue, devices.key(number).id)) {
                if case .failure(let refusal) = $0 { refused.append(refusal) }
            }
        }
        for number in UInt64(1)...6 { try announce(number) }
        #expect(refused.map(\.name) == ["queue-full", "queue-full"])
        try announce(7, app: "org.example.other")
        #expect(refused.count == 2)
        for number in UInt64(1)...4 { #expect(devices.sender.files.uploads.drop(devices.key(number))) }
        for number in UInt64(8)...9 { try announce(number) }
        #expect(refused.count == 2)
    }

    @Test("LIM-31: an app that begins many files and goes on with none holds up no other, and waits within bounds")
    func turns() throws {
        let devices = try FileDevices(senderLimits: FileLimits { ($0.uploads, $0.waiting) = (2, 3) })
        var refused: [FileRefusal] = []
        for number in UInt64(1)...6 {
            devices.announce(devices.key(number)) {
                if case .failure(let refusal) = $0 { refused.append(refusal) }
            }
        }
        devices.settle()
        #expect(devices.sender.told.map(\.id) == [devices.key(1).id, devices.key(2).id])
        #expect(refused == [.queueFull(actual: 3, limit: 3)])
        let other = FileKey(
            QueueKey(
                pairing: devices.queue.pairing, app: try ApplicationIdentifier("org.example.other"), channel: .file),
            devices.key(9).id)
        devices.announce(other)
        devices.settle()
        #expect(devices.sender.told.last?.id == other.id)
        devices.sender.files.uploads.drop(devices.key(1))
        devices.sender.files.uploads.drop(other)
        devices.settle()
        #expect(devices.sender.told.last?.id == devices.key(3).id)
    }
}
