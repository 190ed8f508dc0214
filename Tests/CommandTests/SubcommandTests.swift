// The list of subcommands, beside the sources that declare them: one that is not in the list could not be called.

import Foundation
import Testing

@testable import tandem

@Suite struct SubcommandTests {
    /// The names of the subcommands that the command's sources declare.
    private func declared() throws -> Set<String> {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let folder = root.deletingLastPathComponent().appendingPathComponent("Sources/Commands/tandem").path
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.hasSuffix(".swift") }
        return try Set(
            files.flatMap { file in
                try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
                    .matches(of: /static let \w+ = Subcommand\(\s*path: \[([^\]]+)\]/)
                    .map { $0.1.replacing(/[", ]+/, with: " ").trimmingCharacters(in: .whitespaces) }
            })
    }

    @Test func everySubcommandIsInTheList() throws {
        let declared = try declared()
        #expect(declared.count > 50)
        #expect(declared.subtracting(Subcommand.all.map(\.name)).isEmpty)
    }
}
