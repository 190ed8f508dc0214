// Files from apps of this device (FIL-2 to FIL-4): written to the spool as they come, and accepted when they are
// durable there. One that ends before that leaves nothing.

import TandemBase
package import TandemDelivery
import TandemFiles
package import TandemPropertyList
package import TandemWire

extension FileExchange {
    /// An app hands over a file.
    /// - Parameter completion: given the item's body once its bytes are durable here; the caller submits the item with
    ///   it, and tells ``discard(_:)`` if that fails.
    package func take(
        _ key: FileKey, body: PropertyListDictionary, from source: any FileSource,
        then completion: @escaping FileSubmission.Completion
    ) {
        do throws(FileRefusal) {
            let (description, size) = try described(body)
            drop(key, for: source, .takenOver)
            let submission = FileSubmission(
                key, description, size: size, from: source, limits: limits, completion: completion)
            let mayBegin = mayBegin(submission)
            try checkRoom(for: submission, mayBegin: mayBegin)
            spooled.set(key, of: owner(of: key), size: description.size)
            if mayBegin { begin(submission) } else { waiting.append(submission) }
        } catch {
            completion(.failure(error))
        }
    }

    /// What waits for its turn is bounded as what waits for the peer (LIM-14), for all its peers together; and so are the
    /// bytes of all files (LIM-43).
    private func checkRoom(for submission: FileSubmission, mayBegin: Bool) throws(FileRefusal) {
        let (key, size) = (submission.key, submission.description.size)
        if let refusal = spooled.refusal(of: key, of: owner(of: key), size: size, limit: limits.spooled) {
            throw refusal
        }
        guard !mayBegin else { return }
        let others = waiting.kept(of: key.queue.app)
        guard others.records < limits.waiting, submission.size <= limits.waitingBytes - others.bytes else {
            throw .queueFull(actual: others.records, limit: limits.waiting)
        }
    }

    private func described(
        _ body: PropertyListDictionary
    ) throws(FileRefusal) -> (description: FileDescription, size: Int) {
        let description: FileDescription
        let size: Int
        do throws(WireError) {
            description = try FileDescription(reading: body, limits: limits)
            let digest = [UInt8](repeating: 0, count: 32)
            size = try Body.bytes(FileManifest(description, digest: digest).dictionary).count
        } catch {
            throw .unreadable(error)
        }
        guard size <= limits.manifest else { throw .tooLarge(actual: size, limit: limits.manifest) }
        return (description, size)
    }

    private func begin(_ submission: FileSubmission) {
        takings[submission.key] = submission
        let (spool, place) = (spool, submission.key.place)
        let (size, reserve) = (submission.description.size, limits.reserve)
        worker.perform({ () -> Result<GrowingFile, FileRefusal> in
            refusing { () throws(FileRefusal) in
                try spool.checkSpace(for: size, reserve: reserve)
                return try translating { () throws(FileError) in
                    try spool.remove(place)
                    return try spool.open(place)
                }
            }
        }) { [self] result in
            guard !submission.isOver else { return }
            switch result {
            case .failure(let refusal): refuse(submission, refusal)
            case .success(let file):
                submission.file = file
                tell(.taking, 0, of: submission)
                if submission.taking.isComplete { finish(submission) }
            }
        }
    }

    /// A part of a file from an app. One of a file that was refused meanwhile is dropped.
    /// - Returns: false for a part out of place, which ends the connection (FIL-3).
    package func chunk(_ envelope: Envelope, of key: FileKey, from source: any FileSource) -> Bool {
        guard let submission = takings[key], submission.source === source, let file = submission.file,
            let offset = envelope.offset.flatMap({ Int64(exactly: $0) }), let body = envelope.body
        else { return waiting[key]?.source !== source }
        guard case .write = submission.taking.chunk(at: offset, count: body.count) else { return false }
        append(body, to: file, on: spool) { [self] result in
            guard !submission.isOver else { return }
            if case .failure(let refusal) = result { return refuse(submission, refusal) }
            submission.taking.wrote(body.count)
            wrote(submission)
        }
        return true
    }

    private func wrote(_ submission: FileSubmission) {
        let written = submission.taking.written
        if written == submission.taking.received || written - submission.told >= Int64(limits.chunk * 2) {
            tell(.taking, written, of: submission)
        }
        if submission.taking.isComplete { finish(submission) }
    }

    private func finish(_ submission: FileSubmission) {
        guard let file = submission.file else { return }
        worker.attempt({ () throws(FileError) in try file.finish() }) { [self] result in
            guard !submission.isOver else { return }
            end(submission)
            switch result {
            case .failure(let error): refuse(submission, .machine(error))
            case .success(let digest):
                sources[submission.key] = WeakSource(source: submission.source)
                submission.completion(manifest(submission.description, digest))
            }
        }
    }

    private func manifest(_ description: FileDescription, _ digest: [UInt8]) -> Result<[UInt8], FileRefusal> {
        do throws(WireError) {
            return .success(try Body.bytes(FileManifest(description, digest: digest).dictionary))
        } catch {
            return .failure(.unreadable(error))
        }
    }

    private func refuse(_ submission: FileSubmission, _ refusal: FileRefusal) {
        end(submission)
        discard(submission.key)
        submission.completion(.failure(refusal))
    }

    private func end(_ submission: FileSubmission) {
        submission.isOver = true
        submission.file = nil
        if takings[submission.key] === submission { takings[submission.key] = nil }
        waiting.remove(submission)
        let apps = Set(takings.keys.map(\.queue.app))
        let isFree = takings.count < limits.takings
        if let next = waiting.takeFirst(where: { isFree || !apps.contains($0) }) { begin(next) }
    }

    /// One file of each app at any time: an app that begins many and goes on with none holds up only itself.
    private func mayBegin(_ submission: FileSubmission) -> Bool {
        takings.count < limits.takings || !takings.keys.contains { $0.queue.app == submission.key.queue.app }
    }

    /// Ends a submission: it was cancelled, or begins anew. Whoever wanted that hears nothing of it, but another
    /// connection that was handing the file over does.
    /// - Returns: whether there was one.
    @discardableResult
    package func drop(_ key: FileKey, for source: (any FileSource)? = nil, _ reason: FileRefusal? = nil) -> Bool {
        guard let submission = takings[key] ?? waiting[key] else { return false }
        end(submission)
        discard(key)
        if let reason, submission.source !== source { submission.completion(.failure(reason)) }
        return true
    }

    /// An app's connection has ended.
    package func sourceLeft(_ source: any FileSource) {
        // First those that wait: the end of one lets the next one begin.
        let left = (waiting.all + takings.values).filter { $0.source == nil || $0.source === source }
        for submission in left { drop(submission.key) }
    }

    /// Removes a spooled file.
    package func discard(_ key: FileKey) {
        sources[key] = nil
        spooled.remove(key)
        let (spool, place) = (spool, key.place)
        run("removing a spooled file") { () throws(FileError) in try spool.remove(place) }
    }

    private func tell(_ progress: FileProgress, _ offset: Int64, of submission: FileSubmission) {
        submission.told = offset
        var word = envelope(.progress, submission.key)
        word.name = progress.rawValue
        word.offset = UInt64(clamping: offset)
        submission.source?.tell(word)
    }
}
