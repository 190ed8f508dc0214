// State of a session as the daemon reports it to a host app (SES-7): all pairings with their reachability. The daemon
// writes it, the library reads it strictly. `since` travels as elapsed milliseconds, never as a time of day; here it is
// a point on this machine's clock.

package import TandemBase
package import TandemPropertyList
package import TandemWire

/// One pairing as a host app sees it.
package struct PairingState: Sendable, Equatable {
    package let pairing: UniqueIdentifier
    /// The other device's vendor identifier.
    package let peer: UniqueIdentifier
    /// The other device's name, for people.
    package let name: String
    /// This device's part.
    package let role: DeviceRole
    /// The target of configuration for the secondary's app.
    package let target: PairedIdentifier
    package let isInstalled: Bool
    package var level: ReachabilityLevel
    package var reason: ReachabilityReason
    package var since: MonotonicTime
    /// How often level or reason has changed, counted by the daemon.
    package var changes: UInt64
    /// How far a message of the other side would come, as it says itself.
    package var seen: ReachabilityLevel?
    /// The declared features of the counterpart app.
    package var features: ApplicationFeatures
    /// The app's directory for this pairing alone.
    package var directory: String?

    package init(
        pairing: UniqueIdentifier, peer: UniqueIdentifier, name: String, role: DeviceRole, target: PairedIdentifier,
        isInstalled: Bool, level: ReachabilityLevel, reason: ReachabilityReason, since: MonotonicTime,
        changes: UInt64 = 0, seen: ReachabilityLevel? = nil, features: ApplicationFeatures = ApplicationFeatures(),
        directory: String? = nil
    ) {
        self.pairing = pairing
        self.peer = peer
        self.name = name
        self.role = role
        self.target = target
        self.isInstalled = isInstalled
        self.level = level
        self.reason = reason
        self.since = since
        self.changes = changes
        self.seen = seen
        self.features = features
        self.directory = directory
    }
}

/// The whole state at one revision.
package struct SessionState: Sendable, Equatable {
    package var revision: UInt64
    package var active: UniqueIdentifier?
    package var pairings: [PairingState]

    package init(revision: UInt64, active: UniqueIdentifier?, pairings: [PairingState]) {
        self.revision = revision
        self.active = active
        self.pairings = pairings
    }

    /// The pairing with this identifier; the active one for nil.
    package func pairing(_ identifier: UniqueIdentifier?) -> PairingState? {
        guard let wanted = identifier ?? active else { return nil }
        return pairings.first { $0.pairing == wanted }
    }
}

extension SessionState {
    package func body(now: MonotonicTime) -> PropertyListDictionary {
        PropertyListDictionary(present: [
            "revision": .integer(Int64(clamping: revision)), "active": active.map { .data($0.bytes) },
            "pairings": .array(pairings.map { .dictionary($0.body(now: now)) }),
        ])
    }

    package init(body: PropertyListDictionary, now: MonotonicTime) throws(WireError) {
        let fields = BodyFields(body)
        revision = try fields.unsigned("revision")
        active = try fields.optionalIdentifier("active")
        pairings = []
        for entry in try fields.dictionaries("pairings") { pairings.append(try PairingState(entry, now: now)) }
    }
}

extension SessionState {
    /// The writer's result for the whole state or, if that does not fit (thousands of pairings), of one without
    /// what is nice to know (SES-32).
    package func fitted<Written>(_ write: (SessionState) throws(WireError) -> Written) throws(WireError) -> Written {
        do { return try write(self) } catch {
            var short = self
            for index in short.pairings.indices {
                short.pairings[index].features = ApplicationFeatures()
                short.pairings[index].directory = nil
            }
            return try write(short)
        }
    }
}

extension PairingState {
    fileprivate func body(now: MonotonicTime) -> PropertyListDictionary {
        features.fields.merging(present: [
            "pairing": .data(pairing.bytes), "peer": .data(peer.bytes), "name": .string(name),
            "role": .string(role.rawValue), "target": .string(target.text), "installed": .boolean(isInstalled),
            "level": .string(level.rawValue), "reason": .string(reason.rawValue),
            "since": .integer(now.since(since).saturatingMilliseconds), "changes": .integer(Int64(clamping: changes)),
            "seen": seen.map { .string($0.rawValue) }, "directory": directory.map { .string($0) },
        ])
    }

    fileprivate init(_ fields: BodyFields, now: MonotonicTime) throws(WireError) {
        pairing = try fields.identifier("pairing")
        peer = try fields.identifier("peer")
        name = try fields.string("name")
        role = try fields.role("role")
        target = try fields.pairedIdentifier("target")
        isInstalled = try fields.boolean("installed")
        level = try fields.choice("level", "a level")
        reason = try fields.choice("reason", "a reason")
        since = now + .milliseconds(-Int64(clamping: try fields.unsigned("since")))
        changes = try fields.optionalUnsigned("changes") ?? 0
        seen = try fields.optionalChoice("seen", "a level")
        features = try ApplicationFeatures(fields)
        directory = try fields.optionalString("directory")
    }
}
