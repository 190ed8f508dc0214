// Keys and signed configuration from the command line, checked against the openssl command where it speaks the same.

import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct SigningCommandTests {
    /// A configuration for a secondary, signed with the key `k`.
    private static let signing = [
        "sign", "--key", "k", "--app", "org.example.lamp", "--role", "secondary", "--target", "custom:t",
    ]

    private let workspace: Workspace
    init() { workspace = Workspace() }

    @Test(arguments: ["ed25519", "p256", "rsa"]) func keysAreClosedToOthersAndReadByOpenssl(type: String) async throws {
        let program = try Program(
            "tandem", ["keys", "new", "--type", type, "--out", "k"], named: "keys", in: workspace)
        // The search for the primes of an RSA key takes seconds of a free core, and sometimes many.
        let made = try await program.ending(within: .seconds(150))
        #expect(made.status == 0)
        #expect(try workspace.mode("k") == 0o600)
        #expect(try workspace.mode("k.pub") == 0o644)
        #expect(try openssl("pkey", "-in", workspace["k"], "-pubout") == workspace.text("k.pub"))
        let fromPrivate = try await tandem("keys", "show", "k", in: workspace)
        let fromPublic = try await tandem("keys", "show", "k.pub", in: workspace)
        #expect(fromPrivate.output == fromPublic.output)
        #expect(made.output.hasSuffix(fromPublic.output))
    }

    @Test(arguments: ["ed25519", "p256", "rsa"]) func whatIsSignedIsValidAndWhatIsChangedIsNot(type: String)
        async throws
    {
        if type == "rsa" {
            // The smallest that the policy takes, because it is found soonest.
            _ = try openssl(
                "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", workspace["k"])
            try workspace.write("k.pub", try openssl("pkey", "-in", workspace["k"], "-pubout"))
        } else {
            try await tandem("keys", "new", "--type", type, "--out", "k", in: workspace)
        }
        try await tandem("keys", "new", "--out", "other", in: workspace)
        try await sign("one", "--version", "1", "--set", "colour=#abcdef", "--set", "volume=60")
        let valid = try await verify("one", key: "k.pub")
        #expect(valid.status == 0)
        #expect(valid.output.contains("verdict  valid"))
        #expect(valid.output.contains("value    volume = 60"))
        #expect(try await verify("one", key: "other.pub").errors.contains("threshold"))
        var bytes = try Data(contentsOf: URL(fileURLWithPath: workspace["one"]))
        let place = try #require(bytes.range(of: Data("#abcdef".utf8)))
        bytes.replaceSubrange(place, with: Data("#fedcba".utf8))
        try bytes.write(to: URL(fileURLWithPath: workspace["changed"]))
        let changed = try await verify("changed", key: "k.pub")
        #expect(changed.status == 1)
        #expect(changed.output.contains("verdict  threshold"))
        #expect(!changed.output.contains("fedcba"), "unsigned values were shown")
    }

    @Test func rejectionsAreNamedAsADeviceWouldNameThem() async throws {
        try await tandem("keys", "new", "--out", "k", in: workspace)
        try await sign("one", "--version", "1")
        let calls = [
            (["--app", "org.example.other", "--target", "custom:t"], "wrong-app"),
            (["--app", "org.example.lamp", "--target", "custom:u"], "wrong-target"),
            (["--app", "org.example.lamp", "--role", "primary", "--target", "custom:t"], "wrong-role"),
        ]
        for (options, name) in calls {
            let ending = try await tandem(["verify", "--key", "k.pub"] + options + ["one"], in: workspace)
            #expect(ending.status == 1)
            #expect(ending.output.contains("verdict  \(name)"))
        }
    }

    @Test("CFG-10, CFG-20: verify shows the restrictions, and judges no device that it is not told")
    func restrictions() async throws {
        try await tandem("keys", "new", "--out", "k", in: workspace)
        let device = "00010203-0405-0607-0809-0A0B0C0D0E0F"
        try await sign(
            "one", "--version", "3", "--set", "volume=60", "--only", device, "--optional", "volume", "--floor", "2",
            "--lifetime", "1h")
        let base = ["verify", "--key", "k.pub", "--app", "org.example.lamp"]
        let shown = try await tandem(base + ["--target", "custom:t", "--device", device, "one"], in: workspace)
        #expect(shown.status == 0, "\(shown)")
        for line in ["only     \(device)", "lifetime 3600 s", "floor    2", "optional volume"] {
            #expect(shown.output.contains(line + "\n"), "\(shown)")
        }
        let unjudged = try await tandem(base + ["--target", "custom:t", "one"], in: workspace)
        #expect(unjudged.status == 2 && unjudged.errors.contains("--device is needed"), "\(unjudged)")
        let untargeted = try await tandem(base + ["--device", device, "one"], in: workspace)
        #expect(untargeted.status == 2 && untargeted.errors.contains("--device needs --target"), "\(untargeted)")
    }

    @Test("CFG-10: an optional key is one of the values; a floor above the version and the last version are warned of")
    func optionalAndFloor() async throws {
        try await tandem("keys", "new", "--out", "k", in: workspace)
        let call = Self.signing + ["--version", "3", "--set", "volume=60"]
        let refused = try await tandem(call + ["--optional", "foo", "--out", "one"], in: workspace)
        #expect(
            refused.status == 1 && refused.errors.contains("'optional' names 'foo', which is not among the values"),
            "\(refused)")
        let warned = try await tandem(call + ["--floor", "9", "--out", "two"], in: workspace)
        #expect(warned.status == 0 && warned.errors.contains("--floor 9 is above --version 3"), "\(warned)")
        let silent = try await tandem(call + ["--floor", "3", "--out", "three"], in: workspace)
        #expect(silent.status == 0 && silent.errors.isEmpty, "\(silent)")
        let last = try await tandem(
            Self.signing + ["--version", "\(UInt64.max)", "--set", "volume=60", "--out", "last"], in: workspace)
        #expect(last.status == 0 && last.errors.contains("only 0 higher versions are left for custom:t"), "\(last)")
    }

    @Test func aKeyOnATokenNeedsItsProviderAndNoPINInAnArgument() async throws {
        func signing(_ key: String) async throws -> Program.Ending {
            try await tandem(
                "sign", "--key", key, "--app", "org.example.lamp", "--role", "secondary", "--target", "custom:t",
                "--version", "1", "--out", "token.config", in: workspace)
        }
        let visible = try await signing("pkcs11:object=signing;pin-value=1234")
        #expect(visible.status == 2 && visible.errors.contains("--passphrase-file"))
        let absent = try await signing("pkcs11:token=no such token;object=signing")
        #expect(absent.status == 1 && absent.errors.contains("pkcs11:token=no such token"))
        #expect(absent.errors.contains("pkcs11-provider") || absent.errors.contains("does not open"))
        #expect(!FileManager.default.fileExists(atPath: workspace["token.config"]))
    }

    @Test("CFG-60: a link, alone or in the output of sign, is the configuration")
    func aLinkIsTheConfiguration() async throws {
        try await tandem("keys", "new", "--out", "k", in: workspace)
        let signed = try await tandem(
            Self.signing + ["--version", "1", "--set", "volume=60", "--out", "one", "--link"], in: workspace)
        #expect(signed.status == 0)
        let link = try #require(
            signed.output.split(whereSeparator: \.isWhitespace).first { $0.hasPrefix("tandem:apply/1?e=") })
        let fromFile = try await verify("one", key: "k.pub")
        for text in [String(link), signed.output] {
            let fromText = try await verify("-", key: "k.pub", input: text)
            #expect(fromText.status == 0 && fromText.output == fromFile.output)
        }
        let damaged = try await tandem(
            "apply", "--app", "org.example.lamp", "-", in: workspace, input: link + "=")
        #expect(damaged.status != 0 && damaged.errors.contains("base64url"))
        let twice = try await verify("-", key: "k.pub", input: "\(link) \(link)")
        #expect(twice.status != 0 && twice.errors.contains("2 apply links"))
    }

    @Test("CFG-60: a QR code alone is printed where one can hold the link; else nothing is written")
    func aQRCodeAlone() async throws {
        try await tandem("keys", "new", "--out", "k", in: workspace)
        let signed = try await tandem(
            Self.signing + ["--version", "1", "--set", "volume=60", "--out", "one", "--qr"], in: workspace)
        #expect(signed.status == 0 && !signed.output.contains("tandem:apply"))
        let rows = signed.output.split(separator: "\n").filter { $0.contains("\u{2588}") }
        #expect(rows.count > 20 && Set(rows.map(\.count)).count == 1, "the lines of a square")
        #expect(try await verify("one", key: "k.pub").status == 0)
        let long = String(repeating: "x", count: 2_100)
        for (option, status) in [("--qr", Int32(1)), ("--link", 0)] {
            let text = ["--version", "2", "--set", "text=\(long)", "--out", "long\(option)", option]
            let signed = try await tandem(Self.signing + text, in: workspace)
            #expect(signed.status == status, "\(option): \(signed.errors)")
            #expect(!signed.output.contains("\u{2588}"))
            #expect(FileManager.default.fileExists(atPath: workspace["long\(option)"]) == (status == 0))
            if status != 0 { #expect(signed.errors.contains("no QR code can hold a link")) }
        }
    }

    private func sign(_ out: String, _ options: String...) async throws {
        let ending = try await tandem(Self.signing + options + ["--out", out], in: workspace)
        #expect(ending.status == 0, "\(ending)")
    }

    private func verify(_ file: String, key: String, input: String = "") async throws -> Program.Ending {
        try await tandem(
            "verify", "--key", key, "--app", "org.example.lamp", "--target", "custom:t", file, in: workspace,
            input: input)
    }

    private func openssl(_ arguments: String...) throws -> String {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = arguments
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: output, as: UTF8.self)
    }
}
