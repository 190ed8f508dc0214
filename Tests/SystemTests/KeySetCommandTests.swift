// Key sets, revocations and encrypted keys from the command line, without a daemon: what is written is followed by the
// same rules as on a device, and what a device would refuse is not written.

import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct KeySetCommandTests {
    private let workspace: Workspace
    init() { workspace = Workspace() }

    private func run(_ line: String, input: String = "") async throws -> Program.Ending {
        try await tandem(line.split(separator: " ").map(String.init), in: workspace, input: input)
    }

    /// Runs a command that must succeed, and returns its output.
    @discardableResult
    private func done(_ line: String) async throws -> String {
        let ending = try await run(line)
        #expect(ending.status == 0, "\(line): \(ending)")
        return ending.output
    }

    /// Runs a command that must be refused by this name, and write nothing.
    private func refused(_ line: String, _ name: String) async throws {
        let ending = try await run(line)
        #expect(ending.status == 1 && ending.errors.contains("\(name): "), "\(line): \(ending)")
        #expect(!FileManager.default.fileExists(atPath: workspace["never"]), "\(line)")
    }

    private func keys(_ names: String...) async throws {
        for name in names { try await done("keys new --out \(name)") }
    }

    private static let roles = "--root r1.pub --root r2.pub --root-threshold 2 --config c1.pub --revoker rev.pub"
    private static let subject = "--app org.example.lamp --role secondary"

    /// Root keys r1 and r2 of which both sign, c1 for configuration, rev for revocations; the set is `s1`.
    private func first() async throws {
        try await keys("r1", "r2", "c1", "c2", "rev")
        try await done("keyset init \(Self.subject) \(Self.roles) --key r1 --key r2 --out s1")
    }

    private func sign(_ out: String, under set: String, by key: String, _ more: String = "") async throws {
        try await done(
            "sign --key \(key) --keyset \(set) \(Self.subject) --target custom:t --version 1 --out \(out) \(more)")
    }

    @Test("CFG-84, CFG-85: rotation and revocation from the command line are followed, and refused by name")
    func aChainIsMadeAndFollowed() async throws {
        try await first()
        try await refused("keyset rotate --from s1 --config c2.pub --key r1 --out never", "threshold")
        try await refused("keyset rotate --from s1 --root-threshold 3 --key r1 --key r2 --out never", "keyset-illegal")
        try await done("keyset rotate --from s1 --config c2.pub --key r1 --key r2 --minimum custom:t=5 --out s2")
        try await refused("keyset revoke --from s1 --from s2 --revoke c2.pub --key r1 --out never", "threshold")
        try await done("keyset revoke --from s1 --from s2 --revoke c2.pub --key rev --out taken")
        let shown = try await done("keyset show s1 s2 taken")
        #expect(shown.contains("version  2") && shown.contains("  revoked") && shown.contains("custom:t = 5"))
        try await refused("keyset show s1 taken", "old-keyset")
        let chain = "--from s1 --from s2 --from taken"
        try await refused("keyset rotate \(chain) --config c2.pub --key r1 --key r2 --out never", "keyset-illegal")
        try await done("keyset rotate \(chain) --config c1.pub --key r1 --key r2 --out s3")
        try await refused("keyset show s1 s3", "keyset-gap")
        #expect(try await done("keyset show s1 s2 taken s3 --json").contains("\"version\":3"))
        try await refused("keyset rotate --from c1.pub --config c2.pub --key c1 --out never", "no-key")
        let existing = try await run("keyset init \(Self.subject) \(Self.roles) --key r1 --key r2 --out s1")
        #expect(existing.status == 1 && existing.errors.contains("exists already"))
    }

    @Test("CFG-20: a configuration is verified under the chain that it was signed under")
    func aConfigurationIsVerifiedUnderTheChain() async throws {
        try await first()
        try await sign("one", under: "s1", by: "c1")
        let wrong = try await run(
            "sign --key c2 --keyset s1 \(Self.subject) --target custom:t --version 1 --out never")
        #expect(
            wrong.errors.contains(
                "threshold: --key c2 counts for nothing here; the config keys of key set 1 must sign: "), "\(wrong)")
        let verify = "verify --app org.example.lamp --target custom:t"
        #expect(try await done("\(verify) --key s1 one").contains("verdict  valid"))
        try await done("keyset revoke --from s1 --revoke c1.pub --key rev --out taken")
        try await refused("\(verify) --key s1 --key taken one", "threshold")
        try await done("keyset rotate --from s1 --config c1.pub --config c2.pub --key r1 --key r2 --out s2")
        try await refused("\(verify) --key s1 --key s2 one", "old-keyset")
        try await done("keys new --out r3")
        try await done(
            "keyset rotate --from s1 --config c1.pub --config c2.pub --config-threshold 2 --key r1 --key r2 --out s2b")
        try await sign("two", under: "s2b", by: "c1", "--key c2")
        #expect(try await done("\(verify) --key s1 --key s2b two").contains("verdict  valid"))
    }

    @Test("a key set or a revocation in the place of a configuration is called what it is")
    func aStatementAboutKeysIsNoConfiguration() async throws {
        try await first()
        try await done("keyset revoke --from s1 --revoke c1.pub --key rev --out taken")
        try workspace.write("s1.text", try await done("keyset export s1"))
        for (file, kind) in [("s1", "a key set"), ("s1.text", "a key set"), ("taken", "a revocation")] {
            let ending = try await run("verify --key s1 --app org.example.lamp \(file)")
            #expect(ending.status == 1, "\(ending)")
            #expect(
                ending.errors.contains("; \(file) is \(kind), not a configuration: 'tandem keyset show'"), "\(ending)")
        }
    }

    @Test("CFG-86, CTL-67: a rotation that drops an expiry is warned of, and an expired set is marked")
    func anExpiryIsShown() async throws {
        try await keys("r1", "c1", "rev")
        let roles = "--root r1.pub --config c1.pub --revoker rev.pub --key r1"
        try await done("keyset init \(Self.subject) \(roles) --expires 1s --out s1")
        #expect(try await eventually { try await done("keyset show s1").contains(", expired\n") })
        #expect(try await done("keyset show s1 --json").contains("\"expired\":true"))
        let dropped = try await run("keyset rotate --from s1 --key r1 --out s2")
        #expect(dropped.status == 0 && dropped.errors.contains("and this one never"), "\(dropped)")
        let kept = try await run("keyset rotate --from s1 --key r1 --expires 30d --out s2b")
        #expect(kept.status == 0 && kept.errors.isEmpty, "\(kept)")
        #expect(try await !done("keyset show s1 s2b").contains("expired"))
    }

    @Test func thoseWithOneKeyEachSignOneAfterTheOther() async throws {
        try await keys("r1", "r2", "c1", "rev")
        let made = "keyset init \(Self.subject) \(Self.roles) --key r1"
        try await refused("\(made) --out never", "threshold")
        try await done("\(made) --incomplete --out half")
        try await refused("keyset show half", "threshold")
        try await refused("cosign --key r1 --out never half", "dup-keyid")
        let seen = try await done("cosign --key r2 --out whole half")
        #expect(seen.contains("key set, the first") && seen.contains("root (signs key sets), 2 of 2"))
        #expect(!seen.contains("missing"), "\(seen)")
        try await done("keyset show whole")
    }

    @Test("CFG-84: a key that counts for nothing cosigns nothing, and what is missing is said")
    func aKeyThatCountsForNothingSignsNothing() async throws {
        try await first()
        try await keys("r3")
        let half = try await done(
            "keyset rotate --from s1 --root r2.pub --root r3.pub --key r2 --incomplete --out half")
        #expect(half.contains("missing  1 of the root keys of key set 1\n"), "\(half)")
        #expect(half.contains("missing  1 of the root keys of key set 2\n"), "\(half)")
        for line in [
            "cosign --from s1 --key c1 --out never half",
            "keyset rotate --from s1 --key r1 --key r2 --key c1 --out never",
            "keyset revoke --from s1 --revoke c1.pub --key rev --key r1 --out never",
        ] {
            let ending = try await run(line)
            #expect(ending.status == 1 && ending.errors.contains("counts for nothing here"), "\(line): \(ending)")
            #expect(ending.errors.contains("must sign: "), "\(line): \(ending)")
            #expect(!FileManager.default.fileExists(atPath: workspace["never"]), "\(line)")
        }
        let more = try await done("cosign --from s1 --key r1 --out more half")
        #expect(more.contains("missing  1 of the root keys of key set 2\n") && !more.contains("key set 1\n"), "\(more)")
        #expect(try await !done("cosign --from s1 --key r3 --out s2 more").contains("missing"))
        try await done("keyset show s1 s2")
    }

    @Test("CFG-15, CFG-20: one signature of two that are needed is threshold, and one key twice is one key")
    func oneSignatureOfTwoIsThreshold() async throws {
        try await keys("r1", "c1", "c2", "rev", "stranger")
        try await done(
            "keyset init \(Self.subject) --root r1.pub --config c1.pub --config c2.pub --config-threshold 2 "
                + "--revoker rev.pub --key r1 --out s1")
        let sign = "sign \(Self.subject) --target custom:t --version 1"
        try await refused("\(sign) --keyset s1 --key c1 --out never", "threshold")
        let twice = try await run("\(sign) --key c1 --key c1 --out never")
        #expect(twice.status == 2 && twice.errors.contains("one key twice"), "\(twice)")
        try await done("\(sign) --key c1 --out half")
        let verify = "verify --app org.example.lamp --target custom:t --key s1"
        try await refused("\(verify) half", "threshold")
        try await done("cosign --key stranger --out more half")
        try await refused("\(verify) more", "threshold")
        try await done("cosign --key c2 --out whole more")
        #expect(try await done("\(verify) whole").contains("verdict  valid"))
    }

    @Test("CFG-84: those who sign see what they sign, and nothing that a device would refuse is half signed")
    func thoseWhoSignSeeWhatTheySign() async throws {
        try await first()
        let half = "keyset rotate --from s1 --config c2.pub --revoke c1.pub --withdraw --key r1 --incomplete"
        try await done("\(half) --out half")
        #expect(try await run("cosign --key r2 --out never half").status == 2, "nothing to compare it with")
        let seen = try await done("cosign --from s1 half")
        for word in ["version  2", "adds  ", "removes  ", "revokes  ", "withdraws  "] { #expect(seen.contains(word)) }
        try await done("cosign --from s1 --key r2 --out s2 half")
        #expect(try await done("keyset show s1 s2").contains("  withdrawn"))
        try await refused("keyset revoke --from s1 --revoke r1.pub --incomplete --key c1 --out never", "keyset-illegal")
        try await refused("keyset revoke --from s1 --revoke c2.pub --key rev --out never", "keyset-illegal")
        let taken = "--from s1 --from taken"
        try await done("keyset revoke --from s1 --revoke c1.pub --key rev --out taken")
        try await refused("keyset rotate \(taken) --config c1.pub --incomplete --key r1 --out never", "keyset-illegal")
        try await sign("one", under: "s1", by: "c1")
        #expect(try await done("cosign one").contains("custom:t"))
    }

    @Test("CFG-87: a rotation repeats what was revoked and withdrawn, and a role that is not named loses the key")
    func aRotationRepeatsWhatWasRevoked() async throws {
        try await first()
        let both = "--config c1.pub --config c2.pub"
        try await done("keyset rotate --from s1 \(both) --key r1 --key r2 --out s2")
        try await done("keyset revoke --from s1 --from s2 --revoke c1.pub --withdraw --key rev --out taken")
        try await done("keyset rotate --from s1 --from s2 --from taken --key r1 --key r2 --out s3")
        #expect(try await done("keyset show s3").contains("  withdrawn"))
        try await done("keyset rotate --from s1 --from s2 --revoke c2.pub --key r1 --key r2 --out s3b")
        #expect(try await done("keyset show s3b").contains("config (signs configuration), 1 of 1"))
    }

    @Test("CFG-90: a text with more than a key set in it is never exported")
    func aTextWithMoreThanAKeySetIsNeverExported() async throws {
        try await first()
        let text = try await done("keyset export s1")
        try workspace.write("evil", text.replacing("-----END", with: "-\\(evil())\n-----END"))
        try await refused("keyset export evil --swift", "no-key")
        try workspace.write("spaced", "\n\n" + text.replacing("\n", with: "\r\n"))
        #expect(try await done("keyset export spaced") == text)
    }

    @Test("CFG-90: an anchor is exported as text, as PEM and as Swift source, and read again")
    func anAnchorIsExported() async throws {
        try await first()
        let text = try await done("keyset export s1")
        #expect(text.hasPrefix("-----BEGIN TANDEM KEY SET-----\n"))
        try workspace.write("s1.text", text)
        #expect(try await done("keyset show s1.text") == done("keyset show s1"))
        #expect(try await done("keyset export s1 --pem") == workspace.text("c1.pub"))
        #expect(try await done("keyset export c1.pub") == workspace.text("c1.pub"))
        for file in ["s1", "c1.pub"] {
            let swift = try await done("keyset export \(file) --swift")
            let lines = swift.split(separator: "\n", omittingEmptySubsequences: false)
            let block = lines.drop { !$0.hasSuffix("\"\"\"") }.dropFirst().prefix { !$0.hasSuffix("\"\"\"") }
            let literal = block.map { $0.dropFirst(8) + "\n" }.joined()
            #expect(try await done("keyset export \(file)") == literal)
        }
    }

    @Test func anEncryptedKeySignsWithItsPassphraseOnly() async throws {
        try workspace.write("pass", "Öffne dich\n")
        try workspace.write("other", "no\n")
        try workspace.write("loose", "Öffne dich\n", mode: 0o644)
        try await done("keys new --encrypt --passphrase-file pass --out k")
        #expect(try workspace.text("k").hasPrefix("-----BEGIN ENCRYPTED PRIVATE KEY-----"))
        #expect(try workspace.mode("k") == 0o600)
        let call = "sign --key k \(Self.subject) --target custom:t --version 1 --out"
        for (option, words) in [
            ("--passphrase-file other", "does not decrypt"), ("--passphrase-file loose", "chmod 600"),
            ("--passphrase-file none", "does not exist"), ("--passphrase-fd 9", "Bad file descriptor"),
        ] {
            let ending = try await run("\(call) never \(option)")
            #expect(ending.status == 1 && ending.errors.contains(words), "\(ending)")
        }
        let both = try await run("\(call) never --passphrase-fd 0 --passphrase-file pass")
        #expect(both.status == 2)
        try await done("\(call) one --passphrase-file pass")
        let fromInput = try await run("\(call) two --passphrase-fd 0", input: "Öffne dich")
        #expect(fromInput.status == 0, "\(fromInput)")
        try await done("verify --key k.pub --app org.example.lamp two")
        #expect(try await run("\(call) never --passphrase x").status == 2, "never an argument")
    }

    @Test func aPassphraseThatIsGivenProtectsTheKey() async throws {
        try workspace.write("pass", "secret\r\n")
        try workspace.write("unix", "secret\n")
        try await done("keys new --passphrase-file pass --out k")
        #expect(try workspace.text("k").hasPrefix("-----BEGIN ENCRYPTED PRIVATE KEY-----"))
        try await done("keys show k --passphrase-file unix")
    }

    @Test func withoutATerminalNoPassphraseIsAskedFor() async throws {
        try workspace.write("pass", "x\n")
        try await done("keys new --encrypt --passphrase-file pass --out k")
        // In a session of its own a program has no terminal, whoever started it.
        let path = Program.directory.appendingPathComponent("tandem").path
        let alone = try Program(
            "/usr/bin/setsid", ["--wait", path, "keys", "show", "k"], named: "alone", in: workspace,
            environment: ["TANDEM_PASSPHRASE": "x", "PASSPHRASE": "x"])
        let ending = try await alone.ending()
        #expect(ending.status == 1 && ending.errors.contains("no terminal"), "\(ending)")
    }

    @Test func theKeysOfOneCommandHaveTheirPassphrasesInOrder() async throws {
        try workspace.write("one", "first\n")
        try workspace.write("two", "second\n")
        try workspace.write("both", "first\nsecond\n")
        try workspace.write("swapped", "second\nfirst\n")
        try await done("keys new --encrypt --passphrase-file one --out k1")
        try await done("keys new --encrypt --passphrase-file two --out k2")
        let call = "sign --key k1 --key k2 \(Self.subject) --target custom:t --version 1"
        try await done("\(call) --passphrase-file both --out c")
        #expect(try await run("\(call) --passphrase-file swapped --out never").status == 1)
        #expect(try await run("\(call) --passphrase-file one --out never").status == 1)
        #expect(
            try await run(
                "sign --key k1 --key k1 \(Self.subject) --target custom:t --version 1 --out never "
                    + "--passphrase-file one"
            ).status == 2)
    }
}
