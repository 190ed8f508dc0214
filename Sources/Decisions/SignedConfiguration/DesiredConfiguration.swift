// Desired configuration: an envelope that a primary has accepted and delivers to each secondary that lacks it, with the
// history of what it accepted for the same application, role and target. The payload is always read from the bytes, so
// that a record never contradicts them.

package import TandemBase
import TandemCrypto
package import TandemPropertyList
import TandemWire

/// An envelope that the primary's operator wants its secondaries to have (CFG-70).
package struct DesiredConfiguration: Sendable, Equatable {
    package let key: ConfigurationSlotKey
    /// The exact bytes.
    package let envelope: [UInt8]
    /// SHA-256 of ``envelope``.
    package let digest: [UInt8]
    /// SHA-256 of what is signed in it, which identifies the configuration whatever its signatures (CFG-30).
    let statement: [UInt8]
    /// The digests of other envelopes around the same signed bytes that the operator has applied here.
    private var others: [[UInt8]] = []
    /// Without its values, which would take several times the memory of the bytes.
    package let payload: ConfigurationPayload
    package let accepted: WallTime
    /// A secondary has applied it, so that it has good signatures and its version is spent.
    package internal(set) var isSpent = false
    /// The secondaries that get it first; nil once all do (CFG-79).
    package internal(set) var rollout: ConfigurationRollout?

    /// - Throws: if the envelope does not read as a configuration.
    package init(envelope: [UInt8], accepted: WallTime) throws(FieldError) {
        var payload: ConfigurationPayload
        (payload, statement) = try ConfigurationRecord.contents(of: envelope)
        payload.values = [:]
        self.payload = payload
        key = ConfigurationSlotKey(
            application: payload.application, role: payload.role, target: payload.target)
        self.envelope = envelope
        digest = SHA256.digest(envelope)
        self.accepted = accepted
    }

    package var version: UInt64 { payload.version }

    /// The key identifiers that its signatures name: at most 8 of them, for people.
    package var signers: [[UInt8]] {
        let signatures = (try? UnverifiedEnvelope(envelope))?.signatures ?? []
        return Array(signatures.map(\.keyIdentifier).filter { $0.count == SHA256.count }.prefix(8))
    }

    /// Whether its rollout has come to the secondary of a pairing.
    package func isOffered(to pairing: UniqueIdentifier) -> Bool { rollout?.first.contains(pairing) ?? true }

    /// Whether its rollout waits for the secondary of a pairing, whose state this is: one of the first that has not
    /// passed its trial (CFG-79).
    package func awaits(_ pairing: UniqueIdentifier, _ state: SecondaryState?) -> Bool {
        guard let rollout, rollout.stopped == nil, rollout.first.contains(pairing) else { return false }
        return state?.hasPassed(self) != true
    }

    /// Whether a digest is that of an envelope around these signed bytes; false for nil.
    func isBrought(by digest: [UInt8]?) -> Bool { digest.map { $0 == self.digest || others.contains($0) } ?? false }

    func isSame(as other: DesiredConfiguration) -> Bool { statement == other.statement }

    /// Takes up what is known of other envelopes around the same signed bytes.
    /// - Parameters:
    ///   - former: the one whose place it takes.
    ///   - isTaken: whether a secondary has applied that one, or may still take it.
    mutating func join(
        _ history: [AcceptedConfiguration], _ former: DesiredConfiguration?, isTaken: (DesiredConfiguration) -> Bool
    ) {
        let replaced = former.map { $0.others + [$0.digest] } ?? []
        let accepted = history.filter { $0.statement == statement }.map(\.digest)
        for other in replaced + accepted where !isBrought(by: other) { others.append(other) }
        others.removeFirst(max(0, others.count - ConfigurationLimits.history))
        guard let former else { return }
        isSpent = isSpent || former.isSpent
        if let before = former.rollout {
            rollout?.first.formUnion(before.first)
        } else if isTaken(former) {
            // The secondaries that have it would get the version before.
            rollout = nil
        }
    }

    /// Whether it replaces another one for every secondary that the other one names.
    func covers(_ other: DesiredConfiguration) -> Bool {
        guard let only = payload.only else { return true }
        return other.payload.only.map { Set($0).isSubset(of: only) } ?? false
    }
}

extension DesiredConfiguration {
    package var dictionary: PropertyListDictionary {
        PropertyListDictionary(present: [
            "v": 1, "envelope": .data(envelope), "accepted": .integer(accepted.milliseconds),
            "proven": .boolean(isSpent), "others": others.isEmpty ? nil : .array(others.map { .data($0) }),
            "first": rollout.map { .array($0.first.map { .data($0.bytes) }) },
            "stopped": rollout?.stopped.map { .string($0) },
        ])
    }

    package init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = try FieldReader(record: dictionary)
        let envelope = try fields.required("envelope", "data") { $0.dataValue }
        let accepted = try fields.required("accepted", "an integer") { $0.timeValue }
        let isSpent = try fields.required("proven", "a boolean") { $0.booleanValue }
        let first = try fields.optional("first", "a list of pairings") { value in
            value.list { $0.identifierValue }
        }
        let stopped = try fields.optional("stopped", "a string") { $0.stringValue }
        let others = try fields.optional("others", "a list of digests") { value in value.list { $0.digestValue } }
        try fields.refuseUnknownFields()
        try self.init(envelope: envelope, accepted: accepted)
        self.isSpent = isSpent
        self.others = others ?? []
        rollout = first.map { ConfigurationRollout(first: Set($0), stopped: stopped) }
    }
}

/// A staged rollout that has not come to all secondaries (CFG-79).
package struct ConfigurationRollout: Sendable, Equatable {
    /// The pairings of those that get it first.
    package internal(set) var first: Set<UniqueIdentifier>
    /// The verdict of one of the first that stopped it, or `unpaired`; nil while the first are waited for.
    package internal(set) var stopped: String?
}

/// One line of the history of a desired configuration: an envelope that the operator applied.
package struct AcceptedConfiguration: Sendable, Equatable {
    package let version: UInt64
    package let digest: [UInt8]
    package let accepted: WallTime
    /// The key identifiers that its signatures name.
    package let signers: [[UInt8]]
    /// SHA-256 of what is signed in it; nil in a row of an earlier release.
    let statement: [UInt8]?
    /// When the operator withdrew it; nil if that has not happened.
    package internal(set) var withdrawn: WallTime?

    init(_ desired: DesiredConfiguration) {
        version = desired.version
        digest = desired.digest
        accepted = desired.accepted
        signers = desired.signers
        statement = desired.statement
    }
}

extension AcceptedConfiguration {
    /// The row of the store.
    package var dictionary: PropertyListDictionary {
        var fields = summary
        fields["statement"] = statement.map { .data($0) }
        return fields
    }

    /// The line of an answer (CTL-24).
    package var summary: PropertyListDictionary {
        PropertyListDictionary(present: [
            "version": PropertyListValue(version), "digest": .data(digest), "accepted": .integer(accepted.milliseconds),
            "signers": .array(signers.map { .data($0) }), "withdrawn": withdrawn.map { .integer($0.milliseconds) },
        ])
    }

    package init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = FieldReader(dictionary)
        version = try fields.required("version", "an integer from 1") { $0.positiveValue }
        digest = try fields.required("digest", "32 bytes of data") { $0.digestValue }
        accepted = try fields.required("accepted", "an integer") { $0.timeValue }
        signers = try fields.required("signers", "a list of key identifiers") { value in
            value.arrayValue?.compactMap(\.digestValue)
        }
        statement = try fields.optional("statement", "32 bytes of data") { $0.digestValue }
        withdrawn = try fields.optional("withdrawn", "an integer") { $0.timeValue }
        try fields.refuseUnknownFields()
    }
}
