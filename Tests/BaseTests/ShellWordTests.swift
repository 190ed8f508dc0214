// Quoting of words in commands that a text tells a person to run.

import TandemBase
import Testing

@Suite struct ShellWordTests {
    @Test(
        "A word that a shell would take apart or expand is in single quotes",
        arguments: [
            ("/var/lib/tandem/apps/org.example.lamp", "/var/lib/tandem/apps/org.example.lamp"), ("", "''"),
            ("/a b", "'/a b'"), ("/$(reboot)", "'/$(reboot)'"), ("it's", #"'it'\''s'"#), ("/*;é", "'/*;é'"),
        ])
    func quoting(word: String, quoted: String) {
        #expect(ShellWord.quoted(word) == quoted)
    }
}
