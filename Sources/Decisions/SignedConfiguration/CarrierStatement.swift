// Statement of a carrier (CFG-101): the secondaries below it that have one app, each with the report key that the
// carrier's pairing pinned, and the statements of those among them that carry as well. The carrier's own report key,
// which its primary pinned, signs it: so a chain of pairings certifies the report key of a far secondary.

package import TandemBase
package import TandemCrypto
package import TandemPropertyList

/// One carrier's word on one app.
package struct CarrierStatement: Sendable, Equatable {
    /// A secondary of the carrier.
    package struct Secondary: Sendable, Equatable {
        /// The pairing between the carrier and the secondary.
        package let pairing: UniqueIdentifier
        package let device: UniqueIdentifier
        /// For people: 1 to 64 bytes.
        package let name: String
        /// SubjectPublicKeyInfo of its report key.
        package let reportKey: [UInt8]
        /// Of the pairing: a higher one says that one of the two stores was restored.
        package let epoch: UInt64
        /// The paired identifier that it has for the app.
        package let target: PairedIdentifier

        package init(
            pairing: UniqueIdentifier, device: UniqueIdentifier, name: String, reportKey: [UInt8], epoch: UInt64,
            target: PairedIdentifier
        ) {
            (self.pairing, self.device, self.name) = (pairing, device, name)
            (self.reportKey, self.epoch, self.target) = (reportKey, epoch, target)
        }
    }

    /// The carrier.
    package let device: UniqueIdentifier
    /// The pairing between the carrier and its primary, to which the statement is made.
    package let pairing: UniqueIdentifier
    package let application: ApplicationIdentifier
    /// From 1, higher with each statement of the carrier.
    package let counter: UInt64
    package let secondaries: [Secondary]
    /// The exact bytes of the statements of those secondaries that carry.
    package let below: [[UInt8]]

    /// The exact bytes of the signed statement.
    package func signed(with key: ReportPrivateKey) -> [UInt8] {
        do {
            return try SignedEnvelope.bytes(
                try PropertyListWriter.write(dictionary), type: .carrier, signedWith: [key.key])
        } catch {
            preconditionFailure("a statement holds only what a property list can: \(error)")
        }
    }

    /// The digest of everything but the counter.
    var contents: [UInt8] {
        var fields = dictionary
        fields["counter"] = nil
        do { return SHA256.digest(try PropertyListWriter.write(fields)) } catch {
            preconditionFailure("a statement holds only what a property list can: \(error)")
        }
    }
}

extension CarrierStatement {
    package init(
        of device: UniqueIdentifier, through pairing: UniqueIdentifier, about application: ApplicationIdentifier,
        counter: UInt64, secondaries: [Secondary], below: [[UInt8]] = []
    ) {
        (self.device, self.pairing, self.application, self.counter) = (device, pairing, application, counter)
        (self.secondaries, self.below) = (secondaries, below)
    }

    /// Verifies a statement under its maker's report key.
    init(verifying bytes: [UInt8], with key: ReportPublicKey) throws(CarrierFailure) {
        let fields: PropertyListDictionary
        do { fields = try key.payload(of: bytes, type: .carrier) } catch { throw .unverified(error) }
        do { try self.init(fields) } catch { throw .unverified(.payloadMalformed) }
    }

    /// The statement as it claims to be: to find the key that verifies it, or from this device's own store.
    init?(claimedIn bytes: [UInt8]) {
        guard let envelope = try? UnverifiedEnvelope(bytes),
            let fields = try? PropertyListReader.readDictionary(envelope.payload),
            let statement = try? CarrierStatement(fields)
        else { return nil }
        self = statement
    }

    package var dictionary: PropertyListDictionary {
        [
            "typ": "carrier", "spec": "1.0", "device": .data(device.bytes), "pairing": .data(pairing.bytes),
            "app": .string(application.description), "counter": PropertyListValue(counter),
            "secondaries": .array(secondaries.map { .dictionary($0.dictionary) }),
            "below": .array(below.map { .data($0) }),
        ]
    }

    package init(_ dictionary: PropertyListDictionary) throws(PayloadError) {
        do {
            var fields = FieldReader(dictionary)
            _ = try fields.required("typ", "'carrier'") { $0.stringValue == "carrier" ? true : nil }
            _ = try fields.required("spec", "'1.0'") { $0.stringValue == "1.0" ? true : nil }
            device = try fields.required("device", "16 bytes of data") { $0.identifierValue }
            pairing = try fields.required("pairing", "16 bytes of data") { $0.identifierValue }
            application = try fields.required("app", "an application identifier") { $0.applicationValue }
            counter = try fields.required("counter", "an integer from 1") { $0.positiveValue }
            secondaries = try fields.required("secondaries", "a list of secondaries", Self.secondaries)
            below = try fields.required("below", "a list of statements") { value in
                guard let values = value.arrayValue, values.count <= ConfigurationLimits.carriedSecondaries else {
                    return nil
                }
                let statements = values.compactMap(\.dataValue)
                return statements.count == values.count ? statements : nil
            }
            try fields.refuseUnknownFields()
        } catch {
            throw PayloadError(detail: error.description)
        }
    }

    private static func secondaries(_ value: PropertyListValue) -> [Secondary]? {
        guard let values = value.arrayValue, values.count <= ConfigurationLimits.carriedSecondaries else { return nil }
        let secondaries = values.compactMap { $0.dictionaryValue.flatMap { try? Secondary($0) } }
        guard secondaries.count == values.count, Set(secondaries.map(\.pairing)).count == values.count else {
            return nil
        }
        return secondaries
    }
}

extension CarrierStatement.Secondary {
    fileprivate var dictionary: PropertyListDictionary {
        [
            "pairing": .data(pairing.bytes), "device": .data(device.bytes), "name": .string(name),
            "reportKey": .data(reportKey), "epoch": PropertyListValue(epoch), "target": .string(target.text),
        ]
    }

    fileprivate init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = FieldReader(dictionary)
        pairing = try fields.required("pairing", "16 bytes of data") { $0.identifierValue }
        device = try fields.required("device", "16 bytes of data") { $0.identifierValue }
        name = try fields.required("name", "1 to 64 bytes of text") { value in
            value.stringValue.flatMap { (1...64).contains($0.utf8.count) ? $0 : nil }
        }
        reportKey = try fields.required("reportKey", "a public key") { value in
            value.dataValue.flatMap { (try? PublicKey(subjectPublicKeyInfo: $0)) == nil ? nil : $0 }
        }
        epoch = try fields.required("epoch", "an integer from 1") { $0.positiveValue }
        target = try fields.required("target", "a paired identifier") { $0.targetValue }
        try fields.refuseUnknownFields()
    }
}

/// A statement that is not accepted (CFG-102): it changes nothing.
package enum CarrierFailure: Error, Sendable, Equatable {
    /// Not an envelope of its kind with one good signature by its maker.
    case unverified(ReportFailure)
    /// It names a device or pairing that is not its maker's to name.
    case wrongDevice
    case wrongApplication
    /// The vendor identifier of a device that is not the maker of the statement.
    case wrongTarget
    /// Another report key than it named for this device before.
    case keyChanged
    /// Its counter is not higher than the last accepted one.
    case replayed
    /// More carriers in a row, or more devices, than a primary follows (LIM-94).
    case tooMany

    /// The stable name.
    package var name: String {
        switch self {
        case .unverified(let failure): failure.rawValue
        case .wrongDevice: ReportFailure.wrongDevice.rawValue
        case .wrongApplication: Rejection.wrongApplication.rawValue
        case .wrongTarget: Rejection.wrongTarget.rawValue
        case .keyChanged: "key-changed"
        case .replayed: ReportFailure.replayed.rawValue
        case .tooMany: "too-many"
        }
    }
}
