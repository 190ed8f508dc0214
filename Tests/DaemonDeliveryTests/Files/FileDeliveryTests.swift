// A file from app to app through two exchanges: whole, resumed, spoiled, refused, taken back; and what is left
// afterwards.

import Glibc
import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemFiles
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

private func content(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 131 >> 3) } }

@Suite struct FileDeliveryTests {
    private let devices: FileDevices

    init() throws { devices = try FileDevices() }

    @Test(
        "FIL-4, FIL-11, FIL-15: a file reaches its app whole, and nothing is left when it is handled",
        arguments: [0, 1, 65_536, 700_001])
    func whole(_ size: Int) throws {
        let bytes = content(size)
        let manifest = try #require(devices.handOver(bytes, name: "Übersicht.pdf", metadata: ["k": .integer(3)])).get()
        devices.tell(manifest)
        devices.run()
        #expect(devices.receiver.items.stored.count == 1)
        #expect(devices.sentBytes == size)
        let delivery = try #require(devices.hand()).get()
        let path = try #require(delivery["path"]?.stringValue)
        #expect(path.hasSuffix("/app/inbox/\(devices.queue.pairing)/\(devices.key(1).id)/Übersicht.pdf"))
        #expect(try FileReading.read(path: path, limit: size) == bytes)
        #expect(delivery["metadata"] == .dictionary(["k": .integer(3)]))
        devices.sender.files.released(devices.key(1).id, in: devices.queue, .outbound)
        devices.receiver.files.offers.judged(devices.key(1).id, in: devices.queue)
        devices.settle()
        #expect(try devices.receiver.names(in: "app/inbox") == ["Übersicht.pdf"])
        devices.receiver.items.kept = []
        devices.receiver.files.offers.judged(devices.key(1).id, in: devices.queue)
        devices.settle()
        #expect(try devices.receiver.names(in: "app/inbox").isEmpty)
        #expect(try devices.receiver.names(in: "partial").isEmpty)
        #expect(try devices.sender.names(in: "spool").isEmpty)
    }

    @Test(
        "FIL-12: a hostile name harms nobody and is still told",
        arguments: ["../../x", "/etc/passwd", "", "..", "a\nb", "a\0b"])
    func hostile(_ name: String) throws {
        devices.tell(try #require(devices.handOver([1, 2], name: name)).get())
        devices.run()
        let delivery = try #require(devices.hand()).get()
        #expect(delivery["name"] == .string(name))
        let path = try #require(delivery["path"]?.stringValue)
        let directory = "\(devices.receiver.path)/app/inbox/\(devices.queue.pairing)/\(devices.key(1).id)/"
        #expect(path.hasPrefix(directory))
        #expect(!path.dropFirst(directory.count).contains("/"))
        #expect(try FileReading.read(path: path, limit: 9) == [1, 2])
    }

    @Test(
        "FIL-5, FIL-8: after a cut the file goes on, no more than the window and a chunk comes twice, and it is stored once whole",
        arguments: stride(from: 0, to: 20, by: Repetition.times(4, long: 1)).map(\.self))
    func cut(_ place: Int) throws {
        let bytes = content(20 * 65_536)
        let manifest = try #require(devices.handOver(bytes)).get()
        devices.tell(manifest)
        devices.run(chunks: place)
        #expect(devices.receiver.items.stored.isEmpty)
        devices.cut()
        devices.tell(manifest)
        devices.run()
        #expect(devices.receiver.items.stored.count == 1)
        #expect(devices.sentBytes <= bytes.count + 262_144 + 65_536)
        let delivery = try #require(devices.hand()).get()
        let path = try #require(delivery["path"]?.stringValue)
        #expect(try FileReading.read(path: path, limit: bytes.count) == bytes)
    }

    @Test("FIL-11: spoiled bytes are never stored; the file comes again from the beginning")
    func spoiled() throws {
        let bytes = content(200_000)
        let manifest = try #require(devices.handOver(bytes)).get()
        devices.spoil = { frame in
            guard frame.kind == .chunk, frame.offset == 65_536, var body = frame.body else { return frame }
            body[body.startIndex] ^= 1
            var spoiled = frame
            spoiled.body = body
            return spoiled
        }
        devices.tell(manifest)
        devices.run()
        #expect(devices.receiver.items.stored.isEmpty)
        #expect(devices.failures.map(\.name) == ["digest-mismatch"])
        devices.spoil = { $0 }
        devices.tell(manifest)
        devices.run()
        #expect(devices.receiver.items.stored.count == 1)
        #expect(devices.sentBytes == 400_000)
    }

    @Test("FIL-13: without room a file is refused with the numbers, on either side, and comes when there is room")
    func space() throws {
        let full = FileLimits { $0.reserve = 1 << 60 }
        let refused = try FileDevices(senderLimits: full)
        guard case .failure(.noSpace(let needed, let available, _))? = refused.handOver([1])
        else { throw Unexpected("a file was taken without room") }
        #expect(needed == (1 << 60) + 1 && available > 0 && available < 1 << 60)
        #expect(try refused.sender.names(in: "spool").isEmpty)
        let devices = try FileDevices(receiverLimits: full)
        devices.tell(try #require(devices.handOver(content(100_000))).get())
        devices.run()
        #expect(devices.failures.map(\.code) == [7015])
        #expect(devices.failures.map(\.name) == ["insufficient-space"])
        #expect(devices.receiver.items.stored.isEmpty)
        #expect(try devices.receiver.names(in: "partial").isEmpty)
        let refusal = FileRefusal.noSpace(needed: 73_400_320, available: 7_823_360, besides: 64 << 20)
        let text = refusal.body["text"]?.stringValue
        #expect(
            text == "6291456 bytes more, and 64 MiB for the reserve and other files, do not fit into the 7823360 bytes "
                + "that are free on the disk; free some space and try again")
        #expect(refusal.body["actual"] == 73_400_320 && refusal.body["limit"] == 7_823_360)
    }

    @Test(
        "FIL-14, DEL-31: a file that is taken back while it comes leaves nothing, also on a full disk",
        arguments: [false, true])
    func takenBack(isFull: Bool) throws {
        devices.tell(try #require(devices.handOver(content(20 * 65_536))).get())
        devices.run(chunks: 9)
        #expect(try devices.receiver.names(in: "partial").count == 1)
        devices.cut()
        devices.receiver.items.isFull = isFull
        devices.sender.sent.append(
            Envelope(
                .gap, app: devices.queue.app, pairing: devices.queue.pairing, channel: .file, sequence: 1,
                name: "cancelled"))
        devices.run()
        #expect(devices.receiver.items.gaps == [1])
        #expect(try devices.receiver.names(in: "partial").isEmpty)
    }

    @Test("FIL-4, SES-49: a small file that is submitted behind a large one is accepted when its bytes are there")
    func smallFirst() throws {
        var accepted: [Int] = []
        for (number, size) in [(UInt64(1), 70_000), (2, 1)] {
            devices.announce(devices.key(number), size: Int64(size)) { if case .success = $0 { accepted.append(size) } }
        }
        devices.settle()
        let bytes = content(70_000)
        #expect(devices.sender.take(devices.chunk(Array(bytes[..<65_536]), at: 0, of: devices.key(1))))
        #expect(devices.sender.take(devices.chunk([1], at: 0, of: devices.key(2))))
        devices.settle()
        #expect(accepted == [1])
        #expect(devices.sender.take(devices.chunk(Array(bytes[65_536...]), at: 65_536, of: devices.key(1))))
        devices.settle()
        #expect(accepted == [1, 70_000])
    }

    @Test("FIL-3: a taking with the size comes before the file is accepted", arguments: [0, 1, 65_536])
    func lastTaking(_ size: Int) throws {
        let key = devices.key(1)
        var taken: [UInt64] = []
        devices.announce(key, size: Int64(size)) { [sender = devices.sender] _ in
            taken = sender.told.compactMap { $0.name == "taking" ? $0.offset : nil }
        }
        devices.settle()
        if size > 0 { #expect(devices.sender.take(devices.chunk(content(size), at: 0, of: key))) }
        devices.settle()
        #expect(taken.first == 0 && taken.last == UInt64(size))
    }

    @Test("FIL-3, FIL-14: an app that breaks the order or goes away has handed over nothing")
    func brokenOff() throws {
        let key = devices.key(1)
        devices.announce(key, size: 100_000) { _ in Issue.record("it was never complete") }
        devices.settle()
        #expect(devices.sender.told.map(\.name) == ["taking"])
        #expect(devices.sender.take(devices.chunk([1], at: 0, of: key)))
        #expect(!devices.sender.take(devices.chunk([1], at: 5, of: key)))
        devices.settle()
        #expect(try devices.sender.names(in: "spool").count == 1)
        devices.sender.files.uploads.sourceLeft(devices.sender.source)
        devices.settle()
        #expect(try devices.sender.names(in: "spool").isEmpty)
        #expect(devices.sender.take(devices.chunk([1], at: 1, of: key)))
    }

    @Test("FIL-3: a part that comes before the first taking is out of place")
    func early() {
        let key = devices.key(1)
        devices.announce(key)
        #expect(!devices.sender.take(devices.chunk([1], at: 0, of: key)))
        devices.settle()
        #expect(devices.sender.take(devices.chunk([1], at: 0, of: key)))
    }

    @Test("FIL-14: a daemon that starts keeps what belongs to items, and removes the rest")
    func orphans() throws {
        for number in UInt64(1)...3 { _ = devices.handOver([1], number: number) }
        devices.sender.files.restore(
            sent: [devices.key(2)], received: [], pairings: [devices.queue.pairing], apps: [devices.queue.app])
        devices.settle()
        #expect(try devices.sender.names(in: "spool") == ["\(devices.key(2).id)"])
        devices.sender.files.removePairing(devices.queue.pairing, apps: [devices.queue.app])
        devices.settle()
        #expect(try devices.sender.names(in: "spool").isEmpty)
    }

    /// The place of a spooled file.
    private func spooled(_ number: UInt64) -> String {
        "\(devices.sender.path)/spool/\(devices.queue.pairing)/\(devices.queue.app)/\(devices.key(number).id)"
    }

    /// A file of the sender ends, and cannot be removed: a directory is in its place.
    private func failRemoval(_ number: UInt64) throws {
        _ = try #require(devices.handOver([1], number: number)).get()
        #expect(unlink(spooled(number)) == 0 && mkdir(spooled(number), 0o700) == 0)
        devices.sender.files.released(devices.key(number).id, in: devices.queue, .outbound)
        devices.settle()
    }

    private func advance(_ seconds: Int) {
        devices.scheduler.advance(by: .seconds(seconds))
        devices.settle()
    }

    @Test("FIL-14, LIM-56: a spooled file whose removal fails is removed after a pause, with one line in the log")
    func removalIsTriedAgain() throws {
        try failRemoval(1)
        for _ in 0..<3 { advance(10) }
        #expect(devices.sender.log.all.count { "\($0.message)" == "files: a job failed" } == 1)
        #expect(rmdir(spooled(1)) == 0)
        #expect(close(creat(spooled(1), 0o600)) == 0)
        advance(10)
        #expect(try devices.sender.names(in: "spool").isEmpty)
    }

    @Test("FIL-14, LIM-56: a file that is handed over before the removal of its name is tried again stays")
    func removalAndANewFile() throws {
        try failRemoval(1)
        #expect(rmdir(spooled(1)) == 0)
        _ = try #require(devices.handOver([2], number: 1)).get()
        advance(10)
        #expect(try devices.sender.names(in: "spool") == ["\(devices.key(1).id)"])
    }

    @Test("FIL-14: a file that is handed over again while a start looks for what no item has stays")
    func uploadAtTheStart() throws {
        _ = try #require(devices.handOver([1], number: 2)).get()
        #expect(mkdir(spooled(1), 0o700) == 0, "its removal fails, and succeeds later")
        devices.sender.files.restore(
            sent: [devices.key(2)], received: [], pairings: [devices.queue.pairing], apps: [devices.queue.app])
        devices.sender.files.waitForDisk()
        #expect(rmdir(spooled(1)) == 0)
        _ = try #require(devices.handOver([2], number: 1)).get()
        advance(10)
        #expect(try Set(devices.sender.names(in: "spool")) == Set([1, 2].map { "\(devices.key(UInt64($0)).id)" }))
    }

    @Test("FIL-14, LIM-152: of more files of an app that cannot be removed than the limit the rest is not tried again")
    func tooManyLeftovers() throws {
        _ = try #require(devices.handOver([1])).get()
        let numbers = UInt64(1)...257
        #expect(unlink(spooled(1)) == 0)
        for number in numbers {
            #expect(mkdir(spooled(number), 0o700) == 0)
            devices.sender.files.released(devices.key(number).id, in: devices.queue, .outbound)
        }
        devices.settle()
        for number in numbers {
            #expect(rmdir(spooled(number)) == 0)
            #expect(close(creat(spooled(number), 0o600)) == 0)
        }
        advance(10)
        #expect(try devices.sender.names(in: "spool").count == 1)
    }

    @Test("FIL-14, LIM-56: a handled file whose app's directory cannot be opened now is removed after a pause")
    func handledFileIsRemovedLater() throws {
        devices.tell(try #require(devices.handOver([1, 2, 3])).get())
        devices.run()
        _ = try #require(devices.hand()).get()
        (devices.receiver.hasInbox, devices.receiver.items.kept) = (false, [])
        devices.receiver.files.released(devices.key(1).id, in: devices.queue, .inbound)
        for _ in 0..<3 { advance(10) }
        #expect(devices.receiver.log.all.count { "\($0.message)" == "an app's directory cannot be used" } == 1)
        #expect(try devices.receiver.names(in: "app") == ["file.bin"])
        devices.receiver.hasInbox = true
        advance(10)
        #expect(try devices.receiver.names(in: "app").isEmpty)
    }

    /// A file that its app has been given, beside a partial one that no removal takes away: it is a directory.
    /// - Returns: the path of the partial one.
    private func receivedWithStuckPartial() throws -> String {
        devices.tell(try #require(devices.handOver([1, 2, 3])).get())
        devices.run()
        _ = try #require(devices.hand()).get()
        let partials = "\(devices.receiver.path)/partial/\(devices.queue.pairing)/\(devices.queue.app)"
        let partial = "\(partials)/\(devices.key(1).id)"
        #expect(mkdir(partial, 0o700) == 0)
        return partial
    }

    @Test("FIL-14: a partial file whose removal fails keeps no handled file, and is removed after a pause")
    func partialFileThatStays() throws {
        let partial = try receivedWithStuckPartial()
        devices.receiver.items.kept = []
        devices.receiver.files.released(devices.key(1).id, in: devices.queue, .inbound)
        devices.settle()
        #expect(try devices.receiver.names(in: "app").isEmpty)
        #expect(rmdir(partial) == 0)
        #expect(close(creat(partial, 0o600)) == 0)
        advance(10)
        #expect(try devices.receiver.names(in: "partial").isEmpty)
    }

    @Test("FIL-14: a handled file and its partial one that both stay are told once, and tried again together")
    func bothStay() throws {
        let partial = try receivedWithStuckPartial()
        (devices.receiver.hasInbox, devices.receiver.items.kept) = (false, [])
        devices.receiver.files.released(devices.key(1).id, in: devices.queue, .inbound)
        for _ in 0..<3 { advance(10) }
        #expect(devices.receiver.log.all.count { "\($0)".contains("removing a") } == 1)
        devices.receiver.hasInbox = true
        #expect(rmdir(partial) == 0)
        #expect(close(creat(partial, 0o600)) == 0)
        advance(10)
        #expect(try devices.receiver.names(in: "app").isEmpty && devices.receiver.names(in: "partial").isEmpty)
    }

    @Test("FIL-6: a file that is no longer in the spool is told as gone, with the first request for it")
    func missing() throws {
        devices.tell(try #require(devices.handOver([1, 2, 3])).get())
        #expect(unlink(spooled(1)) == 0)
        devices.run()
        #expect(devices.sender.items.gone == [devices.key(1).id] && devices.sender.items.unreadable.isEmpty)
    }

    @Test("FIL-11, FIL-14: a file that is handed over while what an earlier run left is removed stays")
    func handedWhileRestoring() throws {
        devices.tell(try #require(devices.handOver(content(10))).get())
        devices.run()
        let files = try devices.receiver.app.directory(named: "inbox").directory(named: "\(devices.queue.pairing)")
        for number in UInt64(2)...20 { _ = try files.directory(named: "\(devices.key(number).id)") }
        devices.receiver.files.restore(
            sent: [], received: [], pairings: [devices.queue.pairing], apps: [devices.queue.app])
        let path = try #require(try devices.hand()?.get()["path"]?.stringValue)
        #expect(try FileReading.read(path: path, limit: 99) == content(10))
        #expect(try files.names() == ["\(devices.key(1).id)"])
    }

    @Test("FIL-17: of two connections that hand over one file the newer one goes on, and the older one is told")
    func takenOver() throws {
        let (key, older) = (devices.key(1), ConnectionNumber(2))
        var refusals: [FileRefusal] = []
        devices.announce(key, size: 2, from: older) {
            if case .failure(let refusal) = $0 { refusals.append(refusal) }
        }
        devices.settle()
        #expect(devices.sender.take(devices.chunk([9], at: 0, of: key), from: older))
        #expect(try #require(devices.handOver([1, 2])).get().isEmpty == false)
        #expect(refusals == [.takenOver])
        #expect(devices.sender.take(devices.chunk([9], at: 1, of: key), from: older), "is dropped")
        devices.announce(devices.key(2), size: 2, from: older) {
            if case .failure(let refusal) = $0 { refusals.append(refusal) }
        }
        devices.settle()
        #expect(devices.sender.files.uploads.drop(devices.key(2), for: devices.sender.source, .cancelled))
        #expect(refusals == [.takenOver, .cancelled])
    }

    @Test("FIL-10: both sides are told how far it is, and at the end that it is all there")
    func progress() throws {
        devices.tell(try #require(devices.handOver(content(700_001), name: "x")).get())
        devices.run()
        let received = devices.receiver.told.filter { $0.name == "transferred" }
        #expect(received.last?.offset == 700_001)
        #expect(try received.last?.dictionaryBody() == ["name": "x", "size": .integer(700_001)])
        #expect(devices.sender.told.contains { $0.name == "taking" && $0.offset == 700_001 })
        devices.sender.files.sentItemStored(devices.key(1).id, in: devices.queue)
        #expect(devices.sender.told.last { $0.name == "transferred" }?.offset == 700_001)
        devices.sender.files.sentItemStored(devices.key(1).id, in: devices.queue)
        #expect(devices.sender.told.count { $0.offset == 700_001 && $0.name == "transferred" } == 1)
    }

    @Test("FIL-10: the receiving app learns once that a file is complete, also an empty one", arguments: [0, 1])
    func wholeIsTold(_ size: Int) throws {
        devices.tell(try #require(devices.handOver(content(size), name: "x")).get())
        devices.run()
        let received = devices.receiver.told.filter { $0.name == "transferred" }
        #expect(received.map(\.offset) == [UInt64(size)])
        #expect(try received.last?.dictionaryBody() == ["name": "x", "size": .integer(Int64(size))])
    }

    @Test("FIL-9, LIM-31: a receiver asks again 30 s after the last part, whenever that came")
    func silence() throws {
        let bytes = content(100_000)
        devices.tell(try #require(devices.handOver(bytes)).get())
        // The parts that the first request brings are lost.
        devices.run(chunks: 0)
        advance(1)
        #expect(devices.receiver.files.receive(devices.chunk(Array(bytes[..<65_536]), at: 0, of: devices.key(1))))
        devices.settle()
        devices.receiver.sent = []
        advance(29)
        #expect(devices.receiver.sent.isEmpty)
        advance(1)
        let asked = try #require(devices.receiver.sent.first)
        #expect(asked.kind == .fetch && asked.offset == 65_536 && asked.name == "restart")
    }
}
