// Examination of a carrier's statement and of those in it (CFG-102): each is verified by the report key that the one
// above names, and none can take a device or a pairing from another carrier.

import TandemBase
import TandemCrypto

/// A statement with those of the statements in it that count.
struct StatementTree: Sendable, Equatable {
    let statement: CarrierStatement
    /// By the pairings of their makers with the maker of this one.
    fileprivate(set) var below: [UniqueIdentifier: StatementTree] = [:]

    fileprivate init(_ statement: CarrierStatement) { self.statement = statement }

    /// A statement that was accepted before.
    /// - Parameter passedOver: the digests of those in it that do not count.
    init(_ statement: CarrierStatement, without passedOver: Set<[UInt8]>) {
        self.statement = statement
        for bytes in statement.below where !passedOver.contains(SHA256.digest(bytes)) {
            guard let inner = CarrierStatement(claimedIn: bytes) else { continue }
            below[inner.pairing] = StatementTree(inner, without: passedOver)
        }
    }

    /// All secondaries; those with fewer carriers above them come first.
    var secondaries: [CarrierStatement.Secondary] {
        var found: [CarrierStatement.Secondary] = []
        var level = [self]
        while !level.isEmpty {
            found += level.flatMap(\.statement.secondaries)
            level = level.flatMap { tree in tree.statement.secondaries.compactMap { tree.below[$0.pairing] } }
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
    /// The statements of `below` that do not count.
    private(set) var passedOver: [(digest: [UInt8], failure: CarrierFailure)] = []

    init(
        _ application: ApplicationIdentifier, at own: UniqueIdentifier, knowing keys: CertifiedKeys,
        isDirect: @escaping (UniqueIdentifier) -> Bool
    ) { (self.application, self.own, self.keys, self.isDirect) = (application, own, keys, isDirect) }

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
        try certify(statement.secondaries, through: path, makers)
        var tree = StatementTree(statement)
        for bytes in statement.below {
            let kept = keys
            do throws(CarrierFailure) {
                let inner = try acceptBelow(bytes, in: tree, through: path, makers, before)
                tree.below[inner.statement.pairing] = inner
            } catch {
                keys = kept
                passedOver.append((SHA256.digest(bytes), error))
            }
        }
        return tree
    }

    private mutating func acceptBelow(
        _ bytes: [UInt8], in tree: StatementTree, through path: [UniqueIdentifier], _ makers: [UniqueIdentifier],
        _ before: StatementTree?
    ) throws(CarrierFailure) -> StatementTree {
        guard let claimed = CarrierStatement(claimedIn: bytes), tree.below[claimed.pairing] == nil,
            let maker = tree.statement.secondary(claimed.pairing), maker.device == claimed.device,
            let key = try? PublicKey(subjectPublicKeyInfo: maker.reportKey)
        else { throw .wrongDevice }
        let inner = try CarrierStatement(verifying: bytes, with: ReportPublicKey(key))
        let last = before?.below[maker.pairing]
        let isRenewed = before?.statement.secondary(maker.pairing).map { $0.epoch < maker.epoch } ?? false
        // The same one comes again with each statement of the carrier above it.
        if let last, !isRenewed, inner.counter < last.statement.counter { throw .replayed }
        return try accept(inner, through: path + [maker.pairing], makers: makers + [maker.device], before: last)
    }

    private mutating func certify(
        _ secondaries: [CarrierStatement.Secondary], through path: [UniqueIdentifier], _ makers: [UniqueIdentifier]
    ) throws(CarrierFailure) {
        var named = keys[path] ?? [:]
        var keysOfDevices = Dictionary(named.values.map { ($0.device, $0.reportKey) }) { first, _ in first }
        for secondary in secondaries {
            guard secondary.device != own, !makers.contains(secondary.device), !isDirect(secondary.pairing),
                named[secondary.pairing]?.device ?? secondary.device == secondary.device
            else { throw .wrongDevice }
            if case .vendor(let vendor) = secondary.target, vendor != makers.last { throw .wrongTarget }
            guard keysOfDevices[secondary.device] ?? secondary.reportKey == secondary.reportKey else {
                throw .keyChanged
            }
            keysOfDevices[secondary.device] = secondary.reportKey
            named[secondary.pairing] = .init(device: secondary.device, reportKey: secondary.reportKey)
        }
        keys[path] = named
        // Those far below share their room: none of them takes that of the carrier itself.
        let taken = path.count == 1 ? named.count : keys.reduce(0) { $0 + ($1.key.count == 1 ? 0 : $1.value.count) }
        guard taken <= ConfigurationLimits.certifiedDevices else { throw .tooMany }
    }
}
