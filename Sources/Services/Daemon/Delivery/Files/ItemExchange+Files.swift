// What the exchange of items tells and does for that of files.

package import TandemBase
package import TandemDelivery
package import TandemWire

extension ItemExchange: FileItems {
    package func wouldStore(_ envelope: Envelope, in queue: QueueKey) -> Bool {
        guard let sequence = envelope.sequence, let lane = inboundLane(queue) else { return false }
        let size = envelope.body?.count ?? 0
        return lane.machine.wouldStore(sequence, size: size, isFull: lane.refusal(of: size) != nil)
    }

    package func hasAccepted(_ id: UniqueIdentifier, in queue: QueueKey) -> Bool {
        outbound[queue]?.machine.record(of: id) != nil
    }

    package func isUnderWay(_ id: UniqueIdentifier, in queue: QueueKey) -> Bool {
        guard let record = outbound[queue]?.machine.record(of: id), case .sent = record.phase else { return false }
        return record.withdrawal == nil
    }

    package func fileIsUnreadable(_ id: UniqueIdentifier, in queue: QueueKey) {
        let refusal = ItemRefusal(code: Int64(SessionError.Code.deliveryFailed.rawValue), name: "file-error")
        let reading = reading
        outbound[queue]?.perform { $0.refused(id, refusal, at: reading).answer }
    }

    package func keptFiles(of queue: QueueKey, then done: @escaping (Set<UniqueIdentifier>?) -> Void) {
        guard let lane = inbound[queue] else { return done([]) }
        var kept: Set<UniqueIdentifier> = []
        lane.perform(
            { ledger in
                kept = ledger.itemsWithFiles
                return LaneAnswer()
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
}
