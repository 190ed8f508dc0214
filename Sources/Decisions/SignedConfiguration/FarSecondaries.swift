// Far secondaries of a primary: devices below its secondaries, as the statements of these carriers certify them
// (CFG-101, CFG-102). The first report key that a carrier names for a device stays its key while the carrier is
// paired, so that a carrier that turns malicious later cannot speak for a device that it named before.

package import TandemBase
package import TandemCrypto
package import TandemPropertyList

/// A device below a secondary, for one app.
package struct FarSecondary: Sendable, Equatable {
    /// The pairing of the secondary with this primary, through which everything goes.
    package let carrier: UniqueIdentifier
    /// The word of the last carrier of the chain.
    package let facts: CarrierStatement.Secondary
}

/// The far secondaries of one device.
package struct FarSecondaries: Sendable {
    /// A device that a carrier has named, or the carrier itself.
    package struct Certified: Sendable, Equatable {
        package internal(set) var reportKey: [UInt8]
        /// The last counters of its own statements.
        package internal(set) var counters: [ApplicationIdentifier: UInt64] = [:]
    }

    /// A secondary that carries.
    package struct Carrier {
        package let pairing: UniqueIdentifier
        package let device: UniqueIdentifier
        /// Its report key, pinned in the pairing.
        package let key: ReportPublicKey

        package init(pairing: UniqueIdentifier, device: UniqueIdentifier, key: ReportPublicKey) {
            (self.pairing, self.device, self.key) = (pairing, device, key)
        }
    }

    private struct Branch {
        var statements: [ApplicationIdentifier: [UInt8]] = [:]
        var devices: [UniqueIdentifier: Certified] = [:]
    }

    private var branches: [UniqueIdentifier: Branch] = [:]
    private var known: [UniqueIdentifier: [ApplicationIdentifier: FarSecondary]] = [:]

    package init() {}

    // MARK: state in force

    package var isEmpty: Bool { known.isEmpty }

    /// The pairings of which statements or keys are kept.
    package var carriers: Set<UniqueIdentifier> { Set(branches.keys) }

    /// All of them by their pairings with their carriers, in the order of these.
    package var pairings: [UniqueIdentifier] {
        known.keys.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }

    /// The device of a far pairing.
    package subscript(pairing: UniqueIdentifier) -> FarSecondary? { known[pairing]?.values.first }

    package func target(of app: ApplicationIdentifier, at pairing: UniqueIdentifier) -> PairedIdentifier? {
        known[pairing]?[app]?.facts.target
    }

    /// The targets of a far pairing's apps, in the order of these.
    package func targets(
        at pairing: UniqueIdentifier
    ) -> [(app: ApplicationIdentifier, target: PairedIdentifier)] {
        (known[pairing] ?? [:]).map { ($0.key, $0.value.facts.target) }.sorted { $0.0 < $1.0 }
    }

    /// The far pairings behind one carrier.
    package func pairings(behind carrier: UniqueIdentifier) -> [UniqueIdentifier] {
        pairings.filter { self[$0]?.carrier == carrier }
    }

    /// The apps that something behind a carrier has, by its last statements.
    package func applications(behind carrier: UniqueIdentifier) -> Set<ApplicationIdentifier> {
        Set((branches[carrier]?.statements ?? [:]).filter { !Self.secondaries(in: $0.value).isEmpty }.keys)
    }

    /// The last accepted statement of a carrier, and the devices that it and those in it name.
    package func statement(
        of carrier: UniqueIdentifier, about app: ApplicationIdentifier
    ) -> (bytes: [UInt8], devices: Set<UniqueIdentifier>)? {
        guard let bytes = branches[carrier]?.statements[app] else { return nil }
        return (bytes, Set(Self.secondaries(in: bytes).map(\.device)))
    }

    // MARK: events

    /// Verifies a carrier's statement and takes it over.
    /// - Parameters:
    ///   - own: this device.
    ///   - isDirect: whether a pairing is one of this device's own.
    /// - Throws: ``CarrierFailure``; nothing has changed then.
    package mutating func take(
        _ bytes: [UInt8], about app: ApplicationIdentifier, from carrier: Carrier, at own: UniqueIdentifier,
        isDirect: (UniqueIdentifier) -> Bool
    ) throws(CarrierFailure) -> FarTransition {
        let statement = try CarrierStatement(verifying: bytes, with: carrier.key)
        guard statement.device == carrier.device, statement.pairing == carrier.pairing else { throw .wrongDevice }
        var branch = branches[carrier.pairing] ?? Branch()
        let before = branch.devices
        guard statement.counter > before[carrier.device]?.counters[app] ?? 0 else { throw .replayed }
        branch.devices[carrier.device, default: Certified(reportKey: [])].reportKey =
            carrier.key.key.subjectPublicKeyInfo
        var named: Set<UniqueIdentifier> = []
        var transition = FarTransition()
        try check(statement, about: app, through: carrier.pairing, length: 1, &branch.devices, &transition) {
            pairing, device in
            device != own && device != carrier.device && !isDirect(pairing) && named.insert(pairing).inserted
        }
        guard branch.devices.count <= ConfigurationLimits.certifiedDevices else { throw .tooMany }
        branch.statements[app] = bytes
        branches[carrier.pairing] = branch
        transition.changes.append(.statement(carrier.pairing, app, bytes))
        for (device, certified) in branch.devices where before[device] != certified {
            transition.changes.append(.device(carrier.pairing, device, certified))
        }
        // A pairing belongs to the carrier that named it first.
        transition.contested = named.filter { isElsewhere($0, than: carrier.pairing) }
        transition.present = Array(named.subtracting(transition.contested))
        transition.gone = replace(app, behind: carrier.pairing, with: bytes)
        return transition
    }

    private func check(
        _ statement: CarrierStatement, about app: ApplicationIdentifier, through carrier: UniqueIdentifier, length: Int,
        _ devices: inout [UniqueIdentifier: Certified], _ transition: inout FarTransition,
        _ admits: (_ pairing: UniqueIdentifier, _ device: UniqueIdentifier) -> Bool
    ) throws(CarrierFailure) {
        guard statement.application == app else { throw .wrongApplication }
        guard length <= ConfigurationLimits.chainLength else { throw .tooMany }
        devices[statement.device]?.counters[app] = statement.counter
        for secondary in statement.secondaries {
            guard admits(secondary.pairing, secondary.device) else { throw .wrongDevice }
            if case .vendor(let vendor) = secondary.target, vendor != statement.device { throw .wrongTarget }
            guard devices[secondary.device].map({ $0.reportKey == secondary.reportKey }) ?? true else {
                throw .keyChanged
            }
            if devices[secondary.device] == nil {
                devices[secondary.device] = Certified(reportKey: secondary.reportKey)
            }
            if !isElsewhere(secondary.pairing, than: carrier),
                let epoch = known[secondary.pairing]?.values.map(\.facts.epoch).max(), epoch < secondary.epoch
            {
                devices[secondary.device]?.counters = [:]
                transition.renewed.append(secondary.pairing)
            }
        }
        for bytes in statement.below {
            guard let claimed = CarrierStatement(claimedIn: bytes),
                let maker = statement.secondaries.first(where: {
                    $0.pairing == claimed.pairing && $0.device == claimed.device
                }), let key = try? PublicKey(subjectPublicKeyInfo: maker.reportKey)
            else { throw .wrongDevice }
            let inner = try CarrierStatement(verifying: bytes, with: ReportPublicKey(key))
            // The same one comes again with each statement of the carrier above it.
            guard inner.counter >= devices[maker.device]?.counters[app] ?? 0 else { throw .replayed }
            try check(inner, about: app, through: carrier, length: length + 1, &devices, &transition, admits)
        }
    }

    private func isElsewhere(_ pairing: UniqueIdentifier, than carrier: UniqueIdentifier) -> Bool {
        self[pairing].map { $0.carrier != carrier } ?? false
    }

    /// The far pairings that no statement of the carrier names any more.
    private mutating func replace(
        _ app: ApplicationIdentifier, behind carrier: UniqueIdentifier, with bytes: [UInt8]
    ) -> [UniqueIdentifier] {
        let before = known.filter { $0.value[app]?.carrier == carrier }.map(\.key)
        for pairing in before { known[pairing]?[app] = nil }
        for facts in Self.secondaries(in: bytes) where !isElsewhere(facts.pairing, than: carrier) {
            known[facts.pairing, default: [:]][app] = FarSecondary(carrier: carrier, facts: facts)
        }
        let gone = before.filter { known[$0]?.isEmpty ?? true }
        for pairing in gone { known[pairing] = nil }
        return gone
    }

    /// All secondaries of an accepted statement and of those in it.
    private static func secondaries(in bytes: [UInt8]) -> [CarrierStatement.Secondary] {
        guard let statement = CarrierStatement(claimedIn: bytes) else { return [] }
        return statement.secondaries + statement.below.flatMap { secondaries(in: $0) }
    }

    /// The pairing with a carrier is gone, and all that was behind it.
    package mutating func unpaired(_ carrier: UniqueIdentifier) -> FarTransition {
        guard branches.removeValue(forKey: carrier) != nil else { return FarTransition() }
        var transition = FarTransition(changes: [.unpaired(carrier)])
        transition.gone = pairings(behind: carrier)
        for pairing in transition.gone { known[pairing] = nil }
        return transition
    }

    /// The carrier's store or this one was restored: its statements may count from an earlier number. Keys stay.
    package mutating func renewed(_ carrier: Carrier) -> FarTransition {
        guard branches[carrier.pairing]?.devices[carrier.device] != nil else { return FarTransition() }
        branches[carrier.pairing]?.devices[carrier.device]?.counters = [:]
        return FarTransition(changes: [
            .device(
                carrier.pairing, carrier.device, Certified(reportKey: carrier.key.key.subjectPublicKeyInfo))
        ])
    }

    // MARK: restoring

    package mutating func restore(
        _ statement: [UInt8], about app: ApplicationIdentifier, of carrier: UniqueIdentifier
    ) {
        branches[carrier, default: Branch()].statements[app] = statement
        _ = replace(app, behind: carrier, with: statement)
    }

    package mutating func restore(_ device: Certified, _ identifier: UniqueIdentifier, of carrier: UniqueIdentifier) {
        branches[carrier, default: Branch()].devices[identifier] = device
    }
}

extension FarSecondaries.Certified {
    package var dictionary: PropertyListDictionary {
        [
            "v": 1, "reportKey": .data(reportKey),
            "counters": .dictionary(
                PropertyListDictionary(
                    uniqueKeysWithValues: counters.map { ($0.key.description, PropertyListValue($0.value)) })),
        ]
    }

    package init(_ dictionary: PropertyListDictionary) throws(ConfigurationRecordError) {
        do {
            var fields = FieldReader(dictionary)
            _ = try fields.required("v", "1") { $0.integerValue == 1 ? 1 : nil }
            reportKey = try fields.required("reportKey", "data") { $0.dataValue }
            counters = try fields.required("counters", "counters of applications") { value in
                var counters: [ApplicationIdentifier: UInt64] = [:]
                for (name, value) in value.dictionaryValue ?? [:] {
                    guard let app = try? ApplicationIdentifier(name), let counter = value.positiveValue else {
                        return nil
                    }
                    counters[app] = counter
                }
                return counters
            }
            try fields.refuseUnknownFields()
        } catch {
            throw .damaged(error)
        }
    }
}

/// A durable change of the far secondaries.
package enum FarChange: Sendable, Equatable {
    case statement(UniqueIdentifier, ApplicationIdentifier, [UInt8])
    case device(UniqueIdentifier, UniqueIdentifier, FarSecondaries.Certified)
    /// All rows of the carrier go.
    case unpaired(UniqueIdentifier)
}

/// The outcome of one event of the far secondaries.
package struct FarTransition: Sendable, Equatable {
    package internal(set) var changes: [FarChange] = []
    /// The far pairings that the statement names.
    package internal(set) var present: [UniqueIdentifier] = []
    /// Those that another carrier named first, and that stay its own.
    package internal(set) var contested: [UniqueIdentifier] = []
    /// Those whose devices or carriers have lost state.
    package internal(set) var renewed: [UniqueIdentifier] = []
    /// Those that no statement names any more.
    package internal(set) var gone: [UniqueIdentifier] = []
}
