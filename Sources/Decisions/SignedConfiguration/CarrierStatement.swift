// Statement of a carrier (CFG-101): the secondaries below it that have one app, each with the report key that the
// carrier's pairing pinned, and the statements of those among them that carry as well. The carrier's own report key,
// which its primary pinned, signs it: so a chain of pairings certifies the report key of a far secondary.

package import TandemBase
package import TandemCrypto
package import TandemPropertyList
import TandemWire

/// One carrier's word on one app.
package struct CarrierStatement: Sendable, Equatable {
    package struct Secondary: Sendable, Equatable {
        /// The pairing between the carrier and the secondary.
        package let pairing: UniqueIdentifier
        package let device: UniqueIdentifier
        /// For people: 1 to 64 bytes.
        package let name: String
        /// SubjectPublicKeyInfo of its report key, 1 to 2,048 bytes. The key's own validity is judged when it is first
        /// certified: parsing one costs more than reading a whole list.
        package let reportKey: [UInt8]
        /// Of the pairing: a higher one says that one of the two stores was restored, or that the secondary trusts
        /// another key for an app.
        package let epoch: UInt64
        /// The paired identifier that it has for the app.
        package let target: PairedIdentifier
        /// Whether it has the app, and does not only carry for others that have it.
        package let installed: Bool

        package init(
            pairing: UniqueIdentifier, device: UniqueIdentifier, name: String, reportKey: [UInt8], epoch: UInt64,
            target: PairedIdentifier, installed: Bool
        ) {
            (self.pairing, self.device, self.name) = (pairing, device, name)
            (self.reportKey, self.epoch, self.target, self.installed) = (reportKey, epoch, target, installed)
        }

        /// The facts that its pairing never changes.
        var identity: [UInt8] { SHA256.digest(pairing.bytes + device.bytes + reportKey) }
    }

    /// The extent of a statement with all that is in it, whatever it is worth.
    package struct Extent: Sendable, Equatable {
        package fileprivate(set) var devices: Set<UniqueIdentifier>
        /// Carriers in a row; beyond LIM-94 they are not counted.
        package fileprivate(set) var length: Int
        package fileprivate(set) var statements: Int
    }

    /// The carrier.
    package let device: UniqueIdentifier
    /// The pairing between the carrier and its primary, to which the statement is made.
    package let pairing: UniqueIdentifier
    package let application: ApplicationIdentifier
    /// From 1, higher with each statement of the carrier.
    package let counter: UInt64
    package let secondaries: [Secondary]
    /// The places in the list of those that do not read, or name the pairing of one before them. None costs another one
    /// anything: each device below puts its own word into the list.
    let faulty: [Int]
    /// The exact bytes of the statements of those secondaries that carry.
    package let below: [[UInt8]]

    package func signed(with key: ReportPrivateKey) -> [UInt8] { key.sign(dictionary, type: .carrier) }

    /// A statement of as many of these secondaries as an envelope has room for (LIM-94), without any below.
    package static func bare(
        of device: UniqueIdentifier, through pairing: UniqueIdentifier, about application: ApplicationIdentifier,
        _ secondaries: [Secondary]
    ) -> CarrierStatement {
        var fitting = Array(secondaries.prefix(ConfigurationLimits.carriedSecondaries))
        while true {
            let statement = CarrierStatement(
                of: device, through: pairing, about: application, counter: UInt64(Int64.max), secondaries: fitting)
            guard statement.room < 0, !fitting.isEmpty else { return statement }
            fitting.removeLast(max(1, fitting.count / 16))
        }
    }

    /// Bytes of an envelope that are left for statements of `below`.
    package var room: Int {
        // Generous: the signature, the keys and the counts of the envelope, and the longest offsets.
        ConfigurationLimits.envelope - 1_024 - dictionary.ownBytes.count
    }

    /// Nil if more statements are in it than a primary follows (LIM-94).
    package var extent: Extent? {
        var extent = Extent(devices: [], length: 0, statements: 1)
        return extent.add(self, at: 1) ? extent : nil
    }

    /// The digest of everything but the counter.
    var contents: [UInt8] {
        var fields = dictionary
        fields["counter"] = nil
        return SHA256.digest(fields.ownBytes)
    }
}

extension CarrierStatement.Extent {
    /// Adds a statement at this depth of the chain; false if there are too many. Those in it are counted before
    /// any of them is read, and read once each: a list can name the same few bytes many times, and so can each list in
    /// these.
    fileprivate mutating func add(_ statement: CarrierStatement, at length: Int) -> Bool {
        devices.formUnion(statement.secondaries.map(\.device))
        self.length = max(self.length, length)
        statements += statement.below.count
        guard statements <= ConfigurationLimits.carriedStatements else { return false }
        guard length <= ConfigurationLimits.chainLength else { return true }
        for bytes in Set(statement.below) {
            guard let inner = CarrierStatement(claimedIn: bytes) else { continue }
            guard add(inner, at: length + 1) else { return false }
        }
        return true
    }
}

extension CarrierStatement {
    package init(
        of device: UniqueIdentifier, through pairing: UniqueIdentifier, about application: ApplicationIdentifier,
        counter: UInt64, secondaries: [Secondary], below: [[UInt8]] = []
    ) {
        (self.device, self.pairing, self.application, self.counter) = (device, pairing, application, counter)
        (self.secondaries, faulty, self.below) = (secondaries, [], below)
    }

    init(verifying bytes: [UInt8], with key: ReportPublicKey) throws(CarrierFailure) {
        let fields: PropertyListDictionary
        do { fields = try key.payload(of: bytes, type: .carrier) } catch { throw .unverified(error) }
        do { try self.init(fields) } catch { throw .unverified(.payloadMalformed) }
    }

    /// The statement as it claims to be: to find the key that verifies it, or from this device's own store.
    init?(claimedIn bytes: [UInt8]) {
        guard let fields = (try? UnverifiedEnvelope(bytes))?.claimedFields,
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

    package init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = FieldReader(dictionary)
        _ = try fields.required("typ", "'carrier'") { $0.stringValue?.isWord("carrier") == true ? true : nil }
        _ = try fields.required("spec", "'1.0'") { $0.stringValue?.isWord("1.0") == true ? true : nil }
        device = try fields.required("device", "16 bytes of data") { $0.identifierValue }
        pairing = try fields.required("pairing", "16 bytes of data") { $0.identifierValue }
        application = try fields.required("app", "an application identifier") { $0.applicationValue }
        counter = try fields.required("counter", "an integer from 1") { $0.positiveValue }
        (secondaries, faulty) = try fields.required("secondaries", "a list of secondaries", Self.secondaries)
        below = try fields.required("below", "a list of statements") { value in
            value.list(atMost: ConfigurationLimits.carriedStatements) { $0.dataValue }
        }
        try fields.refuseUnknownFields()
    }

    private static func secondaries(_ value: PropertyListValue) -> (read: [Secondary], faulty: [Int])? {
        guard let values = value.arrayValue, values.count <= ConfigurationLimits.carriedSecondaries else { return nil }
        var (read, faulty, pairings) = ([Secondary](), [Int](), Set<UniqueIdentifier>())
        for (index, value) in values.enumerated() {
            // One that is named again is not read again: a list can name the same few bytes many times.
            guard let fields = value.dictionaryValue, let pairing = fields["pairing"]?.identifierValue,
                pairings.insert(pairing).inserted, let secondary = try? Secondary(fields)
            else {
                faulty.append(index)
                continue
            }
            read.append(secondary)
        }
        return (read, faulty)
    }
}

extension CarrierStatement.Secondary {
    fileprivate var dictionary: PropertyListDictionary {
        [
            "pairing": .data(pairing.bytes), "device": .data(device.bytes), "name": .string(name),
            "reportKey": .data(reportKey), "epoch": PropertyListValue(epoch), "target": .string(target.text),
            "installed": .boolean(installed),
        ]
    }

    fileprivate init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = FieldReader(dictionary)
        pairing = try fields.required("pairing", "16 bytes of data") { $0.identifierValue }
        device = try fields.required("device", "16 bytes of data") { $0.identifierValue }
        name = try fields.required("name", "1 to 64 bytes of text") { value in
            value.stringValue.flatMap { (1...64).contains($0.utf8.count) ? $0 : nil }
        }
        reportKey = try fields.required("reportKey", "1 to 2,048 bytes of data") { value in
            value.dataValue.flatMap { (1...2048).contains($0.count) ? $0 : nil }
        }
        epoch = try fields.required("epoch", "an integer from 1 to 4,294,967,295") { $0.epochValue }
        target = try fields.required("target", "a paired identifier") { $0.targetValue }
        installed = try fields.required("installed", "a boolean") { $0.booleanValue }
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
    /// More carriers in a row, statements or devices than a primary follows (LIM-94).
    case tooMany

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
