// Sending interactive messages, which need the counterpart to be reachable now. Nothing falls back to another channel
// by itself: a message that cannot be delivered is an error.

package import TandemBase
public import TandemPropertyList
import TandemSession
public import TandemWire

extension PairedSession {
    /// How long a caller waits for a reply when it does not say: 30 s.
    public static var standardTimeout: Duration { Limits.standardDeadline }

    /// Sends a dictionary and waits for the reply: exactly one of reply and error, at the latest after the timeout.
    /// - Parameters:
    ///   - message: up to 65,536 bytes encoded, without top-level keys that start with `tandem.`.
    ///   - topic: which handler is meant, 1 to 128 bytes without NUL; without one, the handlers without topic.
    ///   - timeout: 1 ms to 600 s; the receiver learns it.
    /// - Throws: the first that applies of 7004, 7016, 7005, 7006 or 7018, 7008, 7010, 7009 (over 65,536 bytes), 7007;
    ///   later 7011 (no reply could be given), 7012 (timeout), 7014 (not delivered, or nobody knows).
    public func sendMessage(
        _ message: PropertyListDictionary, topic: String? = nil, timeout: Duration = PairedSession.standardTimeout
    ) async throws(SessionError) -> PropertyListDictionary {
        let body = try await request(OutgoingContent(message, topic: topic), timeout, to: pairing)
        return try PropertyListDictionary(reply: body)
    }

    /// Sends bytes and waits for the reply's bytes; otherwise as ``sendMessage(_:topic:timeout:)``.
    public func sendMessageData(
        _ data: [UInt8], topic: String? = nil, timeout: Duration = PairedSession.standardTimeout
    ) async throws(SessionError) -> [UInt8] {
        try await request(OutgoingContent(data: data, topic: topic), timeout, to: pairing)
    }

    /// Sends a dictionary without a reply; returns when it was given to the daemon.
    /// - Parameters:
    ///   - message: as for `sendMessage`.
    ///   - topic: as for `sendMessage`.
    ///   - failure: called at most once, later, if the message did not reach a handler and that became known.
    /// - Throws: the first that applies of the codes of ``sendMessage(_:topic:timeout:)`` up to 7007; 7001
    ///   `too-many-requests` or 7012 (not sent within 30 s) while the daemon does not read.
    public func sendMessageWithoutReply(
        _ message: PropertyListDictionary, topic: String? = nil, failure: (@Sendable (SessionError) -> Void)? = nil
    ) async throws(SessionError) {
        try await note(OutgoingContent(message, topic: topic), failure)
    }

    /// Sends bytes without a reply; otherwise as ``sendMessageWithoutReply(_:topic:failure:)``.
    public func sendMessageDataWithoutReply(
        _ data: [UInt8], topic: String? = nil, failure: (@Sendable (SessionError) -> Void)? = nil
    ) async throws(SessionError) {
        try await note(OutgoingContent(data: data, topic: topic), failure)
    }

    func request(
        _ content: OutgoingContent, _ timeout: Duration, id: UniqueIdentifier = .random(), to pairing: UniqueIdentifier?
    ) async throws(SessionError) -> [UInt8] {
        try await core.result(id, cancel: { $0.abandon(id) }) { core, reply in
            core.request(content, to: pairing, id: id, timeout: timeout, reply: reply)
        }
    }

    private func note(
        _ content: OutgoingContent, _ failure: (@Sendable (SessionError) -> Void)?
    ) async throws(SessionError) {
        _ = try await core.result { [pairing] core, given in
            core.note(content, to: pairing, given: given, laterFailure: failure)
        }
    }
}

/// Content of a message or an item, encoded on the caller's own thread: the loop only routes bytes. A fault found here
/// is kept as a fact, because the order of SES-13 may have a better answer.
package struct OutgoingContent: Sendable {
    package let kind: FrameKind
    package let body: [UInt8]
    /// Which handler is meant.
    package let topic: String?
    var badArgument: BadArgument?
    var unsupported: UnsupportedContent?

    /// A dictionary message.
    package init(_ message: PropertyListDictionary, topic: String? = nil) {
        kind = .message
        self.topic = topic
        badArgument = message.hasReservedKey ? .reservedKey : Self.fault(of: topic)
        do {
            body = try PropertyListWriter.write(message)
        } catch {
            body = []
            unsupported = UnsupportedContent(.message, error)
        }
    }

    /// A data message.
    package init(data: [UInt8], topic: String? = nil) {
        kind = .messageData
        body = data
        self.topic = topic
        badArgument = Self.fault(of: topic)
    }

    /// Content that cannot be sent.
    /// - Parameter keys: those of its dictionary, of which none may be reserved.
    package init(_ unsupported: UnsupportedContent, keys: [String] = []) {
        kind = .message
        body = []
        topic = nil
        badArgument = keys.contains(where: \.isReservedKey) ? .reservedKey : nil
        self.unsupported = unsupported
    }

    /// The first reason against sending (SES-13); nil if there is none.
    /// - Parameter pairing: the one that the caller names; nil: the active one is meant.
    func refusal(
        _ standing: SessionStanding, _ counterpart: SendCheck.Counterpart?, of pairing: UniqueIdentifier? = nil,
        bodyLimit: Int = Limits.messageBody, needsReachability: Bool = true
    ) -> SendRefusal? {
        SendCheck(
            standing, counterpart: counterpart, namedPairing: pairing, badArgument: badArgument,
            unsupported: unsupported, bodySize: body.count, bodyLimit: bodyLimit, needsReachability: needsReachability
        ).refusal
    }

    private static func fault(of topic: String?) -> BadArgument? { topic?.isShortText == false ? .topic : nil }

    /// The bytes of a reply's dictionary.
    static func encode(
        _ dictionary: PropertyListDictionary, id: UniqueIdentifier
    ) throws(SessionError) -> [UInt8] {
        do { return try PropertyListWriter.write(dictionary) } catch {
            throw SessionError(.unsupported(UnsupportedContent(.reply, error)), messageID: id)
        }
    }
}

extension PropertyListDictionary {
    /// Reads the body of a reply to a dictionary.
    /// - Throws: 7011 `malformed` for one that is none.
    package init(reply body: [UInt8], messageID: UniqueIdentifier? = nil) throws(SessionError) {
        do { self = try PropertyListReader.readDictionary(body) } catch {
            throw SessionError(
                .messageReplyFailed, .malformed, reason: "the reply is not a valid dictionary: \(error)",
                messageID: messageID)
        }
    }
}

extension UnsupportedContent {
    init(_ kind: ContentKind, _ error: PropertyListError) {
        var keyPath: String?
        if case .path(let path) = error.location, !path.isEmpty { keyPath = path }
        self.init(kind, holds: error.reason.inContent, keyPath: keyPath)
    }
}

extension PropertyListError.Reason {
    /// The fault, to follow "the message holds".
    package var inContent: String {
        switch self {
        case .notFinite: "a real that is not finite"
        case .dateOutOfRange: "a date outside the years 1 to 9999"
        case .integerOutOfRange: "an integer that does not fit 64 bits"
        case .keyNotString: "a dictionary with a key that is not a string"
        case .invalidKeyLength(let length):
            "a dictionary with a key of \(length) bytes; a key has 1 to \(PropertyListLimits.maximumKeyLength)"
        case .keyContainsNull: "a dictionary with a key that contains a NUL"
        case .tooDeep, .tooManyValues, .tooManyRepeatedBytes: description
        case .tooManyObjects(_, let limit): "more than \(limit) different values and keys"
        // Faults of bytes that were read: the writer finds none of them.
        default: "something that no property list can hold: \(description)"
        }
    }
}
