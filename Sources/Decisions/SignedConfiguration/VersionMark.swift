// Version mark of one (app, role, target): the highest applied version, for rollback protection (CFG-30). Only the
// app's verdict advances it, so that a refused configuration never blocks the next one. It outlives the configuration,
// so that nothing old returns after an unpairing or an expired lifetime.

package import TandemPropertyList
import TandemWire

/// The version mark of one (app, role, target) (CFG-30).
package struct VersionMark: Sendable, Equatable {
    /// The highest version applied.
    package private(set) var version: UInt64
    /// Its digest; nil where only the number is known.
    package private(set) var digest: [UInt8]?
    /// The digest of what its signatures cover, the same in every envelope around it; nil where it is not known.
    package private(set) var statement: [UInt8]?
    /// The highest `floor` of an applied configuration; 0 if there was none.
    package private(set) var floor: UInt64
    package private(set) var isActive: Bool
    /// Unpaired: what the mark covers never comes back.
    package private(set) var isClosed: Bool
    /// The key set under which that version was signed: a mark from before all configuration keys were replaced does
    /// not count (CFG-88).
    package private(set) var keySetVersion: UInt64
    /// The mark's version failed on this device, and never became good (CFG-63).
    package let isBurnt: Bool

    package init(
        version: UInt64, digest: [UInt8]?, statement: [UInt8]? = nil, floor: UInt64 = 0, isActive: Bool = true,
        isClosed: Bool = false, keySetVersion: UInt64, isBurnt: Bool = false
    ) {
        self.version = version
        self.keySetVersion = keySetVersion
        self.digest = digest
        self.statement = statement
        self.floor = floor
        self.isActive = isActive
        self.isClosed = isClosed
        self.isBurnt = isBurnt
    }

    package enum Judgement: Sendable, Equatable {
        case newer
        case alreadyActive
        case rollback
        case equivocation
    }

    func judge(_ verified: VerifiedConfiguration) -> Judgement {
        let version = verified.payload.version
        if version == self.version, !isClosed, let digest {
            // A row of an earlier release has no statement.
            guard statement.map({ $0 == verified.statement }) ?? (digest == verified.digest) else {
                return .equivocation
            }
            if isActive { return .alreadyActive }
        }
        return version > self.version && version >= floor ? .newer : .rollback
    }

    /// Versions up to this one are refused.
    package var highestRefused: UInt64 { max(version, floor > 0 ? floor - 1 : 0) }

    /// The mark after this configuration was applied.
    static func advanced(_ mark: VersionMark?, by record: ConfigurationRecord) -> VersionMark {
        let payload = record.payload
        return VersionMark(
            version: max(payload.version, mark?.version ?? 0), digest: record.digest, statement: record.statement,
            floor: max(payload.floor ?? 0, mark?.floor ?? 0), keySetVersion: payload.keySetVersion)
    }

    /// The mark without the versions that were counted under replaced keys (CFG-88); what is active stays active.
    static func restarted(_ mark: VersionMark?, inEpoch epoch: UInt64) -> VersionMark? {
        guard let mark, mark.keySetVersion < epoch else { return mark }
        return VersionMark(
            version: 0, digest: nil, isActive: mark.isActive, isClosed: mark.isClosed, keySetVersion: epoch)
    }

    /// The mark, if it counts under the keys in force (CFG-88).
    static func counting(_ mark: VersionMark?, under anchor: ConfigurationAnchor) -> VersionMark? {
        guard let history = anchor.trusted else { return mark }
        return restarted(mark, inEpoch: history.markEpoch) == mark ? mark : nil
    }

    /// The mark after this configuration failed: only a higher version passes from now on. A mark that is higher stays,
    /// with its own bytes: another one failed while this one was on trial. A closed one never does: it has let this
    /// version pass, and the number of its key set may be one of another chain.
    static func burnt(_ mark: VersionMark?, by record: ConfigurationRecord) -> VersionMark {
        if var mark, !mark.isClosed,
            (mark.keySetVersion, mark.version) > (record.payload.keySetVersion, record.version)
        {
            mark.deactivate()
            return mark
        }
        return VersionMark(
            version: max(record.version, mark?.version ?? 0), digest: record.digest, statement: record.statement,
            floor: mark?.floor ?? 0, isActive: false, keySetVersion: record.payload.keySetVersion, isBurnt: true)
    }

    /// The active configuration has ended: its lifetime is over.
    mutating func deactivate() { isActive = false }

    mutating func close() {
        isActive = false
        isClosed = true
    }
}

extension VersionMark {
    package var dictionary: PropertyListDictionary {
        PropertyListDictionary(present: [
            "v": 1, "version": PropertyListValue(version), "floor": PropertyListValue(floor),
            "active": .boolean(isActive), "closed": .boolean(isClosed), "keyset": PropertyListValue(keySetVersion),
            "digest": digest.map { .data($0) }, "statement": statement.map { .data($0) }, "burnt": isBurnt ? true : nil,
        ])
    }

    package init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = try FieldReader(record: dictionary)
        self.init(
            version: try fields.required("version", "an integer") { $0.unsignedValue },
            digest: try fields.optional("digest", "32 bytes of data") { $0.digestValue },
            statement: try fields.optional("statement", "32 bytes of data") { $0.digestValue },
            floor: try fields.required("floor", "an integer") { $0.unsignedValue },
            isActive: try fields.required("active", "a boolean") { $0.booleanValue },
            isClosed: try fields.required("closed", "a boolean") { $0.booleanValue },
            // Absent in rows from before there were key sets.
            keySetVersion: try fields.optional("keyset", "an integer from 1") { $0.positiveValue } ?? 1,
            isBurnt: try fields.optional("burnt", "a boolean") { $0.booleanValue } ?? false)
        try fields.refuseUnknownFields()
    }
}
