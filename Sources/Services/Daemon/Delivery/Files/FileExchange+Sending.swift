// Files that a peer pulls (FIL-6, FIL-7): its wants open the window, parts are read on the worker and leave as chunks.

package import TandemBase
import TandemDelivery
import TandemFiles
import TandemReactor
package import TandemWire

/// A file that a peer pulls; confined to its loop.
final class FileSending {
    let key: FileKey
    var parts: FileParts?
    var pace: ProgressPace?
    /// The last want that came while the file was being opened.
    var first: (offset: Int64, isRestart: Bool)

    init(_ key: FileKey, first: (offset: Int64, isRestart: Bool)) {
        self.key = key
        self.first = first
    }
}

extension FileExchange {
    /// Takes `want` from a link.
    /// - Returns: false for one that does not read.
    func wanted(_ envelope: Envelope, of key: FileKey) -> Bool {
        guard let offset = envelope.offset.flatMap({ Int64(exactly: $0) }) else { return false }
        guard envelope.name == nil || envelope.name == FileWant.restart else { return false }
        let want = (offset: offset, isRestart: envelope.name != nil)
        guard let sending = sendings[key] else {
            // One that was taken back may still be asked for; a peer that makes identifiers up moves no disk, and no log.
            guard items?.isUnderWay(key.id, in: key.queue) == true else {
                stray.add()
                return true
            }
            open(FileSending(key, first: want))
            return true
        }
        guard let parts = sending.parts else {
            sending.first = want
            return true
        }
        return take(want, sending, parts)
    }

    private func open(_ sending: FileSending) {
        let key = sending.key
        sendings[key] = sending
        let (spool, place) = (spool, key.place)
        worker.attempt({ () throws(FileError) in try spool.read(place) }) { [self] result in
            guard sendings[key] === sending else { return }
            guard case .success(let parts?) = result else { return unreadable(key, result.failure) }
            sending.parts = parts
            sending.pace = ProgressPace(size: parts.size, limits: limits)
            // A want past the end of a file that nobody has opened yet: it is not asked for any more than that.
            if !take(sending.first, sending, parts) { sendings[key] = nil }
        }
    }

    private func take(_ want: (offset: Int64, isRestart: Bool), _ sending: FileSending, _ parts: FileParts) -> Bool {
        let pairing = sending.key.queue.pairing
        let isTaken = senders[pairing, default: FileSender(limits: limits)]
            .wanted(sending.key, size: parts.size, from: want.offset, isRestart: want.isRestart)
        guard isTaken else { return false }
        tellProgress(of: sending)
        pump(pairing)
        return true
    }

    /// Reads and sends as far as the windows reach.
    private func pump(_ pairing: UniqueIdentifier) {
        while let part = senders[pairing]?.nextPart() {
            guard let sending = sendings[part.file], let parts = sending.parts else { return }
            worker.attempt({ () throws(FileError) in try parts.read(at: part.offset, count: part.count) }) {
                [self] result in
                guard sendings[part.file] === sending else { return }
                read(part, result)
            }
        }
    }

    private func read(_ part: FileSender.Part, _ result: Result<[UInt8], FileError>) {
        let pairing = part.file.queue.pairing
        guard case .success(let bytes) = result, bytes.count == part.count else {
            return unreadable(part.file, result.failure)
        }
        if senders[pairing]?.read(part) == true {
            var chunk = envelope(.chunk, part.file)
            chunk.offset = UInt64(clamping: part.offset)
            chunk.body = bytes[...]
            send(chunk, over: pairing)
        }
        pump(pairing)
    }

    private func unreadable(_ key: FileKey, _ error: FileError?) {
        log(.files("a spooled file cannot be read", key, error))
        stopSending(key)
        items?.fileIsUnreadable(key.id, in: key.queue)
    }

    private func tellProgress(of sending: FileSending) {
        let key = sending.key
        guard let offset = senders[key.queue.pairing]?.acknowledged(key),
            sending.pace?.tells(offset, at: scheduler.now) == true
        else { return }
        var word = envelope(.progress, key)
        word.name = FileProgress.transferred.rawValue
        word.offset = UInt64(clamping: offset)
        if let source = sources[key]?.source {
            source.tell(word)
        } else {
            delegate?.files(self, tell: word, to: key.queue.app)
        }
    }

    private func stopSending(_ key: FileKey) {
        sendings[key] = nil
        senders[key.queue.pairing]?.ended(key)
        pump(key.queue.pairing)
    }

    /// The peer cannot take a file now (DEL-12). What was sent of it ahead is no part of the link's window any more, which
    /// others need meanwhile; the peer asks anew when the item has come again.
    package func refused(_ failure: FailureFrame) {
        if let key = failure.item, sendings[key] != nil { stopSending(key) }
    }

    /// A submitted item has ended; the bytes of a dead letter stay.
    package func sentItemEnded(_ id: UniqueIdentifier, in queue: QueueKey) { stopSending(FileKey(queue, id)) }

    /// The bytes of an item are not needed any more (FIL-14).
    package func released(_ id: UniqueIdentifier, in queue: QueueKey, _ direction: DeliveryDirection) {
        let key = FileKey(queue, id)
        guard direction == .outbound else { return judged(id, in: queue) }
        stopSending(key)
        // A new item of that identifier may be on its way in already.
        if takings[key] == nil { discard(key) }
    }
}
