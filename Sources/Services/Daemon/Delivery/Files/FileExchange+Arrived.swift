// How the coming of a file ends (FIL-11, FIL-13, FIL-14): whole and compared, refused for now, or as a gap.

import TandemBase
import TandemCrypto
import TandemDelivery
import TandemFiles
import TandemReactor
import TandemWire

extension FileExchange {
    func verify(_ arrival: FileArrival) {
        guard let file = arrival.file else { return }
        worker.attempt({ () throws(FileError) in try file.finish() }) { [self] result in
            guard !arrival.isOver else { return }
            switch result {
            case .failure(let error): refuse(arrival, .machine(error))
            case .success(let digest) where !isEqualInConstantTime(digest, arrival.manifest.digest):
                if !arrival.isAnothers { removePartial(arrival.key) }
                refuse(arrival, .digestMismatch)
            case .success: complete(arrival)
            }
        }
    }

    private func complete(_ arrival: FileArrival) {
        end(arrival)
        var item = arrival.item
        // The bytes took their time; what is left of the item's is less.
        item.remaining = item.remaining.map { max(.zero, $0 - scheduler.now.since(arrival.began)) }
        guard items?.receive(item) == true else { return removePartial(arrival.key) }
        delegate?.files(self, completed: arrival.key.queue.app)
    }

    /// Tells the peer that the item cannot be taken now; what is written stays, for when it can.
    func refuse(_ arrival: FileArrival, _ refusal: FileRefusal) {
        // What was promised to it others may have meanwhile (LIM-43).
        if !arrival.isAnothers { countWritten(of: arrival) }
        end(arrival)
        log(.files("a file is not taken: \(refusal.name)", arrival.key, nil))
        refuse(arrival.key, refusal)
    }

    private func countWritten(of arrival: FileArrival) {
        let (key, written) = (arrival.key, arrival.receiver?.written ?? arrival.found)
        if written > 0 { received.set(key, of: key.queue.pairing, size: written) } else { received.remove(key) }
    }

    func refuse(_ key: FileKey, _ refusal: FileRefusal) {
        let failure = FailureFrame(of: key, code: refusal.code, name: refusal.name, body: refusal.body)
        if let envelope = try? failure.envelope { send(envelope, over: key.queue.pairing) }
    }

    func end(_ arrival: FileArrival) {
        arrival.end()
        if arrivals[arrival.key.queue] === arrival { arrivals[arrival.key.queue] = nil }
    }

    func gap(_ envelope: Envelope, in queue: QueueKey) -> Bool {
        if let arrival = arrivals[queue], arrival.sequence == envelope.sequence {
            end(arrival)
            if !arrival.isAnothers { received.remove(arrival.key) }
        }
        if next[queue]?.sequence == envelope.sequence { next[queue] = nil }
        guard let items else { return false }
        // Of an item that was stored it is told by name; of one that was still to come there may be a part here.
        let mayHavePart = items.wouldStore(envelope, in: queue)
        guard items.receive(envelope) else { return false }
        if mayHavePart { sweep(queue) }
        return true
    }

    func removePartial(_ key: FileKey) {
        received.remove(key)
        let (partials, place) = (partials, key.place)
        run("removing a partial file") { () throws(FileError) in try partials.remove(place) }
    }
}

extension LogEvent {
    static func files(_ job: StaticString, _ error: FileError) -> LogEvent {
        LogEvent(.warning, "files: a job failed", .text("job", "\(job)"), .text("error", "\(error)"))
    }

    static func files(_ message: String, _ key: FileKey, _ error: FileError?) -> LogEvent {
        LogEvent(
            .warning, "files", .text("what", message), .text("pairing", "\(key.queue.pairing)"),
            .text("app", "\(key.queue.app)"), .text("item", "\(key.id)"), .text("error", error.map { "\($0)" } ?? "-"))
    }
}
