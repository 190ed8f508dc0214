// Files, by Apple's names. The call returns at once; the file is read from then on, and may change once it was
// accepted: `session(_:didFinish:error:)` tells when the other device has it, or why it never will.

public import Foundation
import PairedSession
import TandemIdentity
import TandemPropertyList
import TandemWire

extension WCSession {
    /// Queues a file for the counterpart. It is copied by this device's daemon; one that changes while it is copied
    /// fails with `fileAccessDenied`.
    @discardableResult
    public func transferFile(_ file: URL, metadata: [String: Any]?) -> WCSessionFileTransfer {
        let shown = WCSessionFile(fileURL: file, metadata: metadata)
        do {
            let session = try ready()
            let values = try metadata.map { values throws(WCError) in try Self.values(values) }
            let transfer = session.beginFileTransfer(file.path, metadata: values)
            return follow(transfer, shown)
        } catch {
            let transfer = WCSessionFileTransfer(id: .random(), file: shown) {}
            files.add(transfer)
            fileFinished(transfer.id, error.underlyingError)
            return transfer
        }
    }

    /// Files that have not been stored on the other device, cancelled or given up.
    public var outstandingFileTransfers: [WCSessionFileTransfer] { files.outstanding }

    private static func values(_ metadata: [String: Any]) throws(WCError) -> PropertyListDictionary {
        do throws(FoundationValueError) {
            return try PropertyListDictionary(foundation: metadata)
        } catch {
            throw WCError(
                SessionError(
                    .payloadUnsupportedTypes, reason: "no property list holds a \(error.typeName)",
                    keyPath: "metadata." + error.keyPath))
        }
    }

    private func follow(_ transfer: FileTransfer, _ file: WCSessionFile) -> WCSessionFileTransfer {
        let shown = WCSessionFileTransfer(id: transfer.id, file: file) { Task { _ = try? await transfer.cancel() } }
        files.add(shown)
        Task { [weak self, weak shown] in  // ends with the transfer
            for await step in transfer.progressUpdates { shown?.show(step) }
            do throws(SessionError) { try await transfer.reached(.accepted) } catch {
                self?.fileFinished(transfer.id, error)
            }
        }
        return shown
    }

    /// A step of a file, of a former process's too.
    func fileHappened(_ event: TransferEvent) {
        switch event.step {
        case .stored: fileFinished(event.id, nil)
        case .finished(let outcome): fileFinished(event.id, outcome.error)
        }
    }

    private func fileFinished(_ id: UniqueIdentifier, _ error: SessionError?) {
        guard let transfer = files.end(id) else { return }
        if error == nil { transfer.progress.completedUnitCount = transfer.progress.totalUnitCount }
        tell { $1.session($0, didFinish: transfer, error: error.map { WCError($0) }) }
    }

    /// After activation: what former processes queued.
    func fileLearned(_ item: OutstandingTransfer) {
        guard item.state == .accepted, let body = item.body,
            let values = try? PropertyListReader.readDictionary(body)
        else { return }
        let file = WCSessionFile(
            fileURL: URL(fileURLWithPath: values["name"]?.stringValue ?? "file"),
            metadata: values["metadata"]?.dictionaryValue?.foundationValue)
        files.add(
            WCSessionFileTransfer(id: item.id, file: file) { [weak self] in
                guard let session = self?.pairedSession else { return }
                Task { _ = try? await session.cancelTransfer(item) }
            })
    }

    /// A file arrived: it is the delegate's until its method returns.
    func fileArrived(
        _ item: DeliveredItem, _ session: WCSession, _ delegate: any WCSessionDelegate
    ) {
        let path = item.content["path"]?.stringValue ?? ""
        let metadata = item.content["metadata"]?.dictionaryValue?.foundationValue
        delegate.session(session, didReceive: WCSessionFile(fileURL: URL(fileURLWithPath: path), metadata: metadata))
    }
}
