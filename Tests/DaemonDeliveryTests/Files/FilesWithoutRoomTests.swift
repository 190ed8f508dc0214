// A file for which there is no room waits, perhaps for days (FIL-13): nothing that it was promised may be kept from
// other files meanwhile, neither by the receiver nor by the sender.

import TandemBase
import TandemDaemonTestSupport
import TandemDelivery
import TandemFiles
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite struct FilesWithoutRoomTests {
    private func key(_ app: String, _ devices: FileDevices) throws -> FileKey {
        FileKey(
            QueueKey(pairing: devices.queue.pairing, app: try ApplicationIdentifier(app), channel: .file),
            devices.key(1).id)
    }

    private func tell(_ key: FileKey, size: Int64, sequence: UInt64 = 1, _ devices: FileDevices) throws {
        let manifest = FileManifest(FileDescription(name: "x", size: size), digest: Array(repeating: 0, count: 32))
        let item = try Envelope(
            .item, app: key.queue.app, pairing: key.queue.pairing, id: key.id, channel: .file, sequence: sequence
        ).with(body: manifest.dictionary)
        #expect(devices.receiver.files.receive(item))
        devices.settle()
    }

    /// The receiver's answers about a file, newest last: `fetch`, or the name of a refusal.
    private func answers(of key: FileKey, _ devices: FileDevices) -> [String] {
        devices.receiver.sent.filter { $0.app == key.queue.app }.map { $0.name == "restart" ? "fetch" : $0.name ?? "" }
    }

    @Test("FIL-13, LIM-43: a file that is refused counts with what is there of it, not with what it was promised")
    func refusedIsNotCounted() throws {
        let devices = try FileDevices(receiverLimits: FileLimits { $0.received = 1_000_000 })
        let (large, small) = (try key("org.example.large", devices), try key("org.example.small", devices))
        let reserve = devices.receiver.files.limits.reserve
        devices.receiver.files.limits.reserve = 1 << 60
        try tell(large, size: 900_000, devices)
        devices.receiver.files.limits.reserve = reserve
        try tell(small, size: 200_000, devices)
        #expect(answers(of: large, devices) == ["insufficient-space"])
        #expect(answers(of: small, devices) == ["fetch"])
    }

    @Test("LIM-43: sparse files that add up to more than the largest number leave no room, until they are gone")
    func hugeSum() throws {
        let queue = QueueKey(pairing: .random(), app: try ApplicationIdentifier("org.example.sparse"), channel: .file)
        let files = (0..<3).map { _ in FileKey(queue, .random()) }
        var budget = FileBudget<UniqueIdentifier>()
        budget.restore([(files[0], queue.pairing, .max), (files[1], queue.pairing, .max)])
        #expect(budget.refusal(of: files[2], of: queue.pairing, size: 1, limit: .max) != nil)
        budget.remove(files[0])
        budget.remove(files[1])
        #expect(budget.refusal(of: files[2], of: queue.pairing, size: 1, limit: .max) == nil)
    }

    @Test(
        "FIL-13: of two files that fit alone, but not both, the second waits instead of filling the disk with the first"
    )
    func promisedOnce() throws {
        let devices = try FileDevices(receiverLimits: FileLimits { ($0.received, $0.reserve) = (.max, 0) })
        let (first, second) = (try key("org.example.first", devices), try key("org.example.second", devices))
        let size =
            try FileSpool(hashed: "any", in: OwnedDirectory(path: devices.receiver.path)).availableSpace() / 3 * 2
        try tell(first, size: size, devices)
        try tell(second, size: size, devices)
        #expect(answers(of: first, devices) == ["fetch"] && answers(of: second, devices) == ["insufficient-space"])
        let gap = Envelope(
            .gap, app: first.queue.app, pairing: first.queue.pairing, channel: .file, sequence: 1, name: "cancelled")
        #expect(devices.receiver.files.receive(gap))
        // The items' stand-in has one queue for all.
        try tell(second, size: size, sequence: 2, devices)
        #expect(answers(of: second, devices).last == "fetch")
    }

    @Test("FIL-7, FIL-13: what was sent ahead of a file that is refused keeps no other file from the link's window")
    func windowIsGivenBack() throws {
        let devices = try FileDevices(senderLimits: FileLimits { $0.linkWindow = $0.window })
        let bytes = [UInt8](repeating: 7, count: 20 * 65_536)
        for number in [1, 2] as [UInt64] { _ = try #require(devices.handOver(bytes, number: number)).get() }
        func fetch(_ number: UInt64) -> Envelope {
            Envelope(
                .fetch, app: devices.queue.app, pairing: devices.queue.pairing, id: devices.key(number).id,
                channel: .file, name: "restart", offset: 0)
        }
        func chunks(_ number: UInt64) -> Int {
            devices.sender.sent.count { $0.kind == .chunk && $0.id == devices.key(number).id }
        }
        for number in [1, 2] as [UInt64] { #expect(devices.sender.files.receive(fetch(number))) }
        devices.settle()
        #expect(chunks(1) > 0)
        let (first, second) = (chunks(1), chunks(2))
        devices.sender.files.refused(devices.key(1))
        devices.settle()
        #expect(chunks(1) == first && chunks(2) == first + second, "the whole window is the other's")
    }
}
