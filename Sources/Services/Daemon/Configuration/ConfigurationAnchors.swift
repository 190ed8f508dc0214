// Trust anchors of this device's apps (CFG-17): the operator names them, or the app's first registration does. The
// first one that can be used stays. Another one later is a conflict that an operator has to look at, unless the chain
// that followed it has it, or it is the key set of a bare key.

import TandemBase
import TandemCrypto
import TandemPropertyList
package import TandemSignedConfiguration
import TandemStore
import TandemWire

extension KeySubject {
    /// The key of its rows: its texts with NUL between them, because none of them can contain one.
    var bytes: [UInt8] { Array(application.description.utf8) + [0] + Array(role.rawValue.utf8) }

    init?(bytes: [UInt8]) {
        let parts = bytes.split(separator: 0, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        guard parts.count == 2, let application = try? ApplicationIdentifier(parts[0]),
            let role = DeviceRole(word: parts[1])
        else { return nil }
        self.init(application: application, role: role)
    }
}

/// A trusted anchor as it was learned, with all that followed it.
package struct KnownAnchor: Sendable, Equatable {
    package enum Source: String, Sendable {
        case `operator`
        case application
    }

    package let key: KeySubject
    package let pem: String
    package let source: Source
    /// Drawn when it was learned (SES-16).
    let mark: UniqueIdentifier
    package fileprivate(set) var anchor: ConfigurationAnchor
}

extension KnownAnchor {
    /// The exact bytes of the anchor and all that followed; empty for a bare key.
    var chain: [[UInt8]] { anchor.trusted?.chain ?? [] }

    var steps: [ChainStep] { anchor.trusted?.chainSteps ?? [] }

    /// The index of a statement among them; nil if it is not there.
    func index(of bytes: [UInt8]) -> Int? { anchor.trusted?.index(of: bytes) }

    /// The version of the key set in force; nil for an anchor that cannot be used.
    var version: UInt64? { anchor.trusted?.current.version }

    /// The identifier of a lone configuration key; nil for several, and for one that is refused.
    var identifier: KeyIdentifier? { identifiers.count == 1 ? identifiers.first : nil }

    /// The identifiers of the configuration keys in force, in their order as texts; none for an anchor that is refused.
    var identifiers: [KeyIdentifier] { anchor.trusted?.current.configuration.keyIdentifiers.sorted() ?? [] }

    /// Seconds since 1970 from which on nothing new is accepted under the key set in force; nil for never.
    var expires: UInt64? { anchor.trusted?.current.expires }

    /// How many keys never count again; nil for an anchor that is refused.
    var revoked: Int? { anchor.trusted?.revoked.count }

    /// A row of `trust-list` (CTL-27).
    var summary: PropertyListDictionary {
        let shown = anchor.trusted?.revoked.smallest(ConfigurationLimits.revokedShown) ?? []
        return key.fields.merging(present: [
            "source": .string(source.rawValue), "keyid": identifier.map { .data($0.bytes) },
            // A bare key names no app. By its version it would be a first key set.
            "kind": anchor.trusted.map { .string($0.subject == nil ? "bare-key" : "key-set") },
            "version": version.map { PropertyListValue($0) },
            "expires": expires.map { .integer(WallTime(seconds: $0).milliseconds) },
            "revoked": revoked.map { .integer(Int64($0)) },
            "revokedKeys": shown.isEmpty ? nil : .array(shown.map { .data($0.bytes) }),
        ])
    }

    /// Whether trust in the text alone is what is in force: it is this anchor, and nothing has followed it.
    func isOnly(_ text: String) -> Bool { anchor == ConfigurationAnchor(pem: text) }
}

extension Set<KeyIdentifier> {
    /// The smallest ones, in ascending order. One pass: sorting all keys of a long chain would hold up the loop.
    fileprivate func smallest(_ count: Int) -> [KeyIdentifier] {
        var smallest: [KeyIdentifier] = []
        for key in self {
            if smallest.count == count, let last = smallest.last, last < key { continue }
            smallest.insert(key, at: smallest.firstIndex { key < $0 } ?? smallest.count)
            if smallest.count > count { smallest.removeLast() }
        }
        return smallest
    }
}

extension KnownAnchor? {
    /// The mark that a device with this anchor, or without one, announces with an app.
    var trust: TrustMark { map { .key($0.mark) } ?? .noKey }
}

/// The trusted keys of a device's apps.
package struct ConfigurationAnchors: Sendable, Equatable {
    package enum Learning: Sendable, Equatable {
        /// Known already.
        case same
        case new(KnownAnchor)
        /// Another key is trusted; it stays.
        case conflict
        /// It can verify nothing, and is not stored: the next one is the first one again.
        case refused(VerificationFailure)
    }

    private var known: [KeySubject: KnownAnchor] = [:]
    /// The reasons why the last anchors of apps without a trusted one were refused: the rejections of configurations
    /// name them (CFG-74). Forgotten at a restart.
    private var refused: [KeySubject: ConfigurationAnchor] = [:]

    package subscript(key: KeySubject) -> KnownAnchor? { known[key] }

    /// All of them, by application and role.
    package var all: [KnownAnchor] {
        known.values.sorted { ($0.key.application, $0.key.role.rawValue) < ($1.key.application, $1.key.role.rawValue) }
    }

    func anchor(of key: KeySubject) -> ConfigurationAnchor { known[key]?.anchor ?? refused[key] ?? .none }

    /// Trusts no key for the app any longer; returns the one that was trusted.
    mutating func remove(_ key: KeySubject) -> KnownAnchor? {
        refused[key] = nil
        return known.removeValue(forKey: key)
    }

    /// - Parameter anchor: that of the text, if it was read before.
    mutating func learn(
        _ pem: String, for key: KeySubject, from source: KnownAnchor.Source, _ anchor: ConfigurationAnchor? = nil
    ) -> Learning {
        let before = known[key]
        if before?.pem == pem { return .same }
        let read = anchor ?? ConfigurationAnchor(pem: pem)
        let history: KeySetHistory
        do throws(VerificationFailure) {
            if case .unusable(let rejection, let detail) = read { throw VerificationFailure(rejection, detail) }
            history = try read.history()
            try history.check(key)
        } catch {
            // A trusted anchor continues to judge configurations.
            if before == nil { refused[key] = .unusable(error.rejection, error.detail) }
            return .refused(error)
        }
        if let trusted = before?.anchor.trusted {
            switch trusted.succession(of: history) {
            case .known: return .same
            case .conflict: return .conflict
            case .replaces: break
            }
        }
        let learned = KnownAnchor(
            key: key, pem: pem, source: source, mark: .random(), anchor: .trusted(history))
        known[key] = learned
        refused[key] = nil
        return .new(learned)
    }

    /// Follows a key set or a revocation (CFG-84, CFG-85); returns the anchor with it, or nil for one that is known.
    /// - Parameter isCarried: it comes with a primary's chain, whose beginning a later anchor passes over (CFG-90).
    mutating func follow(
        _ bytes: [UInt8], of key: KeySubject, isCarried: Bool
    ) throws(VerificationFailure) -> KnownAnchor? {
        guard var anchor = known[key] else {
            throw VerificationFailure(.noKey, "no trusted key is known for this application and role")
        }
        var history = try anchor.anchor.history()
        try history.check(key)
        if isCarried, history.precedesAnchor(bytes) { return nil }
        guard try history.take(bytes) != .known else { return nil }
        anchor.anchor = .trusted(history)
        known[key] = anchor
        return anchor
    }
}

extension KnownAnchor {
    /// The rows of an anchor that is new; nothing has followed it.
    var rows: [RowChange] {
        let row = key.fields.merging([
            "pem": .string(pem), "source": .string(source.rawValue), "mark": .data(mark.bytes),
        ])
        return [.set(.anchor, key: key.bytes, to: row)]
    }

    /// The row of the last step: each has one, so that a chain of n steps is not written n times.
    var rowOfLastStep: RowChange? {
        steps.last.map { step in
            RowChange.set(
                .chainStep, key: Self.rowKey(of: steps.count - 1, key), to: ["envelope": .data(step.envelope)])
        }
    }

    /// The removal of all rows, in one commit: steps that stay behind would be those of the next anchor.
    var removal: [RowChange] {
        [.delete(.anchor, key: key.bytes)]
            + steps.indices.map { .delete(.chainStep, key: Self.rowKey(of: $0, key)) }
    }

    /// The subject's key, and the index in the chain so that the rows are in its order.
    private static func rowKey(of index: Int, _ key: KeySubject) -> [UInt8] {
        key.bytes + [0] + UInt32(index).bigEndianBytes
    }

    /// The subject of the row of a step; nil for another key.
    static func subject(ofStep key: [UInt8]) -> KeySubject? { KeySubject(bytes: Array(key.dropLast(5))) }

    /// - Parameter following: the rows of the steps, in order. Releases before had them in the anchor's row.
    init?(row: PropertyListDictionary, following: [[UInt8]]) {
        guard let app = row["app"]?.applicationValue,
            let role = row["role"]?.roleValue,
            let pem = row["pem"]?.stringValue,
            let source = row["source"]?.stringValue.flatMap({ Source(word: $0) })
        else { return nil }
        let stored = row["steps"]?.arrayValue ?? []
        let steps = stored.compactMap(\.dataValue) + following
        var anchor = ConfigurationAnchor(pem: pem)
        if var history = anchor.trusted {
            // Verified again: a row that was changed must not become trust.
            guard steps.count == stored.count + following.count, history.follow(steps) == nil else { return nil }
            anchor = .trusted(history)
        }
        // Releases before drew none: it is no other one after a restart.
        let mark = row["mark"]?.dataValue ?? Array(SHA256.digest(Array(pem.utf8)).prefix(16))
        guard let mark = UniqueIdentifier(bytes: mark) else { return nil }
        self.init(
            key: KeySubject(application: app, role: role), pem: pem, source: source, mark: mark, anchor: anchor)
    }
}

extension ConfigurationAnchors {
    /// Takes a stored anchor over. One that can verify nothing, as earlier releases stored it, gives way to any other.
    mutating func restore(_ anchor: KnownAnchor) {
        do throws(VerificationFailure) {
            try anchor.anchor.history().check(anchor.key)
            known[anchor.key] = anchor
        } catch {
            refused[anchor.key] = .unusable(error.rejection, error.detail)
        }
    }
}

extension LogEvent {
    /// An operator has replaced or removed a trusted key, with which a configuration may have ended (CTL-33).
    static func trustChanged(of key: KeySubject, from former: KnownAnchor?, to next: KnownAnchor?) -> LogEvent {
        let names: (KnownAnchor?) -> String = { anchor in
            anchor.map { $0.identifiers.map(\.hexadecimal).joined(separator: " ") } ?? "none"
        }
        return LogEvent(
            .info, "trusted configuration key replaced or removed", .text("app", key.application.description),
            .text("role", key.role.rawValue), .text("former", names(former)), .text("key", names(next)))
    }
}

extension ConfigurationAnchors.Learning {
    /// The line for the log; nil if nothing is new.
    func logEvent(of key: KeySubject) -> LogEvent? {
        let subject: [LogField] = [.text("app", "\(key.application)"), .text("role", key.role.rawValue)]
        switch self {
        case .same: return nil
        case .new(let anchor):
            return LogEvent(
                .info, "configuration key trusted", fields: subject + [.text("source", anchor.source.rawValue)])
        case .conflict:
            return LogEvent(
                .error,
                "alarm: anchor-conflict, another configuration key is trusted and stays; see 'tandem trust replace'",
                fields: subject)
        case .refused(let failure):
            return LogEvent(
                .warning, "an app's configuration key is refused",
                fields: subject + [
                    .text("reason", failure.rejection.rawValue), .outside("detail", failure.detail),
                ])
        }
    }
}
