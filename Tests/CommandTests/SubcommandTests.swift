// The list of subcommands, beside the sources that declare them: one that is not in the list could not be called.

import Foundation
import TandemControl
import TandemTestSupport
import Testing

@testable import tandem

@Suite struct SubcommandTests {
    private func sources() throws -> [String] {
        let folder = Checkout.path("Sources/Commands/tandem")
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.hasSuffix(".swift") }
        return try files.map { try String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8) }
    }

    @Test func everySubcommandIsInTheList() throws {
        let sources = try sources()
        let declarations = sources.map { $0.matches(of: /static let \w+ = Subcommand\(/).count }.reduce(0, +)
        let paths = sources.flatMap { $0.matches(of: /= Subcommand\(\s*path: \[([^\]]+)\]/).map(\.1) }
        let names = paths.map { $0.replacing(/[", ]+/, with: " ").trimmingCharacters(in: .whitespaces) }
        #expect(declarations > 50 && names.count == declarations)
        #expect(Set(names).subtracting(Subcommand.all.map(\.name)).isEmpty)
    }

    @Test func `CTL-67: the table of JSON has each command with --json, and no other`() throws {
        let text = Checkout.text(of: "Protocol/Control.md")
        let clause = try #require(text.split(separator: "**CTL-67**").last?.split(separator: "\n## ").first)
        let cells = clause.split(separator: "\n").filter { $0.hasPrefix("| `") }.compactMap {
            $0.split(separator: "|").first
        }
        let names = cells.flatMap { $0.matches(of: /`([a-z -]+)`/).map { String($0.1) } }
        let commands = Subcommand.all.filter { $0.options.contains { $0.name == "json" } }.map(\.name)
        #expect(names.sorted() == commands.sorted() && names.count > 30)
    }

    @Test(arguments: [
        (["statsu"], "unknown command 'statsu'; did you mean 'status'?"),
        (["setings", "list"], "unknown command 'setings'; did you mean 'settings'?"),
        (["sned"], "unknown command 'sned'; did you mean 'send'?"),
        (["version"], "unknown command 'version'; did you mean '--version'?"),
        (["nonsense"], "unknown command 'nonsense'"), (["42"], "unknown command '42'"),
        (["context", "get"], "'context' needs one of: context set, context show"),
    ])
    func `a mistyped command is answered with the nearest one, or with its family`(arguments: [String], text: String) {
        #expect(throws: CommandFailure.usage(text)) { try Subcommand.find(arguments) }
    }
}
