// What the exchange of items tells and does for that of files.

package import TandemDelivery
package import TandemIdentity
package import TandemWire

extension ItemExchange: FileItems {
    package func wouldStore(_ envelope: Envelope, in queue: QueueKey) -> Bool {
        guard let sequence = envelope.sequence, let lane = inboundLane(queue) else { return false }
        return lane.machine.wouldStore(sequence, size: envelope.body?.count ?? 0)
    }

    package func hasAccepted(_ id: UniqueIdentifier, in queue: QueueKey) -> Bool {
        outbound[queue]?.machine.record(of: id) != nil
    }

    package func fileIsUnreadable(_ id: UniqueIdentifier, in queue: QueueKey) {
        _ = refused(id, by: queue.pairing, code: Int64(SessionError.Code.deliveryFailed.rawValue))
    }

    package func keptFiles(of queue: QueueKey, then done: @escaping (Set<UniqueIdentifier>?) -> Void) {
        guard let lane = inbound[queue] else { return done([]) }
        var kept: Set<UniqueIdentifier> = []
        lane.perform(
            { ledger in
                kept = ledger.itemsWithFiles
                return ([], [])
            },
            then: { result in if case .success = result { done(kept) } else { done(nil) } })
    }

    /// The files that must stay when the daemon starts.
    package func filesToKeep() -> (sent: [FileKey], received: [FileKey]) {
        let sent = outbound.filter { $0.key.channel == .file }.flatMap { queue, lane in
            (lane.machine.outstanding() + lane.machine.deadLetters).map { FileKey(queue, $0.id) }
        }
        let received = inbound.filter { $0.key.channel == .file }.flatMap { queue, lane in
            lane.machine.itemsWithFiles.map { FileKey(queue, $0) }
        }
        return (sent, received)
    }

    /// Whether the item waits for an operator: then its bytes stay.
    package func isDeadLetter(_ id: UniqueIdentifier, in queue: QueueKey) -> Bool {
        outbound[queue]?.machine.deadLetters.contains { $0.id == id } ?? false
    }
}
