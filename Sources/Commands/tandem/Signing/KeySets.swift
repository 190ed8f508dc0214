// `keyset`: key sets with thresholds by role, their rotations and revocations, as files made without a daemon. Each new
// statement is followed from the chain before it before it is written, so that nothing leaves this command that a
// device would refuse. `cosign` adds the signatures of those who have keys on other machines.

import TandemBase
import TandemControl
import TandemCrypto
import TandemOperations
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration

extension Option {
    fileprivate static let chain = Option.valued(
        "from", "FILE", "key set in force; after a revocation all files in order, from the anchor on"
    ).required.repeated
    fileprivate static let signers = Option.valued(
        "key", "FILE", "private key that signs, of mode 0600"
    ).required.repeated
    fileprivate static let incomplete = Option.flag(
        "incomplete", "write it although signatures are missing, for 'tandem cosign'")

    fileprivate static let roles: [Option] = RoleOptions.names.flatMap { name, word, meaning -> [Option] in
        [
            Option.valued(word, "FILE", "public key that \(meaning)").repeated,
            .valued("\(word)-threshold", "N", "how many of them must sign (default 1)"),
        ]
    }
}

extension Subcommand {
    static let keySetInit = Subcommand(
        path: ["keyset", "init"], summary: "make the first key set for an app: the anchor that it compiles in",
        options: [.application.required, .side.required]
            + Option.roles + [
                .valued("expires", "TIME", "from now, such as 365d; nothing new is accepted after that"), .signers,
                .passphraseDescriptor, .passphraseFile, .incomplete, .out.required,
            ],
        notes: """
            The root keys sign key sets and stay offline; the revoker takes back stolen keys and is kept at hand. A --key that
            signs is a root key.
            """,
        examples: [
            "keyset init --app org.example.lamp --role secondary --root root-1.key.pub --root root-2.key.pub "
                + "--config signing.key.pub --revoker revoker.key.pub --key root-1.key --out lamp-1.keyset"
        ]
    ) { arguments, console in
        let request = KeySetRequest(arguments: arguments)
        let document = try request.first(now: SigningClock.read(console))
        let bytes = try request.signed(document, after: nil) { bytes, isComplete throws(VerificationFailure) in
            _ = try KeySetHistory(anchor: bytes, isComplete: isComplete)
        }
        try request.write(bytes, after: nil, console)
    }

    static let keySetRotate = Subcommand(
        path: ["keyset", "rotate"], summary: "make the next key set, signed by the old and by the new root keys",
        options: [.chain] + Option.roles + [
            Option.valued("revoke", "FILE|KEYID", "a key that never counts again").repeated,
            .flag("withdraw", "also end what is active by the keys of --revoke alone"),
            Option.valued("minimum", "TARGET=VERSION", "the lowest configuration version for a target").repeated,
            .valued("expires", "TIME", "from now, such as 365d; nothing new is accepted after that"), .signers,
            .passphraseDescriptor, .passphraseFile, .incomplete, .out.required,
        ],
        notes: """
            A role that is not named keeps its keys, without those that were revoked, and its threshold. What was signed
            under the old set and is not applied yet has to be signed again.
            """,
        examples: [
            "keyset rotate --from lamp-1.keyset --config signing-2.key.pub --key root-1.key --out lamp-2.keyset"
        ]
    ) { arguments, console in
        let request = KeySetRequest(arguments: arguments)
        let history = try KeySetChain.read(arguments.all("from"))
        let document = try request.next(after: history, now: SigningClock.read(console))
        if let expires = history.current.expires, document.expires == nil {
            console.warn(
                "warning: key set \(history.current.version) expires at \(WallTime(seconds: expires)), and this one never; "
                    + "--expires gives it a time")
        }
        let bytes = try request.signed(document, after: history) { bytes, isComplete throws(VerificationFailure) in
            var next = history
            _ = try next.take(bytes, isComplete: isComplete)
        }
        try request.write(bytes, after: history, console)
    }

    static let keySetRevoke = Subcommand(
        path: ["keyset", "revoke"], summary: "make a revocation of keys, signed by the revoker",
        options: [
            .chain, Option.valued("revoke", "FILE|KEYID", "a key that never counts again").required.repeated,
            .flag("withdraw", "also end what is active by these keys alone"), .signers, .passphraseDescriptor,
            .passphraseFile, .incomplete, .out.required,
        ],
        notes: "A revocation is for ever. What is active stays, marked, unless withdrawn: do that for a stolen key.",
        examples: [
            "keyset revoke --from lamp-1.keyset --revoke signing.key.pub --withdraw --key revoker.key "
                + "--out stolen.revocation"
        ]
    ) { arguments, console in
        let request = KeySetRequest(arguments: arguments)
        let history = try KeySetChain.read(arguments.all("from"))
        let bytes = try request.signedRevocation(after: history, now: SigningClock.read(console))
        try request.write(bytes, after: history, console)
    }

    static let keySetShow = Subcommand(
        path: ["keyset", "show"], summary: "follow key sets and revocations, and show the set in force",
        operands: [.required("FILE"), .several("FILE")], options: [.json],
        notes: "The first FILE is the anchor and is trusted; each other one must follow. A refusal is printed by name.",
        examples: ["keyset show lamp-1.keyset", "keyset show lamp-1.keyset stolen.revocation lamp-2.keyset"]
    ) { arguments, console in
        let description = KeySetDescription(try KeySetChain.read(arguments.operands))
        if arguments.has("json") {
            console.print(json: description.json)
        } else {
            description.lines.forEach { console.print($0) }
        }
    }

    static let keySetExport = Subcommand(
        path: ["keyset", "export"], summary: "print an anchor or public keys, for host apps and other programs",
        operands: [.required("FILE")],
        options: [
            .flag("swift", "Swift source that a host app compiles in"),
            .flag("pem", "the configuration keys as PEM blocks, without thresholds"),
        ],
        notes: """
            FILE is a key set or a public key. Without an option the anchor's text is printed, which 'publicKey' of a
            configuration class returns.
            """,
        examples: ["keyset export lamp-1.keyset --swift", "keyset export signing.key.pub --swift"]
    ) { arguments, console in
        guard !arguments.has("swift") || !arguments.has("pem") else {
            throw CommandFailure.usage("--swift and --pem exclude each other")
        }
        let anchor = try AnchorFile(path: arguments.operands[0])
        if arguments.has("pem") {
            anchor.configurationKeys.forEach { console.write($0.pem) }
        } else {
            console.write(arguments.has("swift") ? anchor.swift : anchor.text)
        }
    }

    static let cosign = Subcommand(
        path: ["cosign"], summary: "add signatures to a configuration, key set or revocation",
        operands: [.required("FILE")],
        options: [
            .valued("from", "FILE", "the key sets before it, as for 'keyset rotate'").repeated,
            .valued("key", "FILE", "private key that signs, of mode 0600; without one, FILE is shown only").repeated,
            .passphraseDescriptor, .passphraseFile, .out,
        ],
        notes: """
            For thresholds whose keys are on several machines. What FILE states is printed before it is signed, and what is
            still missing after it. A key set above version 1 and a revocation must follow from --from. A --key that counts
            for nothing is refused; of a configuration only --from says which ones do.
            """,
        examples: [
            "cosign --from lamp-1.keyset lamp-2.half",
            "cosign --from lamp-1.keyset --key root-2.key --out lamp-2.keyset lamp-2.half",
        ]
    ) { arguments, console in
        let bytes = try EnvelopeInput.read(arguments.operands[0])
        do {
            try StatementDescription.lines(of: bytes, after: arguments.all("from")).forEach { console.print($0) }
            guard arguments.has("key") else { return }
            let keys = try KeyFile.signing(arguments)
            let history = arguments.has("from") ? try KeySetChain.read(arguments.all("from")) : nil
            try SignatureNeeds(of: bytes, after: history).refuseSurplus(keys, arguments)
            let more = try SignedEnvelope.adding(keys, to: bytes)
            let file = LocalFile(path: try arguments.required("out"))
            try KeyFile.create(more, as: file)
            console.print("signed   \(file.path), \(try UnverifiedEnvelope(more).signatures.count) signatures")
            try SignatureNeeds(of: more, after: history).missing.forEach { console.print($0) }
        } catch let failure as VerificationFailure {
            throw CommandFailure.refused("\(arguments.operands[0]): \(failure)")
        }
    }
}

enum KeySetChain {
    /// The history that starts with the first file, a key set or a public key; each other file must follow.
    static func read(_ paths: [String]) throws -> KeySetHistory {
        guard let first = paths.first else { throw CommandFailure.usage("a key set is missing") }
        var history = try AnchorFile(path: first).history
        for path in paths.dropFirst() {
            let bytes = try LocalFile(path: path).read()
            do { _ = try history.take(bytes) } catch { throw CommandFailure.refused("\(path): \(error)") }
        }
        return history
    }
}

/// A file with a trust anchor: a key set, as bytes or as text, or a public key.
struct AnchorFile {
    let history: KeySetHistory
    /// The PEM text that a host app and `trust-add` take.
    let text: String

    init(path: String) throws {
        let bytes = try LocalFile(path: path).read()
        let content = String(decoding: bytes, as: UTF8.self)
        do {
            if EnvelopeInput.isEnvelope(bytes) {
                history = try KeySetHistory(anchor: bytes)
                text = KeySetText.text(of: bytes)
            } else if KeySetText.isKeySet(content) {
                history = try KeySetHistory(pem: content)
                // Written again: a text from outside is printed nowhere.
                text = history.chain.first.map { KeySetText.text(of: $0) } ?? ""
            } else {
                text = try KeyFile(path: path).publicHalf().pem
                history = try KeySetHistory(pem: text)
            }
        } catch let failure as VerificationFailure {
            throw CommandFailure.refused("\(path): \(failure)")
        }
    }

    /// The version of a key set; nil for a bare public key.
    var version: UInt64? { history.subject == nil ? nil : history.current.version }

    var configurationKeys: [PublicKey] { history.current.keys(of: history.current.configuration) }

    /// A constant for a host app.
    var swift: String {
        let lines = text.split(separator: "\n").map { "        \($0)\n" }.joined()
        let identifiers = configurationKeys.map { "\n// Key id \($0.identifier.hexadecimal)" }.joined()
        return """
            // Trust anchor of signed configuration, from 'tandem keyset export --swift'.\(identifiers)

            enum TrustAnchor {
                /// For `publicKey` of the app's configuration class.
                static let publicKey = \"""
            \(lines)        \"""
            }

            """
    }
}

extension TrustedKeySet {
    /// The keys of a role, in the order of their identifiers.
    fileprivate func keys(of role: KeyRole) -> [PublicKey] {
        role.keyIdentifiers.sorted().compactMap { keys[$0] }
    }

    fileprivate func role(_ name: KeyRoleName) -> KeyRole? {
        switch name {
        case .configuration: configuration
        case .keySet: keySet
        case .revocation: revocation
        }
    }
}

private enum RoleOptions {
    static let names: [(KeyRoleName, word: String, meaning: String)] = [
        (.keySet, "root", "signs key sets"), (.configuration, "config", "signs configuration"),
        (.revocation, "revoker", "signs revocations"),
    ]

    /// The keys and thresholds by role; a role that is not named is the one of `history`.
    static func roles(
        _ arguments: Arguments, after history: KeySetHistory?, revoked: Set<KeyIdentifier>
    ) throws -> [KeyRoleName: (keys: [PublicKey], threshold: Int)] {
        var roles: [KeyRoleName: (keys: [PublicKey], threshold: Int)] = [:]
        for (name, word, _) in names {
            let before = history?.current.role(name)
            var keys = try arguments.all(word).map { try KeyFile(path: $0).publicHalf() }
            if keys.isEmpty, let history, let before {
                keys = history.current.keys(of: before).filter { !revoked.contains($0.identifier) }
            }
            guard !keys.isEmpty else { throw CommandFailure.usage("--\(word) FILE is missing") }
            let threshold: Int? = try arguments.integer("\(word)-threshold", in: 1...ConfigurationLimits.list)
            roles[name] = (keys, threshold ?? before?.threshold ?? 1)
        }
        return roles
    }
}

/// The options of `keyset init`, `rotate` and `revoke` as statements.
private struct KeySetRequest {
    let arguments: Arguments

    func first(now: WallTime) throws -> KeySetDocument {
        let subject = KeySubject(application: try arguments.application(), role: try arguments.role())
        return try document(subject, 1, after: nil, revoked: [], now: now)
    }

    func next(after history: KeySetHistory, now: WallTime) throws -> KeySetDocument {
        let current = history.current
        let (version, isLast) = current.version.addingReportingOverflow(1)
        guard !isLast else { throw CommandFailure.refused("keyset-illegal: no version is above \(current.version)") }
        let named = Set(try revokedKeys())
        var document = try document(
            try subject(of: history), version, after: history, revoked: history.revoked.union(named), now: now)
        try refuseRevoked(history.revoked, in: document)
        document.minimumVersions = current.minimumVersions
        for text in arguments.all("minimum") {
            // The last sign: a custom identifier may have one, a version has none.
            guard let place = text.lastIndex(of: "="), let version = UInt64(text[text.index(after: place)...]),
                version > 0
            else { throw CommandFailure.usage("--minimum '\(text)' is not TARGET=VERSION") }
            document.minimumVersions[try PairedIdentifier(text: String(text[..<place]))] = version
        }
        let withdrawn = history.withdrawn.union(arguments.has("withdraw") ? named : [])
        return try document.revoking(named, repeating: history.revokedLatestFirst, withdrawn: withdrawn)
    }

    /// A device follows a set that lists a key which a revocation named, and the key does not count there: those who
    /// list it have not looked.
    private func refuseRevoked(_ revoked: Set<KeyIdentifier>, in document: KeySetDocument) throws(CommandFailure) {
        if let key = revoked.map(\.hexadecimal).sorted().first(where: { document.keys[$0] != nil }) {
            throw .refused("keyset-illegal: the key \(key) was revoked and cannot come back")
        }
    }

    private func subject(of history: KeySetHistory) throws(CommandFailure) -> KeySubject {
        guard let subject = history.subject else {
            throw .refused("no-key: the file is a bare public key, which cannot rotate or revoke")
        }
        return subject
    }

    private func document(
        _ subject: KeySubject, _ version: UInt64, after history: KeySetHistory?, revoked: Set<KeyIdentifier>,
        now: WallTime
    ) throws -> KeySetDocument {
        var document = KeySetDocument(
            subject: subject, version: version, issued: now.seconds,
            roles: try RoleOptions.roles(arguments, after: history, revoked: revoked))
        document.expires = try arguments.duration("expires").map {
            now.seconds + UInt64(clamping: $0.saturatingMilliseconds / 1000)
        }
        return document
    }

    /// The keys that `--revoke` names, by file or by identifier.
    private func revokedKeys() throws -> [KeyIdentifier] {
        try arguments.all("revoke").map { text in
            try KeyIdentifier(text: text) ?? KeyFile(path: text).publicHalf().identifier
        }
    }

    /// The signed set, which `follow` accepts.
    func signed(
        _ document: KeySetDocument, after history: KeySetHistory?,
        _ follow: ([UInt8], _ isComplete: Bool) throws(VerificationFailure) -> Void
    ) throws -> [UInt8] {
        let keys = try KeyFile.signing(arguments)
        let bytes = try KeyStatementSigner.sign(document, with: keys)
        try check { () throws(VerificationFailure) in
            _ = try document.trusted()
            try follow(bytes, false)
        }
        // A key in the place of another is named, rather than the signature that is missing.
        try SignatureNeeds(of: bytes, after: history).refuseSurplus(keys, arguments)
        try check { () throws(VerificationFailure) in try follow(bytes, !arguments.has("incomplete")) }
        return bytes
    }

    func signedRevocation(after history: KeySetHistory, now: WallTime) throws -> [UInt8] {
        let document = RevocationDocument(
            subject: try subject(of: history), keySetVersion: history.current.version, issued: now.seconds,
            revoked: try revokedKeys(), withdraws: arguments.has("withdraw"))
        let keys = try KeyFile.signing(arguments)
        let bytes = try KeyStatementSigner.sign(document, with: keys)
        try check { () throws(VerificationFailure) in
            var next = history
            guard try next.take(bytes, isComplete: false) != .known else {
                throw VerificationFailure(.keySetIllegal, "it revokes nothing that these key sets have")
            }
        }
        try SignatureNeeds(of: bytes, after: history).refuseSurplus(keys, arguments)
        try check { () throws(VerificationFailure) in
            var next = history
            _ = try next.take(bytes, isComplete: !arguments.has("incomplete"))
        }
        return bytes
    }

    /// Refuses a statement that a device would refuse.
    private func check(_ follow: () throws(VerificationFailure) -> Void) throws(CommandFailure) {
        do { try follow() } catch {
            let hint = error.rejection == .threshold ? "; add a --key, or use --incomplete and 'tandem cosign'" : ""
            throw .refused("\(error)\(hint)")
        }
    }

    func write(_ bytes: [UInt8], after history: KeySetHistory?, _ console: Console) throws {
        let file = LocalFile(path: try arguments.required("out"))
        try KeyFile.create(bytes, as: file)
        console.print("signed   \(file.path), \(bytes.count) bytes")
        console.print("digest   \(Hexadecimal.encode(SHA256.digest(bytes)))")
        try SignatureNeeds(of: bytes, after: history).missing.forEach { console.print($0) }
    }
}

extension SignatureNeeds {
    /// Refuses a key whose signature would be taken for one that counts, and names the keys that do.
    /// - Parameters:
    ///   - signers: the keys that `--key` of `arguments` names, in that order.
    func refuseSurplus(_ signers: [PrivateKey], _ arguments: Arguments) throws(CommandFailure) {
        let named = zip(arguments.all("key"), signers.map(\.publicKey.identifier))
        guard !roles.isEmpty, let (path, _) = named.first(where: { !keys.contains($0.1) }) else { return }
        let name = isMissing ? "\(Rejection.threshold): " : ""
        let takers = roles.map { Self.words(for: $0) }.joined(separator: " and ")
        let needed = keys.map { $0.hexadecimal.prefix(16) }.sorted().joined(separator: ", ")
        throw .refused("\(name)--key \(path) counts for nothing here; \(takers) must sign: \(needed)")
    }

    /// Whether more signatures have to be added.
    var isMissing: Bool { roles.contains { $0.missing > 0 } }

    /// A line for each role of which signatures are missing.
    fileprivate var missing: [String] {
        roles.filter { $0.missing > 0 }.map { "missing  \($0.missing) of \(Self.words(for: $0))" }
    }

    private static func words(for role: Role) -> String {
        let word = RoleOptions.names.first { $0.0 == role.name }?.word ?? role.name.rawValue
        return "the \(word) keys of key set \(role.keySetVersion)"
    }
}

extension KeySetDocument {
    /// Bytes of the payload that leave room for the signatures of many.
    private static let longestPayload = ConfigurationLimits.keyStatement * 3 / 4

    /// The set that revokes these keys, and of those that were revoked before as many as have room (CFG-87).
    fileprivate func revoking(
        _ named: Set<KeyIdentifier>, repeating older: [KeyIdentifier], withdrawn: Set<KeyIdentifier>
    ) throws -> KeySetDocument {
        let first = named.sorted()
        var keys = first + older.filter { !named.contains($0) }
        if first.count < ConfigurationLimits.revokedKeys { keys = Array(keys.prefix(ConfigurationLimits.revokedKeys)) }
        while true {
            var document = self
            document.revoked = keys.map(\.bytes)
            document.withdrawn = keys.filter { withdrawn.contains($0) }.map(\.bytes)
            let fits = try PropertyListWriter.write(document.dictionary).count <= Self.longestPayload
            if fits || keys.count <= first.count { return document }
            keys.removeLast()
        }
    }
}

/// The output of `cosign`: what a person with a key is asked to sign, whoever has signed it so far.
private enum StatementDescription {
    static func lines(of bytes: [UInt8], after chain: [String]) throws -> [String] {
        let envelope = try UnverifiedEnvelope(bytes)
        switch envelope.claimedType {
        case .configuration:
            let fields = try PropertyListReader.readDictionary(envelope.payload)
            return ["configuration"]
                + fields.map { "  \(Printable.text($0.key)) = \(PropertyListJSON.text(Fact.plain($0.value)))" }
        case .keySet, .revocation: return try lines(ofStatement: bytes, after: chain)
        case .report, .carrier, nil:
            throw VerificationFailure(.wrongType, "it is no configuration, key set or revocation")
        }
    }

    private static func lines(ofStatement bytes: [UInt8], after chain: [String]) throws -> [String] {
        guard let claimed = ClaimedStatement(bytes), claimed.subject != nil else {
            throw VerificationFailure(.payloadMalformed, "it names no app and role")
        }
        if claimed.type == .keySet, claimed.keySetVersion == 1, chain.isEmpty {
            let anchor = try KeySetHistory(anchor: bytes, isComplete: false)
            return ["key set, the first of its app"] + KeySetDescription(anchor).lines
        }
        guard !chain.isEmpty else { throw CommandFailure.usage("--from is missing: the key sets before this one") }
        let before = try KeySetChain.read(chain)
        var after = before
        let change = try after.take(bytes, isComplete: false)
        let (old, new) = (Set(before.current.keys.keys), Set(after.current.keys.keys))
        var lines = [claimed.type == .keySet ? "key set" : "revocation"] + KeySetDescription(after).lines
        if change == .known { lines.append("changes nothing") }
        lines += named("adds", new.subtracting(old)) + named("removes", old.subtracting(new))
        lines += named("revokes", after.revoked.subtracting(before.revoked))
        return lines + named("withdraws", after.withdrawn.subtracting(before.withdrawn))
    }

    private static func named(_ word: String, _ keys: Set<KeyIdentifier>) -> [String] {
        keys.map { "\(word)  \($0.hexadecimal)" }.sorted()
    }
}

/// The output of `keyset show`.
private struct KeySetDescription {
    private let history: KeySetHistory

    init(_ history: KeySetHistory) { self.history = history }

    /// By this machine's clock.
    private var isExpired: Bool { history.current.expires.map { $0 <= Linux.wallTime.seconds } ?? false }

    var lines: [String] {
        let current = history.current
        var lines = ["version  \(current.version)"]
        if let subject = history.subject {
            lines.append("app      \(subject.application), the \(subject.role.rawValue)'s")
        }
        if let expires = current.expires {
            lines.append("expires  \(WallTime(seconds: expires))\(isExpired ? ", expired" : "")")
        }
        for (name, word, meaning) in RoleOptions.names {
            guard let role = current.role(name) else { continue }
            lines.append("\(word) (\(meaning)), \(role.threshold) of \(role.keyIdentifiers.count):")
            for key in current.keys(of: role) {
                let state = history.revoked.contains(key.identifier) ? "  revoked" : ""
                lines.append("  \(key.identifier.hexadecimal)  \(key.algorithm.rawValue)\(state)")
            }
        }
        if !revoked.isEmpty { lines.append("revoked:") }
        lines += revoked.map { "  \($0.hexadecimal)\(history.withdrawn.contains($0) ? "  withdrawn" : "")" }
        for (target, version) in current.minimumVersions.sorted(by: { $0.key.text < $1.key.text }) {
            lines.append("minimum  \(Printable.text(target.text)) = \(version)")
        }
        return lines
    }

    var json: PropertyListValue {
        let current = history.current
        var roles = PropertyListDictionary()
        for (name, _, _) in RoleOptions.names {
            guard let role = current.role(name) else { continue }
            roles[name.rawValue] = [
                "threshold": .integer(Int64(role.threshold)),
                "keys": .array(current.keys(of: role).map { .string($0.identifier.hexadecimal) }),
            ]
        }
        return .dictionary(
            PropertyListDictionary(present: [
                "version": PropertyListValue(current.version), "roles": .dictionary(roles),
                "revoked": .array(revoked.map { .string($0.hexadecimal) }),
                "app": history.subject.map { .string($0.application.description) },
                "role": history.subject.map { .string($0.role.rawValue) },
                "expires": current.expires.map { PropertyListValue($0) }, "expired": isExpired ? true : nil,
            ]))
    }

    private var revoked: [KeyIdentifier] { history.revoked.sorted() }
}
