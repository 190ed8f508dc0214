// The primary's verification of reports of one pairing (CFG-51): a good signature under the pinned report key, the
// right device and pairing, a nonce that was sent, and a counter that only increases.

package import TandemBase
package import TandemCrypto
package import TandemPropertyList

/// The verification state of one pairing's reports.
package struct ReportVerifier: Sendable {
    package let key: ReportPublicKey
    package let device: UniqueIdentifier
    package let pairing: UniqueIdentifier
    /// The last accepted counter; 0 if there was none.
    package private(set) var counter: UInt64
    /// The nonces that were sent and have no final report.
    package private(set) var open: Set<UniqueIdentifier>

    package init(
        key: ReportPublicKey, device: UniqueIdentifier, pairing: UniqueIdentifier, counter: UInt64 = 0,
        open: Set<UniqueIdentifier> = []
    ) {
        self.key = key
        self.device = device
        self.pairing = pairing
        self.counter = counter
        self.open = open
    }

    /// Verifies a report and takes it down; a refused one changes nothing.
    package mutating func accept(_ bytes: [UInt8]) throws(ReportFailure) -> ConfigurationReport {
        let report = try verified(bytes)
        guard report.device == device, report.facts.delivery.pairing == pairing else { throw .wrongDevice }
        guard report.counter > counter else { throw .replayed }
        guard open.contains(report.facts.delivery.nonce) else { throw .wrongNonce }
        counter = report.counter
        if !report.isProvisional { open.remove(report.facts.delivery.nonce) }
        return report
    }

    private func verified(_ bytes: [UInt8]) throws(ReportFailure) -> ConfigurationReport {
        let fields = try key.payload(of: bytes, type: .report)
        do { return try ConfigurationReport(fields) } catch { throw .payloadMalformed }
    }
}

/// The last accepted counter of a secondary's reports, and the epoch of its pairing in which they were made and what
/// they answer was delivered. A daemon that ended between the commit of a new epoch and what follows from it finds the
/// former epoch here (CFG-72, CFG-92).
package struct ReportCounter: Sendable, Equatable {
    package let epoch: UInt64
    /// From 1; 0 if there was none in this epoch.
    package internal(set) var value: UInt64 = 0

    package init(epoch: UInt64) { self.epoch = epoch }
}

extension ReportCounter {
    package var dictionary: PropertyListDictionary {
        ["epoch": PropertyListValue(epoch), "value": PropertyListValue(value)]
    }

    /// Nil if it does not read.
    package init?(_ dictionary: PropertyListDictionary) {
        guard let value = dictionary["value"]?.unsignedValue else { return nil }
        // Earlier versions wrote rows without an epoch.
        epoch = dictionary["epoch"]?.unsignedValue ?? 1
        self.value = value
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
        guard let fields = try? PropertyListReader.readDictionary(envelope.payload) else { throw .payloadMalformed }
        return fields
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
    /// Its counter is not higher than the last accepted one.
    case replayed
}

extension ReportFailure: CustomStringConvertible {
    package var description: String { rawValue }
}
