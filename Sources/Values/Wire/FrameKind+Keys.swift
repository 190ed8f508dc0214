// The table of FRM-10. `kind` belongs to every frame; `sealing` may stand wherever `body` may.

extension FrameKind {
    /// The keys without which a frame of this kind is refused.
    var requiredKeys: EnvelopeKeys {
        switch self {
        case .ping, .pong, .bye: Self.none
        case .hello, .join, .joined: Self.bodyOnly
        case .refusal: Self.nameOnly
        case .register, .registered, .state, .application: Self.appAndBody
        case .message, .messageData, .reply: Self.addressedBody
        case .failure: Self.addressedCode
        case .configuration: Self.configurationRequest
        case .control, .result: Self.commandRequest
        case .item: Self.positionedBody
        case .gap: Self.positionedName
        case .stored, .settled: Self.position
        case .outcome: Self.positionedName
        case .submit: Self.itemBody
        case .accepted, .heard: Self.itemPlace
        case .progress, .verdict, .finished: Self.itemName
        case .delivery: Self.itemAttempt
        case .context: Self.contextAll
        case .query, .answer: Self.question
        case .chunk: Self.filePart
        case .want: Self.filePlace
        }
    }

    /// Every key that a frame of this kind may have; `sealing` wherever there may be a body to seal.
    var allowedKeys: EnvelopeKeys {
        let keys = listedKeys
        return keys.contains(.body) ? keys.union(Self.sealing) : keys
    }

    private var listedKeys: EnvelopeKeys {
        switch self {
        case .registered, .register, .state, .application, .reply, .join, .joined, .gap, .stored, .settled, .heard,
            .context, .chunk:
            requiredKeys
        case .outcome: requiredKeys.union(Self.codeOnly)
        case .hello: Self.helloAll
        case .refusal, .failure: requiredKeys.union(Self.explanation)
        case .ping, .pong: Self.idOnly
        case .bye: Self.nameOnly
        case .message, .messageData: requiredKeys.union(Self.replyAndDeadline).union(Self.topicOnly)
        case .configuration: requiredKeys.union(Self.replyAndDeadline)
        case .control, .result: Self.commandAll
        case .item: Self.itemAll
        case .submit: Self.submitAll
        case .accepted: requiredKeys.union(Self.nameAndRevision)
        case .progress: requiredKeys.union(Self.offsetAndBody)
        case .verdict, .finished: requiredKeys.union(Self.codeAndBody)
        case .delivery: Self.deliveryAll
        case .query: requiredKeys.union(Self.aboutChannel)
        case .answer: requiredKeys.union(Self.answered)
        case .want: requiredKeys.union(Self.named)
        }
    }
}

extension FrameKind {
    private static var none: EnvelopeKeys { [.kind] }
    private static var bodyOnly: EnvelopeKeys { [.kind, .body] }
    private static var nameOnly: EnvelopeKeys { [.kind, .name] }
    private static var sealing: EnvelopeKeys { [.sealing] }
    private static var idOnly: EnvelopeKeys { [.kind, .id] }
    private static var appAndBody: EnvelopeKeys { [.kind, .app, .body] }
    private static var addressedBody: EnvelopeKeys { [.kind, .app, .pairing, .id, .body] }
    private static var addressedCode: EnvelopeKeys { [.kind, .app, .pairing, .id, .code] }
    private static var configurationRequest: EnvelopeKeys { [.kind, .app, .pairing, .id, .reply, .body] }
    private static var commandRequest: EnvelopeKeys { [.kind, .id, .command] }
    private static var position: EnvelopeKeys { [.kind, .app, .pairing, .channel, .sequence] }
    private static var positionedName: EnvelopeKeys { [.kind, .app, .pairing, .channel, .sequence, .name] }
    private static var positionedBody: EnvelopeKeys { [.kind, .app, .pairing, .id, .channel, .sequence, .body] }

    private static var helloAll: EnvelopeKeys { [.kind, .body, .pairing] }
    private static var codeOnly: EnvelopeKeys { [.code] }
    private static var explanation: EnvelopeKeys { [.name, .body] }
    private static var replyAndDeadline: EnvelopeKeys { [.reply, .deadline] }
    private static var commandAll: EnvelopeKeys { [.kind, .id, .command, .body, .code, .name] }
    private static var itemAll: EnvelopeKeys {
        [
            .kind, .app, .pairing, .id, .channel, .sequence, .body, .nonce, .age, .attempt, .remaining, .topic,
            .revision,
        ]
    }
}

// The durable channels between an app and its daemon, and the parts of files.
extension FrameKind {
    private static var itemPlace: EnvelopeKeys { [.kind, .app, .pairing, .id, .channel] }
    private static var itemName: EnvelopeKeys { [.kind, .app, .pairing, .id, .channel, .name] }
    private static var itemBody: EnvelopeKeys { [.kind, .app, .pairing, .id, .channel, .body] }
    private static var itemAttempt: EnvelopeKeys { [.kind, .app, .pairing, .id, .channel, .attempt, .body] }
    private static var contextAll: EnvelopeKeys { [.kind, .app, .pairing, .name, .revision, .body] }
    private static var question: EnvelopeKeys { [.kind, .app, .id, .command] }
    private static var filePlace: EnvelopeKeys { [.kind, .app, .pairing, .id, .channel, .offset] }
    private static var filePart: EnvelopeKeys { [.kind, .app, .pairing, .id, .channel, .offset, .body] }

    private static var topicOnly: EnvelopeKeys { [.topic] }
    private static var offsetAndBody: EnvelopeKeys { [.offset, .body] }
    private static var named: EnvelopeKeys { [.name] }
    private static var nameAndRevision: EnvelopeKeys { [.name, .revision] }
    private static var codeAndBody: EnvelopeKeys { [.code, .body] }
    private static var aboutChannel: EnvelopeKeys { [.pairing, .channel, .body] }
    private static var answered: EnvelopeKeys { [.code, .name, .body] }
    private static var submitAll: EnvelopeKeys {
        [.kind, .app, .pairing, .id, .channel, .body, .topic, .key, .after, .remaining, .name]
    }
    private static var deliveryAll: EnvelopeKeys {
        [.kind, .app, .pairing, .id, .channel, .attempt, .body, .topic, .age, .remaining, .revision]
    }
}
