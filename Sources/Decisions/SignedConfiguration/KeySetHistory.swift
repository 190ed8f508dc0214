// Key set history: the anchor of one (app, role) and the rotations and revocations that followed it, each verified
// against the state before it (CFG-84, CFG-85). Only `take` changes it, and a refusal changes nothing. Each step is
// kept as bytes, so that the next verifier, which trusts its own anchor only, can follow the same chain.

package import TandemBase
package import TandemCrypto
package import TandemPropertyList
import TandemWire

/// The trusted keys of one (app, role), past and present.
package struct KeySetHistory: Sendable, Equatable {
    /// The set that no signature vouches for: it was compiled in, or an operator trusted it.
    private let anchor: TrustedKeySet
    /// The exact bytes of the anchor's envelope; nil for a bare key.
    private let anchorBytes: [UInt8]?
    /// The app and role that the anchor names; nil for a bare key, which names none and is never followed by a step.
    package let subject: KeySubject?
    /// All that followed the anchor, oldest first.
    package private(set) var chainSteps: [ChainStep] = []
    /// How many revocations are among them, and the bytes of the payloads: bounded each for itself (CFG-83).
    private var revocations = 0
    private var rotationBytes = 0
    private var revocationBytes = 0
    /// Digests of the anchor's and the steps' statements. A carrier can change an envelope around what is signed
    /// (CFG-84), so its bytes identify nothing.
    private var digests: Set<[UInt8]> = []
    /// The sets in order of their versions, which have no gap; the anchor first.
    private var sets: [TrustedKeySet]
    /// Keys that never count again (CFG-87).
    package private(set) var revoked: Set<KeyIdentifier>
    /// Those of them that a key set named, so that every verifier of the chain knows them: no later set may list them.
    private var banned: Set<KeyIdentifier>
    /// Those of the revoked keys whose signatures end what is active (CFG-89).
    package private(set) var withdrawn: Set<KeyIdentifier>
    /// The version of the latest set that shares no configuration key with the set before it: version marks of older
    /// sets do not count (CFG-88).
    package private(set) var markEpoch: UInt64

    package enum Change: Sendable, Equatable {
        /// It is part of the history already, or revokes nothing more.
        case known
        case rotated(version: UInt64)
        case revoked([KeyIdentifier])
    }

    /// The history of a set that no step can follow unless it has the role keyset.
    package init(_ anchor: TrustedKeySet) { self.init(anchor, envelope: nil, subject: nil) }

    private init(_ anchor: TrustedKeySet, envelope: UnverifiedEnvelope?, subject: KeySubject?) {
        self.anchor = anchor
        anchorBytes = envelope?.bytes
        self.subject = subject
        digests = envelope.map { [$0.statement.digest] } ?? []
        sets = [anchor]
        revoked = anchor.revoked
        banned = anchor.revoked
        withdrawn = anchor.withdrawn
        // Of the sets before the anchor nothing is known: no mark is forgotten for them.
        markEpoch = 1
    }

    /// The history that starts with this signed key set. Its signatures are no proof, because the caller's choice of
    /// the bytes is; they show that the set is whole and that its own keys can be used.
    /// - Parameter isComplete: false for a set that some of its signers have not signed yet.
    package init(anchor bytes: [UInt8], isComplete: Bool = true) throws(VerificationFailure) {
        let envelope = try Self.envelope(bytes)
        guard envelope.claimedType == .keySet else {
            throw VerificationFailure(.wrongType, "the payload type is not that of a key set")
        }
        let document = try KeySetDocument(payload: envelope.payload)
        let set = try document.trusted()
        if let role = set.keySet {
            var signatures = VerifiedSignatures(over: envelope.statement)
            try SignatureCount(envelope, &signatures, role: role, keys: set.keys, revoked: [])
                .check(isComplete: isComplete)
        }
        self.init(set, envelope: envelope, subject: document.subject)
    }

    /// The history that starts with a PEM text, `PUBLIC KEY` or `TANDEM KEY SET` (CFG-90).
    package init(pem: String) throws(VerificationFailure) {
        if KeySetText.isKeySet(pem) {
            try self.init(anchor: try KeySetText.bytes(of: pem))
        } else {
            do { self.init(TrustedKeySet(ConfigurationPublicKey(try PublicKey(pem: pem)))) } catch {
                throw VerificationFailure(Rejection(error), error.description)
            }
        }
    }

    package var current: TrustedKeySet { sets[sets.count - 1] }

    /// The bytes of all that followed the anchor, oldest first.
    package var steps: [[UInt8]] { chainSteps.map(\.envelope) }

    /// The index in ``steps`` of what the bytes state; nil if it is not among them.
    package func index(of bytes: [UInt8]) -> Int? {
        guard let digest = try? UnverifiedEnvelope(bytes).statement.digest else { return nil }
        return chainSteps.firstIndex { $0.statement == digest }
    }

    /// The bytes of the anchor and of all that followed; empty for a bare key.
    package var chain: [[UInt8]] { (anchorBytes.map { [$0] } ?? []) + steps }

    /// The set of a version; nil for one before the anchor, and for one that has not come.
    package subscript(version: UInt64) -> TrustedKeySet? {
        let (index, isBefore) = version.subtractingReportingOverflow(anchor.version)
        return isBefore || index >= UInt64(sets.count) ? nil : sets[Int(index)]
    }

    /// The set under which something new may be accepted at `now` (CFG-86).
    package func keySet(at now: WallTime) throws(VerificationFailure) -> TrustedKeySet {
        if let expires = current.expires, current.validity(at: now) == .expired {
            let date = WallTime(seconds: expires)
            throw VerificationFailure(.keySetExpired, "key set \(current.version) expired at \(date); now is \(now)")
        }
        return current
    }

    /// Whether the bytes state what the anchor or one of the steps states, whatever their signatures.
    package func contains(_ bytes: [UInt8]) -> Bool {
        guard let envelope = try? UnverifiedEnvelope(bytes) else { return false }
        return digests.contains(envelope.statement.digest)
    }

    /// An anchor that names an app is one for no other.
    package func check(_ asked: KeySubject) throws(VerificationFailure) {
        guard let subject, subject != asked else { return }
        throw VerificationFailure(
            .noKey, "the trusted key set is for the \(subject.role.rawValue)'s app '\(subject.application)'")
    }

    /// The relation of an anchor that is learned later to the trusted one (CFG-17).
    package enum Succession: String, Sendable {
        /// It is the trusted one, a set of its chain, or the bare key whose place a key set has taken.
        case known
        /// A key set for the trusted bare key: it takes its place.
        case replaces
        case conflict = "anchor-conflict"
    }

    package func succession(of later: KeySetHistory) -> Succession {
        if let bytes = later.anchorBytes {
            if contains(bytes) { return .known }
            return later.isKeySet(of: self) ? .replaces : .conflict
        }
        return anchor == later.anchor || isKeySet(of: later) ? .known : .conflict
    }

    /// Whether this history begins with a key set that lets exactly this bare key sign configurations.
    private func isKeySet(of bare: KeySetHistory) -> Bool {
        guard bare.subject == nil, subject != nil, anchor.version == 1 else { return false }
        return anchor.configuration == bare.anchor.configuration
    }

    /// Whether the bytes claim to come before the anchor, so that this history passes over them (CFG-90).
    package func precedesAnchor(_ bytes: [UInt8]) -> Bool {
        ClaimedStatement(bytes)?.keySetVersion.map { $0 < anchor.version } ?? false
    }

    /// The lowest version that the set in force accepts for a target; 0 for any.
    package func minimumVersion(for target: PairedIdentifier) -> UInt64 { current.minimumVersions[target] ?? 0 }

    /// The revoked keys, those of the latest sets first.
    package var revokedLatestFirst: [KeyIdentifier] {
        let indices = Dictionary(
            uniqueKeysWithValues: revoked.map { key in
                (key, sets.lastIndex { $0.keys[key] != nil } ?? -1)
            })
        return indices.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map(\.key)
    }
}

extension KeySetHistory {
    /// Accepts a key set or a revocation that follows from what is trusted (CFG-84, CFG-85).
    /// - Throws: the named rejection; nothing has changed then.
    /// - Parameter isComplete: false for a statement that some of its signers have not signed yet; all but the number
    ///   of its signatures is checked then.
    package mutating func take(_ bytes: [UInt8], isComplete: Bool = true) throws(VerificationFailure) -> Change {
        let envelope = try Self.envelope(bytes)
        var signatures = VerifiedSignatures(over: envelope.statement)
        // A known statement was verified when it came, under a set that may be out of force by now.
        if digests.contains(signatures.statement.digest) { return .known }
        switch envelope.claimedType {
        case .keySet: return try rotate(envelope, &signatures, isComplete)
        case .revocation: return try revoke(envelope, &signatures, isComplete)
        case .configuration, .report, .carrier, nil:
            throw VerificationFailure(.wrongType, "the payload type is neither that of a key set nor of a revocation")
        }
    }

    /// Follows a chain: steps that are known are passed over, and those of versions below the one in force, among them
    /// all before the anchor (CFG-90). Each step is accepted by itself; the first refusal ends it, and what came before
    /// it stays.
    package mutating func follow(_ chain: [[UInt8]]) -> VerificationFailure? {
        for bytes in chain where !isSuperseded(bytes) {
            do { _ = try take(bytes) } catch { return error }
        }
        return nil
    }

    /// The version is not verified: a carrier that lowers it leaves the step out, which it can do anyway.
    private func isSuperseded(_ bytes: [UInt8]) -> Bool {
        ClaimedStatement(bytes)?.keySetVersion.map { $0 < current.version } ?? false
    }

    private static func envelope(_ bytes: [UInt8]) throws(VerificationFailure) -> UnverifiedEnvelope {
        try UnverifiedEnvelope.checkStatement(bytes)
        return try UnverifiedEnvelope(bytes)
    }

    /// Steps 5 to 8: the subject and the role that may say so, and enough of its keys did.
    private func check(
        _ envelope: UnverifiedEnvelope, _ signatures: inout VerifiedSignatures, signedBy role: KeyRole?,
        except revoked: Set<KeyIdentifier>, _ isComplete: Bool
    ) throws(VerificationFailure) -> KeySubject {
        guard let role, let subject else {
            throw VerificationFailure(.noKey, "the trusted key is a bare one: it cannot rotate and cannot revoke")
        }
        try SignatureCount(envelope, &signatures, role: role, keys: current.keys, revoked: revoked)
            .check(isComplete: isComplete)
        return subject
    }

    private mutating func rotate(
        _ envelope: UnverifiedEnvelope, _ signatures: inout VerifiedSignatures, _ isComplete: Bool
    ) throws(VerificationFailure) -> Change {
        // No revocation acts on the role keyset, and no set lists a key that a set has revoked.
        let subject = try check(envelope, &signatures, signedBy: current.keySet, except: [], isComplete)
        let document = try KeySetDocument(payload: envelope.payload)
        try subject.check(document.subject)
        try checkVersion(document.version)
        let next = try document.trusted(knowing: current.keys)
        if let key = next.keys.keys.first(where: { banned.contains($0) }) {
            throw KeySetDocument.illegal("an earlier key set revoked the key \(key), which cannot come back")
        }
        guard let role = next.keySet else { preconditionFailure("a judged document has all roles") }
        let count = SignatureCount(envelope, &signatures, role: role, keys: next.keys, revoked: [])
        do { try count.check(isComplete: isComplete) } catch {
            throw VerificationFailure(error.rejection, "under its own keys: \(error.detail)")
        }
        try record(envelope, &signatures, by: [current.keySet, role].compactMap { $0 }, next.keys)
        if current.configuration.keyIdentifiers.isDisjoint(with: next.configuration.keyIdentifiers) {
            markEpoch = next.version
        }
        sets.append(next)
        revoked.formUnion(next.revoked)
        banned.formUnion(next.revoked)
        withdrawn.formUnion(next.withdrawn)
        return .rotated(version: next.version)
    }

    /// One step at a time, and each version once (CFG-84).
    private func checkVersion(_ version: UInt64) throws(VerificationFailure) {
        let now = current.version
        guard version != now else {
            throw VerificationFailure(.equivocation, "key set \(version) is in force with another content")
        }
        guard version > now else {
            throw VerificationFailure(.rollback, "key set \(version) is not above \(now), which is in force")
        }
        guard version - now == 1 else {
            throw VerificationFailure(.keySetGap, "key set \(version) does not follow \(now), which is in force")
        }
    }

    private mutating func revoke(
        _ envelope: UnverifiedEnvelope, _ signatures: inout VerifiedSignatures, _ isComplete: Bool
    ) throws(VerificationFailure) -> Change {
        let subject = try check(envelope, &signatures, signedBy: current.revocation, except: revoked, isComplete)
        let document = try RevocationDocument(payload: envelope.payload)
        try subject.check(document.subject)
        guard document.keySetVersion == current.version else {
            throw VerificationFailure(
                .oldKeySet,
                "it was signed under key set \(document.keySetVersion); version \(current.version) is in force")
        }
        let stated = Set(document.revoked.compactMap { KeyIdentifier(bytes: $0) })
        // A stolen revocation key must not be able to end the chain, for any order in which its statements come.
        if let role = current.keySet, !stated.isDisjoint(with: role.keyIdentifiers) {
            throw KeySetDocument.illegal("it names a key of the role keyset, which only a rotation can take back")
        }
        // Keys from before the anchor are unknown here, and known to a verifier with an earlier one.
        let named = stated.filter { key in sets.contains { $0.keys[key] != nil } }
        let isNews = !named.isSubset(of: revoked) || (document.withdraws && !named.isSubset(of: withdrawn))
        guard isNews else { return .known }
        try record(envelope, &signatures, by: [current.revocation].compactMap { $0 })
        let fresh = named.subtracting(revoked)
        revoked.formUnion(named)
        if document.withdraws { withdrawn.formUnion(named) }
        return .revoked(fresh.sorted())
    }

    /// Appends a step, within the limits of its kind (CFG-83).
    private mutating func record(
        _ envelope: UnverifiedEnvelope, _ signatures: inout VerifiedSignatures, by roles: [KeyRole],
        _ added: [KeyIdentifier: PublicKey] = [:]
    ) throws(VerificationFailure) {
        let isRotation = envelope.claimedType == .keySet
        let count = revocations + (isRotation ? 0 : 1)
        let rotated = rotationBytes + (isRotation ? envelope.payload.count : 0)
        let revoked = revocationBytes + (isRotation ? 0 : envelope.payload.count)
        guard chainSteps.count - revocations < ConfigurationLimits.rotations || !isRotation,
            count <= ConfigurationLimits.revocations, rotated <= ConfigurationLimits.rotationBytes,
            revoked <= ConfigurationLimits.revocationBytes
        else {
            throw KeySetDocument.illegal(
                isRotation
                    ? "the chain has as many key sets as it can have; ship a newer one as the app's anchor"
                    : "the chain has as many revocations as it can have; let the next key set revoke the keys")
        }
        (revocations, rotationBytes, revocationBytes) = (count, rotated, revoked)
        let keys = current.keys.merging(added) { key, _ in key }
        let statement = signatures.statement.digest
        chainSteps.append(
            ChainStep(
                envelope.withoutSurplus(roles, keys, &signatures), statement: statement,
                keySetVersion: current.version + (isRotation ? 1 : 0)))
        digests.insert(statement)
    }
}

extension UnverifiedEnvelope {
    /// The bytes with no other signatures than good ones by keys of these roles, one by each: the exact bytes if there
    /// are no others. A carrier can add any number (CFG-84), which nobody should store.
    fileprivate func withoutSurplus(
        _ roles: [KeyRole], _ keys: [KeyIdentifier: PublicKey], _ verified: inout VerifiedSignatures
    ) -> [UInt8] {
        let names = roles.reduce(into: Set<KeyIdentifier>()) { $0.formUnion($1.keyIdentifiers) }
        var seen: Set<KeyIdentifier> = []
        let good = signatures.filter { signature in
            guard let name = KeyIdentifier(bytes: signature.keyIdentifier), names.contains(name), !seen.contains(name),
                let key = keys[name], verified.isGood(signature.bytes, by: key)
            else { return false }
            seen.insert(name)
            return true
        }
        guard good.count < signatures.count else { return bytes }
        return (try? SignedEnvelope.bytes(payload, type: payloadType, signatures: good)) ?? bytes
    }
}

/// One key set or revocation of a chain.
package struct ChainStep: Sendable, Equatable {
    /// The bytes that are stored and forwarded.
    package let envelope: [UInt8]
    /// SHA-256 of ``envelope``, which reports name.
    package let digest: [UInt8]
    /// SHA-256 of what is signed.
    let statement: [UInt8]
    /// Of the key set in force once the step is followed.
    package let keySetVersion: UInt64

    package init(_ envelope: [UInt8], statement: [UInt8] = [], keySetVersion: UInt64 = 1) {
        self.envelope = envelope
        digest = SHA256.digest(envelope)
        self.statement = statement
        self.keySetVersion = keySetVersion
    }
}

/// The text form of a key set (CFG-90): a PEM block, so that code and people carry it as they carry a public key.
package enum KeySetText {
    private static let label = "TANDEM KEY SET"
    package static func text(of envelope: [UInt8]) -> String { PEMText.write(envelope, label: label) }

    package static func isKeySet(_ text: String) -> Bool {
        text.drop { $0.isWhitespace }.utf8.starts(with: "-----BEGIN \(label)-----".utf8)
    }

    static func bytes(of text: String) throws(VerificationFailure) -> [UInt8] {
        do { return try PEMText.read(text, label: label, limit: Limits.pem) } catch {
            throw VerificationFailure(.noKey, error.description)
        }
    }
}

/// The file in an app's directory with the chain of its key sets (CFG-93). A claim like every file there: its reader
/// follows it from its own anchor.
package struct KeySetChainFile: Sendable, Equatable {
    package static let name = "keysets.plist"
    /// The bytes of the longest chain, and of the facts around it.
    package static let limit = (ConfigurationLimits.chainSteps + 1) * (ConfigurationLimits.keyStatement + 32)

    package let subject: KeySubject
    /// The exact bytes of the anchor and of all that followed.
    package let chain: [[UInt8]]

    package init(subject: KeySubject, chain: [[UInt8]]) {
        self.subject = subject
        self.chain = chain
    }

    package var dictionary: PropertyListDictionary {
        subject.fields.merging(["v": 1, "chain": .array(chain.map { .data($0) })])
    }

    package init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = try FieldReader(record: dictionary)
        subject = try KeySubject(&fields)
        chain = try fields.required("chain", "a list of at most 1,281 statements") { value in
            value.list(atMost: ConfigurationLimits.chainSteps + 1) { $0.dataValue }
        }
        try fields.refuseUnknownFields()
    }
}
