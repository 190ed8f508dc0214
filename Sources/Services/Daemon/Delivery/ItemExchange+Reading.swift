// Reading a queue or ledger back after a commit that failed, and bodies that are not at hand. All reads go through the
// store's own order, after every commit submitted before.

import TandemDelivery
import TandemStore
import TandemWire

extension ItemExchange {
    func reloadQueue(_ key: QueueKey, _ done: @escaping (Result<OutboundQueue, StoreError>) -> Void) {
        let reading = reading
        read(key, [.outboundHeader, .outboundRecord, .urgentBudget, .sentContext]) { [weak self] result in
            guard let self else { return }
            done(
                result.map { rows in
                    let header = rows.outboundHeaders[key] ?? OutboundHeader(epoch: self.knownEpoch(key), at: reading)
                    return rows.queue(key, header, at: reading, limits: self.limits(key.channel))
                })
            guard case .success = result else { return }
            if self.isOpen(key) {
                self.outbound[key]?.perform { queue in
                    queue.linkOpened(received: queue.lastStored, at: reading).answer
                }
            }
            self.reconsiderBarriers(of: key.app, in: key.pairing)
        }
    }

    func reloadLedger(_ key: QueueKey, _ done: @escaping (Result<InboundLedger, StoreError>) -> Void) {
        let reading = reading
        read(key, [.inboundHeader, .inboundRecord, .receivedContext]) { [weak self] result in
            guard let self else { return }
            done(
                result.map { rows in
                    let header = rows.inboundHeaders[key] ?? InboundHeader(epoch: self.knownEpoch(key), at: reading)
                    return rows.ledger(key, header, at: reading, limits: self.limits(key.channel))
                })
            guard case .success = result, self.hasConsumer(key) else { return }
            self.inbound[key]?.perform { $0.consumerArrived(at: reading).answer }
        }
    }

    /// The body of an item, from its row.
    func payload(
        _ ordinal: UInt64, of key: QueueKey, in table: DeliveryTable, then done: @escaping ([UInt8]?) -> Void
    ) {
        let place = DeliveryRowKey(table, key, ordinal)
        store.fetch(.key(place.bytes, in: table.space)) { result in done((try? result.get())?.first?.value) }
    }

    private func knownEpoch(_ key: QueueKey) -> UInt64 { epoch(of: key.pairing) ?? 1 }

    private func read(
        _ key: QueueKey, _ tables: [DeliveryTable], _ rows: DeliveryRows = DeliveryRows(),
        then done: @escaping (Result<DeliveryRows, StoreError>) -> Void
    ) {
        guard let table = tables.first else { return done(.success(rows)) }
        store.fetch(.prefix(key.bytes, in: table.space)) { [weak self] result in
            switch result {
            case .failure(let error): done(.failure(error))
            case .success(let found):
                var rows = rows
                do throws(DeliveryRecordError) {
                    try rows.add(found, of: table)
                } catch {
                    return done(.failure(.corrupt(path: "", detail: error.description)))
                }
                self?.read(key, Array(tables.dropFirst()), rows, then: done)
            }
        }
    }
}
