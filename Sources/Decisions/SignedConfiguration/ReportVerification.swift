// The primary's verification of reports of one pairing (CFG-51): a good signature under the pinned report key, the
// right device and pairing, and a counter that only increases for each app. Whether the nonce was sent and waits for an
// answer, the machine that sent it knows.

package import TandemBase
package import TandemCrypto
package import TandemPropertyList

extension ConfigurationReport {
    /// A report of this device through this pairing, verified under its pinned key; not its counter and nonce.
    package init(
        verifying bytes: [UInt8], by key: ReportPublicKey, device: UniqueIdentifier, pairing: UniqueIdentifier
    ) throws(ReportFailure) {
        let fields = try key.payload(of: bytes, type: .report)
        do { try self.init(fields) } catch { throw .payloadMalformed }
        guard self.device == device, facts.delivery.pairing == pairing else { throw .wrongDevice }
    }
}

/// The last accepted counters of a secondary's reports, and the epoch of its pairing in which they were made and what
/// they answer was delivered. A daemon that ended between the commit of a new epoch and what follows from it finds the
/// former epoch here (CFG-72, CFG-92). The device counts all its reports together, but those about one app travel in
/// its queue and may overtake those about another.
package struct ReportCounter: Sendable, Equatable {
    package let epoch: UInt64
    /// For the apps without a value of their own: 0, or what a release counted that had one value for all.
    private var others: UInt64 = 0
    private var values: [ApplicationIdentifier: UInt64] = [:]

    package init(epoch: UInt64) { self.epoch = epoch }

    /// Takes a verified report down, if its counter is higher than that of the last accepted one about its app.
    package mutating func accept(_ report: ConfigurationReport) throws(ReportFailure) {
        let app = report.facts.key.application
        guard report.counter > values[app] ?? others else { throw .replayed }
        values[app] = report.counter
    }
}

extension ReportCounter {
    package var dictionary: PropertyListDictionary {
        var fields: PropertyListDictionary = ["epoch": PropertyListValue(epoch), "value": PropertyListValue(others)]
        if !values.isEmpty {
            let apps = values.map { ("\($0)", PropertyListValue($1)) }
            fields["apps"] = .dictionary(PropertyListDictionary(uniqueKeysWithValues: apps))
        }
        return fields
    }

    /// Nil if it does not read.
    package init?(_ dictionary: PropertyListDictionary) {
        guard let others = dictionary["value"]?.unsignedValue else { return nil }
        // Earlier versions wrote rows without an epoch, and without apps.
        epoch = dictionary["epoch"]?.unsignedValue ?? 1
        self.others = others
        for (name, value) in dictionary["apps"]?.dictionaryValue ?? [:] {
            guard let app = try? ApplicationIdentifier(name), let value = value.unsignedValue else { return nil }
            values[app] = value
        }
    }
}

extension ReportPublicKey {
    /// The payload of an envelope of a type that has exactly one signature: a good one by this key.
    func payload(of bytes: [UInt8], type: SignedPayloadType) throws(ReportFailure) -> PropertyListDictionary {
        let envelope: UnverifiedEnvelope
        do { envelope = try UnverifiedEnvelope(bytes) } catch { throw error.rejection == .shape ? .shape : .malformed }
        guard envelope.signatures.count == 1, let signature = envelope.signatures.first,
            signature.keyIdentifier == identifier.bytes,
            key.isValid(
                signature.bytes,
                for: PreAuthenticationEncoding.bytes(type: envelope.payloadType, body: envelope.payload))
        else { throw .threshold }
        guard envelope.claimedType == type else { throw .wrongType }
        guard let fields = envelope.claimedFields else { throw .payloadMalformed }
        return fields
    }
}

extension ReportPrivateKey {
    /// The envelope of a payload that this device has made itself, with one signature: by this key.
    func sign(_ fields: PropertyListDictionary, type: SignedPayloadType) -> [UInt8] {
        do { return try SignedEnvelope.bytes(fields.ownBytes, type: type, signedWith: [key]) } catch {
            preconditionFailure("an envelope of one's own holds only what a property list can: \(error)")
        }
    }
}

/// A report that is not accepted (CFG-51); the raw value is the stable name.
package enum ReportFailure: String, Error, Sendable, Hashable, CaseIterable {
    case malformed
    case shape
    /// Not exactly one signature, or not a good one by the pairing's report key.
    case threshold
    case wrongType = "wrong-type"
    case payloadMalformed = "payload-malformed"
    /// Of another device or pairing than the one whose link it came through.
    case wrongDevice = "wrong-device"
    /// Answers nothing that was asked, or something that is answered.
    case wrongNonce = "wrong-nonce"
    /// Its counter is not higher than that of the last accepted one about its app.
    case replayed
}

extension ReportFailure: CustomStringConvertible {
    package var description: String { rawValue }
}
