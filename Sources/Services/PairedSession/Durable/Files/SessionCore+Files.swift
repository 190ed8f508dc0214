// Files that this app transfers, from the call to the acceptance; and what the daemon says of their progress.

import TandemBase
import TandemFiles
import TandemPropertyList
import TandemReactor
import TandemWire

extension SessionCore {
    /// Opens the file and submits it; the transfer hears the rest.
    func transferFile(
        _ transfer: FileTransfer, metadata: PropertyListDictionary?, options: TransferOptions,
        to pairing: UniqueIdentifier?, of handle: SessionHandle
    ) {
        let worker = fileWorker ?? FileWorker(for: scheduler)
        fileWorker = worker
        let path = transfer.path
        opening.insert(transfer.id)
        worker.attempt({ () throws(FileError) in try FileParts(path: path) }) { [weak self] result in
            guard let self else { return transfer.refused(SessionError(.ended, messageID: transfer.id)) }
            guard opening.remove(transfer.id) != nil else { return transfer.refused(.cancelled(transfer.id)) }
            switch result {
            case .failure(let error): transfer.refused(SessionError(error, messageID: transfer.id))
            case .success(let parts):
                transfer.opened(size: parts.size)
                submit(transfer, parts, Self.submission(transfer, parts, metadata, options, pairing), handle)
            }
        }
    }

    private static func submission(
        _ transfer: FileTransfer, _ parts: FileParts, _ metadata: PropertyListDictionary?, _ options: TransferOptions,
        _ pairing: UniqueIdentifier?
    ) -> Submission {
        let name = transfer.path.split(separator: "/").last.map(String.init) ?? transfer.path
        var description: PropertyListDictionary = ["name": .string(name), "size": .integer(parts.size)]
        description["metadata"] = metadata.map { .dictionary($0) }
        var submission = Submission(.file, to: pairing, OutgoingContent(description))
        submission.id = transfer.id
        submission.options = options
        return submission
    }

    private func submit(
        _ transfer: FileTransfer, _ parts: FileParts, _ submission: Submission, _ handle: SessionHandle
    ) {
        let id = transfer.id
        // Before the daemon can answer, and only if it will be asked.
        if let pairing = machine.situation?.pairing(submission.pairing)?.pairing {
            feeds[id] = FileFeed(transfer, parts, pairing: pairing)
        }
        self.transfer(submission, of: handle) { [weak self] result in
            self?.feeds[id] = nil
            switch result {
            case .failure(let error): transfer.refused(error)
            case .success(let accepted):
                transfer.update { $0.handedOver = $0.total }
                self?.fileTransfers[id] = transfer
                transfer.accepted(as: accepted)
            }
        }
    }

    // MARK: the daemon's word

    func fileProgressed(_ envelope: Envelope) {
        guard let id = envelope.id, let offset = envelope.offset.flatMap({ Int64(exactly: $0) }) else { return }
        if envelope.name == "taking" { return fileTaken(id, offset) }
        guard envelope.body != nil else {
            fileTransfers[id]?.update { $0.transferred = min($0.total, offset) }
            return
        }
        incoming(envelope, id, offset)
    }

    private func incoming(_ envelope: Envelope, _ id: UniqueIdentifier, _ offset: Int64) {
        guard !onIncomingFile.isEmpty, let body = try? envelope.dictionaryBody(), let pairing = envelope.pairing,
            let name = body["name"]?.stringValue, let size = body["size"]?.integerValue
        else { return }
        let progress = IncomingFileProgress(id: id, pairing: pairing, name: name, size: size, received: offset)
        for observer in onIncomingFile { observer(progress) }
    }

    /// The other device has the file, or never will.
    func fileEnded(_ id: UniqueIdentifier, isStored: Bool) {
        guard let transfer = fileTransfers.removeValue(forKey: id) else { return }
        if isStored { transfer.update { $0.transferred = $0.total } }
        transfer.ended()
    }

    /// Returns when what was asked of the files' thread is done; its word comes in a later turn. For tests that turn time
    /// by hand.
    package func waitForFiles() { fileWorker?.waitUntilIdle() }

    /// The session ends.
    func endFiles() {
        for id in opening { _ = stopHandingOver(id, SessionError(.ended, messageID: id)) }
        feeds = [:]
        for transfer in fileTransfers.values { transfer.ended() }
        fileTransfers = [:]
        fileWorker?.close()
        fileWorker = nil
    }
}
