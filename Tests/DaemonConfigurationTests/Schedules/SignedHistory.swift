// Model of signed configuration for random schedules: all that the holders of the keys have signed, and the verdict of
// SignedConfiguration.md on it. It shares no code with the verifiers that it is compared to.

import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSignedConfiguration

/// Everything that was signed in one schedule.
final class SignedHistory {
    /// How an app lives with a configuration.
    enum Nature { case good, unfit, deadly }

    struct Configuration {
        let bytes: [UInt8]
        let digest: [UInt8]
        let payload: ConfigurationPayload
        /// The numbers of the keys with a good signature; none of the strangers'.
        let signers: Set<Int>
        let nature: Nature
        /// The same for all envelopes around the same signed bytes.
        let statement: Int

        var version: UInt64 { payload.version }
    }

    /// A change of keys.
    enum Statement {
        case set(version: UInt64, keys: Set<Int>, threshold: Int)
        case revocation(key: Int, withdraws: Bool)
    }

    /// The keys that a chain leads to.
    struct Keys {
        fileprivate(set) var version: UInt64 = 0
        fileprivate(set) var sets: [UInt64: (keys: Set<Int>, threshold: Int)] = [:]
        fileprivate(set) var revoked: Set<Int> = []
        fileprivate(set) var withdrawn: Set<Int> = []
        /// The version of the set from which marks count (CFG-88).
        fileprivate(set) var epoch: UInt64 = 0
    }

    let holders: KeyHolders
    let signers = (0..<4).map { _ in ConfigurationPrivateKey.generate() }
    private let stranger = ConfigurationPrivateKey.generate()
    private(set) var configurations: [Configuration] = []
    private(set) var chain: [[UInt8]] = []
    private var statements: [[UInt8]: Statement] = [:]
    private var statementCount = 0

    init(of app: ApplicationIdentifier) throws {
        holders = KeyHolders(of: app)
        try rotate(to: [0, 1], threshold: 1)
    }

    var anchor: [UInt8] { chain[0] }

    // MARK: signing

    /// Signs a configuration with these keys, or a stranger's if there are none.
    @discardableResult
    func sign(_ payload: ConfigurationPayload, with keys: Set<Int>, _ nature: Nature = .good) throws -> Configuration {
        statementCount += 1
        return try sign(payload, with: keys, nature, statement: statementCount)
    }

    /// Another envelope around the same signed bytes.
    func sign(again one: Configuration, with keys: Set<Int>) throws -> Configuration {
        try sign(one.payload, with: keys, one.nature, statement: one.statement)
    }

    private func sign(
        _ payload: ConfigurationPayload, with keys: Set<Int>, _ nature: Nature, statement: Int
    ) throws -> Configuration {
        let signing = keys.isEmpty ? [stranger] : keys.sorted().map { signers[$0] }
        let bytes = try ConfigurationSigner.sign(payload, with: signing)
        let one = Configuration(
            bytes: bytes, digest: SHA256.digest(bytes), payload: payload, signers: keys, nature: nature,
            statement: statement)
        if self[bytes] == nil { configurations.append(one) }
        return one
    }

    /// The next key set.
    @discardableResult
    func rotate(to keys: Set<Int>, threshold: Int) throws -> [UInt8] {
        let version = latest.version + 1
        let document = KeySetDocument(
            subject: holders.subject, version: version, issued: 1_790_000_000,
            roles: [
                .configuration: (keys.sorted().map { signers[$0].key.publicKey }, threshold),
                .keySet: ([holders.root.publicKey], 1), .revocation: ([holders.revoker.publicKey], 1),
            ])
        let bytes = try KeyStatementSigner.sign(document, with: [holders.root])
        statements[bytes] = .set(version: version, keys: keys, threshold: threshold)
        chain.append(bytes)
        return bytes
    }

    func revoke(_ key: Int, withdraws: Bool) throws -> [UInt8] {
        let bytes = try holders.revocation(of: signers[key], under: latest.version, withdraws: withdraws)
        statements[bytes] = .revocation(key: key, withdraws: withdraws)
        chain.append(bytes)
        return bytes
    }

    // MARK: what follows

    subscript(bytes: [UInt8]) -> Configuration? { configurations.first { $0.bytes == bytes } }

    func configuration(_ digest: [UInt8]) -> Configuration? { configurations.first { $0.digest == digest } }

    /// The keys after all statements.
    var latest: Keys { keys(after: chain) ?? Keys() }

    /// The keys after these statements; nil if one of them was never signed.
    func keys(after chain: [[UInt8]]) -> Keys? {
        var keys = Keys()
        for bytes in chain {
            switch statements[bytes] {
            case .set(let version, let signers, let threshold):
                let former = keys.sets[keys.version]?.keys ?? []
                if former.isDisjoint(with: signers) { keys.epoch = version }
                keys.version = version
                keys.sets[version] = (signers, threshold)
            case .revocation(let key, let withdraws):
                keys.revoked.insert(key)
                if withdraws { keys.withdrawn.insert(key) }
            case nil: return nil
            }
        }
        return keys
    }
}

extension SignedHistory.Keys {
    private func isMet(by signers: Set<Int>, in version: UInt64, without ended: Set<Int>) -> Bool {
        guard let set = sets[version] else { return false }
        return signers.intersection(set.keys).subtracting(ended).count >= set.threshold
    }

    /// Whether the signatures of a new configuration are good (steps 6 to 8 of CFG-20).
    func trusts(_ one: SignedHistory.Configuration) -> Bool { isMet(by: one.signers, in: version, without: revoked) }

    /// Whether those of an applied one are (CFG-89).
    func loads(_ one: SignedHistory.Configuration) -> Bool {
        let index = sets[one.payload.keySetVersion] == nil ? version : one.payload.keySetVersion
        return isMet(by: one.signers, in: index, without: withdrawn)
    }

    /// The first rejection of steps 8 to 16; nil if it passes them.
    func rejection(
        of one: SignedHistory.Configuration, for target: PairedIdentifier, above mark: UInt64?, at now: UInt64,
        waives: Bool = false
    ) -> String? {
        if !waives, !trusts(one) { return "threshold" }
        if one.payload.target != target { return "wrong-target" }
        if one.payload.keySetVersion != version { return "old-keyset" }
        if let mark, one.version <= mark { return "rollback" }
        if let expires = one.payload.expires, expires <= now { return "expired" }
        if max(one.payload.issued, one.payload.notBefore ?? 0) > now + 300 { return "future" }
        return nil
    }
}
