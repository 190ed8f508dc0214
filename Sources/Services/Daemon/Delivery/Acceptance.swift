// What a submitter is told at once: that its item is durable here, or why not.

package import TandemStore

/// An item is durable here.
package struct Acceptance: Sendable, Equatable {
    package enum Note: String, Sendable, Hashable {
        /// The context's bytes are those of the last one, which stands.
        case unchanged
        /// The day's urgent items are spent: it waits behind all user info.
        case demoted
    }

    package var note: Note?
    /// The revision of a context.
    package var revision: UInt64?

    package init(_ note: Note? = nil, revision: UInt64? = nil) {
        self.note = note
        self.revision = revision
    }
}

/// Why an item was not accepted; nothing of it is kept.
package enum SubmitFailure: Error, Sendable, Equatable {
    /// The queue holds this many items or bytes already.
    case full(items: Int, bytes: Int, itemLimit: Int, byteLimit: Int)
    case store(StoreError)
    /// The pairing is gone.
    case unpaired
}

extension SubmitFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .full(let items, let bytes, let itemLimit, let byteLimit):
            "queue full: \(items) of \(itemLimit) items and \(bytes) of \(byteLimit) bytes wait; "
                + "try again when the other device was connected"
        case .store(let error): error.description
        case .unpaired: "the pairing has ended; pair the devices again"
        }
    }
}
