// Files by Apple's names, over a scripted daemon: the call returns at once, the file is read on a thread of its own,
// and each transfer finishes once, in the process that sent it or in the next.

import Foundation
import PairedSession
import Synchronization
import TandemBase
import TandemFiles
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

@testable import PairedSessionFoundation

/// Records the reports on files.
final class FileDelegate: RecordsCalls {
    let calls = Collector<String>()
    let errors = Collector<SessionError>()

    func session(_ session: WCSession, activationDidCompleteWith state: WCSessionActivationState, error: (any Error)?) {
    }

    func session(_ session: WCSession, didReceive file: WCSessionFile) {
        add("received \(file.fileURL.path) \(file.metadata?["album"] as? Int ?? -1)")
    }

    func session(_ session: WCSession, didFinish fileTransfer: WCSessionFileTransfer, error: (any Error)?) {
        let underlying = (error as? WCError)?.underlyingError
        if let underlying { errors.add(underlying) }
        add("finished \(fileTransfer.file.fileURL.lastPathComponent) \(underlying?.code.rawValue ?? 0)")
    }
}

struct WCSessionFileTests: WCSessionSuite {
    let apple: WCSessionFixture<FileDelegate>
    private let directory = TemporaryDirectory()

    init() throws {
        apple = try WCSessionFixture(FileDelegate())
        fixture.daemon.pair(.unreachable, .noLink)
        activate()
    }

    private var submitted: [Envelope] { fixture.daemon.received.filter { $0.kind == .submit } }
    private var chunks: [Envelope] { fixture.daemon.received.filter { $0.kind == .chunk } }

    func settle() {
        for _ in 0..<3 {
            fixture.scheduler.run()
            fixture.core.run { $0.waitForFiles() }
            fixture.scheduler.run()
            session.callbacks.sync {}
        }
    }

    /// Foundation calls a progress's handler on the global queue, whose threads other tests may keep: what it was given
    /// before has begun when this returns.
    private func waitForGlobalQueue() {
        let turn = DispatchSemaphore(value: 0)
        DispatchQueue.global().async { turn.signal() }
        turn.wait()
    }

    private func say(
        _ kind: FrameKind, of envelope: Envelope, _ name: String? = nil, offset: UInt64? = nil, code: Int? = nil,
        body: PropertyListDictionary? = nil
    ) throws {
        let plain = Envelope(
            kind, app: envelope.app, pairing: envelope.pairing, id: envelope.id, channel: .file, code: code,
            name: name, offset: offset)
        fixture.daemon.send(try body.map { try plain.with(body: $0) } ?? plain)
        settle()
    }

    private func about(_ id: UniqueIdentifier) -> Envelope {
        Envelope(
            .finished, app: fixture.daemon.app, pairing: fixture.daemon.situation.active, id: id, channel: .file)
    }

    private func makeFile(_ bytes: [UInt8] = [1, 2, 3, 4, 5]) -> URL {
        directory.write(bytes, to: "photo.jpg")
        return URL(fileURLWithPath: directory.path("photo.jpg"))
    }

    /// A file whose submission the daemon has.
    private func submit(
        _ bytes: [UInt8] = [1, 2, 3, 4, 5]
    ) throws -> (transfer: WCSessionFileTransfer, envelope: Envelope) {
        let transfer = session.transferFile(makeFile(bytes), metadata: nil)
        settle()
        return (transfer, try #require(submitted.last))
    }

    @Test("SES-31: a file is for the device that was active at the call, whichever is when the file has been opened")
    func switchWhileOpening() throws {
        let first = try #require(fixture.daemon.situation.active)
        session.transferFile(makeFile(), metadata: nil)
        // Comes behind the call, and before the file has been opened on another thread.
        fixture.daemon.situation.active = fixture.daemon.pair()
        tellSituation()
        #expect(submitted.map(\.pairing) == [first])
    }

    @Test("FIL-2: a URL that is none of a file is no file on this device")
    func webAddress() throws {
        session.transferFile(try #require(URL(string: "https://example.org/etc/hostname")), metadata: nil)
        settle()
        #expect(submitted.isEmpty && calls == ["finished hostname 7013"])
    }

    @Test(
        "FIL-2, FIL-3, SES-50: transferFile hands the file over, shows how far it is, and finishes once when it is stored"
    )
    func transfer() throws {
        let transfer = session.transferFile(makeFile(), metadata: ["album": 7])
        #expect(transfer.isTransferring && session.outstandingFileTransfers == [transfer])
        settle()
        let envelope = try #require(submitted.last)
        let body = try envelope.dictionaryBody()
        #expect(envelope.channel == .file)
        #expect(body == ["name": "photo.jpg", "size": 5, "metadata": .dictionary(["album": 7])])
        try say(.progress, of: envelope, "taking", offset: 0)
        #expect(chunks.map { Array($0.body ?? []) } == [[1, 2, 3, 4, 5]])
        try say(.accepted, of: envelope)
        #expect(calls.isEmpty && session.outstandingFileTransfers == [transfer])
        try say(.progress, of: envelope, "transferred", offset: 3)
        #expect(transfer.progress.completedUnitCount == 3 && transfer.progress.totalUnitCount == 5)
        try say(.progress, of: envelope, "stored")
        #expect(calls == ["finished photo.jpg 0"])
        #expect(!transfer.isTransferring && session.outstandingFileTransfers.isEmpty)
        #expect(transfer.progress.isFinished)
        try say(.finished, of: envelope, "handled")
        #expect(calls == ["finished photo.jpg 0"])
    }

    /// The descriptors of this process that are files of the test.
    private var openFiles: Int {
        let own = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return own.count { descriptor in
            let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
            return path?.hasPrefix(directory.path("photo")) == true
        }
    }

    @Test("FIL-16: files that wait for their turn are not open, and one that changes meanwhile is not sent")
    func waiting() throws {
        for number in 0..<50 {
            directory.write([1, 2, 3], to: "photo\(number)")
            session.transferFile(URL(fileURLWithPath: directory.path("photo\(number)")), metadata: nil)
        }
        settle()
        let waiting = submitted
        #expect(waiting.count == 50 && openFiles == 0)
        try say(.progress, of: waiting[0], "taking", offset: 0)
        #expect(openFiles == 1 && chunks.map { Array($0.body ?? []) } == [[1, 2, 3]])
        try say(.accepted, of: waiting[0])
        #expect(openFiles == 0)
        directory.write([1, 2, 3, 4], to: "photo1")
        try FileManager.default.removeItem(atPath: directory.path("photo2"))
        for envelope in waiting[1...2] { try say(.progress, of: envelope, "taking", offset: 0) }
        #expect(calls == ["finished photo1 7013", "finished photo2 7013"] && chunks.count == 1)
        #expect(delegate.errors.all.allSatisfy { $0.name == "source-changed" })
    }

    @Test("FIL-3: a part that was read for a connection before is not sent on the next one, whose daemon asks again")
    func readForAnother() throws {
        let envelope = try submit([UInt8](repeating: 7, count: 8 * 65_536)).envelope
        fixture.daemon.send(
            Envelope(
                .progress, app: envelope.app, pairing: envelope.pairing, id: envelope.id, channel: .file,
                name: "taking", offset: 0))
        fixture.scheduler.run()
        fixture.daemon.cut()
        // Those that the disk has read by now.
        let before = chunks.count
        fixture.scheduler.advance(by: .seconds(1))
        settle()
        #expect(chunks.count == before && submitted.count == 2)
        try say(.progress, of: envelope, "taking", offset: 0)
        #expect(chunks.count == before + 8)
    }

    @Test(
        "FIL-10: a file's progress stays finished, also an empty one's, whatever comes behind its storage",
        arguments: [[], [1, 2, 3]])
    func lateStep(_ bytes: [UInt8]) throws {
        let (transfer, envelope) = try submit(bytes)
        try say(.progress, of: envelope, "taking", offset: 0)
        try say(.accepted, of: envelope)
        try say(.progress, of: envelope, "stored")
        #expect(transfer.progress.isFinished)
        try say(.progress, of: envelope, "transferred", offset: 0)
        #expect(transfer.progress.isFinished)
        try say(.finished, of: envelope, "handled")
        #expect(transfer.progress.isFinished && transfer.progress.fractionCompleted == 1)
    }

    @Test(
        "a file that ends before it is stored finishes with its error, once",
        arguments: [("expired", 7017), ("cancelled", 7014)])
    func failed(_ name: String, _ code: Int) throws {
        let envelope = try submit().envelope
        try say(.accepted, of: envelope)
        try say(.finished, of: envelope, name)
        #expect(calls == ["finished photo.jpg \(code)"])
        #expect(session.outstandingFileTransfers.isEmpty)
    }

    @Test("SES-50, FIL-11: what a peer refused to the end finishes with the name of its last refusal")
    func refusedByPeer() throws {
        let envelope = try submit().envelope
        try say(.accepted, of: envelope)
        try say(.finished, of: envelope, "dead", code: 7014, body: ["refusal": "digest-mismatch"])
        let error = try #require(delegate.errors.all.first)
        #expect(error.code == .deliveryFailed && error.name == "digest-mismatch" && error.messageID == envelope.id)
        #expect(error.reason.contains("dead letter") && error.reason.contains("'digest-mismatch'"))
    }

    @Test("FIL-10: a progress that is read on another thread shows the counts of one moment")
    func progressOnAnotherThread() {
        let progress = FileProgress(totalUnitCount: 1000)
        let isOver = Mutex(false)
        let done = DispatchSemaphore(value: 0)
        let writer = Thread {
            // At least once: on a busy machine the reader may be done before this thread has begun.
            repeat {
                progress.show(total: 10, completed: 5)
                progress.show(total: 1000, completed: 500)
            } while !isOver.withLock { $0 }
            done.signal()
        }
        writer.start()
        var seen: Set<Bool> = []
        for _ in 0..<50_000 { seen.insert(progress.isFinished) }
        isOver.withLock { $0 = true }
        done.wait()
        #expect(seen == [false], "of 10 bytes no 500 are there")
        #expect(progress.completedUnitCount == 500 && progress.fractionCompleted == 0.5)
    }

    @Test(
        "FIL-14, SES-84: cancel and the progress's cancel take back a file that is handed over; it ends once, with the answer"
    )
    func cancelled() throws {
        for takeBack in [{ $0.cancel() }, { $0.progress.cancel() }] as [(WCSessionFileTransfer) -> Void] {
            delegate.calls.removeAll()
            let (transfer, envelope) = try submit()
            let item = PropertyListValue.data(try #require(envelope.id).bytes)
            takeBack(transfer)
            for _ in 0..<1_000 where fixture.daemon.received.last?.command != "cancel" {
                waitForGlobalQueue()
                settle()
            }
            #expect(try fixture.daemon.question("cancel").dictionaryBody()["item"] == item)
            #expect(calls.isEmpty && transfer.isTransferring)
            try fixture.daemon.answerCancel("cancelled")
            settle()
            #expect(calls == ["finished photo.jpg 7014"] && !transfer.isTransferring)
            // The daemon had accepted it on a connection before.
            try say(.finished, of: envelope, "cancelled")
            #expect(calls == ["finished photo.jpg 7014"])
            #expect(fixture.daemon.received.last?.kind == .finishedAck)
        }
    }

    @Test(
        "SES-84: a file whose acceptance was lost with the connection is taken back on the next one, and ends as the daemon says",
        arguments: [("asked", [:]), ("too-late", ["outcome": "handled"])] as [(String, PropertyListDictionary)])
    func acceptanceLost(_ name: String, _ body: PropertyListDictionary) throws {
        let (transfer, envelope) = try submit()
        try say(.progress, of: envelope, "taking", offset: 0)
        fixture.daemon.cut()
        settle()
        transfer.cancel()
        settle()
        #expect(calls.isEmpty && transfer.isTransferring)
        fixture.scheduler.advance(by: .seconds(1))
        settle()
        #expect(submitted.count == 1, "it is not handed over again")
        try fixture.daemon.answerCancel(name, body)
        settle()
        #expect(calls.isEmpty && transfer.isTransferring)
        #expect(try fixture.daemon.question("subscribe").dictionaryBody()["items"] == [.data(envelope.id?.bytes ?? [])])
        try say(.finished, of: envelope, "handled")
        #expect(calls == ["finished photo.jpg 0"] && !transfer.isTransferring)
    }

    @Test("an accepted file is taken back at the daemon")
    func cancelledLater() throws {
        let (transfer, envelope) = try submit()
        try say(.accepted, of: envelope)
        transfer.cancel()
        settle()
        #expect(fixture.daemon.received.contains { $0.command == "cancel" })
        #expect(transfer.isTransferring && calls.isEmpty)
        try say(.finished, of: envelope, "cancelled")
        #expect(calls == ["finished photo.jpg 7014"] && !transfer.isTransferring)
    }

    @Test(
        "what cannot be sent finishes at once: not activated 7004, no file 7013, metadata that no property list holds 7010"
    )
    func refused() throws {
        let unready = WCSession(over: try SessionFixture().session)
        unready.delegate = delegate
        unready.transferFile(makeFile(), metadata: nil)
        unready.callbacks.sync {}
        session.transferFile(makeFile(), metadata: ["bad": URL(fileURLWithPath: "/")])
        settle()
        #expect(calls == ["finished photo.jpg 7004", "finished photo.jpg 7010"])
        session.transferFile(URL(fileURLWithPath: directory.path("missing.jpg")), metadata: nil)
        settle()
        #expect(calls.last == "finished missing.jpg 7013")
        #expect(session.outstandingFileTransfers.isEmpty && submitted.isEmpty)
    }

    @Test("SES-13: without a pairing a file finishes with 7005, whatever else there is against it")
    func unpaired() throws {
        unpair()
        activate()
        session.transferFile(makeFile(), metadata: ["bad": URL(fileURLWithPath: "/")])
        session.transferFile(try #require(URL(string: "https://example.org/etc/hostname")), metadata: nil)
        settle()
        #expect(calls == ["finished photo.jpg 7005", "finished hostname 7005"])
    }

    @Test("SES-63: a symbolic link's target is sent, under the name that the app gave")
    func symbolicLink() throws {
        let file = makeFile()
        let link = directory.path("latest.jpg")
        #expect(symlink(file.path, link) == 0)
        let transfer = session.transferFile(URL(fileURLWithPath: link), metadata: nil)
        settle()
        let envelope = try #require(submitted.last)
        #expect(try envelope.dictionaryBody() == ["name": "latest.jpg", "size": 5])
        try say(.progress, of: envelope, "taking", offset: 0)
        #expect(chunks.map { Array($0.body ?? []) } == [[1, 2, 3, 4, 5]])
        #expect(transfer.isTransferring && calls.isEmpty)
        #expect(symlink(directory.path("nowhere"), directory.path("broken.jpg")) == 0)
        session.transferFile(URL(fileURLWithPath: directory.path("broken.jpg")), metadata: nil)
        settle()
        #expect(calls == ["finished broken.jpg 7013"])
    }

    @Test("SES-50: a file that ended while no process ran is told to the delegate of the next one, once")
    func formerEnd() throws {
        let stored = about(.random())
        try say(.progress, of: stored, "stored")
        try say(.finished, of: stored, "handled")
        #expect(calls == ["finished file 0"])
        try say(.finished, of: about(.random()), "expired")
        #expect(calls == ["finished file 0", "finished file 7017"])
        #expect(fixture.daemon.received.filter { $0.kind == .finishedAck }.count == 2)
    }

    @Test(
        "SES-54: what a former process queued is outstanding with its size and name, can be taken back, and finishes here"
    )
    func formerProcess() throws {
        let id = UniqueIdentifier.random()
        let manifest: PropertyListDictionary = [
            "name": "photo.jpg", "size": 5, "metadata": .dictionary(["album": 7]),
        ]
        var item = OutstandingPage.Item(id: id)
        (item.size, item.body) = (5, try PropertyListWriter.write(manifest))
        fixture.daemon.stored?.outstanding[.file] = [item]
        fixture.cut(waiting: .seconds(1))
        settle()
        let transfer = try #require(session.outstandingFileTransfers.first)
        // Nothing can be there: a delegate may delete what has arrived.
        #expect(transfer.file.fileURL.path == "/dev/null/photo.jpg")
        #expect(transfer.file.metadata?["album"] as? Int == 7 && transfer.progress.totalUnitCount == 5)
        transfer.cancel()
        settle()
        #expect(fixture.daemon.received.contains { $0.command == "cancel" })
        try say(.finished, of: about(id), "cancelled")
        #expect(calls == ["finished photo.jpg 7014"] && session.outstandingFileTransfers.isEmpty)
    }

    @Test("SES-54: a file of a former process that is stored while there is no daemon finishes at the next one")
    func formerProcessStored() throws {
        var item = OutstandingPage.Item(id: .random())
        item.body = try PropertyListWriter.write(["name": "photo.jpg", "size": 5] as PropertyListDictionary)
        for isStored in [false, true] {
            item.isStored = isStored
            fixture.daemon.stored?.outstanding[.file] = [item]
            fixture.daemon.cut()
            fixture.scheduler.advance(by: .seconds(1))
            settle()
        }
        #expect(calls == ["finished photo.jpg 0"] && session.outstandingFileTransfers.isEmpty)
    }

    @Test("FIL-11, FIL-15: a file arrives at its own callback with its metadata, and returning is handling it")
    func receives() throws {
        directory.write([1, 2, 3, 4, 5], to: "photo.jpg")
        let path = directory.path("photo.jpg")
        try fixture.daemon.deliver(
            [
                "path": .string(path), "name": "photo.jpg", "size": 5, "digest": .data([1]),
                "metadata": .dictionary(["album": 7]),
            ], on: .file)
        settle()
        #expect(calls == ["received \(path) 7"])
        #expect(fixture.daemon.received.last?.kind == .verdict && fixture.daemon.received.last?.name == "handled")
    }

    @Test("FIL-10: observers of incoming files hear how far each is, and what does not read says nothing")
    func incoming() throws {
        let heard = Collector<IncomingFileProgress>()
        fixture.session.observeIncomingFiles { heard.add($0) }
        settle()
        let file = about(.random())
        try say(.progress, of: file, "transferred", offset: 3, body: ["name": "photo.jpg", "size": 5])
        try say(.progress, of: file, "transferred", offset: 4, body: ["name": "photo.jpg"])
        try say(.progress, of: file, "transferred", offset: 5, body: ["name": "photo.jpg", "size": 5])
        #expect(heard.all.map(\.received) == [3, 5])
        #expect(heard.all.allSatisfy { $0.id == file.id && $0.name == "photo.jpg" && $0.size == 5 })
        #expect(heard.all.first?.pairing == fixture.daemon.situation.active)
    }
}
