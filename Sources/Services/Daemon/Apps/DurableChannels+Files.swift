// The channel `file` of a side's host apps (FIL): what an app hands over goes to the exchange of files, and becomes an
// item when it is durable there; what arrives is put into the app's directory before the app hears of it.

package import TandemBase
import TandemDelivery
import TandemFiles
import TandemPropertyList
import TandemSession
package import TandemWire

extension HostAppConnection: FileSource {
    package func tell(_ envelope: Envelope) { send(envelope) }
}

extension DurableChannels {
    /// An app begins to hand over a file. The same identifier again is the same item.
    func submitFile(_ envelope: Envelope, _ id: UniqueIdentifier, _ queue: QueueKey, _ connection: HostAppConnection) {
        guard let files, let body = try? envelope.dictionaryBody() else {
            let error = SessionError(.deliveryFailed, name: "unsupported-kind", reason: "no files are taken here")
            return refuse(id, queue, error, connection)
        }
        let number = connection.number
        submitters[Submitted(id, in: queue)] = number
        if exchange.hasAccepted(id, in: queue) {
            return exchange.confirm(id, in: queue) { [weak self] in self?.submitted(id, queue, $0, number) }
        }
        files.take(FileKey(queue, id), body: body, from: connection) { [weak self] result in
            guard let self else { return }
            switch result {
            case .failure(let refusal): notTaken(id, queue, refusal, number)
            case .success(let manifest): submit(manifest, envelope, id, queue, number)
            }
        }
    }

    private func submit(
        _ manifest: [UInt8], _ envelope: Envelope, _ id: UniqueIdentifier, _ queue: QueueKey, _ number: ConnectionNumber
    ) {
        exchange.submit(item(envelope, id, manifest), to: queue) { [weak self] result in
            guard let self else { return }
            if case .failure = result { files?.discard(FileKey(queue, id)) }
            submitted(id, queue, result, number)
        }
    }

    private func notTaken(
        _ id: UniqueIdentifier, _ queue: QueueKey, _ refusal: FileRefusal, _ number: ConnectionNumber
    ) {
        // Another connection may hand the same file over by now.
        let name = Submitted(id, in: queue)
        if submitters[name] == number { submitters[name] = nil }
        guard let connection = endpoint.connection(number) else { return }
        let failure = FailureFrame(of: ItemKey(queue, id), code: refusal.code, name: refusal.name, body: refusal.body)
        connection.send(try failure.envelope)
    }

    /// A part of a file.
    func chunk(_ envelope: Envelope, _ app: ApplicationIdentifier, _ connection: HostAppConnection) -> Refusal? {
        guard let files, let id = envelope.id, let pairing = envelope.pairing, envelope.channel == .file else {
            return Refusal(.unexpected, "a part of no file")
        }
        let key = FileKey(QueueKey(pairing: pairing, app: app, channel: .file), id)
        return files.chunk(envelope, of: key, from: connection)
            ? nil : Refusal(.unexpected, "a part of a file out of its place")
    }

    // MARK: what arrived

    /// A file for its app: it goes into the app's directory first.
    func receivedFile(_ item: ReceivedItem) {
        guard let files else { return exchange.failed(item.ordinal, in: item.queue) }
        handing[item.queue] = item
        files.hand(item.id, in: item.queue, manifest: item.payload) { [weak self] result in
            // The app may have gone meanwhile, and come back, and be given the item anew.
            guard let self, handing[item.queue] == item else { return }
            handing[item.queue] = nil
            switch result {
            case .success(let body): give(item, body)
            case .failure(.later), .failure(.noInbox): exchange.failed(item.ordinal, in: item.queue)
            case .failure(.missing):
                let code = Int64(SessionError.Code.fileAccessDenied.rawValue)
                exchange.rejected(item.ordinal, code: code, in: item.queue)
            }
        }
    }

    /// A word of a file's progress for the app that receives.
    package func tell(_ envelope: Envelope, to app: ApplicationIdentifier) {
        guard let receiver = endpoint.receivers[app], receiver.port != nil else { return }
        receiver.send(envelope)
    }
}
