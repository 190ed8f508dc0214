// Files that come over a link (FIL-5 to FIL-11): an item waits here until its bytes are written and compared with its
// digest; only then is it stored. A file for which there is no space is refused, and what is written of it stays until
// the item comes again.

import TandemBase
import TandemCrypto
import TandemDelivery
import TandemFiles
import TandemReactor
import TandemWire

/// Receives files into partial files, one for each queue; confined to its loop.
final class FileArrivals {
    /// The result of a `gap`.
    enum GapResult {
        case unreadable
        /// Of an item that was stored the ledger reports the end by name; of one that was still to come there may be a
        /// part here.
        case taken(mayHavePart: Bool)
    }

    private let environment: FileEnvironment
    private var arrivals: [QueueKey: FileArrival] = [:]
    /// Queues for whose next file the disk is asked, and the last item that came for them meanwhile.
    private var opening: Set<QueueKey> = []
    private var next: [QueueKey: (frame: ItemFrame, envelope: Envelope)] = [:]
    /// Bytes that came over each link and are not written.
    private var unwritten: [UniqueIdentifier: Int] = [:]
    /// Bytes that have come and were not handled, by pairing.
    private var received = FileBudget<UniqueIdentifier>()

    init(in environment: FileEnvironment) { self.environment = environment }

    private var limits: FileLimits { environment.limits }
    private var now: MonotonicTime { environment.scheduler.now }

    // MARK: opening

    /// An item has come over the link.
    /// - Returns: false if this device does not take it.
    func take(_ frame: ItemFrame, _ envelope: Envelope) -> Bool {
        let (key, queue) = (frame.item, frame.item.queue)
        guard let items = environment.items else { return false }
        guard items.wouldStore(frame.sequence, size: frame.body.count, in: queue) else { return items.store(envelope) }
        if opening.contains(queue), arrivals[queue]?.key != key {
            // A peer that changes the file with each frame causes one disk operation at a time.
            next[queue] = (frame, envelope)
            return true
        }
        if let arrival = arrivals[queue] {
            if arrival.key == key, arrival.sequence == frame.sequence {
                arrival.isCut = false
                if let step = arrival.receiver?.announcedAgain(at: now) { take(step, arrival) }
                return true
            }
            end(arrival)
        }
        // Each is an open file: a peer may name any application.
        guard arrivals.keys.count(where: { $0.pairing == queue.pairing }) < limits.arrivals else { return true }
        do throws(WireError) {
            let manifest = try FileManifest(reading: frame.body, limits: limits)
            if let refusal = countReceived(key, manifest.file.size) {
                refuse(key, refusal)
                return true
            }
            begin(FileArrival(key, envelope, sequence: frame.sequence, manifest, limits: limits, at: now))
        } catch {
            refuse(key, .unreadable(error))
        }
        return true
    }

    /// Counts a file that comes together with those that wait for their app (LIM-43).
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
        // Partial data of an older item is orphaned and can be deleted. Complete files that wait for their handler are
        // still owned.
        environment.items?.keptFiles(of: queue) { [weak self] kept in
            guard let self else { return }
            guard !arrival.isOver else { return opened(queue) }
            arrival.isAnothers = kept?.contains(arrival.key.id) ?? true
            let all = kept?.union([arrival.key.id])
            if let all { keepOnly(all, in: queue) }
            open(arrival, kept: all)
        }
    }

    private func open(_ arrival: FileArrival, kept: Set<UniqueIdentifier>?) {
        let partials = environment.partials
        let (spoolKey, size, space) = (
            arrival.key.spoolKey, arrival.manifest.file.size, environment.space(on: partials)
        )
        let (isAnothers, promised) = (arrival.isAnothers, promised(besides: arrival))
        environment.worker.perform({ () -> (found: Int64, file: Result<GrowingFile, FileRefusal>) in
            var found: Int64 = 0
            let file = Result { () throws(FileRefusal) in
                let file = try translating { () throws(FileError) in
                    if let kept { try partials.removeAll(of: spoolKey.app, in: spoolKey.pairing, but: kept) }
                    return try partials.open(spoolKey)
                }
                // The file of an item that waits for its handler is not this one's to change.
                if isAnothers, file.found > 0, file.found != size { throw .duplicate }
                if file.found > size { try translating { () throws(FileError) in try file.startOver() } }
                found = file.found
                guard found < size else { return file }
                do throws(FileRefusal) { try space.check(for: size - found, of: size, besides: promised) } catch {
                    // A file that is not begun leaves nothing: its sender may hear of its end before this device does.
                    if found == 0, !isAnothers { try? partials.remove(spoolKey) }
                    throw error
                }
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

    /// The bytes that other files of the same peer still need: two files that each fit alone must not fill the disk and
    /// wait for each other. Not those of other peers, which could keep the whole disk with files that never come.
    private func promised(besides arrival: FileArrival) -> Int64 {
        let others = arrivals.filter { queue, other in
            queue.pairing == arrival.key.queue.pairing && other !== arrival && !other.isOver
        }
        return others.values.reduce(0) { $0.addingWithSaturation($1.missing) }
    }

    /// The disk has answered: the item that came meanwhile has its turn.
    private func opened(_ queue: QueueKey) {
        opening.remove(queue)
        if let item = next.removeValue(forKey: queue) { _ = take(item.frame, item.envelope) }
    }

    /// Hashes what is there, in parts between which others have their turn.
    private func readThrough(_ file: GrowingFile, _ arrival: FileArrival) {
        guard file.size < file.found else { return start(arrival, file) }
        environment.worker.attempt({ () throws(FileError) in try file.readOn() }) { [self] result in
            guard !arrival.isOver else { return }
            switch result {
            case .failure(let error): refuse(arrival, .machine(error))
            case .success: readThrough(file, arrival)
            }
        }
    }

    private func start(_ arrival: FileArrival, _ file: GrowingFile) {
        var receiver = FileReceiver(
            size: arrival.manifest.file.size, written: file.size, at: now, limits: limits)
        if arrival.isCut { receiver.linkClosed() }
        arrival.file = file
        arrival.receiver = receiver
        take(receiver.first, arrival)
        watch(arrival)
    }

    // MARK: pulling

    private func take(_ step: FileReceiver.Step, _ arrival: FileArrival) {
        switch step {
        case .nothing, .write: break
        case .fetch(let offset, let isRestart):
            let fetch = FetchFrame(of: arrival.key, from: offset, isRestart: isRestart)
            environment.send(fetch.envelope, arrival.key.queue.pairing)
        case .verify: verify(arrival)
        }
    }

    /// A part of a file has come over the link.
    func take(_ chunk: ChunkFrame) {
        let (key, body) = (chunk.item, chunk.body)
        // A chunk that was under way when the file ended or started over is dropped.
        guard let arrival = arrivals[key.queue], arrival.key == key, let file = arrival.file,
            mayWrite(body.count, of: key.queue.pairing),
            let step = arrival.receiver?.chunk(at: chunk.offset, count: body.count, at: now)
        else { return }
        guard step == .write else { return take(step, arrival) }
        unwritten[key.queue.pairing, default: 0] += body.count
        environment.append(body, to: file, on: environment.partials) { [self] result in
            written(body.count, of: key.queue.pairing)
            guard !arrival.isOver else { return }
            if case .failure(let refusal) = result { return refuse(arrival, refusal) }
            wrote(body.count, arrival)
        }
    }

    /// A sender that keeps to its window for all files (FIL-7) has no more than two under way when it starts over. The
    /// rest of what another sender sends is dropped, and asked for later.
    private func mayWrite(_ count: Int, of pairing: UniqueIdentifier) -> Bool {
        count <= 2 * limits.linkWindow - (unwritten[pairing] ?? 0)
    }

    private func written(_ count: Int, of pairing: UniqueIdentifier) {
        let rest = (unwritten[pairing] ?? 0) - count
        unwritten[pairing] = rest > 0 ? rest : nil
    }

    private func wrote(_ count: Int, _ arrival: FileArrival) {
        guard let step = arrival.receiver?.wrote(count, at: now) else { return }
        reportProgress(of: arrival)
        take(step, arrival)
    }

    /// Asks again after a silence (FIL-9). Without a link, and while the last bytes are being written, nothing is due.
    private func watch(_ arrival: FileArrival) {
        let rest = arrival.receiver?.deadline?.since(now) ?? .zero
        environment.scheduler.schedule(after: rest > .zero ? rest : limits.silence) { [weak self, weak arrival] in
            guard let self, let arrival, !arrival.isOver else { return }
            if let step = arrival.receiver?.timeAdvanced(at: now) { take(step, arrival) }
            watch(arrival)
        }
    }

    private func reportProgress(of arrival: FileArrival) {
        guard let written = arrival.receiver?.written, arrival.pace.isDue(written, at: now) else { return }
        let file = ProgressFrame.IncomingFile(name: arrival.manifest.file.name, size: arrival.manifest.file.size)
        environment.notify(.transferred(offset: written, file), of: arrival.key, nil, arrival.key.queue.app)
    }

    // MARK: ending

    private func verify(_ arrival: FileArrival) {
        guard let file = arrival.file else { return }
        // No part was written in this run of an empty file, or of one that was complete at the start.
        reportProgress(of: arrival)
        environment.worker.attempt({ () throws(FileError) in try file.finish() }) { [self] result in
            guard !arrival.isOver else { return }
            switch result {
            // Its bytes may be lost although they can be read (FIL-11).
            case .failure(let error): startOver(arrival, .machine(error))
            case .success(let digest) where !isEqualInConstantTime(digest, arrival.manifest.digest):
                startOver(arrival, .digestMismatch)
            case .success: complete(arrival)
            }
        }
    }

    /// Refuses the item, which comes again from its first byte.
    private func startOver(_ arrival: FileArrival, _ refusal: FileRefusal) {
        refuse(arrival, refusal)
        if !arrival.isAnothers { remove(arrival.key) }
    }

    private func complete(_ arrival: FileArrival) {
        end(arrival)
        var item = arrival.item
        item[.remaining] = InboundRecord.remaining(item[.remaining], after: now.since(arrival.began))
        guard environment.items?.store(item) == true else { return remove(arrival.key) }
        environment.onArrival(arrival.key.queue.app)
    }

    /// Refuses the item for now. Its partial file stays, for when there is space.
    private func refuse(_ arrival: FileArrival, _ refusal: FileRefusal) {
        // The space that was promised to it is free for others meanwhile (LIM-43).
        if !arrival.isAnothers { countWritten(of: arrival) }
        end(arrival)
        refuse(arrival.key, refusal)
    }

    private func countWritten(of arrival: FileArrival) {
        let (key, written) = (arrival.key, arrival.receiver?.written ?? arrival.found)
        if written > 0 { received.set(key, of: key.queue.pairing, size: written) } else { received.remove(key) }
    }

    private func refuse(_ key: FileKey, _ refusal: FileRefusal) {
        environment.log(refusal.event(of: key))
        let failure = FailureFrame(of: key, code: refusal.code, name: refusal.name, body: refusal.body)
        if let envelope = try? failure.envelope { environment.send(envelope, key.queue.pairing) }
    }

    private func end(_ arrival: FileArrival) {
        arrival.end()
        if arrivals[arrival.key.queue] === arrival { arrivals[arrival.key.queue] = nil }
    }

    /// An item of the channel will not come, or should no longer be handled.
    func take(_ gap: GapFrame, _ envelope: Envelope) -> GapResult {
        let queue = gap.queue
        if let arrival = arrivals[queue], arrival.sequence == gap.sequence {
            end(arrival)
            if !arrival.isAnothers { received.remove(arrival.key) }
        }
        if next[queue]?.frame.sequence == gap.sequence { next[queue] = nil }
        guard let items = environment.items else { return .unreadable }
        // Also on a full disk, which needs the space of what was taken back (DEL-31).
        let mayHavePart = items.isNext(gap.sequence, in: queue)
        return items.store(envelope) ? .taken(mayHavePart: mayHavePart) : .unreadable
    }

    // MARK: partial files

    /// The item whose bytes are coming.
    func arriving(in queue: QueueKey) -> UniqueIdentifier? { arrivals[queue]?.key.id }

    /// Removes the partial file, or the complete one that no app has. If it stays, the next file of its queue
    /// removes it.
    private func remove(_ key: FileKey) {
        uncount(key)
        let (partials, spoolKey) = (environment.partials, key.spoolKey)
        environment.run("removing a partial file") { () throws(FileError) in try partials.remove(spoolKey) }
    }

    /// The bytes of the file no longer count (LIM-43).
    func uncount(_ key: FileKey) { received.remove(key) }

    /// Removes the files of all other items.
    func removeAll(but kept: Set<UniqueIdentifier>, in queue: QueueKey) {
        keepOnly(kept, in: queue)
        let partials = environment.partials
        environment.run("removing orphans") { () throws(FileError) in
            try partials.removeAll(of: queue.app, in: queue.pairing, but: kept)
        }
    }

    private func keepOnly(_ kept: Set<UniqueIdentifier>, in queue: QueueKey) {
        received.removeAll { $0.queue == queue && !kept.contains($0.id) }
    }

    /// Removes the files of other pairings, and counts those that are there.
    /// - Parameter stored: the files of stored items, with their sizes. Some are in the directories of their apps by
    ///   now, where the count of those that are there does not find them.
    func restore(_ pairings: Set<UniqueIdentifier>, stored: [StoredFile]) {
        let partials = environment.partials
        environment.clear("removing orphans") { () throws(FileError) in try partials.removal(butOf: pairings) }
        for (key, size) in stored { received.set(key, of: key.queue.pairing, size: size) }
        received.beginRestoring()
        environment.count({ () throws(FileError) in try partials.sizes(of: pairings) }) { [weak self] found in
            self?.received.restore(found.map { ($0.file, $0.file.queue.pairing, $0.size) })
        }
    }

    func linkClosed(_ pairing: UniqueIdentifier) {
        for (queue, arrival) in arrivals where queue.pairing == pairing {
            arrival.isCut = true
            arrival.receiver?.linkClosed()
        }
    }

    /// Ends files under way: in the next epoch the numbers of their items name others (DEL-10). Their parts stay for
    /// when they come again.
    func epochEnded(of pairing: UniqueIdentifier) {
        next = next.filter { $0.key.pairing != pairing }
        for (queue, arrival) in arrivals where queue.pairing == pairing {
            // One that is being opened counts as announced: its part has not been looked at.
            if !arrival.isAnothers, !opening.contains(queue) { countWritten(of: arrival) }
            end(arrival)
        }
    }

    /// Ends files under way to an application that is removed (SES-73), and drops what is there of them. Their senders
    /// get an answer when they offer them again.
    func clear(_ app: ApplicationIdentifier) {
        for arrival in arrivals.values where arrival.key.queue.app == app {
            end(arrival)
            if !arrival.isAnothers { remove(arrival.key) }
        }
        next = next.filter { $0.key.app != app }
    }

    func removePairing(_ pairing: UniqueIdentifier) {
        for (queue, arrival) in arrivals where queue.pairing == pairing { end(arrival) }
        next = next.filter { $0.key.pairing != pairing }
        received.removeAll { $0.queue.pairing == pairing }
        let partials = environment.partials
        environment.clear("removing a pairing's files") { () throws(FileError) in try partials.removal(of: pairing) }
    }
}

/// One file that comes: the item that announced it, what is written of it, and the rules of its pulling. Confined to
/// its loop.
private final class FileArrival {
    let key: FileKey
    let sequence: UInt64
    let manifest: FileManifest
    /// The item as it came first.
    let item: Envelope
    let began: MonotonicTime
    var receiver: FileReceiver?
    var file: GrowingFile?
    /// Bytes of it that were on the disk when it came.
    var found: Int64 = 0
    var pace: ProgressPace
    /// An item with this identifier waits for its handler, and has the file.
    var isAnothers = false
    /// The link is gone and the item has not come again since.
    var isCut = false
    private(set) var isOver = false

    init(
        _ key: FileKey, _ item: Envelope, sequence: UInt64, _ manifest: FileManifest, limits: FileLimits,
        at now: MonotonicTime
    ) {
        self.key = key
        self.sequence = sequence
        self.manifest = manifest
        self.item = item
        began = now
        pace = ProgressPace(size: manifest.file.size, limits: limits)
    }

    /// Bytes that are still to be written.
    var missing: Int64 { max(0, manifest.file.size - (receiver?.written ?? found)) }

    func end() {
        isOver = true
        file = nil
        receiver = nil
    }
}
