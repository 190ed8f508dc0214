// Files that come over a link (FIL-5 to FIL-11): an item waits here until its bytes are written and compared; only then
// it goes on to be stored (FileExchange+Arrived.swift).

import TandemBase
import TandemCrypto
import TandemDelivery
import TandemFiles
import TandemPropertyList
import TandemReactor
package import TandemWire

extension FileExchange {
    /// Takes `item`, `gap`, `want` or `chunk` of the channel `file` from a link.
    /// - Returns: false for a frame that does not read.
    package func receive(_ envelope: Envelope) -> Bool {
        guard let app = envelope.app, let pairing = envelope.pairing, envelope.channel == .file else { return false }
        let queue = QueueKey(pairing: pairing, app: app, channel: .file)
        switch envelope.kind {
        case .gap: return gap(envelope, in: queue)
        case .item: return item(envelope, in: queue)
        case .want: return envelope.id.map { wanted(envelope, of: FileKey(queue, $0)) } ?? false
        case .chunk: return envelope.id.map { chunk(envelope, of: FileKey(queue, $0)) } ?? false
        default: return false
        }
    }

    private func item(_ envelope: Envelope, in queue: QueueKey) -> Bool {
        guard let items, let sequence = envelope.sequence, let id = envelope.id, let body = envelope.body else {
            return false
        }
        guard items.wouldStore(envelope, in: queue) else { return items.receive(envelope) }
        let key = FileKey(queue, id)
        if opening.contains(queue), arrivals[queue]?.key != key {
            // A peer that changes its mind with each frame gives the disk one thing to do at a time.
            next[queue] = envelope
            return true
        }
        if let arrival = arrivals[queue] {
            if arrival.key == key, arrival.sequence == sequence {
                arrival.isCut = false
                if let step = arrival.receiver?.toldAgain(at: scheduler.now) { take(step, arrival) }
                return true
            }
            arrivals.removeValue(forKey: queue)?.end()
        }
        do throws(WireError) {
            let manifest = try FileManifest(reading: body, limits: limits)
            if let refusal = countReceived(key, manifest.file.size) {
                refuse(key, refusal)
                return true
            }
            begin(FileArrival(key, envelope, sequence: sequence, manifest, limits: limits, at: scheduler.now))
        } catch {
            refuse(key, .unreadable(error))
        }
        return true
    }

    /// What waits for its app counts as well as what comes (LIM-43).
    private func countReceived(_ key: FileKey, _ size: Int64) -> FileRefusal? {
        let pairing = key.queue.pairing
        if let refusal = received.refusal(of: key, of: pairing, size: size, limit: limits.received) { return refusal }
        received.set(key, of: pairing, size: size)
        return nil
    }

    private func begin(_ arrival: FileArrival) {
        let queue = arrival.key.queue
        arrivals[queue] = arrival
        opening.insert(queue)
        // What an older item left in the middle is nobody's now; what waits for its handler is.
        items?.keptFiles(of: queue) { [weak self] kept in
            guard let self else { return }
            guard !arrival.isOver else { return opened(queue) }
            arrival.isAnothers = kept?.contains(arrival.key.id) ?? true
            let all = kept?.union([arrival.key.id])
            if let all { received.removeAll { $0.queue == queue && !all.contains($0.id) } }
            open(arrival, kept: all)
        }
    }

    private func open(_ arrival: FileArrival, kept: Set<UniqueIdentifier>?) {
        let (partials, place, size, reserve) = (partials, arrival.key.place, arrival.manifest.file.size, limits.reserve)
        let (isAnothers, promised) = (arrival.isAnothers, promised(besides: arrival))
        worker.perform({ () -> (found: Int64, file: Result<GrowingFile, FileRefusal>) in
            var found: Int64 = 0
            let file = refusing { () throws(FileRefusal) in
                let file = try translating { () throws(FileError) in
                    if let kept { try partials.removeAll(of: place.app, in: place.pairing, but: kept) }
                    return try partials.open(place)
                }
                // The file of an item that waits for its handler is not this one's to change.
                if isAnothers, file.found > 0, file.found != size { throw .duplicate }
                if file.found > size { try translating { () throws(FileError) in try file.startOver() } }
                found = file.found
                guard found < size else { return file }
                try partials.checkSpace(for: size - found, of: size, besides: promised, reserve: reserve)
                return file
            }
            return (found, file)
        }) { [self] result in
            defer { opened(arrival.key.queue) }
            guard !arrival.isOver else { return }
            arrival.found = result.found
            switch result.file {
            case .failure(let refusal): refuse(arrival, refusal)
            case .success(let file): readThrough(file, arrival)
            }
        }
    }

    /// What other files of the same peer still need: two that each fit alone must not fill the disk and wait for each other.
    /// Not those of other peers, which could keep the whole disk with files that never come.
    private func promised(besides arrival: FileArrival) -> Int64 {
        let pairing = arrival.key.queue.pairing
        return arrivals.reduce(into: 0) { sum, other in
            guard other.key.pairing == pairing, other.value !== arrival, !other.value.isOver else { return }
            let (next, overflow) = sum.addingReportingOverflow(other.value.missing)
            sum = overflow ? .max : next
        }
    }

    /// The disk has answered: what came meanwhile has its turn.
    private func opened(_ queue: QueueKey) {
        opening.remove(queue)
        if let envelope = next.removeValue(forKey: queue) { _ = item(envelope, in: queue) }
    }

    /// Hashes what is there, in parts between which others have their turn.
    private func readThrough(_ file: GrowingFile, _ arrival: FileArrival) {
        guard file.size < file.found else { return start(arrival, file) }
        worker.attempt({ () throws(FileError) in try file.readOn() }) { [self] result in
            guard !arrival.isOver else { return }
            switch result {
            case .failure(let error): refuse(arrival, .machine(error))
            case .success: readThrough(file, arrival)
            }
        }
    }

    private func start(_ arrival: FileArrival, _ file: GrowingFile) {
        var receiver = FileReceiver(
            size: arrival.manifest.file.size, written: file.size, at: scheduler.now, limits: limits)
        if arrival.isCut { receiver.linkClosed() }
        arrival.file = file
        arrival.receiver = receiver
        take(receiver.first, arrival)
        watch(arrival)
    }

    private func take(_ step: FileReceiver.Step, _ arrival: FileArrival) {
        switch step {
        case .nothing, .write: break
        case .want(let offset, let isRestart):
            var want = envelope(.want, arrival.key)
            want.offset = UInt64(clamping: offset)
            want.name = isRestart ? FileWant.restart : nil
            send(want, over: arrival.key.queue.pairing)
        case .verify: verify(arrival)
        }
    }

    private func chunk(_ envelope: Envelope, of key: FileKey) -> Bool {
        guard let offset = envelope.offset.flatMap({ Int64(exactly: $0) }), let body = envelope.body else {
            return false
        }
        // What was under way when the file ended, or started over, is dropped.
        guard let arrival = arrivals[key.queue], arrival.key == key, let file = arrival.file,
            mayWrite(body.count, of: key.queue.pairing),
            let step = arrival.receiver?.chunk(at: offset, count: body.count, at: scheduler.now)
        else { return true }
        guard step == .write else {
            take(step, arrival)
            return true
        }
        unwritten[key.queue.pairing, default: 0] += body.count
        append(body, to: file, on: partials) { [self] result in
            written(body.count, of: key.queue.pairing)
            guard !arrival.isOver else { return }
            if case .failure(let refusal) = result { return refuse(arrival, refusal) }
            wrote(body.count, arrival)
        }
        return true
    }

    /// A sender that keeps to its window for all files (FIL-7) has no more than two under way when it starts anew; of one
    /// that does not, the rest is dropped, and asked for later.
    private func mayWrite(_ count: Int, of pairing: UniqueIdentifier) -> Bool {
        count <= 2 * limits.linkWindow - (unwritten[pairing] ?? 0)
    }

    private func written(_ count: Int, of pairing: UniqueIdentifier) {
        let rest = (unwritten[pairing] ?? 0) - count
        unwritten[pairing] = rest > 0 ? rest : nil
    }

    private func wrote(_ count: Int, _ arrival: FileArrival) {
        guard let step = arrival.receiver?.wrote(count, at: scheduler.now) else { return }
        tellProgress(of: arrival)
        take(step, arrival)
    }

    /// Asks again after a silence (FIL-9).
    private func watch(_ arrival: FileArrival) {
        scheduler.schedule(after: limits.silence) { [weak self, weak arrival] in
            guard let self, let arrival, !arrival.isOver else { return }
            if let step = arrival.receiver?.timeAdvanced(at: scheduler.now) { take(step, arrival) }
            watch(arrival)
        }
    }

    private func tellProgress(of arrival: FileArrival) {
        guard let written = arrival.receiver?.written, arrival.pace.tells(written, at: scheduler.now) else { return }
        var word = envelope(.progress, arrival.key)
        word.name = FileProgress.transferred.rawValue
        word.offset = UInt64(clamping: written)
        let file = arrival.manifest.file
        word.body = (try? Body.bytes(["name": .string(file.name), "size": .integer(file.size)]))?[...]
        delegate?.files(self, tell: word, to: arrival.key.queue.app)
    }
}
