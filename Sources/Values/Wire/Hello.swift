// The body of `hello` (SES-2), both ways and on both kinds of connection: what the two ends must know before anything
// else. Keys that this version does not know are ignored here, and only here: an older end must be able to read a
// newer one's hello to find out that they share no version.

package import TandemBase

/// The body of a hello.
package struct Hello: Sendable, Equatable {
    /// What a client offers, or what a server chose.
    package enum Versions: Sendable, Equatable {
        case offered(ClosedRange<ProtocolVersion>)
        case chosen(ProtocolVersion)
    }

    package var versions: Versions
    package var capabilities: [Capability]
    /// Name and version for people; decides nothing.
    package var software: String
    package var role: DeviceRole?
    package var device: UniqueIdentifier?
    /// What only a device link says; nil on a local socket.
    package var link: LinkHello?

    package init(
        _ versions: Versions, capabilities: [Capability] = Capability.allCases, software: String,
        role: DeviceRole? = nil, device: UniqueIdentifier? = nil, link: LinkHello? = nil
    ) {
        self.versions = versions
        self.capabilities = capabilities
        self.software = software
        self.role = role
        self.device = device
        self.link = link
    }

    /// The client's hello for every version that this code speaks.
    package static func offer(software: String) -> Hello {
        Hello(.offered(ProtocolVersion.supported), software: software)
    }
}

/// What an end may use only when both ends named it (SES-3); its raw value is the word on the wire.
package enum Capability: String, Sendable, Hashable, CaseIterable {
    case message
    case messageData
    case configuration
    case context
    case userInfo
    case urgent
    case file
    case topic
}

/// The part of hello that device links add.
package struct LinkHello: Sendable, Equatable {
    /// The sender's device name: 1-64 bytes, for people.
    package var name: String
    package var epoch: UInt64
    /// New at each start of the daemon.
    package var instance: UniqueIdentifier
    /// Highest sequence stored in order from the peer, for each channel.
    package var received: [SequenceMark]
    /// Highest sequence given to the peer, for each channel.
    package var sent: [SequenceMark]
    /// The sender's wall clock, for people; decides nothing.
    package var clock: WallTime?

    package init(
        name: String, epoch: UInt64, instance: UniqueIdentifier, received: [SequenceMark], sent: [SequenceMark],
        clock: WallTime? = nil
    ) {
        self.name = name
        self.epoch = epoch
        self.instance = instance
        self.received = received
        self.sent = sent
        self.clock = clock
    }
}

/// A position in one durable channel of one application.
package struct SequenceMark: Sendable, Equatable {
    package var app: ApplicationIdentifier
    package var channel: Channel
    package var sequence: UInt64

    package init(app: ApplicationIdentifier, channel: Channel, sequence: UInt64) {
        self.app = app
        self.channel = channel
        self.sequence = sequence
    }
}
