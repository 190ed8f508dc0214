// What one end of a link says of the pairing it speaks for (SES-2): the epoch, and how far each queue has come. The
// delivery rules make it and read it; a link only carries it.

package import TandemWire

/// One side's epoch and queue positions.
package struct LinkSituation: Sendable, Equatable {
    package let epoch: UInt64
    /// The highest sequence stored in order from the peer, for each queue.
    package let received: [SequenceMark]
    /// The highest sequence given to the peer.
    package let sent: [SequenceMark]

    package init(epoch: UInt64, received: [SequenceMark] = [], sent: [SequenceMark] = []) {
        self.epoch = epoch
        self.received = received
        self.sent = sent
    }

    /// Nothing was ever sent or received in this epoch.
    package var isEmpty: Bool { received.isEmpty && sent.isEmpty }
}
