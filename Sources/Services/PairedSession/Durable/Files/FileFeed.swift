// A file on its way to the daemon (FIL-2, FIL-3): read in parts on the worker's thread, given a few parts ahead of what
// the daemon has written. The last part is only given if the file is still the one that was opened (FIL-16).

package import TandemBase
import TandemFiles
import TandemReactor
import TandemWire

/// One file that is handed over; confined to the session's scheduler.
final class FileFeed {
    /// The bytes of one part (LIM-28), and of all that the daemon has not written (LIM-39).
    static let chunk = 65_536
    static let ahead: Int64 = 8 * 65_536

    let transfer: FileTransfer
    let parts: FileParts
    let pairing: UniqueIdentifier
    /// What was asked of the worker, and what the daemon has written.
    var next: Int64 = 0
    var written: Int64 = 0
    /// Grows with each time that the daemon begins anew, on another connection.
    var round = 0

    init(_ transfer: FileTransfer, _ parts: FileParts, pairing: UniqueIdentifier) {
        self.transfer = transfer
        self.parts = parts
        self.pairing = pairing
    }

    /// The next part to read; nil if enough is under way.
    func nextPart() -> (offset: Int64, count: Int)? {
        let count = min(Int64(Self.chunk), parts.size - next)
        guard count > 0, next + count - written <= Self.ahead else { return nil }
        defer { next += count }
        return (next, Int(count))
    }
}

extension SessionCore {
    /// The daemon has written so much of a file; 0 also means that it begins.
    func fileTaken(_ id: UniqueIdentifier, _ offset: Int64) {
        guard let feed = feeds[id], (0...feed.parts.size).contains(offset) else { return }
        if offset == 0 {
            feed.next = 0
            feed.round += 1
        }
        feed.written = offset
        feed.transfer.update { $0.handedOver = offset }
        feedOn(feed)
    }

    private func feedOn(_ feed: FileFeed) {
        guard let worker = fileWorker else { return }
        let (parts, round) = (feed.parts, feed.round)
        while let part = feed.nextPart() {
            let isLast = part.offset + Int64(part.count) == parts.size
            worker.attempt({ () throws(FileError) -> [UInt8]? in
                let bytes = try parts.read(at: part.offset, count: part.count)
                guard bytes.count == part.count else { return nil }
                if isLast { guard try parts.isUnchanged() else { return nil } }
                return bytes
            }) { [weak self, weak feed] result in
                guard let self, let feed, feeds[feed.transfer.id] === feed, feed.round == round else { return }
                give(feed, part.offset, result)
            }
        }
    }

    private func give(_ feed: FileFeed, _ offset: Int64, _ result: Result<[UInt8]?, FileError>) {
        let id = feed.transfer.id
        switch result {
        case .failure(let error): _ = stopHandingOver(id, SessionError(error, messageID: id))
        case .success(nil): _ = stopHandingOver(id, .sourceChanged(feed.transfer.path, id))
        case .success(let bytes?):
            send(
                Envelope(
                    .chunk, app: settings.application, pairing: feed.pairing, id: id, channel: .file,
                    offset: UInt64(clamping: offset), body: bytes))
        }
    }

    /// Takes a file back, in any phase; its end tells what came of it.
    /// - Parameter pairing: of a file that a former process submitted.
    package func takeBackFile(_ id: UniqueIdentifier, in pairing: UniqueIdentifier? = nil) {
        if !stopHandingOver(id, .cancelled(id)) { cancelTransfer(id, on: .file, in: pairing) }
    }

    /// Ends the handing over of a file that the daemon has not accepted.
    /// - Returns: whether there was one.
    func stopHandingOver(_ id: UniqueIdentifier, _ error: SessionError) -> Bool {
        if opening.remove(id) != nil { return true }
        guard let feed = feeds.removeValue(forKey: id) else { return false }
        // The daemon drops what it has; an acceptance that crosses this is cancelled, too.
        ask("cancel", pairing: feed.pairing, channel: .file, ["item": .data(id.bytes)]) { _ in }
        submissionFailed(id, error)
        return true
    }
}
