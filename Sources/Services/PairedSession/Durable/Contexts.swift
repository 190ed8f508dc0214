// Application contexts: of each device the newest state, and nothing older ever after it. The sent context and
// the received one are two values; absent (nil) and empty are different.

import TandemBase
public import TandemPropertyList
public import TandemWire

/// Policy for a context whose bytes are those of the last one.
public enum ContextPolicy: Sendable {
    /// Nothing is sent, and the revision stays: what WCSession does.
    case ifChanged
    /// It is a new revision and is delivered.
    case always
}

/// The result of an update.
public struct ContextUpdate: Sendable, Equatable {
    /// Of the context that is now the last one: 1, 2, 3 ... for each device and app.
    public let revision: UInt64
    /// False: the bytes were those of the last context, and ``ContextPolicy/ifChanged`` kept it.
    public let isNew: Bool
}

extension PairedSession {
    /// Replaces the context for the counterpart; returns when that is durable. It is delivered when the counterpart can
    /// be reached; of several that wait only the newest.
    /// WCSession's call of that name (SES-48, SES-52).
    /// - Throws: the first that applies of 7004, 7016, 7005, 7006 or 7018, 7008, 7010, 7009 (over 262,144 bytes); 7015
    ///   (this device's disk is full); 7001 `cancelled` if the caller's task is cancelled: nothing is queued if it was
    ///   before the call, otherwise the context may still become the last one.
    @discardableResult
    public func updateApplicationContext(
        _ context: PropertyListDictionary, policy: ContextPolicy = .ifChanged
    ) async throws(SessionError) -> ContextUpdate {
        var submission = Submission(.context, to: pairing, OutgoingContent(context))
        if policy == .always { submission.name = SubmitFrame.Word.always.rawValue }
        let acceptance = try await core.result(submission.id) { [submission] core, accepted in
            core.submit(submission, accepted: accepted)
        }
        return ContextUpdate(revision: acceptance.revision ?? 0, isNew: acceptance.note != .unchanged)
    }

    /// The context that was sent last, by this or a former process; nil: never one.
    public var applicationContext: PropertyListDictionary? { contexts?.sent?.context }

    /// The context that was received last; nil: never one.
    public var receivedApplicationContext: PropertyListDictionary? { contexts?.received?.context }

    private var contexts: ContextPair? {
        let snapshot = core.states.snapshot
        guard let pairing = pairing ?? snapshot.pairings.first(where: \.isActive)?.pairing else { return nil }
        return snapshot.contexts[pairing]
    }
}

/// The last contexts sent to and received from one device.
struct ContextPair: Sendable, Equatable {
    fileprivate(set) var sent: ContextValue?
    fileprivate(set) var received: ContextValue?
}

/// A context; two are the same if they came in one frame, so that comparing costs nothing.
struct ContextValue: Sendable, Equatable {
    let context: PropertyListDictionary
    let revision: UInt64
    fileprivate let serial: UInt64

    static func == (left: Self, right: Self) -> Bool { left.serial == right.serial }
}

/// The last contexts of each pairing.
struct ContextTable {
    private(set) var contexts: [UniqueIdentifier: ContextPair] = [:]
    private var lastSerial: UInt64 = 0
    /// The connection that brought the last of them, and the first serial of it; 0 once it has brought all.
    private var connection: UInt64 = 0
    private var firstSerial: UInt64 = 0

    /// A `context` arrived: one that was sent or received (SES-52). True if it is taken. The body is the counterpart's,
    /// so that one that does not read says nothing about the daemon.
    mutating func arrived(_ frame: ContextFrame, on connection: UInt64) -> Bool {
        guard let context = try? Body.dictionary(frame.body) else { return false }
        follow(connection)
        lastSerial += 1
        let value = ContextValue(context: context, revision: frame.revision, serial: lastSerial)
        switch frame.direction {
        case .sent: contexts[frame.pairing, default: ContextPair()].sent = value
        case .received: contexts[frame.pairing, default: ContextPair()].received = value
        case nil: return false
        }
        return true
    }

    private mutating func follow(_ connection: UInt64) {
        guard connection != self.connection else { return }
        (self.connection, firstSerial) = (connection, lastSerial + 1)
    }

    /// The daemon answers a list behind all contexts that it keeps: what a former connection brought, and this one did
    /// not, is gone (SES-62). True if there was such a context.
    mutating func answered(_ answer: AnswerFrame, on connection: UInt64) -> Bool {
        guard answer.command == QueryFrame.Command.outstanding.rawValue, answer.code == 0 else { return false }
        follow(connection)
        let (former, first) = (contexts, firstSerial)
        guard first > 0 else { return false }
        firstSerial = 0
        contexts = former.mapValues { pair in
            ContextPair(
                sent: pair.sent.flatMap { $0.serial < first ? nil : $0 },
                received: pair.received.flatMap { $0.serial < first ? nil : $0 })
        }
        return contexts != former
    }

    /// Drops the contexts of pairings that are gone.
    mutating func keepOnly(_ pairings: [UniqueIdentifier]) {
        guard !contexts.isEmpty else { return }
        let known = Set(pairings)
        contexts = contexts.filter { known.contains($0.key) }
    }
}
