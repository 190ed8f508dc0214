// Files. The library reads the file on a thread of its own and gives its bytes to the daemon, which keeps a copy: after
// the acceptance the source may change or go. The other device's daemon puts the whole file into a directory of the
// counterpart, which moves it away within its handler.

package import TandemBase
import TandemFiles
public import TandemPropertyList
public import TandemWire

extension PairedSession {
    /// Gives a file to the counterpart, now or when it can be reached. WCSession's call of that name (FIL-2 to FIL-16).
    /// - Parameters:
    ///   - path: a regular file that this process can read; no symbolic link. A relative path counts from the working
    ///     directory at the moment of the call.
    ///   - metadata: arrives with the file, with any keys. Its name, size and metadata are one property list of at most
    ///     65,536 bytes, which is what `actual` of 7009 counts: some 100 bytes more than name and metadata have alone.
    ///   - options: topic, supersede key, time to live, barrier.
    ///   - level: returns when the file has got this far.
    /// - Throws: as ``transferUserInfo(_:options:until:)``. A cancelled task does not stop a file that is being handed
    ///   over or was accepted. The end of the session stops one that was not accepted yet. ``SessionError/messageID``
    ///   is the file's ``FileTransfer/id``. 7013 `source-changed` if the file changed or was removed before all of
    ///   it was read, 7013 if it cannot be read or says no size, 7015 if the daemon's disk has no room for it.
    @discardableResult
    public func transferFile(
        _ path: String, metadata: PropertyListDictionary? = nil, options: TransferOptions = TransferOptions(),
        until level: AcknowledgementLevel = .accepted
    ) async throws(SessionError) -> FileTransfer {
        let id = UniqueIdentifier.random()
        if Task.isCancelled { throw .cancelled(id) }
        let transfer = beginFileTransfer(path, metadata: metadata, options: options, id: id)
        try await transfer.reached(level)
        return transfer
    }

    /// Begins as ``transferFile(_:metadata:options:until:)`` does and returns at once; the transfer tells what becomes
    /// of it.
    public func beginFileTransfer(
        _ path: String, metadata: PropertyListDictionary? = nil, options: TransferOptions = TransferOptions()
    ) -> FileTransfer {
        beginFileTransfer(path, metadata: metadata, options: options, id: .random())
    }

    /// Begins under an identifier that the caller has chosen, and reports each step on the session's thread.
    /// - Parameters:
    ///   - followsLinks: sends what a symbolic link at the path leads to.
    ///   - changed: the progress now.
    ///   - refused: the daemon never accepted the file.
    package func beginFileTransfer(
        _ path: String, metadata: PropertyListDictionary?, options: TransferOptions = TransferOptions(),
        id: UniqueIdentifier, followsLinks: Bool = false,
        changed: @escaping @Sendable (FileTransferProgress) -> Void = { _ in },
        refused: @escaping @Sendable (SessionError) -> Void = { _ in }
    ) -> FileTransfer {
        let transfer = FileTransfer(
            id: id, path: AbsolutePath.of(path), followsLinks: followsLinks, session: core, onChange: changed,
            onRefusal: refused)
        core.run { [pairing] core in
            core.transferFile(transfer, metadata: metadata, options: options, to: pairing)
        }
        return transfer
    }

    /// Handles files: move each away before returning, what is left then is deleted. Otherwise as
    /// ``handleUserInfo(topic:_:)``.
    @discardableResult
    public func handleFiles(
        topic: String? = nil, _ handler: @escaping @Sendable (ReceivedFile) async throws -> Void
    ) -> MessageSubscription {
        handle(.file, topic) { item in
            guard let file = ReceivedFile(item) else {
                throw ItemRejection(reason: "the file's description is damaged")
            }
            try await handler(file)
        }
    }

    /// Calls back until ``end()`` while files arrive for this app, up to ten times a second for each. There is no
    /// token, and the session keeps the observer so long, so one that uses the session should capture it weakly.
    public func observeIncomingFiles(_ observer: @escaping @Sendable (IncomingFileProgress) -> Void) {
        core.run { $0.observeIncomingFiles(observer) }
    }
}
