// Messages, their answers, registrations and control requests as values, for the ends of their way: what is only
// forwarded is passed on by its ``EnvelopeHead``.

package import TandemBase
package import TandemPropertyList

/// A `message`, a `messageData` or a `configuration`, for the app that it is for.
package struct MessageFrame: TypedFrame {
    package let kind: FrameKind
    package let app: ApplicationIdentifier
    package let pairing: UniqueIdentifier
    package let id: UniqueIdentifier
    private let reply: Bool?
    package let deadline: Duration?
    package let topic: String?
    package let body: ArraySlice<UInt8>

    package init(
        _ kind: FrameKind, app: ApplicationIdentifier, pairing: UniqueIdentifier, id: UniqueIdentifier,
        reply: Bool? = nil, deadline: Duration? = nil, topic: String? = nil, body: ArraySlice<UInt8>
    ) {
        (self.kind, self.app, self.pairing, self.id) = (kind, app, pairing, id)
        (self.reply, self.deadline, self.topic, self.body) = (reply, deadline, topic, body)
    }

    package init(_ envelope: Envelope) throws(WireError) {
        kind = envelope.kind
        app = try envelope.required(.app)
        pairing = try envelope.required(.pairing)
        id = try envelope.required(.id)
        reply = try envelope.optional(.reply)
        deadline = try envelope.optional(.deadline)
        topic = try envelope.optional(.topic)
        body = try envelope.requiredBody()
    }

    /// Whether the sender waits for an answer.
    package var wantsReply: Bool { reply ?? false }

    package var envelope: Envelope {
        var envelope = Envelope(kind, app: app, pairing: pairing, id: id)
        (envelope[.reply], envelope[.deadline], envelope[.topic]) = (reply, deadline, topic)
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
        (self.app, self.pairing, self.id, self.body) = (app, pairing, id, body)
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
        (self.kind, self.app, self.body) = (kind, app, body)
    }

    package init(_ envelope: Envelope) throws(WireError) {
        kind = envelope.kind
        app = try envelope.required(.app)
        body = try envelope.dictionaryBody()
    }

    package var envelope: Envelope {
        get throws(WireError) {
            var envelope = Envelope(kind)
            envelope[.app] = app
            return try envelope.with(body: body)
        }
    }
}

// MARK: control

/// The commands of CTL-3; the raw value is the `command` of `control`.
package enum ControlName: String, EnvelopeWord {
    case status, pair, join
    case trustDevice = "trust-device"
    case unpair, address
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
    /// nil: it does not read.
    package let body: PropertyListDictionary?

    package init(_ command: ControlName, id: UniqueIdentifier, body: PropertyListDictionary = [:]) {
        self.id = id
        self.command = command.rawValue
        self.body = body
    }

    package init(_ envelope: Envelope) throws(WireError) {
        id = try envelope.required(.id)
        command = try envelope.required(.command)
        body = try? envelope.dictionaryBody()
    }

    package var envelope: Envelope {
        get throws(WireError) {
            var envelope = Envelope(.control)
            (envelope[.id], envelope[.command]) = (id, command)
            return try envelope.with(body: body ?? [:])
        }
    }
}

/// A `result`: the answer to a `control`.
package struct ResultFrame: TypedFrame {
    package let id: UniqueIdentifier
    package let command: String
    /// 0: done.
    package let code: Int?
    /// The name of the failure, for programs.
    package let name: String?
    package let body: PropertyListDictionary?

    package init(
        to id: UniqueIdentifier, _ command: String, code: Int, name: String?, body: PropertyListDictionary? = nil
    ) {
        (self.id, self.command, self.code, self.name) = (id, command, code, name)
        self.body = body
    }

    package init(_ envelope: Envelope) throws(WireError) {
        id = try envelope.required(.id)
        command = try envelope.required(.command)
        code = try envelope.optional(.code)
        name = try envelope.optional(.name)
        body = try envelope.dictionaryBody()
    }

    package var envelope: Envelope {
        get throws(WireError) {
            var envelope = Envelope(.result)
            (envelope[.id], envelope[.command], envelope[.code], envelope[.name]) = (id, command, code, name)
            return try body.map { body throws(WireError) in try envelope.with(body: body) } ?? envelope
        }
    }
}
