// What a caller wants to send, encoded on the caller's own thread: the loop only routes bytes. A fault found here is
// kept as a fact, because the order of SES-13 may have a better answer.

import TandemBase
import TandemPropertyList
import TandemSession
import TandemWire

/// A message ready for the loop.
package struct OutgoingContent: Sendable {
    package let kind: FrameKind
    package let body: [UInt8]
    /// Which handler is meant.
    package let topic: String?
    var badArgument: BadArgument?
    var unsupportedKeyPath: String?

    /// A dictionary message.
    package init(_ message: PropertyListDictionary, topic: String? = nil) {
        kind = .message
        self.topic = topic
        badArgument = message.hasReservedKey ? .reservedKey : Self.fault(of: topic)
        do {
            body = try PropertyListWriter.write(message)
        } catch {
            body = []
            unsupportedKeyPath = error.keyPath
        }
    }

    /// A data message.
    package init(data: [UInt8], topic: String? = nil) {
        kind = .messageData
        body = data
        self.topic = topic
        badArgument = Self.fault(of: topic)
    }

    /// What cannot be sent at all: a value of a foreign type at this key path.
    package init(unsupportedAt keyPath: String) {
        kind = .message
        body = []
        topic = nil
        unsupportedKeyPath = keyPath
    }

    private static func fault(of topic: String?) -> BadArgument? { topic?.isShortText == false ? .topic : nil }

    /// The bytes of a reply's dictionary.
    static func encode(
        _ dictionary: PropertyListDictionary, id: UniqueIdentifier
    ) throws(SessionError) -> [UInt8] {
        do { return try PropertyListWriter.write(dictionary) } catch {
            throw SessionError(.unsupportedType(keyPath: error.keyPath), messageID: id)
        }
    }
}

extension PropertyListError {
    fileprivate var keyPath: String { if case .path(let path) = place { path } else { "" } }
}
