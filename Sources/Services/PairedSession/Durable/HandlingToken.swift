// The verdict of one delivered item, shared by the handlers that have it. It is given once: when the last of them has
// returned, or at the first that throws. Letting go of it without a word is a failure, so that the item comes again.

import Synchronization
import TandemWire

/// What became of an item that a handler was given (SES-51).
package enum HandlingVerdict: Sendable, Equatable {
    case handled
    /// It comes again after a pause, as a redelivery.
    case failed(String)
    /// It will never be handled.
    case rejected(SessionError)
}

/// The right to say a verdict; usable from any thread.
package final class HandlingToken: Sendable {
    /// How many handlers have not returned; nil when the verdict was given.
    private let open: Mutex<Int?>
    private let give: @Sendable (HandlingVerdict) -> Void

    init(handlers: Int, give: @escaping @Sendable (HandlingVerdict) -> Void) {
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

/// Thrown by a handler that will never take an item: its sender learns that at once, and the item does not come again.
public struct ItemRejection: Error, Sendable {
    /// What the item's sender gets.
    public let error: SessionError

    /// A refusal for good.
    /// - Parameters:
    ///   - code: what the sender's outcome carries.
    ///   - reason: why, for people on the other device.
    public init(_ code: SessionError.Code = .deliveryFailed, reason: String) {
        error = SessionError(code, name: "rejected", reason: reason)
    }
}
