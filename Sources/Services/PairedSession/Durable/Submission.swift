// Durable item on its way to the daemon. Its content is encoded on the caller's thread; everything else that the daemon
// needs to know is in the envelope, so that the body never changes.

public import TandemBase
import TandemPropertyList
import TandemSession
import TandemWire

/// How a user info is to be delivered.
public struct TransferOptions: Sendable {
    /// Which handler is meant: 1 to 128 bytes without NUL; nil: those that name no topic.
    public var topic: String?
    /// A newer item with the same key takes the place of one that no handler has taken: 1 to 128 bytes without NUL.
    public var supersedeKey: String?
    /// How long the item may wait until a handler has it; nil: 30 days. An expired item never reaches a handler.
    public var timeToLive: Duration?
    /// An item of this app for the same device, on any channel, that must have ended before this one is sent.
    public var after: UniqueIdentifier?

    /// Options; each has the default that its property names.
    public init(
        topic: String? = nil, supersedeKey: String? = nil, timeToLive: Duration? = nil, after: UniqueIdentifier? = nil
    ) {
        self.topic = topic
        self.supersedeKey = supersedeKey
        self.timeToLive = timeToLive
        self.after = after
    }
}

/// The daemon's acceptance of an item.
package struct Acceptance: Sendable {
    /// The daemon's note (SES-48).
    package let note: AcceptedFrame.Note?
    /// A context's.
    package let revision: UInt64?
}

/// One item to submit.
package struct Submission: Sendable {
    package var id = UniqueIdentifier.random()
    /// nil: the active pairing at the moment of submitting.
    package var pairing: UniqueIdentifier?
    package let channel: Channel
    package var content: OutgoingContent
    package var options = TransferOptions()
    /// As the channel says (SES-48).
    package var name: String?

    package init(_ channel: Channel, to pairing: UniqueIdentifier?, _ content: OutgoingContent) {
        self.channel = channel
        self.pairing = pairing
        self.content = content
        self.content.unsupported?.kind = ContentKind(channel)
        if channel == .context, content.kind != .message { self.content.badArgument = .kind }
    }

    /// The fault of the options; nil for none.
    var badArgument: BadArgument? {
        guard channel.isForApps else { return .channel }
        if let bad = content.badArgument { return bad }
        if let topic = options.topic, !topic.isShortText { return .topic }
        if let key = options.supersedeKey, !key.isShortText { return .supersedeKey }
        if let time = options.timeToLive, time <= .zero { return .timeToLive }
        return nil
    }

    func frame(_ app: ApplicationIdentifier, to pairing: UniqueIdentifier) -> SubmitFrame {
        SubmitFrame(
            ItemKey(QueueKey(pairing: pairing, app: app, channel: channel), id), topic: options.topic,
            key: options.supersedeKey, after: options.after, remaining: options.timeToLive, name: name,
            body: content.body[...])
    }
}

extension Submission {
    /// The submission of a file: its body describes the file.
    init(
        of file: FileTransfer, size: Int64, _ metadata: PropertyListDictionary?, _ options: TransferOptions,
        to pairing: UniqueIdentifier?
    ) {
        let name = file.path.lastPathPart ?? file.path
        var description: PropertyListDictionary = [BodyKey.name: .string(name), BodyKey.size: .integer(size)]
        description[BodyKey.metadata] = metadata.map { .dictionary($0) }
        self.init(.file, to: pairing, OutgoingContent(description))
        id = file.id
        self.options = options
    }

    /// The first reason against submitting (SES-13); nil if there is none.
    func refusal(_ standing: SessionStanding, _ counterpart: SendCheck.Counterpart?) -> SendRefusal? {
        var content = content
        content.badArgument = badArgument
        return content.refusal(
            standing, counterpart, of: pairing, bodyLimit: channel.properties.bodyLimit ?? 0, needsReachability: false)
    }
}

extension ContentKind {
    fileprivate init(_ channel: Channel) {
        switch channel.content {
        case .context: self = .context
        case .userInfo: self = .userInfo
        case .file: self = .metadata
        case .settings: self = .settings
        case nil: self = .message
        }
    }
}

extension PairedSession {
    /// The first reason against submitting, as far as it is known at this moment on any thread; nil if there is none.
    package func obstacle(to submission: Submission) -> SessionError? {
        if core.hasEnded { return SessionError(.ended, messageID: submission.id) }
        let device = pairedDevice
        let counterpart = device.map {
            SendCheck.Counterpart(role: $0.role, level: $0.reachability.level, reason: $0.reachability.reason)
        }
        guard let refusal = submission.refusal(core.states.snapshot.standing(of: pairing), counterpart) else {
            return nil
        }
        var error = SessionError(refusal, messageID: submission.id)
        error.peer = device?.device
        return error
    }

    /// Why nothing can be sent although the app has activated the session: it was ended, or has lost its daemon.
    package var loss: SessionError? {
        if core.hasEnded { return SessionError(.ended, messageID: nil) }
        return core.states.snapshot.standing.isComingBack ? SessionError(.daemonAway, messageID: nil) : nil
    }
}
