// Files and a machine at its limits: a disk that fills while they come, directories that cannot be opened, commits that
// take their time, and an app that begins more than it goes on with.

import TandemDelivery
import TandemIdentity
import TandemPropertyList
import TandemRelay
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
        devices.sender.files.take(key, body: ["name": "x", "size": 9], from: devices.sender) { result = $0 }
        devices.settle()
        devices.sender.files.limits.reserve = 1 << 60
        #expect(devices.sender.files.chunk(devices.chunk([1], at: 0, of: key), of: key, from: devices.sender))
        devices.settle()
        guard case .failure(.noSpace)? = result else {
            Issue.record("a part was written without room")
            return
        }
    }

    @Test("FIL-11: an app's directory that cannot be opened now loses no file")
    func noInbox() throws {
        let devices = try FileDevices()
        devices.tell(try #require(devices.handOver(bytes)).get())
        devices.run()
        devices.receiver.hasInbox = false
        guard case .failure(.noInbox)? = devices.hand() else {
            Issue.record("it is not missing")
            return
        }
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
        let gap = Envelope(
            .gap, app: devices.queue.app, pairing: devices.queue.pairing, channel: .file, sequence: 1,
            name: "cancelled")
        #expect(devices.receiver.files.receive(gap))
        devices.cut()
        devices.tell(manifests[1], number: 2, sequence: 2)
        devices.run()
        #expect(devices.receiver.items.stored.count == 2)
        devices.receiver.items.endCommit()
        devices.settle()
        #expect(try devices.receiver.names(in: "partial") == ["\(devices.key(2).id)"])
    }

    @Test("LIM-31: an app that begins many files and goes on with none holds up no other, and waits within bounds")
    func turns() throws {
        var limits = FileLimits()
        (limits.takings, limits.waiting) = (2, 3)
        let devices = try FileDevices(senderLimits: limits)
        var refused: [FileRefusal] = []
        for number in UInt64(1)...6 {
            devices.sender.files.take(
                devices.key(number), body: ["name": "x", "size": 9], from: devices.sender
            ) { if case .failure(let refusal) = $0 { refused.append(refusal) } }
        }
        devices.settle()
        #expect(devices.sender.told.map(\.id) == [devices.key(1).id, devices.key(2).id])
        #expect(refused == [.queueFull(actual: 3, limit: 3)])
        let other = FileKey(
            QueueKey(
                pairing: devices.queue.pairing, app: try ApplicationIdentifier("org.example.other"), channel: .file),
            devices.key(9).id)
        devices.sender.files.take(other, body: ["name": "x", "size": 9], from: devices.sender) { _ in }
        devices.settle()
        #expect(devices.sender.told.last?.id == other.id)
        devices.sender.files.drop(devices.key(1))
        devices.sender.files.drop(other)
        devices.settle()
        #expect(devices.sender.told.last?.id == devices.key(3).id)
    }
}
