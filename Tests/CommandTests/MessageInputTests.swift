// Content of messages from files, and the outcome of a message to all devices.

import Foundation
import TandemControl
import TandemPropertyList
import Testing

@testable import tandem

@Suite struct MessageInputTests {
    private func content(_ arguments: String...) throws -> PropertyListDictionary {
        try MessageText.content(try OptionParser(subcommand: .send).parse(["--app", "a"] + arguments))
    }

    @Test func `a message is the operand, or the object in a file, and never both`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("large.json").path
        // More than a system takes as one argument.
        let text = String(repeating: "x", count: 200_000)
        try Data(#"{"text":"\#(text)"}"#.utf8).write(to: URL(fileURLWithPath: path))
        #expect(try content(#"{"on":true}"#) == ["on": true])
        #expect(try content("--values", path) == ["text": .string(text)])
        for wrong in [["--values", path, "{}"], []] {
            let parsed = try OptionParser(subcommand: .send).parse(["--app", "a"] + wrong)
            #expect(throws: CommandFailure.self) { try MessageText.content(parsed) }
        }
    }

    @Test func `bytes that are no JSON object are refused with their source`() {
        for text in ["", "[1]", "7", "{"] {
            let failure = #expect(throws: CommandFailure.self) {
                try ValuesInput.object(Array(text.utf8), of: "standard input")
            }
            #expect(failure?.exitCode == 1 && failure?.text.hasPrefix("standard input: ") == true)
        }
    }

    @Test("CTL-73: a message to all devices is done only if it has left for each of them")
    func broadcast() throws {
        func report(_ failures: String?...) -> BroadcastReport {
            BroadcastReport(
                failures.enumerated().map { BroadcastReport.Row(device: "panel-\($0.offset)", failure: $0.element) })
        }
        try report(nil, nil).check()
        let some = #expect(throws: CommandFailure.self) { try report("7007", nil, "7006").check() }
        #expect(some?.text == "the message has not left for 2 of 3 paired devices (panel-0, panel-2)")
        #expect(some?.exitCode == 1)
        let none = #expect(throws: CommandFailure.self) { try report().check() }
        #expect(none?.exitCode == 1)
        #expect(
            report("7007", nil).lines == [
                ["sent": false, "device": "panel-0", "error": "7007"], ["sent": true, "device": "panel-1"],
            ])
    }
}
