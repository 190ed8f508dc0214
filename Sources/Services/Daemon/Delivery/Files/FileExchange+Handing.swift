// Complete files and their apps (FIL-11, FIL-15): into the app's directory before the delivery, away after the verdict.

package import TandemBase
import TandemDelivery
package import TandemFiles
package import TandemWire

/// Why a stored file cannot be handed to its app.
package enum FileHandFailure: Error, Sendable, Equatable {
    /// It is not there any more: somebody has moved it who did not say so.
    case missing
    /// Its app has no directory now.
    case noInbox
    /// The machine cannot move it now.
    case later(FileError)
}

extension FileExchange {
    /// Moves the file of a stored item into its app's directory.
    /// - Parameter completion: given the body of `delivery`.
    package func hand(
        _ id: UniqueIdentifier, in queue: QueueKey, manifest body: [UInt8],
        then completion: @escaping (Result<[UInt8], FileHandFailure>) -> Void
    ) {
        guard let manifest = try? FileManifest(reading: body[...], limits: limits) else {
            return completion(.failure(.missing))
        }
        // The directory cannot be opened at this moment, perhaps for want of descriptors: that says nothing of the file.
        guard let inbox = delegate?.files(self, inboxOf: queue.app)?.inbox else {
            return completion(.failure(.noInbox))
        }
        let key = FileKey(queue, id)
        let name = ReceivedFileName(reducing: manifest.file.name).text
        let (partials, place) = (partials, key.place)
        worker.attempt({ () throws(FileError) in try inbox.place(place, named: name, from: partials) }) {
            [self] result in
            switch result {
            case .failure(let error):
                log(.files("a file cannot be given to its app", key, error))
                completion(.failure(.later(error)))
            case .success(nil): completion(.failure(.missing))
            case .success(let path?):
                let delivery = try? Body.bytes(manifest.delivery(at: path))
                completion(delivery.map { .success($0) } ?? .failure(.missing))
            }
        }
    }

    /// A received item has ended: what is left of its file goes when that is durable, unless the item comes again or
    /// another one has its identifier.
    package func judged(_ id: UniqueIdentifier, in queue: QueueKey) {
        items?.keptFiles(of: queue) { [weak self] kept in
            guard let self, kept?.contains(id) == false else { return }
            remove(FileKey(queue, id))
        }
    }

    private func remove(_ key: FileKey) {
        removePartial(key)
        guard let inbox = delegate?.files(self, inboxOf: key.queue.app)?.inbox else { return }
        let place = key.place
        clear("removing a handled file") { () throws(FileError) in try inbox.removal(of: place) }
    }

    /// Removes every file of a queue that belongs to no item: after some have ended that nobody told of by name.
    package func sweep(_ queue: QueueKey) {
        guard sweeping[queue] == nil else { return sweeping[queue] = true }
        sweeping[queue] = false
        // One that comes now may be complete, and an item, before the answer is there.
        let coming = arrivals[queue]?.key.id
        items?.keptFiles(of: queue) { [weak self] kept in
            guard let self else { return }
            guard let kept else { return swept(queue) }
            let partials = partials
            let all = kept.union([coming, arrivals[queue]?.key.id].compactMap(\.self))
            received.removeAll { $0.queue == queue && !all.contains($0.id) }
            run("removing orphans") { () throws(FileError) in
                try partials.removeAll(of: queue.app, in: queue.pairing, but: all)
            }
            worker.perform({}) { [weak self] in self?.swept(queue) }
            guard let inbox = delegate?.files(self, inboxOf: queue.app)?.inbox else { return }
            let names = Set(all.map(\.description))
            clear("removing orphans") { () throws(FileError) in
                try inbox.removal(of: "\(queue.pairing)", but: names)
            }
        }
    }

    /// However many ends come meanwhile, the disk is asked once more.
    private func swept(_ queue: QueueKey) { if sweeping.removeValue(forKey: queue) == true { sweep(queue) } }
}
