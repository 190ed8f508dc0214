// The operator's file of wake-up commands (CTL-22): what it may say, and whose it must be.

import Glibc
import TandemBase
import TandemDaemonTestSupport
import TandemTestSupport
import Testing

@testable import TandemDaemon

struct WakeCommandsTests {
    @Test func `a line is an app and a command, split at blanks and nothing more`() throws {
        let commands = try WakeCommands(
            text: "# lamps\n\norg.example.lamp /usr/bin/lamp --on  \t \"a b\" $HOME\r\norg.example.other /x", path: "f")
        #expect(commands.applications.map(\.description) == ["org.example.lamp", "org.example.other"])
        #expect(
            commands[try ApplicationIdentifier("org.example.lamp")]
                == ["/usr/bin/lamp", "--on", "\"a", "b\"", "$HOME"])
        #expect(commands[try ApplicationIdentifier("org.example.none")] == nil)
    }

    @Test(arguments: [
        ("org.example.lamp", "the command is missing"), ("\norg.example.lamp lamp", "absolute path"),
        ("a/b /x", "application identifier"), ("a /x\na /y", "named before"), ("a /x \u{0}", "NUL"),
    ])
    func `a line that says something else is refused with its number`(text: String, reason: String) throws {
        do {
            _ = try WakeCommands(text: text, path: "wake")
            Issue.record("accepted")
        } catch {
            let line = text.split(separator: "\n", omittingEmptySubsequences: false).count
            #expect("\(error)".hasPrefix("wake, line \(line): ") && "\(error)".contains(reason), "\(error)")
        }
    }

    @Test func `a file that others may write is refused, and one that is not there`() throws {
        let directory = TemporaryDirectory()
        let path = "\(directory.path)/wake"
        #expect(throws: NodeError.self) { try WakeCommands(path: path) }
        directory.write(Array("a /x\n".utf8), to: "wake")
        chmod(path, 0o644)
        #expect(try WakeCommands(path: path).applications.count == 1)
        for mode: mode_t in [0o664, 0o646, 0o666] {
            chmod(path, mode)
            let error = #expect(throws: NodeError.self) { try WakeCommands(path: path) }
            #expect(error?.description.contains("may be written by others") == true)
        }
    }

    @Test("LIM-140: a file of 262,144 bytes is read, and a larger one is refused")
    func size() throws {
        let directory = TemporaryDirectory()
        let path = "\(directory.path)/wake"
        let line = Array("a /x\n".utf8)
        for (count, isTaken) in [(262_144, true), (262_145, false)] {
            directory.write(line + Array(repeating: UInt8(ascii: "#"), count: count - line.count), to: "wake")
            chmod(path, 0o644)
            #expect(((try? WakeCommands(path: path)) != nil) == isTaken, "\(count)")
        }
    }

    @Test(.enabled(if: geteuid() == 0)) func `another user's file is refused`() throws {
        let directory = TemporaryDirectory()
        directory.write(Array("a /x\n".utf8), to: "wake")
        let path = "\(directory.path)/wake"
        chown(path, 65534, 65534)
        #expect(throws: NodeError.self) { try WakeCommands(path: path) }
    }
}
