// The body of `hello` (SES-2), both ways and on both kinds of connection: what the two ends must know before anything
// else. Keys that this version does not know are ignored here, and only here: an older end must be able to read a
// newer one's hello to find out that they share no version.

package import TandemBase
package import TandemPropertyList

/// The body of a hello.
package struct Hello: Sendable, Equatable {
    /// The versions that a client offers, or the one that a server chose.
    package enum Versions: Sendable, Equatable {
        case offered(ClosedRange<ProtocolVersion>)
        case chosen(ProtocolVersion)
    }

    /// The end of a connection that says hello.
    package enum End: Sendable {
        /// A client of a local socket: role and device are those of its daemon.
        case app
        /// The device that has dialled a link.
        case client
        case server
    }

    package let versions: Versions
    package var capabilities: [Capability]
    /// Name and version for people; decides nothing. That of a peer is cut (LIM-156).
    package let software: String
    package let role: DeviceRole?
    package let device: UniqueIdentifier?
    /// The part for device links; nil on a local socket.
    package let link: LinkHello?

    package init(
        _ versions: Versions, capabilities: [Capability] = Capability.allCases, software: String,
        role: DeviceRole? = nil, device: UniqueIdentifier? = nil, link: LinkHello? = nil
    ) {
        (self.versions, self.capabilities, self.software, self.role) = (versions, capabilities, software, role)
        (self.device, self.link) = (device, link)
    }

    /// The client's hello for every version that this code speaks.
    package static func offer(_ capabilities: [Capability] = Capability.allCases, software: String) -> Hello {
        Hello(.offered(ProtocolVersion.supported), capabilities: capabilities, software: software)
    }
}

/// A `hello`.
package struct HelloFrame: TypedFrame {
    /// On a device link.
    package let pairing: UniqueIdentifier?
    private let body: PropertyListDictionary

    package init(_ hello: Hello, pairing: UniqueIdentifier? = nil) { (body, self.pairing) = (hello.body, pairing) }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        pairing = try envelope.optional(.pairing)
        body = try envelope.dictionaryBody()
    }

    /// The hello of this end of the connection.
    /// - Throws: ``WireError/invalidValue(key:expected:)`` naming the key.
    package func hello(from end: Hello.End) throws(WireError) -> Hello { try Hello(body: body, from: end) }

    package var envelope: Envelope {
        get throws(WireError) {
            var envelope = Envelope(.hello)
            envelope[.pairing] = pairing
            return try envelope.with(body: body)
        }
    }
}

/// A feature that an end may use only when both ends named it (SES-3); its raw value is the word on the wire.
package enum Capability: String, Sendable, Hashable, CaseIterable {
    case message
    case messageData
    case configuration
    case context
    case userInfo
    case urgent
    case file
    case topic
    /// Reports with `spec` 1.1 are read (CFG-67).
    case trial
    /// Carriers and far secondaries are known (CFG-100).
    case chain
    /// Requests about settings are answered (SES-72).
    case edits
    /// Questions to a running app about its pages are passed on (SES-82).
    case pageQuestions
    /// Settings are mirrored (SES-76).
    case settings
    /// An app may put off an item (SES-88).
    case later
}

/// The part of hello that device links add.
package struct LinkHello: Sendable, Equatable {
    /// The sender's device name: 1-64 bytes, for people.
    package let name: String
    package let epoch: UInt64
    /// New at each start of the daemon.
    package let instance: UniqueIdentifier
    /// Highest sequence stored in order from the peer, for each channel.
    package let received: [SequenceMark]
    /// Highest sequence given to the peer, for each channel.
    package let sent: [SequenceMark]
    /// The sender's wall clock, for people; decides nothing.
    package let clock: WallTime?

    package init(
        name: String, epoch: UInt64, instance: UniqueIdentifier, received: [SequenceMark], sent: [SequenceMark],
        clock: WallTime? = nil
    ) {
        (self.name, self.epoch, self.instance, self.received) = (name, epoch, instance, received)
        (self.sent, self.clock) = (sent, clock)
    }
}

/// A position in one durable channel of one application.
package struct SequenceMark: Sendable, Equatable {
    package let app: ApplicationIdentifier
    package let channel: Channel
    package let sequence: UInt64

    package init(app: ApplicationIdentifier, channel: Channel, sequence: UInt64) {
        (self.app, self.channel, self.sequence) = (app, channel, sequence)
    }
}

// Hello as a dictionary and back.

extension Hello {
    /// The dictionary of this hello.
    package var body: PropertyListDictionary {
        versions.fields.merging(link?.fields ?? [:]).merging(present: [
            "capabilities": .array(capabilities.map { .string($0.rawValue) }), "software": .string(software),
            "role": role.map { .string($0.rawValue) }, "device": device.map { .data($0.bytes) },
        ])
    }

    /// Reads a hello's dictionary. A key that only the other end says is ignored, as an unknown one is (SES-24).
    /// - Throws: ``WireError/invalidValue(key:expected:)`` naming the key.
    package init(body: PropertyListDictionary, from end: End) throws(WireError) {
        let fields = BodyFields(body)
        versions = try Versions(fields, from: end)
        let words = try fields.array("capabilities", "an array of strings", \.stringValue)
        capabilities = words.compactMap { Capability(word: $0) }
        software = try fields.string("software").cut(toBytes: Limits.software)
        role = end == .app ? nil : try fields.optionalChoice("role", "primary or secondary")
        device = end == .app ? nil : try fields.optionalIdentifier("device")
        link = end == .app ? nil : try LinkHello(fields)
    }
}

extension Hello.Versions {
    fileprivate var fields: PropertyListDictionary {
        switch self {
        case .offered(let range):
            [
                "minimum": PropertyListValue(range.lowerBound.number),
                "maximum": PropertyListValue(range.upperBound.number),
            ]
        case .chosen(let version): ["version": PropertyListValue(version.number)]
        }
    }

    fileprivate init(_ fields: BodyFields, from end: Hello.End) throws(WireError) {
        func version(_ key: String) throws(WireError) -> ProtocolVersion {
            try fields.required(key, "a version", \.versionValue)
        }
        switch end {
        case .server: self = .chosen(try version("version"))
        case .app, .client:
            let (minimum, maximum) = (try version("minimum"), try version("maximum"))
            guard minimum <= maximum else {
                throw .invalidValue(key: "minimum", expected: "a version up to 'maximum'")
            }
            self = .offered(minimum...maximum)
        }
    }
}

extension LinkHello {
    /// Nil if the fields are those of a local socket, which has no `instance`.
    fileprivate init?(_ fields: BodyFields) throws(WireError) {
        guard let instance = try fields.optionalIdentifier("instance") else { return nil }
        self.instance = instance
        name = try fields.required("name", "a name of 1-64 bytes") { value in
            value.stringValue.flatMap { (1...64).contains($0.utf8.count) ? $0 : nil }
        }
        epoch = try fields.epoch("epoch")
        received = try Self.marks(fields, "received")
        sent = try Self.marks(fields, "sent")
        clock = try fields.optionalInteger("clock").map { WallTime(milliseconds: $0) }
    }

    fileprivate var fields: PropertyListDictionary {
        PropertyListDictionary(present: [
            "name": .string(name), "epoch": PropertyListValue(epoch), "instance": .data(instance.bytes),
            "received": .array(received.map(\.value)), "sent": .array(sent.map(\.value)),
            "clock": clock.map { .integer($0.milliseconds) },
        ])
    }

    private static func marks(_ fields: BodyFields, _ key: String) throws(WireError) -> [SequenceMark] {
        var marks: [SequenceMark] = []
        for entry in try fields.dictionaries(key) {
            let word = try entry.string("channel")
            let (app, sequence) = (try entry.application("app"), try entry.unsigned("sequence"))
            // A newer peer has queues in channels that this end does not know, and uses none of them here (SES-3).
            guard let channel = Channel(word: word) else { continue }
            marks.append(SequenceMark(app: app, channel: channel, sequence: sequence))
        }
        return marks
    }
}

extension SequenceMark {
    fileprivate var value: PropertyListValue {
        [
            "app": .string(app.description), "channel": .string(channel.rawValue),
            "sequence": PropertyListValue(sequence),
        ]
    }
}

// The protocol's version, negotiated in hello (SES-2): the highest that both sides speak.

/// A protocol version; 1 is the first.
package struct ProtocolVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let number: UInt32

    /// Nil for 0, which no document defines.
    package init?(_ number: UInt32) {
        guard number >= 1 else { return nil }
        self.number = number
    }

    private init(known number: UInt32) { self.number = number }

    /// Version 1: what Protocol/ describes.
    package static let first = ProtocolVersion(known: 1)
    /// The versions that this code speaks.
    package static let supported = first...first

    /// The highest version in both ranges; nil if they do not meet.
    package static func chosen(
        from offered: ClosedRange<ProtocolVersion>, and own: ClosedRange<ProtocolVersion> = supported
    ) -> ProtocolVersion? {
        let highest = min(offered.upperBound, own.upperBound)
        return highest >= max(offered.lowerBound, own.lowerBound) ? highest : nil
    }

    package static func < (left: Self, right: Self) -> Bool { left.number < right.number }

    package var description: String { String(number) }
}
