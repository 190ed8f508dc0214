// Stored configurations: the staged one, which waits for its app, and the active one. Both consist of the exact bytes
// and the facts to verify them against again (CFG-36). The payload is always read from the bytes, so that a record
// never contradicts them; a stored record whose facts differ from its bytes is damaged.

package import TandemBase
import TandemCrypto
package import TandemPropertyList
import TandemWire

/// A configuration's bytes with the facts recorded beside them (CFG-36).
package struct ConfigurationRecord: Sendable, Equatable {
    package let key: ConfigurationSlotKey
    /// This device's vendor identifier.
    package let device: UniqueIdentifier
    /// The exact bytes.
    package let envelope: [UInt8]
    /// SHA-256 of ``envelope``.
    package let digest: [UInt8]
    /// SHA-256 of what is signed in it, whatever its signatures.
    let statement: [UInt8]
    /// Read from ``envelope``; verified before it was recorded, and again before it is used.
    package let payload: ConfigurationPayload

    /// The record of bytes that have been verified for the slot.
    init(key: ConfigurationSlotKey, device: UniqueIdentifier, _ verified: VerifiedConfiguration) {
        (self.key, self.device, envelope) = (key, device, verified.bytes)
        (digest, payload, statement) = (verified.digest, verified.payload, verified.statement)
    }

    /// The record of bytes that were verified before.
    package init(
        key: ConfigurationSlotKey, device: UniqueIdentifier, envelope: [UInt8]
    ) throws(FieldError) {
        self.key = key
        self.device = device
        self.envelope = envelope
        digest = SHA256.digest(envelope)
        (payload, statement) = try Self.contents(of: envelope)
    }

    /// The payload of an envelope, and the digest of what is signed in it.
    static func contents(
        of envelope: [UInt8]
    ) throws(FieldError) -> (payload: ConfigurationPayload, statement: [UInt8]) {
        guard let unverified = try? UnverifiedEnvelope(envelope), let fields = unverified.claimedFields,
            let payload = try? ConfigurationPayload(fields)
        else { throw FieldError(field: "envelope", problem: "cannot be read") }
        return (payload, unverified.statement.digest)
    }

    package var version: UInt64 { payload.version }
    package var transaction: UniqueIdentifier { payload.transaction }
}

extension ConfigurationRecord {
    var dictionary: PropertyListDictionary {
        let facts: PropertyListDictionary = [
            "v": 1, "envelope": .data(envelope), "device": .data(device.bytes),
            "keyset": PropertyListValue(payload.keySetVersion), "version": PropertyListValue(version),
            "txid": .data(transaction.bytes), "digest": .data(digest),
        ]
        return facts.merging(key.fields)
    }

    init(_ fields: inout FieldReader) throws(FieldError) {
        try fields.firstVersion()
        let key = try ConfigurationSlotKey(&fields)
        let device = try fields.required("device", "16 bytes of data") { $0.identifierValue }
        let envelope = try fields.required("envelope", "data") { $0.dataValue }
        try self.init(key: key, device: device, envelope: envelope)
        try checkFacts(&fields)
    }

    private func checkFacts(_ fields: inout FieldReader) throws(FieldError) {
        let keySet = try fields.required("keyset", "an integer from 1") { $0.positiveValue }
        let version = try fields.required("version", "an integer from 1") { $0.positiveValue }
        let transaction = try fields.required("txid", "16 bytes of data") { $0.identifierValue }
        let digest = try fields.required("digest", "32 bytes of data") { $0.digestValue }
        guard keySet == payload.keySetVersion, version == self.version, transaction == self.transaction,
            digest == self.digest
        else { throw FieldError(field: "digest", problem: "and the facts beside it are not those of the envelope") }
    }
}

/// A configuration on this device, staged or applied.
protocol RecordedConfiguration {
    var record: ConfigurationRecord { get }
    /// Its signature is invalid, and allowed (CFG-22).
    var isWaived: Bool { get }
}

/// A staged configuration: a row, and `staged.plist` in the app's directory.
package struct StagedConfiguration: RecordedConfiguration, Sendable, Equatable {
    package let record: ConfigurationRecord
    package let staged: WallTime
    /// Versions up to this one are refused; nil if there is no mark.
    package let mark: UInt64?
    /// The daemon's half of CFG-22.
    package internal(set) var allowsInvalid: Bool
    /// The daemon found no good signatures, and allowed it.
    package let isWaived: Bool
    /// The deliveries that brought it; none if it was submitted to this daemon directly.
    package internal(set) var deliveries: ConfigurationDeliveries
    /// The attempts of the app that were counted before they began (CFG-62).
    package internal(set) var attempts: UInt64

    package init(
        _ record: ConfigurationRecord, staged: WallTime, mark: UInt64?, allowsInvalid: Bool,
        isWaived: Bool = false, deliveries: ConfigurationDeliveries, attempts: UInt64 = 0
    ) {
        self.record = record
        self.staged = staged
        self.mark = mark
        self.allowsInvalid = allowsInvalid
        self.isWaived = isWaived
        self.deliveries = deliveries
        self.attempts = attempts
    }

    /// The app has not seen it after all.
    mutating func uncount() { if attempts > 0 { attempts -= 1 } }
}

extension StagedConfiguration {
    /// The row's fields: the file's, and the daemon's alone, which are the attempts and the earlier deliveries.
    package var row: PropertyListDictionary {
        dictionary.merging(deliveries.rowFields)
            .merging(present: ["attempts": attempts > 0 ? PropertyListValue(attempts) : nil])
    }

    /// The file's fields (CFG-36).
    package var dictionary: PropertyListDictionary {
        record.dictionary.merging(deliveries.fields).merging(present: [
            "staged": .integer(staged.milliseconds), "mark": mark.map { PropertyListValue($0) },
            "allowsInvalid": .boolean(allowsInvalid), "waived": .boolean(isWaived),
        ])
    }

    package init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = FieldReader(dictionary)
        record = try ConfigurationRecord(&fields)
        staged = try fields.required("staged", "an integer") { $0.timeValue }
        mark = try fields.optional("mark", "an integer from 0") { $0.unsignedValue }
        allowsInvalid = try fields.required("allowsInvalid", "a boolean") { $0.booleanValue }
        isWaived = try fields.required("waived", "a boolean") { $0.booleanValue }
        deliveries = try ConfigurationDeliveries(&fields)
        attempts = try fields.optional("attempts", "an integer from 0") { $0.countValue } ?? 0
        try fields.refuseUnknownFields()
    }
}

/// An applied configuration: a row, and `configuration.plist` or `waived.plist` in the app's directory.
package struct ActiveConfiguration: RecordedConfiguration, Sendable, Equatable {
    package let record: ConfigurationRecord
    private var use: LifetimeUse
    /// Applied with an invalid signature that was allowed (CFG-22).
    package let isWaived: Bool

    package init(_ record: ConfigurationRecord, applied: WallTime, isWaived: Bool) {
        self.record = record
        self.isWaived = isWaived
        use = LifetimeUse(applied: applied)
    }

    package var applied: WallTime { use.applied }

    /// Milliseconds of the lifetime already used.
    package var elapsed: Int64 { use.elapsed }

    /// No clock is right that is below this (CFG-33).
    package var clockFloor: WallTime { record.payload.clockFloor(applied: applied) }

    /// With the lifetime counted up to now; nil without one.
    /// - Parameter running: since the last tick; of that counts only what has passed since it was applied.
    func counted(running: Duration, now: WallTime, with app: ApplicationPresence) -> Self? {
        guard record.payload.lifetime != nil else { return nil }
        var counted = self
        let isNew = app.appliedSinceTick.contains(record.digest)
        counted.use.advance(
            running: isNew ? min(running, now.since(applied)) : running, now: now,
            known: app.library.elapsed(of: record.digest))
        return counted
    }

    /// Whether the lifetime is used up at `now`; never for a configuration without one.
    package func isOver(at now: WallTime) -> Bool {
        record.payload.isOver(after: use.used(now: now))
    }
}

extension ActiveConfiguration {
    /// The file's and the row's fields (CFG-36).
    package var dictionary: PropertyListDictionary {
        record.dictionary.merging([
            "applied": .integer(applied.milliseconds), "elapsed": .integer(elapsed), "waived": .boolean(isWaived),
        ])
    }

    package init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = FieldReader(dictionary)
        record = try ConfigurationRecord(&fields)
        let applied = try fields.required("applied", "an integer") { $0.timeValue }
        let elapsed = try fields.required("elapsed", "an integer from 0") { $0.elapsedValue }
        use = LifetimeUse(applied: applied, elapsed: elapsed)
        isWaived = try fields.required("waived", "a boolean") { $0.booleanValue }
        try fields.refuseUnknownFields()
    }
}

/// The key of a configuration's state: (app, role, target).
package struct ConfigurationSlotKey: Sendable, Hashable {
    package let application: ApplicationIdentifier
    package let role: DeviceRole
    package let target: PairedIdentifier

    package init(application: ApplicationIdentifier, role: DeviceRole, target: PairedIdentifier) {
        self.application = application
        self.role = role
        self.target = target
    }

    /// The subject whose keys sign it.
    package var subject: KeySubject { KeySubject(application: application, role: role) }
}

extension ConfigurationSlotKey {
    /// The fields of what is kept or told by it.
    package var fields: PropertyListDictionary {
        var fields = subject.fields
        fields["target"] = .string(target.text)
        return fields
    }

    init(_ fields: inout FieldReader) throws(FieldError) {
        let subject = try KeySubject(&fields)
        self.init(
            application: subject.application, role: subject.role,
            target: try fields.required("target", "a paired identifier") { $0.targetValue })
    }
}
