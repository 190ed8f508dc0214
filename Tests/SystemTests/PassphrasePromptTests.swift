// Passphrases at a terminal, which is a pseudo-terminal here: they are asked for without an echo, and the terminal is
// as before afterwards, whichever way it ends.

import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct PassphrasePromptTests {
    private let workspace = Workspace()

    private struct Seen: Decodable {
        let code: Int32
        let text: String
        /// At each prompt.
        let silent: [Bool]
        /// Afterwards.
        let echoes: Bool
    }

    private func type(_ answers: String..., at line: String) async throws -> Seen {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path
        let path = Program.directory.appendingPathComponent("tandem").path
        let typed = answers.map { $0.utf8.map { String(format: "%02x", $0) }.joined() }
        let program = try Program(
            "/usr/bin/env",
            ["python3", "\(folder)/Support/typist.py", path] + line.split(separator: " ").map(String.init)
                + ["--answers"] + typed,
            named: "terminal-\(UInt32.random(in: 0 ... .max))", in: workspace)
        let ending = try await program.ending()
        try #require(ending.status == 0, "\(ending)")
        let seen = try JSONDecoder().decode(Seen.self, from: Data(ending.output.utf8))
        #expect(seen.echoes && seen.silent.allSatisfy { $0 }, "\(seen)")
        return seen
    }

    @Test func aNewKeysPassphraseIsAskedForTwiceAndShownNowhere() async throws {
        let made = try await type("open sesame\n", "open sesame\n", at: "keys new --encrypt --out k")
        #expect(made.code == 0 && made.silent.count == 2, "\(made)")
        #expect(made.text.contains("passphrase of k: ") && made.text.contains("the same again: "))
        #expect(!made.text.contains("sesame"))
        #expect(try workspace.text("k").hasPrefix("-----BEGIN ENCRYPTED PRIVATE KEY-----"))
        try workspace.write("pass", "open sesame\n")
        #expect(try await tandem("keys", "show", "k", "--passphrase-file", "pass", in: workspace).status == 0)
        let differs = try await type("open sesame\n", "open sesam\n", at: "keys new --encrypt --out other")
        #expect(differs.code == 1 && differs.text.contains("the two passphrases differ"), "\(differs)")
        #expect(!FileManager.default.fileExists(atPath: workspace["other"]))
    }

    @Test func aKeyIsDecryptedByWhatIsTypedAndNothingElse() async throws {
        _ = try await type("öffne\n", "öffne\n", at: "keys new --encrypt --out k")
        // A typing mistake, of two bytes in UTF-8, is taken back; Return ends a line as a newline does.
        let shown = try await type("öffü\u{7F}ne\r", at: "keys show k")
        #expect(shown.code == 0, "\(shown)")
        let wrong = try await type("offne\n", at: "keys show k")
        #expect(wrong.code == 1 && wrong.text.contains("does not decrypt") && !wrong.text.contains("offne"))
    }

    @Test(arguments: ["\u{3}", "\u{4}", "half a secret\u{3}"])
    func aBrokenOffAnswerEndsTheCommand(answer: String) async throws {
        let seen = try await type(answer, at: "keys new --encrypt --out k")
        #expect(seen.code == 1 && seen.text.contains("no passphrase was entered"), "\(seen)")
        #expect(!seen.text.contains("secret"))
        #expect(!FileManager.default.fileExists(atPath: workspace["k"]))
    }
}
