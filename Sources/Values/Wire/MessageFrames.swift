// Messages, their answers, registrations and control requests as values, for the ends of their way: what is only
// forwarded is passed on by its ``EnvelopeHead``.

package import TandemBase
package import TandemPropertyList

/// A `message`, a `messageData` or a `configuration`, for the app that it is for.
package struct MessageFrame: TypedFrame {
    package enum Content: Sendable, Hashable { case dictionary, data, configuration }

    package let content: Content
    package let app: ApplicationIdentifier
    package let pairing: UniqueIdentifier
    package let id: UniqueIdentifier
    package let wantsReply: Bool
    package let deadline: Duration?
    package let topic: String?
    package let body: ArraySlice<UInt8>

    package init(
        _ content: Content, app: ApplicationIdentifier, pairing: UniqueIdentifier, id: UniqueIdentifier,
        wantsReply: Bool = false, deadline: Duration? = nil, topic: String? = nil, body: ArraySlice<UInt8>
    ) {
        self.content = content
        self.app = app
        self.pairing = pairing
        self.id = id
        self.wantsReply = wantsReply
        self.deadline = deadline
        self.topic = topic
        self.body = body
    }

    package init(_ envelope: Envelope) throws(WireError) {
        switch envelope.kind {
        case .configuration: content = .configuration
        case .messageData: content = .data
        default: content = .dictionary
        }
        app = try envelope.required(.app)
        pairing = try envelope.required(.pairing)
        id = try envelope.required(.id)
        wantsReply = envelope.wantsReply
        deadline = try envelope.optional(.deadline)
        topic = try envelope.optional(.topic)
        body = try envelope.requiredBody()
    }

    package var envelope: Envelope {
        let kind: FrameKind =
            switch content {
            case .dictionary: .message
            case .data: .messageData
            case .configuration: .configuration
            }
        var envelope = Envelope(kind, app: app, pairing: pairing, id: id)
        // `configuration` always says it.
        envelope[.reply] = wantsReply || content == .configuration ? wantsReply : nil
        envelope[.deadline] = deadline
        envelope[.topic] = topic
        envelope.body = body
        return envelope
    }
}

/// A `reply`; a `failure` that answers a message is a ``FailureFrame`` without a channel.
package struct ReplyFrame: TypedFrame {
    package let app: ApplicationIdentifier
    package let pairing: UniqueIdentifier
    package let id: UniqueIdentifier
    package let body: ArraySlice<UInt8>

    package init(
        app: ApplicationIdentifier, pairing: UniqueIdentifier, id: UniqueIdentifier, body: ArraySlice<UInt8>
    ) {
        self.app = app
        self.pairing = pairing
        self.id = id
        self.body = body
    }

    package init(_ envelope: Envelope) throws(WireError) {
        app = try envelope.required(.app)
        pairing = try envelope.required(.pairing)
        id = try envelope.required(.id)
        body = try envelope.requiredBody()
    }

    package var envelope: Envelope {
        var envelope = Envelope(.reply, app: app, pairing: pairing, id: id)
        envelope.body = body
        return envelope
    }
}

/// A `register`, `registered`, `state` or `application`: what is said of an application, as a dictionary.
package struct ApplicationFrame: TypedFrame {
    package let kind: FrameKind
    package let app: ApplicationIdentifier
    package let body: PropertyListDictionary

    package init(_ kind: FrameKind, _ app: ApplicationIdentifier, _ body: PropertyListDictionary) {
        self.kind = kind
        self.app = app
        self.body = body
    }

    package init(_ envelope: Envelope) throws(WireError) {
        kind = envelope.kind
        app = try envelope.required(.app)
        body = try envelope.dictionaryBody()
    }

    package var envelope: Envelope { get throws(WireError) { try Envelope(kind, app: app).with(body: body) } }
}

// MARK: control

/// The commands of CTL-3; the raw value is the `command` of `control`.
package enum ControlName: String, EnvelopeWord {
    case status, pair, join
    case trustDevice = "trust-device"
    case unpair
    case `switch`
    case trustAdd = "trust-add"
    case trustList = "trust-list"
    case apply
    case identifierAccept = "identifier-accept"
    case allowVersion = "allow-version"
    case health, drain
    case deadLetters = "dead-letters"
    case deadLetterRetry = "dead-letter-retry"
    case deadLetterDrop = "dead-letter-drop"
    case trace
}

/// The names of CTL-4 that belong to no other vocabulary: the `name` of a `result` that is a failure.
package enum ControlFailureName: String, EnvelopeWord {
    case notAllowed = "not-allowed"
    case unknownCommand = "unknown-command"
    case badRequest = "bad-request"
    case wrongRole = "wrong-role"
    case notFound = "not-found"
    case noAddress = "no-address"
    case joinRefused = "join-refused"
    case ownDevice = "own-device"
    case wouldReplace = "would-replace"
    case unreachable
    case anchorConflict = "anchor-conflict"
    case store
    case full
}

/// A `control`: an operator's request.
package struct ControlFrame: TypedFrame {
    package let id: UniqueIdentifier
    /// The word as it came; nil as a ``ControlName`` if a newer command sends it.
    package let command: String
    package let body: PropertyListDictionary

    package init(_ command: ControlName, id: UniqueIdentifier, body: PropertyListDictionary = [:]) {
        self.id = id
        self.command = command.rawValue
        self.body = body
    }

    package init(_ envelope: Envelope) throws(WireError) {
        id = try envelope.required(.id)
        command = try envelope.required(.command)
        body = try envelope.dictionaryBody()
    }

    package var envelope: Envelope {
        get throws(WireError) { try Envelope(.control, id: id, command: command).with(body: body) }
    }
}

/// A `result`: the answer to a `control`.
package struct ResultFrame: TypedFrame {
    package let id: UniqueIdentifier
    package let command: String
    /// 0: done.
    package let code: Int
    /// What failed, for programs.
    package let name: String?
    package let body: PropertyListDictionary

    package init(
        to id: UniqueIdentifier, _ command: String, code: Int, name: String? = nil, body: PropertyListDictionary = [:]
    ) {
        self.id = id
        self.command = command
        self.code = code
        self.name = name
        self.body = body
    }

    package init(_ envelope: Envelope) throws(WireError) {
        id = try envelope.required(.id)
        command = try envelope.required(.command)
        code = try envelope.optional(.code) ?? 0
        name = try envelope.optional(.name)
        body = try envelope.dictionaryBody()
    }

    package var envelope: Envelope {
        get throws(WireError) {
            try Envelope(.result, id: id, code: code, name: name, command: command).with(body: body)
        }
    }
}
