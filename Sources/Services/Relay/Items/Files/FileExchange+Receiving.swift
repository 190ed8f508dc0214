// Files that come over a link (FIL-5 to FIL-11): an item waits here until its bytes are written and compared; only then
// it goes on to be stored.

import TandemCrypto
import TandemDelivery
import TandemFiles
import TandemIdentity
import TandemLog
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
        if let arrival = arrivals[queue] {
            if arrival.key == key, arrival.sequence == sequence {
                if let step = arrival.receiver?.toldAgain(at: scheduler.now) { take(step, arrival) }
                return true
            }
            arrivals.removeValue(forKey: queue)?.end()
        }
        do throws(WireError) {
            let manifest = try FileManifest(reading: body, limits: limits)
            begin(FileArrival(key, envelope, sequence: sequence, manifest, limits: limits, at: scheduler.now))
        } catch {
            refuse(key, .unreadable(error))
        }
        return true
    }

    private func begin(_ arrival: FileArrival) {
        let queue = arrival.key.queue
        arrivals[queue] = arrival
        // What an older item left in the middle is nobody's now; what waits for its handler is.
        items?.keptFiles(of: queue) { [weak self] kept in
            guard let self, !arrival.isOver else { return }
            open(arrival, kept: kept?.union([arrival.key.id]))
        }
    }

    private func open(_ arrival: FileArrival, kept: Set<UniqueIdentifier>?) {
        let (partials, place, size, reserve) = (partials, arrival.key.place, arrival.manifest.file.size, limits.reserve)
        worker.perform({ () -> Result<GrowingFile, FileRefusal> in
            refusing { () throws(FileRefusal) in
                let file = try translating { () throws(FileError) in
                    if let kept { try partials.removeAll(of: place.app, in: place.pairing, but: kept) }
                    let file = try partials.open(place)
                    if file.size > size { try file.startOver() }
                    return file
                }
                if file.size < size { try partials.checkSpace(for: size - file.size, reserve: reserve) }
                return file
            }
        }) { [self] result in
            guard !arrival.isOver else { return }
            switch result {
            case .failure(let refusal): refuse(arrival, refusal)
            case .success(let file): start(arrival, file)
            }
        }
    }

    private func start(_ arrival: FileArrival, _ file: GrowingFile) {
        let receiver = FileReceiver(
            size: arrival.manifest.file.size, written: file.size, at: scheduler.now, limits: limits)
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
            let step = arrival.receiver?.chunk(at: offset, count: body.count, at: scheduler.now)
        else { return true }
        guard step == .write else {
            take(step, arrival)
            return true
        }
        append(body, to: file, on: partials) { [self] result in
            guard !arrival.isOver else { return }
            if case .failure(let refusal) = result { return refuse(arrival, refusal) }
            wrote(body.count, arrival)
        }
        return true
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

    // MARK: ends

    private func verify(_ arrival: FileArrival) {
        guard let file = arrival.file else { return }
        worker.attempt({ () throws(FileError) in try file.finish() }) { [self] result in
            guard !arrival.isOver else { return }
            switch result {
            case .failure(let error): refuse(arrival, .machine(error))
            case .success(let digest) where !isEqualInConstantTime(digest, arrival.manifest.digest):
                removePartial(arrival.key)
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
    private func refuse(_ arrival: FileArrival, _ refusal: FileRefusal) {
        end(arrival)
        log(.files("a file is not taken: \(refusal.name)", arrival.key, nil))
        refuse(arrival.key, refusal)
    }

    private func refuse(_ key: FileKey, _ refusal: FileRefusal) {
        let failure = Envelope(
            .failure, app: key.queue.app, pairing: key.queue.pairing, id: key.id, code: refusal.code.rawValue,
            name: refusal.name)
        if let failure = try? failure.with(body: refusal.body) { send(failure, over: key.queue.pairing) }
    }

    private func end(_ arrival: FileArrival) {
        arrival.end()
        if arrivals[arrival.key.queue] === arrival { arrivals[arrival.key.queue] = nil }
    }

    private func gap(_ envelope: Envelope, in queue: QueueKey) -> Bool {
        if let arrival = arrivals[queue], arrival.sequence == envelope.sequence { end(arrival) }
        guard let items, items.receive(envelope) else { return false }
        sweep(queue)
        return true
    }

    func removePartial(_ key: FileKey) {
        let (partials, place) = (partials, key.place)
        run("removing a partial file") { () throws(FileError) in try partials.remove(place) }
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

extension LogEvent {
    static func files(_ message: String, _ key: FileKey, _ error: FileError?) -> LogEvent {
        LogEvent(
            .warning, "files", .text("what", message), .text("pairing", "\(key.queue.pairing)"),
            .text("app", "\(key.queue.app)"), .text("item", "\(key.id)"), .text("error", error.map { "\($0)" } ?? "-"))
    }
}
