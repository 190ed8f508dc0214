// Durable items as handlers receive them, and the handlers' verdicts.

import Synchronization
public import TandemBase
import TandemFiles
public import TandemPropertyList
import TandemReactor
public import TandemWire

/// The facts about a durable item besides its content.
public struct ItemFacts: Sendable {
    /// The item's identifier, the same on both devices and each time it is given.
    public let id: UniqueIdentifier
    /// The pairing that it came through.
    public let pairing: UniqueIdentifier
    /// 1 for the first time.
    public let attempt: Int
    /// Which handler its sender meant.
    public let topic: String?
    /// Time since its sender's daemon accepted it, as far as the two daemons know.
    public let age: Duration?

    /// A handler may have seen the item before: it failed, or ended before its verdict was durable.
    public var isRedelivery: Bool { attempt > 1 }
}

/// A user info, urgent ones too.
public struct ReceivedUserInfo: Sendable {
    /// Everything but the content.
    public let facts: ItemFacts
    /// The content: up to 65,536 bytes encoded.
    public let userInfo: PropertyListDictionary
    /// It came on the urgent channel.
    public let isUrgent: Bool
}

/// An application context.
public struct ReceivedContext: Sendable {
    /// Everything but the content.
    public let facts: ItemFacts
    /// The content: up to 262,144 bytes encoded.
    public let context: PropertyListDictionary
    /// Grows with each context of the other device. It may be lower again after that device's store was restored, or
    /// after the device has joined again.
    public let revision: UInt64
}

/// The contents that apps and their configurations have handlers for. The one place that says which handler a channel's
/// items go to.
package enum ItemContent: CaseIterable, Sendable {
    case userInfo, context, file, settings

    /// The channels whose items have this content.
    var channels: Set<Channel> { Set(Channel.allCases.filter { $0.content == self }) }

    /// Whether the app takes it, and not its configuration.
    package var isForApp: Bool {
        switch self {
        case .userInfo, .context, .file: true
        case .settings: false
        }
    }
}

extension Channel {
    /// The content of the channel's items; nil: none is for an app.
    package var content: ItemContent? {
        switch self {
        case .userInfo, .urgent: .userInfo
        case .context: .context
        case .file: .file
        case .settings: .settings
        case .configuration: nil
        }
    }
}

/// An item as it came from the daemon, before a handler was found.
package struct DeliveredItem: Sendable {
    let key: ItemKey
    package let facts: ItemFacts
    package let content: PropertyListDictionary
    package let revision: UInt64?

    package var channel: Channel { key.queue.channel }

    /// nil if the body does not read, or no handler of an app can be meant.
    init?(_ frame: DeliveryFrame) {
        guard frame.item.queue.channel.content != nil,
            let content = try? PropertyListReader.readDictionary(frame.body)
        else { return nil }
        facts = ItemFacts(
            id: frame.item.id, pairing: frame.item.queue.pairing, attempt: frame.attempt, topic: frame.topic,
            age: frame.age)
        key = frame.item
        revision = frame.revision
        self.content = content
    }

    /// Why this process does not see the item's file; nil if it does, or the item has none. An app in a container or a
    /// mount namespace may not have the daemon's path, and a handler that returned would have the file deleted. The
    /// loop looks itself: the daemon has just written the entry, and the item must keep its place before the next one.
    var hiddenFile: (path: String, reason: String)? {
        guard channel.properties.hasFile, let path = content[BodyKey.path]?.stringValue else { return nil }
        do throws(SystemError) {
            return try Linux.lookAt(path: path) == nil ? (path: path, reason: "there is no such file") : nil
        } catch {
            return (path: path, reason: error.description)
        }
    }
}

/// A whole file that arrived, in this app's own directory until its handler returns.
public struct ReceivedFile: Sendable {
    /// Everything but the file.
    public let facts: ItemFacts
    /// Where it is; the last component is made from ``name`` and safe to use.
    public let path: String
    /// The sender's name for it: a text. Never use it as a path.
    public let name: String
    /// In bytes.
    public let size: Int64
    /// SHA-256 of its bytes, compared when it arrived.
    public let digest: [UInt8]
    /// The sender's metadata; nil for none.
    public let metadata: PropertyListDictionary?

    init?(_ item: DeliveredItem) {
        let content = item.content
        guard let path = content[BodyKey.path]?.stringValue, let name = content[BodyKey.name]?.stringValue,
            let size = content[BodyKey.size]?.integerValue, let digest = content[BodyKey.digest]?.dataValue
        else { return nil }
        facts = item.facts
        self.path = path
        self.name = name
        self.size = size
        self.digest = digest
        metadata = content[BodyKey.metadata]?.dictionaryValue
    }

    /// Moves the file to another place, on another file system too; nothing there is overwritten.
    /// - Throws: 7013 if the place is taken or cannot be written to, 7015 if it has no room.
    public func move(to other: String) throws(SessionError) {
        do throws(FileError) {
            try FileMove.move(from: path, to: other)
        } catch {
            throw SessionError(error, messageID: facts.id)
        }
    }
}

/// How far a file is that comes for this app.
public struct IncomingFileProgress: Sendable {
    /// The item's identifier, as in ``ItemFacts/id``.
    public let id: UniqueIdentifier
    /// The pairing that it comes through.
    public let pairing: UniqueIdentifier
    /// The sender's name for it: a text.
    public let name: String
    /// In bytes.
    public let size: Int64
    /// Bytes that are here.
    public let received: Int64
}

/// The handlers' verdict on an item (SES-51).
package enum HandlingVerdict: Sendable, Equatable {
    case handled
    /// It comes again after a pause, as a redelivery.
    case failed(String)
    /// It will never be handled.
    case rejected(SessionError)
    /// No handler has begun with it, or the store of synced settings is locked; it comes again when its pairing is the
    /// active one, or after a pause, which is no further attempt.
    case later

    func frame(of item: ItemKey) -> VerdictFrame {
        switch self {
        case .handled: VerdictFrame(item, .handled)
        case .failed(let text): VerdictFrame(item, .failed(text: text))
        case .rejected(let error): VerdictFrame(item, .rejected(code: error.code.rawValue, text: error.reason))
        case .later: VerdictFrame(item, .later)
        }
    }
}

/// The right to decide about one delivered item, shared by its handlers; usable from any thread. The verdict is given
/// once: when the last handler has returned, or at the first that throws. Dropping the token is a failure, so that the
/// item comes again.
package final class HandlingToken: Sendable {
    /// Another handler has got the item, too.
    package let isShared: Bool
    /// How many handlers have not returned; nil when the verdict was given.
    private let open: Mutex<Int?>
    private let give: @Sendable (HandlingVerdict) -> Void

    init(handlers: Int, give: @escaping @Sendable (HandlingVerdict) -> Void) {
        isShared = handlers > 1
        open = Mutex(handlers)
        self.give = give
    }

    /// A handler returned.
    package func returned() {
        let isLast = open.withLock { open in
            guard let count = open else { return false }
            open = count > 1 ? count - 1 : nil
            return open == nil
        }
        if isLast { give(.handled) }
    }

    /// A handler threw: the item comes again, or is refused for good.
    package func threw(_ verdict: HandlingVerdict) {
        let isFirst = open.withLock { open in
            defer { open = nil }
            return open != nil
        }
        if isFirst { give(verdict) }
    }

    deinit { threw(.failed("the handler let the item go")) }
}

/// Thrown by a handler that will never take an item: the item does not come again, and its sender's outcome is failed
/// with the code and the name `rejected` at once. The code is all that a handler can say to the sender this way.
public struct ItemRejection: Error, Sendable {
    /// The refusal as this device has it. The item's sender gets an error with its code and name, and a reason of the
    /// sender's own library.
    public let error: SessionError

    /// A refusal for good.
    /// - Parameters:
    ///   - code: what the sender's outcome carries.
    ///   - reason: the cause, for this app's own log. It goes to this device's daemon, which does not keep it, and not
    ///     to the sender: the protocol's `outcome` has no text.
    public init(_ code: SessionError.Code = .deliveryFailed, reason: String) {
        error = SessionError(code, .rejected, reason: reason)
    }
}

extension ItemRejection: CustomStringConvertible {
    /// The error's own text: the sender of a message reads it if a handler of messages throws this.
    public var description: String { error.description }
}
