// Key sets in a host app: the library follows the chain in its directory from its own compiled anchor, whatever the
// daemon says, and loads what is active under the keys that it was signed with.

import Glibc
import PairedConfiguration
import TandemCrypto
import TandemFiles
import TandemSignedConfiguration
import Testing

@Suite struct KeySetLoadingTests {
    private static let root = PrivateKey.generate(.ed25519)
    private static let revoker = PrivateKey.generate(.ed25519)
    private static let old = ConfigurationPrivateKey.generate()
    private static let new = ConfigurationPrivateKey.generate()

    /// An app with a key set for an anchor.
    ///
    /// `@unchecked`: its property is a wrapper around state behind a mutex.
    private class RotatingConfiguration: Configuration, @unchecked Sendable {
        @Slider("Alarm volume", in: 50...100) var volume = 75

        override var publicKey: String? { (try? KeySetLoadingTests.set(1, old)).map { KeySetText.text(of: $0) } }
        override var allowsInvalidSignatures: Bool { false }
    }

    /// `@unchecked`: it adds no state to its superclass, whose property is behind a mutex.
    private final class WaivingConfiguration: RotatingConfiguration, @unchecked Sendable {
        override var allowsInvalidSignatures: Bool { true }
    }

    private static func subject() throws -> KeySubject {
        KeySubject(application: try Fixture().application, role: .secondary)
    }

    private static func set(
        _ version: UInt64, _ signer: ConfigurationPrivateKey, by root: PrivateKey = root
    ) throws -> [UInt8] {
        let document = KeySetDocument(
            subject: try subject(), version: version, issued: Fixture.now.seconds - 100,
            roles: [
                .configuration: ([signer.key.publicKey], 1), .keySet: ([Self.root.publicKey], 1),
                .revocation: ([revoker.publicKey], 1),
            ])
        return try KeyStatementSigner.sign(document, with: [root])
    }

    private static func revocation(under version: UInt64, withdraws: Bool) throws -> [UInt8] {
        try KeyStatementSigner.sign(
            RevocationDocument(
                subject: try subject(), keySetVersion: version, issued: Fixture.now.seconds,
                revoked: [old.publicKey.identifier], withdraws: withdraws), with: [revoker])
    }

    private let fixture: Fixture
    init() throws { fixture = try Fixture() }

    private func envelope(
        _ version: UInt64, _ volume: Int64, by key: ConfigurationPrivateKey, under keySet: UInt64
    ) throws -> [UInt8] {
        try fixture.envelope(version: version, values: ["volume": .integer(volume)], key: key) {
            $0.keySetVersion = keySet
        }
    }

    private func write(_ chain: [[UInt8]], in directory: OwnedDirectory) throws {
        try directory.write(
            KeySetChainFile.name, KeySetChainFile(subject: try Self.subject(), chain: chain).dictionary)
    }

    @Test("CFG-93: the chain is followed from the compiled anchor, and read again for each configuration")
    func theChainIsFollowed() throws {
        try Fixture.withDirectory { directory in
            let app = RotatingConfiguration()
            fixture.load(app, in: directory.path)
            #expect(fixture.verdict(app, try fixture.message(try envelope(9, 60, by: Self.old, under: 1))) == "applied")
            let next = try fixture.message(try envelope(1, 61, by: Self.new, under: 2), mark: 0)
            #expect(fixture.verdict(app, next) == "threshold", "the rotation is not there yet")
            try write([try Self.set(1, Self.old), try Self.set(2, Self.new)], in: directory)
            #expect(fixture.verdict(app, next) == "applied", "CFG-88: all keys replaced, versions start again")
            #expect(app.volume == 61)
            let late = try fixture.message(try envelope(10, 62, by: Self.old, under: 1))
            #expect(fixture.verdict(app, late) == "threshold")
            let lower = try fixture.message(try envelope(1, 63, by: Self.new, under: 2), mark: 0)
            #expect(fixture.verdict(app, lower) == "equivocation")
        }
    }

    @Test("CFG-37, CFG-88: a waived one of a lower version shows above one of keys that were all replaced since")
    func waivedAfterAllKeysWereReplaced() throws {
        try Fixture.withDirectory { directory in
            try fixture.writeActive(try envelope(5, 60, by: Self.old, under: 1), in: directory)
            let stranger = try envelope(1, 61, by: ConfigurationPrivateKey.generate(), under: 2)
            let waived = ActiveConfiguration(try fixture.record(stranger), applied: Fixture.now, isWaived: true)
            try directory.write("waived.plist", waived.dictionary)
            try write([try Self.set(1, Self.old)], in: directory)
            #expect(fixture.load(WaivingConfiguration(), in: directory.path).applied?.version == 5)
            try write([try Self.set(1, Self.old), try Self.set(2, Self.new)], in: directory)
            #expect(fixture.load(WaivingConfiguration(), in: directory.path).applied?.version == 1)
        }
    }

    @Test("CFG-89: what is active is loaded under the keys that it was signed with, marked or withdrawn")
    func whatIsActiveIsLoadedUnderItsKeys() throws {
        let (first, second) = (try Self.set(1, Self.old), try Self.set(2, Self.new))
        let cases: [([[UInt8]], Bool?)] = [
            ([first], false), ([first, second], false), ([second], nil),
            ([first, try Self.revocation(under: 1, withdraws: false), second], true),
            ([first, second, try Self.revocation(under: 2, withdraws: false)], true),
        ]
        for (chain, isRevoked) in cases {
            try Fixture.withDirectory { directory in
                try fixture.writeActive(try envelope(7, 60, by: Self.old, under: 1), in: directory)
                try write(chain, in: directory)
                let load = fixture.load(RotatingConfiguration(), in: directory.path)
                #expect(load.applied?.version == 7)
                #expect(load.applied?.isSignerRevoked == isRevoked ?? false)
                let isMarked = load.applied?.description.hasSuffix(", signed by a key that is revoked")
                #expect(isMarked == isRevoked ?? false)
                #expect(load.failures.isEmpty)
            }
        }
        try Fixture.withDirectory { directory in
            try fixture.writeActive(try envelope(7, 60, by: Self.old, under: 1), in: directory)
            try write([first, try Self.revocation(under: 1, withdraws: true)], in: directory)
            let load = fixture.load(RotatingConfiguration(), in: directory.path)
            #expect(load.applied == nil)
            #expect(load.failures.map(\.rejection.name) == ["signer-revoked"])
        }
    }

    @Test("CFG-93, CFG-113: a reload judges nothing while its keys cannot be read, and does if they do not follow")
    func unreadKeysRejectNothing() throws {
        try Fixture.withDirectory { directory in
            let (first, second) = (try Self.set(1, Self.old), try Self.set(2, Self.new))
            try fixture.writeActive(try envelope(7, 60, by: Self.new, under: 2), in: directory)
            try write([first, second], in: directory)
            let app = RotatingConfiguration()
            #expect(fixture.load(app, in: directory.path).applied?.version == 7)
            try directory.replace(KeySetChainFile.name, with: [1, 2, 3])
            #expect(fixture.verdict(app, ["tandem.reload": true]) == "not-judged", "and not that it loads")
            #expect(app.reload().failures.map(\.file).contains("keysets.plist"))
            let path = "\(directory.path)/\(KeySetChainFile.name)"
            try #require(unlink(path) == 0 && mkdir(path, 0o700) == 0)
            #expect(fixture.verdict(app, ["tandem.reload": true]) == "not-judged")
            try #require(rmdir(path) == 0)
            try write([first], in: directory)
            #expect(fixture.verdict(app, ["tandem.reload": true]) == "threshold")
            try write([first, try Self.set(2, Self.new, by: .generate(.ed25519))], in: directory)
            #expect(fixture.verdict(app, ["tandem.reload": true]) == "threshold")
            try write([first, second], in: directory)
            #expect(app.reload().applied?.version == 7)
        }
    }

    @Test(
        "CFG-93, CFG-113: an offer is not judged while the key sets cannot be read, and is once they can",
        arguments: [false, true])
    func unreadKeysJudgeNoOffer(_ isDamaged: Bool) throws {
        try Fixture.withDirectory { directory in
            let app = RotatingConfiguration()
            fixture.load(app, in: directory.path)
            let next = try fixture.message(try envelope(1, 61, by: Self.new, under: 2))
            let path = "\(directory.path)/\(KeySetChainFile.name)"
            if isDamaged {
                try directory.replace(KeySetChainFile.name, with: [1, 2, 3])
            } else {
                // A directory in its place cannot be read as a file.
                try #require(mkdir(path, 0o700) == 0)
            }
            let reply = try #require(app.sessionDidReceiveMessage(next))
            #expect(reply["tandem.verdict"] == "not-judged" && UnjudgedOffer(reply) != nil)
            #expect(app.applied == nil && app.volume == 75)
            let known = try fixture.message(try envelope(1, 60, by: Self.old, under: 1))
            #expect(fixture.verdict(app, known) == "applied", "the anchor stands alone")
            let lower = try fixture.message(try envelope(1, 60, by: Self.old, under: 1), mark: 5)
            #expect(fixture.verdict(app, lower) == "rollback", "no key sets would change that")
            try #require((isDamaged ? unlink(path) : rmdir(path)) == 0)
            #expect(fixture.verdict(app, next) == "threshold")
            try write([try Self.set(1, Self.old), try Self.set(2, Self.new)], in: directory)
            #expect(fixture.verdict(app, next) == "applied" && app.volume == 61)
        }
    }

    @Test("CFG-93: a chain of other keys, with a gap, damaged or of another app changes nothing that is trusted")
    func aFalseChainChangesNothing() throws {
        let stranger = PrivateKey.generate(.ed25519)
        let first = try Self.set(1, Self.old)
        let chains: [(String, [[UInt8]])] = [
            ("threshold", [first, try Self.set(2, Self.new, by: stranger)]),
            ("keyset-gap", [first, try Self.set(3, Self.new)]), ("malformed", [[1, 2, 3]]),
        ]
        for (name, chain) in chains {
            try Fixture.withDirectory { directory in
                try fixture.writeActive(try envelope(7, 60, by: Self.old, under: 1), in: directory)
                try write(chain, in: directory)
                let app = RotatingConfiguration()
                let load = fixture.load(app, in: directory.path)
                #expect(load.applied?.version == 7)
                #expect(load.failures.map(\.file) == ["keysets.plist"])
                #expect(load.failures.map(\.rejection.name) == [name])
                let next = try fixture.message(try envelope(8, 61, by: Self.old, under: 1))
                #expect(fixture.verdict(app, next) == "applied")
            }
        }
        try Fixture.withDirectory { directory in
            try directory.replace(KeySetChainFile.name, with: [1, 2, 3])
            let load = fixture.load(RotatingConfiguration(), in: directory.path)
            #expect(load.failures.map(\.file) == ["keysets.plist"])
            let primary = KeySubject(application: fixture.application, role: .primary)
            let other = KeySetChainFile(subject: primary, chain: [try Self.set(1, Self.old)])
            try directory.write(KeySetChainFile.name, other.dictionary)
            let foreign = fixture.load(RotatingConfiguration(), in: directory.path)
            #expect(foreign.failures.map(\.rejection.name) == ["wrong-app"])
        }
    }
}
