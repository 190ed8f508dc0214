// Mistakes on the command line: each gets exit code 2 and a message, each refusal exit code 1 with its reason, always
// on standard error and never with half a result.

import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct UsageTests {
    private let workspace: Workspace
    init() { workspace = Workspace() }

    private func run(_ line: String, input: String = "") async throws -> Program.Ending {
        try await tandem(line.split(separator: " ").map(String.init), in: workspace, input: input)
    }

    @Test(arguments: [
        ("", "a command is missing"), ("nonsense", "unknown command 'nonsense'"), ("keys", "'keys' needs one of"),
        ("status --nope", "unknown option '--nope'"), ("status extra", "one argument too many"),
        ("status --device third", "none of primary, secondary"), ("status --json=yes", "takes no value"),
        ("keys new", "--out FILE is missing"), ("keys new --out", "the value is missing"),
        ("keys new --out k --type dsa", "none of ed25519, p256, rsa"), ("pair --life soon", "is not a time"),
        ("join tandem:join/1?T0PS", "never an argument"),
        ("primary --listen nowhere:99999", "is no port"),
        ("primary --log loud", "none of error, warning, info, debug"),
        ("secondary --local /\(String(repeating: "x", count: 107))", "107"),
        ("simulate", "--local DIR is missing"),
        ("trust-device --role primary ABCD", "--address is missing"),
        ("trust-device --role primary --address hub:port ABCD", "write a number from 1 to 65535"),
        ("address hub http://hub:4747", "write HOST:PORT"),
        ("trust-device --role secondary foo", "'tandem status' on the other device shows it"),
        ("send --app a hello", #"it must be one JSON object such as {"on":true}; JSON, byte 1"#),
        ("keys nwe", "Try: tandem keys --help"), ("--hlep", "did you mean '--help'?"),
        ("statsu", "did you mean 'status'?"), ("status --jsno", "did you mean '--json'?"),
        ("pair --life 400d", "--life '400d' is not a time from 1s to 24h"),
        ("status --json --prometheus", "do not go together"),
        ("send --app a", "JSON is missing: an object, '-' for standard input, or --values FILE"),
        ("context set --app a", "JSON is missing"), ("send --app a --values k {}", "do not go together"),
        ("send --app a --file k --values k", "--file and a message do not go together"),
        ("send --app a --file k --metadata [1]", "--metadata must be one JSON object"),
        ("receive --app a --reply x", "--reply must be one JSON object"),
        ("sign --key k --app a --role both --target custom:x --version 1 --out o", "neither primary nor secondary"),
        ("sign --key k --app a --role secondary --target x --version 1 --out o", "paired identifier"),
        ("sign --key k --app .. --role secondary --target custom:x --version 1 --out o", "application identifier"),
        ("drain --timeout 2h", "at most 1h"), ("address hub 127.0.0.1:0", "has port 0"),
    ])
    func wrongCallsEndWithTwo(line: String, message: String) async throws {
        try makeKey()
        let ending = try await run(line)
        #expect(ending.status == 2, "\(ending)")
        #expect(ending.errors.contains(message))
        #expect(ending.errors.contains("--help"))
        #expect(ending.output.isEmpty)
        #expect(!ending.errors.contains("T0PS"), "a join link was repeated")
    }

    @Test(arguments: [
        ("keys show none.pem", "does not exist"),
        ("keys show .", "not a regular file"), ("keys show loose.pem", "chmod 600"),
        ("keys show rubbish.pem", "not a key"), ("join --file none", "does not exist"),
        ("join --file rubbish.pem", "there is no join link"), ("apply --app a none", "does not exist"),
        ("verify --key k.pub --app a none", "does not exist"),
        ("verify --key k.pub --app a rubbish.pem", "malformed"),
        ("sign --key none --app a --role secondary --target custom:x --version 1 --out o", "does not exist"),
        ("sign --key k --app a --role secondary --target custom:x --version 1 --values rubbish.pem --out o", "JSON"),
        ("sign --key k.pub --app a --role secondary --target custom:x --version 1 --out o", "k.pub is a public key"),
        ("sign --key open --app a --role secondary --target custom:x --version 1 --out o", "open is no private key"),
        ("send --app a -", "standard input: JSON, byte"), ("send --app a --values none", "does not exist"),
        ("context set --app a --values rubbish.pem", "rubbish.pem: JSON"),
        ("keys new --out k", "exists already"), ("keys new --out missing/k", "No such file"),
    ])
    func refusalsEndWithOneAndTheirReason(line: String, message: String) async throws {
        try makeKey()
        try workspace.write("loose.pem", try workspace.text("k"), mode: 0o644)
        try workspace.write("open", "a configuration", mode: 0o644)
        try workspace.write("rubbish.pem", "rubbish")
        let ending = try await run(line)
        #expect(ending.status == 1, "\(ending)")
        #expect(ending.errors.contains(message), "\(ending)")
    }

    @Test(
        "CTL-73: results that cannot be written, and arguments that cannot be read, are no success",
        arguments: [
            ("--help >/dev/full", 1, "cannot write the result: No space left on device"), ("--help | head -c 1", 0, ""),
            ("--help >&-", 1, "cannot write the result: standard output is closed"),
            ("config keys >&- 2>&-", 1, ""),
            ("keys show \"$(printf 'k\\377')\"", 2, "argument 3 is not UTF-8 text"),
        ])
    func unwritableResultsAndUnreadableArgumentsAreNoSuccess(line: String, status: Int32, message: String) async throws
    {
        let tandem = Program.directory.appendingPathComponent("tandem").path
        let shell = try Program("/bin/sh", ["-c", "'\(tandem)' \(line)"], named: "shell", in: workspace)
        let ending = try await shell.ending()
        #expect(ending.status == status && ending.errors.isEmpty == message.isEmpty, "\(ending)")
        #expect(message.isEmpty || ending.errors.contains(message), "\(ending)")
    }

    @Test(
        "CTL-52: a variable that is read and is not UTF-8 is refused by its name, and no file of another name is made",
        arguments: [
            ("STATE", "secondary"), ("CONFIG", "primary"), ("LOG", "primary --log info"), ("SOCKET", "status"),
            ("SOCKET", "join --file link"), ("STATE", "join --file link --state other"),
        ])
    func variablesThatAreNoText(name: String, command: String) async throws {
        try workspace.write("link", "tandem:join/1?")
        let tandem = Program.directory.appendingPathComponent("tandem").path
        let line = "TANDEM_\(name)=\"$(printf '\(workspace["st"])\\377')\" '\(tandem)' \(command)"
        let ending = try await Program("/bin/sh", ["-c", line], named: "shell", in: workspace).ending()
        #expect(ending.status == 2, "\(ending)")
        #expect(ending.errors.contains("tandem: TANDEM_\(name) is not UTF-8 text"), "\(ending)")
        let names = try FileManager.default.contentsOfDirectory(atPath: workspace.path)
        #expect(!names.contains { $0.hasPrefix("st\u{FFFD}") || $0 == "other" }, "\(names)")
    }

    @Test(
        "CTL-73: a path that is no socket ends a command with three, and advises no start of a daemon",
        arguments: [
            ("status --device ./k", "./k is a file, not a socket"),
            ("health --device ./k", "./k is a file, not a socket"),
            ("status --device ./", "./ is a directory, not a socket"),
            ("status --device ./\(String(repeating: "x", count: 107))", "107"),
        ])
    func aPathThatIsNoSocketEndsWithThree(line: String, message: String) async throws {
        try makeKey()
        let ending = try await run(line)
        #expect(ending.status == 3 && ending.errors.contains(message), "\(ending)")
        #expect(!ending.errors.contains("start it with"), "\(ending)")
    }

    @Test(arguments: ["status", "health", "ready", "drain", "trace --follow"])
    func aDaemonThatDoesNotAnswerEndsWithThree(command: String) async throws {
        let ending = try await run("\(command) --device ./none.sock")
        #expect(ending.status == 3, "\(ending)")
        #expect(ending.errors.contains("No such file"), "\(ending)")
        #expect(ending.errors.contains("name its socket with --device PATH"), "\(ending)")
    }

    @Test func helpAndVersionAreOnStandardOutput() async throws {
        for line in ["--help", "help", "status --help", "help keys new", "keys --help", "sign --nope --help"] {
            let ending = try await run(line)
            #expect(ending.status == 0)
            #expect(ending.output.contains("usage: tandem"))
            #expect(ending.errors.isEmpty)
        }
        #expect(try await run("--version").output.hasPrefix("tandem "))
    }

    /// A key pair `k`, `k.pub`, made by another program than ours.
    private func makeKey() throws {
        let openssl = Process()
        openssl.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        openssl.arguments = ["genpkey", "-algorithm", "ed25519", "-out", workspace["k"]]
        try openssl.run()
        openssl.waitUntilExit()
        try workspace.write("k", try workspace.text("k"))
        let publicHalf = Process()
        publicHalf.executableURL = openssl.executableURL
        publicHalf.arguments = ["pkey", "-in", workspace["k"], "-pubout", "-out", workspace["k.pub"]]
        try publicHalf.run()
        publicHalf.waitUntilExit()
    }
}
