// The page of rejections: each listing, run by a shell as a reader would, prints the name above it.

import Foundation
import Testing

/// A section of the page with a listing.
struct RejectionRecipe: Sendable, CustomTestStringConvertible {
    let name: String
    let listing: String

    var testDescription: String { name }
}

/// The page `Rejections.md`.
enum RejectionPage {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")

    /// The text up to the first section that is named by a rejection, and those sections.
    private static let parts: (opening: Substring, sections: [Substring]) = {
        let page = root.appending(path: "Sources/Services/PairedSession/PairedSession.docc/Rejections.md")
        let text = (try? String(contentsOf: page, encoding: .utf8)) ?? ""
        let parts = text.split(separator: "\n### `")
        return (parts.first ?? "", Array(parts.dropFirst()))
    }()

    static var setUp: String { listings(in: parts.opening).joined(separator: "\n") }

    static let recipes: [RejectionRecipe] = parts.sections.compactMap { section in
        let listing = listings(in: section).joined(separator: "\n")
        return listing.isEmpty ? nil : RejectionRecipe(name: name(of: section), listing: listing)
    }

    static var names: [String] { parts.sections.map(name) }

    static func protocolNames() throws -> [String] {
        let path = root.appending(path: "Protocol/SignedConfiguration.md")
        let clause = try String(contentsOf: path, encoding: .utf8)
            .firstMatch(of: /(?s)\*\*CFG-24\*\*(.*?)\*\*CFG-25\*\*/)
        return try #require(clause).1.matches(of: /`([a-z-]+)`/).map { String($0.1) }
    }

    private static func name(of section: Substring) -> String { String(section.prefix { $0 != "`" }) }

    private static func listings(in text: Substring) -> [String] {
        text.matches(of: /(?s)```sh\n(.*?)\n```/).map { String($0.1) }
    }
}

@Suite(.timeLimit(.minutes(10))) struct RejectionPageTests {
    private let workspace: Workspace
    init() { workspace = Workspace() }

    @Test("CFG-24, CFG-99: each listing prints the name that it is for", arguments: RejectionPage.recipes)
    func eachListingPrintsItsName(recipe: RejectionRecipe) async throws {
        // Programs in the background end with the script, also where a listing stops half way.
        let script = [
            "set -e; trap 'kill $(jobs -p) 2> /dev/null || true' EXIT", RejectionPage.setUp, "set +e", recipe.listing,
        ].joined(separator: "\n")
        try workspace.write("script", script)
        let path = "\(Program.directory.path):/usr/local/bin:/usr/bin:/bin"
        let shell = try Program(
            "/bin/bash", ["script"], named: "shell", in: workspace, environment: ["PATH": path])
        let ending = try await shell.ending(within: .seconds(60))
        let words = ending.errors.split { !($0.isLowercase || $0 == "-") }
        #expect(words.contains(Substring(recipe.name)), "\(ending)")
    }

    @Test("CFG-99: the page has each name of CFG-24 once, and a listing for all that a file can lead to")
    func thePageHasEachName() throws {
        let names = RejectionPage.names
        #expect(Set(names).count == names.count)
        #expect(Set(names) == Set(try RejectionPage.protocolNames()))
        #expect(Set(names).subtracting(RejectionPage.recipes.map(\.name)) == ["identifier-changed"])
    }
}
