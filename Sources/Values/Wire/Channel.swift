// The durable channels (FRM-8), the queues that they make, and how the items in them end (DEL-5).

package import TandemBase

/// A durable channel; its raw value is the word on the wire, and of the ``Capability`` that opens it between two ends
/// that both have it (SES-3). To add one: its word in FRM-8 and SES-3, a case, its row in ``properties``, the
/// capability of its name (Hello.swift), and the two cases that the compiler asks for in PairedSession/Durable:
/// `Channel.content` (ReceivedItems.swift) and `Transfer.Kind` (Transfer.swift). With a content of its own the compiler
/// asks also who takes it, in `ItemContent` and WCSessionTransfers.swift. For items that apps submit also an API in
/// PairedSession, with a guard against a daemon that lacks the capability; for items of daemons a case in
/// `DeviceRouter.take`.
package enum Channel: String, Sendable, Hashable, CaseIterable {
    case configuration
    case context
    case userInfo
    case urgent
    case file
    case settings

    /// Rules of a channel for its items.
    package struct Properties: Sendable {
        /// The largest body that an app may submit (LIM-2); nil: daemons use the channel, and apps do not.
        package private(set) var bodyLimit: Int?
        /// A newer item supersedes all before it, and the last one stays (DEL-19).
        package private(set) var isLatestWins = false
        /// A daily budget limits it; items beyond it go to this channel (DEL-23).
        package private(set) var overflow: Channel?
        /// An item announces a file, whose bytes follow in chunks (FIL-1).
        package private(set) var hasFile = false
    }

    package var properties: Properties {
        switch self {
        case .configuration: Properties()
        case .context: Properties(bodyLimit: Limits.contextBody, isLatestWins: true)
        case .userInfo: Properties(bodyLimit: Limits.userInfoBody)
        case .urgent: Properties(bodyLimit: Limits.userInfoBody, overflow: .userInfo)
        case .file: Properties(bodyLimit: Limits.fileDescription, hasFile: true)
        case .settings: Properties(bodyLimit: Limits.contextBody, isLatestWins: true)
        }
    }

    package var isForApps: Bool { properties.bodyLimit != nil }

    /// The channels that apps use.
    package static let forApps = Set(allCases.filter(\.isForApps))

    /// The number and not the word, which is hashed for each event of an item otherwise.
    package func hash(into hasher: inout Hasher) { hasher.combine(number) }

    /// Its number among all channels.
    @inline(__always)
    var number: UInt8 {
        // As EnvelopeKey's.
        unsafe unsafeBitCast(self, to: UInt8.self)
    }

    @inline(__always)
    init(number: Int) {
        precondition(number < Self.plainWords.count, "a channel has this number")
        self = unsafe unsafeBitCast(UInt8(truncatingIfNeeded: number), to: Channel.self)
    }
}

extension Capability {
    /// The durable channel that the capability opens; nil for another one.
    package var channel: Channel? { Channel(word: rawValue) }
}

/// One direction of one durable channel of an application in a pairing: the items in it are in order, and in nothing
/// larger. The epoch is no part of it, because it changes while the queue stays.
package struct QueueKey: Sendable, Hashable {
    package let pairing: UniqueIdentifier
    package let app: ApplicationIdentifier
    package let channel: Channel

    package init(pairing: UniqueIdentifier, app: ApplicationIdentifier, channel: Channel) {
        self.pairing = pairing
        self.app = app
        self.channel = channel
    }

    /// The queue of an app's configurations, and of the reports on them.
    package static func configuration(of app: ApplicationIdentifier, at pairing: UniqueIdentifier) -> QueueKey {
        QueueKey(pairing: pairing, app: app, channel: .configuration)
    }
}

/// Why an item will not be delivered; the raw value is the word on the wire.
package enum GapReason: String, EnvelopeWord {
    /// Its submitter took it back.
    case cancelled
    /// Its time to live ran out.
    case expired
    /// A newer item took its place.
    case superseded
    /// It failed too often.
    case dead
    /// Its bytes are gone: a store was restored from a backup, or a new epoch began.
    case lost
}

/// How an item ended: each ends exactly once. Until it was first sent its sender decides, from then on its receiver
/// does, so that the two can never disagree (DEL-5).
package enum Outcome: Sendable, Hashable {
    /// The receiver's handler took it.
    case handled
    /// The receiver's handler refused it for good.
    case rejected(code: Int64)
    /// It never reached a handler that returned.
    case withdrawn(GapReason)

    private static let handledWord = "handled"
    static let rejectedWord = "rejected"

    /// The word on the wire; a rejection travels with its code.
    package var name: String {
        switch self {
        case .handled: Self.handledWord
        case .rejected: Self.rejectedWord
        case .withdrawn(let reason): reason.rawValue
        }
    }

    /// Whether it says that the receiver had the item: a handler has seen it.
    package var wasStored: Bool {
        switch self {
        case .handled, .rejected: true
        case .withdrawn: false
        }
    }

    /// The number of a rejection.
    package var code: Int64? { if case .rejected(let code) = self { code } else { nil } }

    /// Reads the two parts; nil if they are no outcome.
    package init?(name: String, code: Int64?) {
        switch (name, code) {
        case (Self.handledWord, nil): self = .handled
        case (Self.rejectedWord, let code?): self = .rejected(code: code)
        case (_, nil):
            guard let reason = GapReason(word: name) else { return nil }
            self = .withdrawn(reason)
        default: return nil
        }
    }
}
