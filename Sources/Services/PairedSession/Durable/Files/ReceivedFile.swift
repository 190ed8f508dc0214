// What the handler of files gets, and the one thing that it must do: take the file away.

public import TandemBase
import TandemFiles
public import TandemPropertyList
import TandemReactor
import TandemWire

/// A whole file that arrived, in this app's own directory until its handler returns.
public struct ReceivedFile: Sendable {
    /// Everything but the file.
    public let facts: ItemFacts
    /// Where it is; the last component is made from ``name`` and safe to use.
    public let path: String
    /// What its sender called it: a text. Never use it as a path.
    public let name: String
    /// In bytes.
    public let size: Int64
    /// SHA-256 of its bytes, compared when it arrived.
    public let digest: [UInt8]
    /// What its sender gave with it; nil for nothing.
    public let metadata: PropertyListDictionary?

    init?(_ item: DeliveredItem) {
        let content = item.content
        guard let path = content["path"]?.stringValue, let name = content["name"]?.stringValue,
            let size = content["size"]?.integerValue, let digest = content["digest"]?.dataValue
        else { return nil }
        facts = item.facts
        self.path = path
        self.name = name
        self.size = size
        self.digest = digest
        metadata = content["metadata"]?.dictionaryValue
    }

    /// Moves the file to another place, on another file system too; nothing there is overwritten.
    /// - Throws: 7013 if the place is taken or cannot be written to, 7015 if it has no room.
    public func move(to other: String) throws(SessionError) {
        do throws(FileError) {
            try FileMove.move(from: path, to: other)
        } catch {
            throw SessionError(error, messageID: facts.id)
        }
    }
}

/// How far a file is that comes for this app.
public struct IncomingFileProgress: Sendable {
    /// The item's identifier, as in ``ItemFacts/id``.
    public let id: UniqueIdentifier
    /// The pairing that it comes through.
    public let pairing: UniqueIdentifier
    /// What its sender called it: a text.
    public let name: String
    /// In bytes.
    public let size: Int64
    /// Bytes that are here.
    public let received: Int64
}

extension SessionError {
    /// What is wrong with a file of this app.
    init(_ error: FileError, messageID: UniqueIdentifier?) {
        switch error {
        case .full: self.init(.insufficientSpace, name: "insufficient-space", reason: "\(error)")
        case .missing: self.init(.fileAccessDenied, name: "file-missing", reason: "\(error)")
        case .notARegularFile, .symbolicLink, .notADirectory:
            self.init(.fileAccessDenied, name: "not-a-file", reason: "\(error)")
        case .system(_, let failure) where failure.name == "EEXIST":
            self.init(.fileAccessDenied, name: "file-exists", reason: "\(error)")
        default: self.init(.fileAccessDenied, name: "file-access", reason: "\(error)")
        }
        self.messageID = messageID
    }

    static func sourceChanged(_ path: String, _ id: UniqueIdentifier) -> SessionError {
        SessionError(
            .fileAccessDenied, name: "source-changed", reason: "\(path) was changed while it was read; send it again",
            messageID: id, isRetryable: true)
    }
}
