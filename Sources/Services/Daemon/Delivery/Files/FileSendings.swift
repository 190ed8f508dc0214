// Files that peers pull (FIL-6, FIL-7): each `fetch` opens the window further, parts are read on the worker and leave
// as chunks.

import TandemBase
import TandemDelivery
import TandemFiles
import TandemReactor
import TandemWire

/// Sends spooled files as their receivers ask for them; confined to its loop.
final class FileSendings {
    private typealias Request = (offset: Int64, isRestart: Bool)

    /// One file that a peer pulls.
    private final class Sending {
        let key: FileKey
        var parts: FileParts?
        var pace: ProgressPace?
        /// The last request that came while the file was being opened.
        var first: Request

        init(_ key: FileKey, first: Request) {
            self.key = key
            self.first = first
        }
    }

    private let environment: FileEnvironment
    private let uploads: FileUploads
    private var senders: [UniqueIdentifier: FileSender] = [:]
    private var sendings: [FileKey: Sending] = [:]
    /// Requests of files that are not on their way to the peer.
    private let stray: Counter

    init(of uploads: FileUploads, in environment: FileEnvironment, stray: Counter) {
        self.uploads = uploads
        self.environment = environment
        self.stray = stray
    }

    /// The peer asks for the bytes of a file.
    /// - Returns: false for an offset that the file does not have.
    func take(_ fetch: FetchFrame) -> Bool {
        let (key, request) = (fetch.item, (offset: fetch.offset, isRestart: fetch.isRestart))
        guard let sending = sendings[key] else {
            // A cancelled item may still be asked for; a peer that makes identifiers up moves no disk, and no log.
            guard environment.items?.isUnderWay(key.id, in: key.queue) == true else {
                stray.add()
                return true
            }
            open(Sending(key, first: request))
            return true
        }
        guard let parts = sending.parts else {
            sending.first = request
            return true
        }
        return take(request, sending, parts)
    }

    private func open(_ sending: Sending) {
        let key = sending.key
        sendings[key] = sending
        let (spool, spoolKey) = (environment.spool, key.spoolKey)
        environment.worker.attempt({ () throws(FileError) in try spool.read(spoolKey) }) { [self] result in
            guard sendings[key] === sending else { return }
            guard case .success(let found) = result else { return unreadable(key, result.failure) }
            guard let parts = found else { return giveUp(key) }
            sending.parts = parts
            sending.pace = ProgressPace(size: parts.size, limits: environment.limits)
            // A request past the end of the file; until now its size was not known. No more than that is asked of it.
            if !take(sending.first, sending, parts) { sendings[key] = nil }
        }
    }

    private func take(_ request: Request, _ sending: Sending, _ parts: FileParts) -> Bool {
        let pairing = sending.key.queue.pairing
        let isTaken = senders[pairing, default: FileSender(limits: environment.limits)]
            .requested(sending.key, size: parts.size, from: request.offset, isRestart: request.isRestart)
        guard isTaken else { return false }
        reportProgress(of: sending)
        pump(pairing)
        return true
    }

    /// Reads and sends as far as the windows reach.
    private func pump(_ pairing: UniqueIdentifier) {
        while let part = senders[pairing]?.nextPart() {
            guard let sending = sendings[part.file], let parts = sending.parts else { return }
            environment.worker.attempt({ () throws(FileError) in try parts.read(at: part.offset, count: part.count) }) {
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
            environment.send(ChunkFrame(of: part.file, at: part.offset, bytes[...]).envelope, pairing)
        }
        pump(pairing)
    }

    private func unreadable(_ key: FileKey, _ error: FileError?) {
        environment.log(.files("a spooled file cannot be read", key, error))
        end(key)
        // No attempt: the receiver asks again after its silence (FIL-9).
        if error?.isExhaustion == true { return }
        environment.items?.fileIsUnreadable(key.id, isGone: false, in: key.queue)
    }

    /// The spool no longer has the file, and no attempt can succeed. The item ends at once: the next one need not wait
    /// for requests that come after a silence (FIL-9).
    private func giveUp(_ key: FileKey) {
        environment.log(.files("a spooled file is missing", key, nil))
        end(key)
        environment.items?.fileIsUnreadable(key.id, isGone: true, in: key.queue)
    }

    private func reportProgress(of sending: Sending) {
        let key = sending.key
        guard let offset = senders[key.queue.pairing]?.acknowledged(key),
            sending.pace?.isDue(offset, at: environment.scheduler.now) == true
        else { return }
        environment.notify(.transferred(offset: offset, nil), of: key, uploads.source(of: key), key.queue.app)
    }

    /// The peer has stored the file: no `fetch` says that its last bytes have come (FIL-10).
    func stored(_ key: FileKey) {
        guard let size = uploads.size(of: key) else { return }
        if let sending = sendings[key], sending.pace?.isDue(size, at: environment.scheduler.now) == false { return }
        environment.notify(.transferred(offset: size, nil), of: key, uploads.source(of: key), key.queue.app)
    }

    /// The file is stored, or will not be sent again.
    func end(_ key: FileKey) {
        sendings[key] = nil
        senders[key.queue.pairing]?.ended(key)
        pump(key.queue.pairing)
    }

    /// The peer cannot take the file now.
    func refused(_ key: FileKey) { if sendings[key] != nil { end(key) } }

    func linkClosed(_ pairing: UniqueIdentifier) {
        senders[pairing] = nil
        sendings = sendings.filter { $0.key.queue.pairing != pairing }
    }
}
