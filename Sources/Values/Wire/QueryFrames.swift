// Queries of an app to its daemon about its own items, and the answers (SES-54, SES-56), as values.

package import TandemBase
package import TandemPropertyList

/// A `query`.
package struct QueryFrame: TypedFrame {
    /// The kind of query; its word is the `command`.
    package enum Question: Sendable, Equatable {
        /// The items that have not ended, from the one behind this place on.
        case outstanding(after: UInt64)
        case cancel(UniqueIdentifier)
        /// Subscribes to the progress of these items.
        case subscribe([UniqueIdentifier])
        case budget
        /// Hands a signed configuration for this app over, as the app got it by a link (CFG-60).
        case apply(envelope: [UInt8])
        /// Brings the app's schema, which the daemon has asked for (SES-71).
        case schema(document: [UInt8])
    }

    /// The `command` of a question.
    package enum Command: String, EnvelopeWord {
        case outstanding, cancel, subscribe, budget, apply, schema
    }

    package let app: ApplicationIdentifier
    package let id: UniqueIdentifier
    package let pairing: UniqueIdentifier?
    package let channel: Channel?
    /// The word as it came; a newer app's may be unknown.
    package let command: String
    private let body: PropertyListDictionary

    package init(
        _ question: Question, id: UniqueIdentifier, app: ApplicationIdentifier, pairing: UniqueIdentifier?,
        channel: Channel?
    ) {
        (self.app, self.id, self.pairing, self.channel) = (app, id, pairing, channel)
        command = question.command.rawValue
        body = question.body
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        app = try envelope.required(.app)
        id = try envelope.required(.id)
        pairing = try envelope.optional(.pairing)
        channel = try envelope.optional(.channel)
        command = try envelope.required(.command)
        body = try envelope.dictionaryBody()
        if command == Command.outstanding.rawValue { _ = try BodyFields(body).optionalUnsigned(BodyKey.after) }
    }

    package var envelope: Envelope {
        get throws(WireError) {
            var envelope = Envelope(.query)
            (envelope[.app], envelope[.id], envelope[.pairing], envelope[.channel]) = (app, id, pairing, channel)
            envelope[.command] = command
            return try envelope.with(body: body)
        }
    }

    /// The question.
    /// - Throws: the name of the `answer` that refuses it.
    package func question() throws(AnswerName) -> Question {
        switch Command(word: command) {
        case .outstanding: return .outstanding(after: body[BodyKey.after]?.unsignedValue ?? 0)
        case .cancel:
            guard let item = body[BodyKey.item]?.identifierValue else { throw .item }
            return .cancel(item)
        case .subscribe:
            guard let items = body[BodyKey.items]?.list(atMost: Limits.pageItems, \.identifierValue) else {
                throw .items
            }
            return .subscribe(items)
        case .budget: return .budget
        case .apply:
            guard let channel else { throw .unknownCommand }
            guard channel == .configuration else { throw .channel }
            guard let envelope = body[BodyKey.envelope]?.dataValue else { throw .envelope }
            return .apply(envelope: envelope)
        case .schema:
            guard let document = body[BodyKey.schema]?.dataValue else { throw .schema }
            return .schema(document: document)
        case nil: throw .unknownCommand
        }
    }
}

extension QueryFrame.Question {
    package var command: QueryFrame.Command {
        switch self {
        case .outstanding: .outstanding
        case .cancel: .cancel
        case .subscribe: .subscribe
        case .budget: .budget
        case .apply: .apply
        case .schema: .schema
        }
    }

    fileprivate var body: PropertyListDictionary {
        switch self {
        case .outstanding(let after): [BodyKey.after: PropertyListValue(after)]
        case .cancel(let item): [BodyKey.item: .data(item.bytes)]
        case .subscribe(let items): [BodyKey.items: .array(items.map { .data($0.bytes) })]
        case .budget: [:]
        case .apply(let envelope): [BodyKey.envelope: .data(envelope)]
        case .schema(let document): [BodyKey.schema: .data(document)]
        }
    }
}

/// The `name` of an `answer`: how an item was taken back, or why there is no answer.
package enum AnswerName: String, EnvelopeWord, Error {
    /// No handler will have the item.
    case cancelled
    /// The counterpart's device decides; `finished` tells.
    case asked
    case tooLate = "too-late"
    case unknown

    case notPaired = "not-paired"
    case channel
    case unknownCommand = "unknown-command"
    case tooManyRequests = "too-many-requests"
    case items
    case item
    case store
    case schema
    case envelope
}

/// An `answer`.
package struct AnswerFrame: TypedFrame {
    package let app: ApplicationIdentifier
    package let id: UniqueIdentifier
    package let command: String
    /// 0: the question was answered.
    package let code: Int
    package let name: String?
    package let body: PropertyListDictionary

    /// nil: there is none, or it is a newer daemon's word.
    package var word: AnswerName? { name.flatMap { AnswerName(word: $0) } }

    /// - Parameter code: why there is no answer; nil if there is one.
    package init(
        to query: (id: UniqueIdentifier, app: ApplicationIdentifier, command: String), code: SessionError.Code? = nil,
        name: AnswerName? = nil, body: PropertyListDictionary = [:]
    ) {
        (id, app, command) = query
        self.code = code?.rawValue ?? 0
        self.name = name?.rawValue
        self.body = body
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        app = try envelope.required(.app)
        id = try envelope.required(.id)
        command = try envelope.required(.command)
        code = try envelope.optional(.code) ?? 0
        name = try envelope.optional(.name)
        body = try envelope.dictionaryBody()
    }

    package var envelope: Envelope {
        get throws(WireError) {
            var envelope = Envelope(.answer)
            (envelope[.app], envelope[.id], envelope[.command], envelope[.code]) = (app, id, command, code)
            envelope[.name] = name
            return body.isEmpty ? envelope : try envelope.with(body: body)
        }
    }
}

// MARK: bodies of answers

/// A page of items that have not ended: the body of the answer to `outstanding`.
package struct OutstandingPage: Sendable, Equatable {
    package struct Item: Sendable, Equatable {
        package let id: UniqueIdentifier
        package var isStored = false
        package var size = 0
        package var topic: String?
        package var kind: String?
        package var isCurrent = false
        /// The counterpart's last refusal.
        package var code: Int64?
        package var refusal: String?
        /// Absent once the peer has it.
        package var body: [UInt8]?

        package init(id: UniqueIdentifier) { self.id = id }
    }

    package let items: [Item]
    /// Where the next page begins; nil: there is none.
    package let more: UInt64?

    package init(items: [Item], more: UInt64?) {
        (self.items, self.more) = (items, more)
    }

    /// The readable part of a page; a newer daemon's may have more.
    package init(_ body: PropertyListDictionary) {
        items = (body[BodyKey.items]?.arrayValue ?? []).compactMap(\.dictionaryValue).compactMap { Item($0) }
        more = body[BodyKey.more]?.unsignedValue
    }

    package var body: PropertyListDictionary {
        var body: PropertyListDictionary = [BodyKey.items: .array(items.map { .dictionary($0.fields) })]
        body[BodyKey.more] = more.map { PropertyListValue($0) }
        return body
    }
}

extension OutstandingPage.Item {
    private static let stored = "stored"
    private static let accepted = "accepted"

    fileprivate init?(_ fields: PropertyListDictionary) {
        guard let id = fields[BodyKey.id]?.identifierValue else { return nil }
        self.id = id
        isStored = fields[BodyKey.state]?.stringValue?.isWord(Self.stored) == true
        size = fields[BodyKey.size]?.integerValue.flatMap { Int(exactly: $0) } ?? 0
        topic = fields[BodyKey.topic]?.stringValue
        kind = fields[BodyKey.kind]?.stringValue
        isCurrent = fields[BodyKey.current]?.booleanValue ?? false
        code = fields[BodyKey.code]?.integerValue
        refusal = fields[BodyKey.refusal]?.stringValue
        body = fields[BodyKey.body]?.dataValue
    }

    fileprivate var fields: PropertyListDictionary {
        PropertyListDictionary(present: [
            BodyKey.id: .data(id.bytes), BodyKey.size: .integer(Int64(size)),
            BodyKey.state: .string(isStored ? Self.stored : Self.accepted), BodyKey.topic: topic.map { .string($0) },
            BodyKey.kind: kind.map { .string($0) }, BodyKey.current: isCurrent ? true : nil,
            BodyKey.code: code.map { .integer($0) }, BodyKey.refusal: refusal.map { .string($0) },
            BodyKey.body: body.map { .data($0) },
        ])
    }
}

/// How an item ended that was to be taken back too late: the body of that answer to `cancel`.
package struct LateOutcome: Sendable, Equatable {
    package let name: String
    package let code: Int?

    package init(_ outcome: Outcome) {
        name = outcome.name
        code = outcome.code.flatMap { Int(exactly: $0) }
    }

    /// nil if the body says none.
    package init?(_ body: PropertyListDictionary) {
        guard let name = body[BodyKey.outcome]?.stringValue else { return nil }
        self.name = name
        code = body[BodyKey.code]?.integerValue.flatMap { Int(exactly: $0) }
    }

    package var body: PropertyListDictionary {
        var body: PropertyListDictionary = [BodyKey.outcome: .string(name)]
        body[BodyKey.code] = code.map { .integer(Int64($0)) }
        return body
    }
}

/// The items that a daemon knows nothing of: the body of the answer to a subscription.
package struct UnknownItems: Sendable, Equatable {
    package let items: [UniqueIdentifier]

    package init(_ items: [UniqueIdentifier]) { self.items = items }

    package init(_ body: PropertyListDictionary) {
        items = (body[BodyKey.unknown]?.arrayValue ?? []).compactMap(\.identifierValue)
    }

    package var body: PropertyListDictionary { [BodyKey.unknown: .array(items.map { .data($0.bytes) })] }
}

/// The remaining urgent items of the day: the body of the answer to `budget`.
package struct BudgetAnswer: Sendable, Equatable {
    package let remaining: Int
    package let limit: Int
    /// Until the budget is whole; zero if it is.
    package let resets: Duration

    package init(remaining: Int, limit: Int, resets: Duration) {
        (self.remaining, self.limit, self.resets) = (remaining, limit, resets)
    }

    package init(_ body: PropertyListDictionary) {
        func number(_ key: String) -> Int64 { body[key]?.integerValue ?? 0 }
        remaining = Int(number(BodyKey.remaining))
        limit = Int(number(BodyKey.limit))
        resets = .milliseconds(number(BodyKey.resets))
    }

    package var body: PropertyListDictionary {
        [
            BodyKey.remaining: .integer(Int64(remaining)), BodyKey.limit: .integer(Int64(limit)),
            BodyKey.resets: .integer(resets.saturatingMilliseconds),
        ]
    }
}

/// The verdict on a configuration that an app has handed over: the body of the answer to `apply`.
package struct ApplyAnswer: Sendable, Equatable {
    /// `applied`, `waiting-for-app` or a rejection's name; nil if the app has not judged it in time.
    package let verdict: String?
    /// For people; may be empty.
    package let text: String

    package init(verdict: String?, text: String) { (self.verdict, self.text) = (verdict, text) }

    package init(_ body: PropertyListDictionary) {
        self.init(verdict: body[BodyKey.verdict]?.stringValue, text: body[BodyKey.text]?.stringValue ?? "")
    }

    package var body: PropertyListDictionary {
        PropertyListDictionary(present: [BodyKey.text: .string(text), BodyKey.verdict: verdict.map { .string($0) }])
    }
}
