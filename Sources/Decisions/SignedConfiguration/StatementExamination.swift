// Examination of a carrier's statement and of those in it (CFG-102): each is verified by the report key that the one
// above names, and no secondary or statement in it costs another one anything.

import TandemBase
import TandemCrypto

/// A statement with that of it which counts.
struct StatementTree: Sendable, Equatable {
    let statement: CarrierStatement
    private let path: [UniqueIdentifier]
    fileprivate let own: [CarrierStatement.Secondary]
    /// By the pairings of their makers with the maker of this one.
    fileprivate(set) var below: [UniqueIdentifier: StatementTree] = [:]

    fileprivate init(
        _ statement: CarrierStatement, through path: [UniqueIdentifier], own: [CarrierStatement.Secondary]
    ) { (self.statement, self.path, self.own) = (statement, path, own) }

    /// A statement that was accepted before.
    /// - Parameters:
    ///   - path: the pairings from this device to its maker.
    ///   - passedOver: the marks of that in it which does not count.
    init(_ statement: CarrierStatement, through path: [UniqueIdentifier], without passedOver: Set<[UInt8]>) {
        let own = statement.secondaries.filter { !passedOver.contains(FarSecondary(path: path, facts: $0).mark) }
        self.init(statement, through: path, own: own)
        for (index, bytes) in statement.below.enumerated()
        where !passedOver.contains(Self.mark(ofStatement: index, through: path)) {
            guard let inner = CarrierStatement(claimedIn: bytes) else { continue }
            below[inner.pairing] = StatementTree(inner, through: path + [inner.pairing], without: passedOver)
        }
    }

    /// The index of one of the statements of `below`.
    fileprivate static func mark(ofStatement index: Int, through path: [UniqueIdentifier]) -> [UInt8] {
        SHA256.digest(path.flatMap(\.bytes) + [UInt8(clamping: index)])
    }

    /// The index of one of the secondaries that do not read.
    fileprivate static func mark(ofFaulty index: Int, through path: [UniqueIdentifier]) -> [UInt8] {
        SHA256.digest(path.flatMap(\.bytes) + [UInt8(clamping: index), 0])
    }

    fileprivate func secondary(_ pairing: UniqueIdentifier) -> CarrierStatement.Secondary? {
        own.first { $0.pairing == pairing }
    }

    /// All secondaries; those with fewer carriers above them come first.
    var secondaries: [FarSecondary] {
        var found: [FarSecondary] = []
        var level = [self]
        while !level.isEmpty {
            found += level.flatMap { tree in tree.own.map { FarSecondary(path: tree.path, facts: $0) } }
            level = level.flatMap { tree in tree.own.compactMap { tree.below[$0.pairing] } }
        }
        return found
    }
}

/// One look at a statement; nothing of it counts unless the whole of it is done.
struct StatementExamination {
    private let application: ApplicationIdentifier
    private let own: UniqueIdentifier
    private let isDirect: (UniqueIdentifier) -> Bool
    /// With those that the statement names first.
    private(set) var keys: CertifiedKeys
    /// The marks of that in it which does not count.
    private(set) var passedOver: [(mark: [UInt8], failure: CarrierFailure)] = []
    /// Whether bytes that were parsed are a public key: a list can name the same ones for hundreds of new devices.
    private var parsed: [[UInt8]: Bool] = [:]

    init(
        _ application: ApplicationIdentifier, at own: UniqueIdentifier, knowing keys: CertifiedKeys,
        isDirect: @escaping (UniqueIdentifier) -> Bool
    ) {
        (self.application, self.own, self.keys, self.isDirect) = (application, own, keys, isDirect)
    }

    /// Takes a verified statement over.
    /// - Parameters:
    ///   - path: the pairings from this device to its maker.
    ///   - makers: the devices on the way, its maker last.
    ///   - before: the one of this maker that was accepted last.
    mutating func accept(
        _ statement: CarrierStatement, through path: [UniqueIdentifier], makers: [UniqueIdentifier],
        before: StatementTree?
    ) throws(CarrierFailure) -> StatementTree {
        guard statement.application == application else { throw .wrongApplication }
        guard path.count <= ConfigurationLimits.chainLength else { throw .tooMany }
        passedOver += statement.faulty.map {
            (StatementTree.mark(ofFaulty: $0, through: path), .unverified(.payloadMalformed))
        }
        var tree = StatementTree(
            statement, through: path, own: certified(statement.secondaries, through: path, makers))
        var read: Set<[UInt8]> = []
        for (index, bytes) in statement.below.enumerated() {
            do throws(CarrierFailure) {
                guard read.insert(bytes).inserted else { throw .wrongDevice }
                let inner = try acceptBelow(bytes, in: tree, through: path, makers, before)
                tree.below[inner.statement.pairing] = inner
            } catch {
                passedOver.append((StatementTree.mark(ofStatement: index, through: path), error))
            }
        }
        return tree
    }

    private mutating func acceptBelow(
        _ bytes: [UInt8], in tree: StatementTree, through path: [UniqueIdentifier], _ makers: [UniqueIdentifier],
        _ before: StatementTree?
    ) throws(CarrierFailure) -> StatementTree {
        guard let claimed = CarrierStatement(claimedIn: bytes), tree.below[claimed.pairing] == nil,
            let maker = tree.secondary(claimed.pairing), maker.device == claimed.device,
            let key = try? PublicKey(subjectPublicKeyInfo: maker.reportKey)
        else { throw .wrongDevice }
        let inner = try CarrierStatement(verifying: bytes, with: ReportPublicKey(key))
        let last = before?.below[maker.pairing]
        let isRenewed = before?.secondary(maker.pairing).map { $0.epoch < maker.epoch } ?? false
        // The same one comes again with each statement of the carrier above it.
        if let last, !isRenewed, inner.counter < last.statement.counter { throw .replayed }
        return try accept(inner, through: path + [maker.pairing], makers: makers + [maker.device], before: last)
    }

    /// Those of the secondaries that keep the rules.
    private mutating func certified(
        _ secondaries: [CarrierStatement.Secondary], through path: [UniqueIdentifier], _ makers: [UniqueIdentifier]
    ) -> [CarrierStatement.Secondary] {
        var named = keys[path] ?? [:]
        var keysOfDevices = Dictionary(named.values.map { ($0.device, $0.reportKey) }) { first, _ in first }
        // Those far below share their room: none of them takes that of the carrier itself.
        let beside = path.count == 1 ? [:] : keys.filter { $0.key.count > 1 && $0.key != path }
        let others = beside.reduce(0) { $0 + $1.value.count }
        let certified = secondaries.filter { secondary in
            do throws(CarrierFailure) {
                let known = keysOfDevices[secondary.device]
                try check(secondary, named[secondary.pairing], known, makers)
                let isKnown = named[secondary.pairing] != nil
                guard isKnown || others + named.count < ConfigurationLimits.certifiedDevices else { throw .tooMany }
                // Last, because parsing one costs more than all the rest.
                guard known != nil || isKey(secondary.reportKey) else { throw .unverified(.payloadMalformed) }
            } catch {
                passedOver.append((FarSecondary(path: path, facts: secondary).mark, error))
                return false
            }
            keysOfDevices[secondary.device] = secondary.reportKey
            named[secondary.pairing] = .init(device: secondary.device, reportKey: secondary.reportKey)
            return true
        }
        keys[path] = named
        return certified
    }

    /// - Parameters:
    ///   - before: the first word on its pairing.
    ///   - key: the first one of its device.
    private func check(
        _ secondary: CarrierStatement.Secondary, _ before: FarSecondaries.Certified?, _ key: [UInt8]?,
        _ makers: [UniqueIdentifier]
    ) throws(CarrierFailure) {
        guard secondary.device != own, !makers.contains(secondary.device), !isDirect(secondary.pairing),
            before?.device ?? secondary.device == secondary.device
        else { throw .wrongDevice }
        if case .vendor(let vendor) = secondary.target, vendor != makers.last { throw .wrongTarget }
        guard key ?? secondary.reportKey == secondary.reportKey else { throw .keyChanged }
    }

    private mutating func isKey(_ bytes: [UInt8]) -> Bool {
        if let isKey = parsed[bytes] { return isKey }
        let isKey = (try? PublicKey(subjectPublicKeyInfo: bytes)) != nil
        parsed[bytes] = isKey
        return isKey
    }
}
