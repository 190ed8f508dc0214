// Files by Apple's names between two apps beside the simulator: the code that carries them is the daemons', and only
// the link is missing.

import Foundation
import PairedSession
import PairedSessionFoundation
import Synchronization
import TandemFiles
import TandemReactor
import TandemTestSupport
import Testing

/// Keeps what arrives before its method returns, as an app must.
private final class KeepingDelegate: WCSessionDelegate {
    struct Kept: Sendable {
        let name: String
        let bytes: [UInt8]
        let album: Int?
    }

    let kept = Mutex<[Kept]>([])
    let finished = Mutex<[(id: ObjectIdentifier, code: Int)]>([])

    func session(_ session: WCSession, activationDidCompleteWith state: WCSessionActivationState, error: (any Error)?) {
    }

    func session(_ session: WCSession, didReceive file: WCSessionFile) {
        let bytes = (try? Data(contentsOf: file.fileURL)).map(Array.init) ?? []
        let kept = Kept(
            name: file.fileURL.lastPathComponent, bytes: bytes, album: file.metadata?["album"] as? Int)
        self.kept.withLock { $0.append(kept) }
    }

    func session(_ session: WCSession, didFinish fileTransfer: WCSessionFileTransfer, error: (any Error)?) {
        let code = (error as? WCError)?.errorCode ?? 0
        finished.withLock { $0.append((ObjectIdentifier(fileTransfer), code)) }
    }
}

struct SimulatedFileTests {
    private let directory = TemporaryDirectory()
    private let apps: SimulatedApps
    private let sessions: [WCSession]
    private let delegates = [KeepingDelegate(), KeepingDelegate()]

    init() throws {
        apps = try SimulatedApps(secondaries: 1, files: try OwnedDirectory(existing: directory.path))
        sessions = [WCSession(over: apps.primary), WCSession(over: apps.secondaries[0])]
        for (session, delegate) in zip(sessions, delegates) {
            session.delegate = delegate
            session.activate()
        }
        let isActivated = settle { [sessions] in sessions.allSatisfy { $0.activationState == .activated } }
        #expect(isActivated)
    }

    /// Files are read and written on threads of their own: their turns come in between.
    private func settle(until isDone: () -> Bool) -> Bool {
        for _ in 0..<1_000_000 {
            apps.scheduler.run()
            for session in sessions { session.callbacks.sync {} }
            if isDone() { return true }
            sched_yield()
        }
        return false
    }

    private func kept(_ device: Int) -> [KeepingDelegate.Kept] { delegates[device].kept.withLock { $0 } }
    private func finished(_ device: Int) -> [Int] { delegates[device].finished.withLock { $0.map(\.code) } }

    @Test(
        "FIL-16: a path with a NUL, and a file without a size, are 7013 and send nothing",
        arguments: [("secret\0.jpg", "file-access"), ("/proc/self/status", "not-a-file"), ("link", "not-a-file")])
    func refusedPath(path: String, name: String) throws {
        directory.write([1], to: "secret")
        #expect(symlink(directory.path("secret"), directory.path("link")) == 0)
        let transfer = apps.primary.beginFileTransfer(path.hasPrefix("/") ? path : directory.path(path))
        #expect(settle { transfer.refusal != nil })
        #expect(transfer.refusal?.code == .fileAccessDenied && transfer.refusal?.name == name)
        #expect(kept(1).isEmpty)
    }

    @Test("FIL-4, FIL-11, SES-22: a file passes the simulator whole, in both directions", arguments: [(0, 1), (1, 0)])
    func passes(_ sender: Int, _ receiver: Int) throws {
        let bytes = (0..<300_001).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        directory.write(bytes, to: "photo.jpg")
        let transfer = sessions[sender].transferFile(
            URL(fileURLWithPath: directory.path("photo.jpg")), metadata: ["album": 7])
        #expect(sessions[sender].outstandingFileTransfers == [transfer])
        #expect(settle { !finished(sender).isEmpty && !kept(receiver).isEmpty })
        #expect(finished(sender) == [0] && kept(sender).isEmpty && finished(receiver).isEmpty)
        let file = try #require(kept(receiver).first)
        #expect(file.bytes == bytes && file.name == "photo.jpg" && file.album == 7)
        #expect(transfer.progress.isFinished && transfer.progress.totalUnitCount == 300_001)
        #expect(sessions[sender].outstandingFileTransfers.isEmpty)
        // The simulator removes files that the app left in its directory.
        let inbox = "\(directory.path)/apps.\(receiver == 0 ? "primary" : "secondary")/com.example.app/inbox"
        #expect(
            settle {
                let left = FileManager.default.enumerator(atPath: inbox)?.allObjects as? [String] ?? ["?"]
                return !left.contains { $0.hasSuffix("photo.jpg") }
            })
    }

    @Test("a file that goes while another one comes does not disturb it")
    func both() throws {
        for (number, session) in sessions.enumerated() {
            directory.write([UInt8](repeating: UInt8(number), count: 200_000), to: "\(number).bin")
            session.transferFile(URL(fileURLWithPath: directory.path("\(number).bin")), metadata: nil)
        }
        #expect(settle { (0...1).allSatisfy { finished($0) == [0] && kept($0).count == 1 } })
        #expect(kept(1).first?.bytes == [UInt8](repeating: 0, count: 200_000))
        #expect(kept(0).first?.bytes == [UInt8](repeating: 1, count: 200_000))
    }
}
