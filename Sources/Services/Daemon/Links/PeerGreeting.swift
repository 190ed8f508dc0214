// Greeting of a link's peer: its hello with nothing optional left, because a missing field is a named refusal. Its
// content decides nothing by itself: the pin does, and the pairing's record.

package import TandemBase
package import TandemWire

/// The peer of a link as its hello describes it.
package struct PeerGreeting: Sendable, Equatable {
    package let versions: Hello.Versions
    package let capabilities: Set<Capability>
    /// The peer's part in the pairing.
    package let role: DeviceRole
    package let device: UniqueIdentifier
    /// For people.
    package let name: String
    package let software: String
    /// New at each start of the peer's daemon.
    package let instance: UniqueIdentifier
    package private(set) var positions: LinkPositions
    /// The peer's wall clock, with our monotonic time when it came; nil if it told none.
    let clock: ClockReading?

    /// - Parameter now: when the hello came.
    /// - Throws: the key that is missing.
    init(_ hello: Hello, at now: MonotonicTime) throws(WireError) {
        guard let role = hello.role else { throw .invalidValue(key: "role", expected: "the sender's part") }
        guard let device = hello.device else { throw .invalidValue(key: "device", expected: "a vendor identifier") }
        guard let link = hello.link else { throw .invalidValue(key: "instance", expected: "16 bytes") }
        versions = hello.versions
        capabilities = Set(hello.capabilities)
        self.role = role
        self.device = device
        name = link.name
        software = hello.software
        instance = link.instance
        positions = LinkPositions(epoch: link.epoch, received: link.received, sent: link.sent)
        clock = link.clock.map { ClockReading(monotonic: now, wall: $0) }
    }

    /// The greeting as it counts in an epoch: what the peer said of another one is over.
    func counting(in epoch: UInt64) -> PeerGreeting {
        guard positions.epoch != epoch else { return self }
        var greeting = self
        greeting.positions = LinkPositions(epoch: epoch)
        return greeting
    }
}

/// One side's epoch and queue positions (SES-2). The delivery rules make it and read it; a link only carries it.
package struct LinkPositions: Sendable, Equatable {
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
