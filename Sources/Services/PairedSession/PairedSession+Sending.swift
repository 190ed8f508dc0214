// Sending to the counterpart: interactive messages, which need it to be reachable now. Nothing falls back to another
// channel by itself: what cannot be delivered is an error.

import TandemBase
public import TandemPropertyList
public import TandemWire

extension PairedSession {
    /// How long a caller waits for a reply when it does not say: 30 s.
    public static var standardTimeout: Duration { Limits.standardDeadline }

    /// Sends a dictionary and waits for the reply: exactly one of reply and error, at the latest after the timeout.
    /// - Parameters:
    ///   - message: up to 65,536 bytes encoded, without top-level keys that start with `tandem.`.
    ///   - topic: which handler is meant, 1 to 128 bytes without NUL; without one, the handlers without topic.
    ///   - timeout: 1 ms to 600 s; the receiver is told.
    /// - Throws: the first that applies of 7004, 7016, 7005, 7006 or 7018, 7008, 7010, 7009 (over 65,536 bytes), 7007;
    ///   later 7011 (no reply could be given), 7012 (timeout), 7014 (not delivered, or nobody knows).
    public func sendMessage(
        _ message: PropertyListDictionary, topic: String? = nil, timeout: Duration = PairedSession.standardTimeout
    ) async throws(SessionError) -> PropertyListDictionary {
        let body = try await request(OutgoingContent(message, topic: topic), timeout)
        do { return try PropertyListReader.readDictionary(body) } catch {
            throw SessionError(
                .messageReplyFailed, name: "malformed", reason: "the reply is not a valid dictionary: \(error)")
        }
    }

    /// Sends bytes and waits for the reply's bytes; otherwise as ``sendMessage(_:topic:timeout:)``.
    public func sendMessageData(
        _ data: [UInt8], topic: String? = nil, timeout: Duration = PairedSession.standardTimeout
    ) async throws(SessionError) -> [UInt8] {
        try await request(OutgoingContent(data: data, topic: topic), timeout)
    }

    /// Sends a dictionary without a reply; returns when it was given to the daemon.
    /// - Parameters:
    ///   - message: as for `sendMessage`.
    ///   - topic: as for `sendMessage`.
    ///   - failure: called at most once, later, if the message did not reach a handler and that became known.
    /// - Throws: the first that applies of the codes of ``sendMessage(_:topic:timeout:)`` up to 7007.
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

    private func request(_ content: OutgoingContent, _ timeout: Duration) async throws(SessionError) -> [UInt8] {
        try await request(content, timeout, id: .random(), to: pairing)
    }

    func request(
        _ content: OutgoingContent, _ timeout: Duration, id: UniqueIdentifier, to pairing: UniqueIdentifier?
    ) async throws(SessionError) -> [UInt8] {
        let (handle, mark) = (handle, CancellationMark())
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Result<[UInt8], SessionError>, Never>) in
                handle.run { core in
                    if mark.isSet { return continuation.resume(returning: .failure(SessionError.cancelled(id))) }
                    core.send(
                        OutgoingMessage(id: id, to: pairing, content, timeout: timeout) {
                            continuation.resume(returning: $0)
                        })
                }
            }
        } onCancel: {
            mark.set()
            handle.run { core in core.abandon(id) }
        }
        return try result.get()
    }

    private func note(
        _ content: OutgoingContent, _ failure: (@Sendable (SessionError) -> Void)?
    ) async throws(SessionError) {
        let (handle, pairing) = (handle, pairing)
        let result = await withCheckedContinuation { continuation in
            handle.run { core in
                let given: ReplyWaiter = { continuation.resume(returning: $0) }
                core.send(OutgoingMessage(noteTo: pairing, content, given: given, laterFailure: failure))
            }
        }
        _ = try result.get()
    }
}
