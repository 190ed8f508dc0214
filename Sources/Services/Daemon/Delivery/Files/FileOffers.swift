// Complete files and their apps (FIL-11, FIL-15): into the app's directory before the delivery, removed after the
// verdict.

package import TandemBase
import TandemDelivery
package import TandemFiles
package import TandemWire

/// Why a stored file cannot be offered to its app.
package enum FileOfferFailure: Error, Sendable, Equatable {
    /// It is gone: another program has moved it.
    case missing
    /// Its app has no directory now.
    case noInbox
    /// The machine cannot open the app's directory now, or cannot move the file into it.
    case later(FileError)
}

/// Moves complete files to their apps, and removes files that belong to no item; confined to its loop.
package final class FileOffers {
    private let environment: FileEnvironment
    private let arrivals: FileArrivals
    /// Queues that are swept; true: once more after it.
    private var sweeping: [QueueKey: Bool] = [:]
    /// The files that could not be moved to their apps the last time.
    private var refused: [FileKey: FileError] = [:]
    private lazy var leftovers = FileLeftovers(
        on: environment.scheduler,
        isTaken: { [arrivals] key in arrivals.arriving(in: key.queue) == key.id },
        remove: { [weak self] in self?.removeAgain($0) })

    init(of arrivals: FileArrivals, in environment: FileEnvironment) {
        self.arrivals = arrivals
        self.environment = environment
    }

    /// Moves the file of a stored item into its app's directory.
    /// - Parameter completion: gets the body of `delivery`.
    package func offer(
        _ id: UniqueIdentifier, in queue: QueueKey, manifest body: [UInt8],
        then completion: @escaping (Result<[UInt8], FileOfferFailure>) -> Void
    ) {
        guard let manifest = try? FileManifest(reading: body[...], limits: environment.limits) else {
            return completion(.failure(.missing))
        }
        let found: AppInbox?
        // The directory cannot be opened now, perhaps because no descriptor is free. That says nothing of the file:
        // later.
        do throws(FileError) { found = try environment.inbox(queue.app) } catch {
            return completion(.failure(.later(error)))
        }
        guard let inbox = found else { return completion(.failure(.noInbox)) }
        let key = FileKey(queue, id)
        let name = ReceivedFileName(reducing: manifest.file.name).text
        let (partials, spoolKey) = (environment.partials, key.spoolKey)
        environment.worker.attempt({ () throws(FileError) in try inbox.move(spoolKey, named: name, from: partials) }) {
            [self] result in
            switch result {
            case .failure(let error):
                refused[key] = error
                environment.log(.files("a file cannot be given to its app", key, error))
                completion(.failure(.later(error)))
            case .success(nil):
                refused[key] = nil
                completion(.failure(.missing))
            case .success(let path?):
                // Those before it were refused for a cause that is gone now.
                refused = refused.filter { $0.key.queue != queue }
                let delivery = try? Body.bytes(manifest.delivery(at: path))
                completion(delivery.map { .success($0) } ?? .failure(.missing))
            }
        }
    }

    /// The files that could not be moved to their apps, by app, each with the reason (CTL-76).
    var unmoved: [String] {
        Set(refused.map { "\($0.key.queue.app): \($0.value.textOfFixedPath)" }).sorted()
    }

    /// A received item has ended: what is left of its file is removed when that is durable, unless the item comes again
    /// or another one has its identifier.
    package func judged(_ id: UniqueIdentifier, in queue: QueueKey) {
        judged([FileKey(queue, id)], in: queue)
    }

    private func judged(_ keys: [FileKey], in queue: QueueKey) {
        environment.items?.keptFiles(of: queue) { [weak self] kept in
            guard let self else { return }
            for key in keys {
                guard let kept else {
                    leftovers.add(key)
                    continue
                }
                if kept.contains(key.id) { leftovers.removed(key) } else { remove(key) }
            }
        }
    }

    private func remove(_ key: FileKey) {
        refused[key] = nil
        arrivals.uncount(key)
        let (partials, spoolKey) = (environment.partials, key.spoolKey)
        do throws(FileError) {
            // An app without an owner has no directory, and so no complete file.
            let inbox = try environment.inbox(key.queue.app)
            environment.remove("removing a handled file", key, orAddTo: leftovers) { () throws(FileError) in
                // A partial file that stays must not keep the complete one.
                let partial = Result { () throws(FileError) in try partials.remove(spoolKey) }
                guard let removal = try inbox?.removal(of: spoolKey) else {
                    try partial.get()
                    return nil
                }
                if case .failure(let error) = partial { removal.begin(after: error) }
                return removal
            }
        } catch {
            environment.remove("removing a handled file", key, orAddTo: leftovers) { () throws(FileError) in
                try partials.remove(spoolKey)
                throw error
            }
        }
    }

    private func removeAgain(_ keys: Set<FileKey>) {
        for (queue, keys) in Dictionary(grouping: keys, by: \.queue) { judged(keys, in: queue) }
    }

    /// Removes every file of a queue that belongs to no item: after some items have ended without a report by name.
    package func sweep(_ queue: QueueKey) {
        guard sweeping[queue] == nil else { return sweeping[queue] = true }
        sweeping[queue] = false
        // One that comes now may be complete, and an item, before the answer is there.
        let arriving = arrivals.arriving(in: queue)
        environment.items?.keptFiles(of: queue) { [weak self] kept in
            guard let self else { return }
            guard let kept else { return swept(queue) }
            let all = kept.union([arriving, arrivals.arriving(in: queue)].compactMap(\.self))
            arrivals.removeAll(but: all, in: queue)
            refused = refused.filter { $0.key.queue != queue || all.contains($0.key.id) }
            environment.worker.perform({}) { [weak self] in self?.swept(queue) }
            guard let inbox = try? environment.inbox(queue.app) else { return }
            let names = Set(all.map(\.description))
            environment.clear("removing orphans") { () throws(FileError) in
                try inbox.removal(of: "\(queue.pairing)", but: names)
            }
        }
    }

    /// However many ends come meanwhile, the disk is asked once more.
    private func swept(_ queue: QueueKey) { if sweeping.removeValue(forKey: queue) == true { sweep(queue) } }

    /// Removes the files of other pairings and of other items. The directory of a pairing that continues stays, also
    /// without a file: the next one may come into it meanwhile.
    func restore(_ received: [FileKey], pairings: Set<UniqueIdentifier>, apps: [ApplicationIdentifier]) {
        let received = Dictionary(grouping: received, by: \.queue.app)
        for app in apps {
            guard let inbox = try? environment.inbox(app) else { continue }
            let files = Dictionary(grouping: received[app] ?? [], by: \.queue.pairing)
            let names = Set(pairings.union(files.keys).map(\.description))
            environment.clear("removing orphans") { () throws(FileError) in try inbox.removal(butOf: names) }
            for pairing in pairings.union(files.keys) {
                let kept = Set((files[pairing] ?? []).map(\.id.description))
                environment.clear("removing orphans") { () throws(FileError) in
                    try inbox.removal(of: "\(pairing)", but: kept)
                }
            }
        }
    }

    func removePairing(_ pairing: UniqueIdentifier, apps: [ApplicationIdentifier]) {
        leftovers.removeAll(of: pairing)
        refused = refused.filter { $0.key.queue.pairing != pairing }
        for app in apps {
            guard let inbox = try? environment.inbox(app) else { continue }
            environment.clear("removing a pairing's files") { () throws(FileError) in
                try inbox.removal(of: "\(pairing)")
            }
        }
    }
}
