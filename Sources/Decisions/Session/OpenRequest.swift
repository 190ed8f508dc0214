// One request that was passed on and not yet answered, and the numbers by which the ledger knows who has to do with it.
// Nothing here is reference-counted: a frame's way through the ledger copies integers.

package import TandemBase

/// A connection that asks or answers, as a ledger numbers it: small, dense, and used again after the connection has
/// left.
package struct RequestParty: Sendable, Hashable {
    private let number: UInt32

    package init(_ index: Int) { number = UInt32(index) }

    /// From 0.
    package var index: Int { Int(number) }
}

/// An application identifier, as its relay numbers it.
package struct ApplicationNumber: Sendable, Hashable {
    private let number: UInt32

    package init(_ index: Int) { number = UInt32(index) }

    /// From 0.
    package var index: Int { Int(number) }
}

/// One request as the ledger keeps it.
package struct OpenRequest: Sendable, Equatable {
    package let id: UniqueIdentifier
    package let pairing: UniqueIdentifier
    /// When the caller stops waiting; the ledger forgets the request then.
    package let deadline: MonotonicTime
    /// Bytes given to the destination's channel up to this frame's last byte, since the channel began.
    package let endOffset: UInt64
    package let app: ApplicationNumber
    /// Who asked, and who gets the answer.
    package let origin: RequestParty
    /// Where it was delivered, and who may answer.
    package let destination: RequestParty
    /// False: only a failure may come back.
    package let wantsReply: Bool

    package init(
        id: UniqueIdentifier, app: ApplicationNumber, pairing: UniqueIdentifier, origin: RequestParty,
        destination: RequestParty, wantsReply: Bool, deadline: MonotonicTime, endOffset: UInt64 = 0
    ) {
        self.id = id
        self.app = app
        self.pairing = pairing
        self.origin = origin
        self.destination = destination
        self.wantsReply = wantsReply
        self.deadline = deadline
        self.endOffset = endOffset
    }
}
