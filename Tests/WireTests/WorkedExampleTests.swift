// Worked examples of the protocol's pages: the bytes of a frame, as one is sent.

import TandemBase
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

@Suite struct WorkedExampleTests {
    static let pages = ["README", "Session", "Delivery", "Files", "Pairing", "SignedConfiguration"]

    @Test(arguments: pages)
    func `FRM-7, FRM-10: the bytes on a page are frames of the kinds that its text names`(page: String) throws {
        let parts = Checkout.text(of: "Protocol/\(page).md").components(between: "```")
        var found = 0
        for (text, block) in zip(parts, parts.dropFirst()) where block.isHexadecimal {
            // The text before a block ends with "The `KIND`, byte by byte" and a sentence, which may have further code.
            let named = try #require(text.firstMatch(of: /The (?:app's )?`(\w+)`, byte by byte[^`]*(?:`[^`]*`[^`]*)*$/))
            try expectFrame(block, kind: String(named.1))
            found += 1
        }
        #expect(found > 0)
    }

    private func expectFrame(_ block: String, kind: String) throws {
        var decoder = FrameDecoder(limit: 1024)
        decoder.append(try #require(Hexadecimal.decode(block.filter { !$0.isWhitespace }))[...])
        let payload = try #require(try decoder.next()).payload.copied()
        #expect(try decoder.next() == nil)
        #expect("\(try Envelope(payload: payload[...]).kind)" == kind)
        #expect(try Body.bytes(Body.dictionary(payload[...])) == payload)
    }
}

extension String {
    /// The parts of a text between the marks of its code blocks: every second one is a block.
    fileprivate func components(between mark: String) -> [String] {
        var parts: [String] = [""]
        for line in split(separator: "\n", omittingEmptySubsequences: false) {
            if line == mark { parts.append("") } else { parts[parts.count - 1] += line + "\n" }
        }
        return parts
    }

    fileprivate var isHexadecimal: Bool {
        allSatisfy { $0.isHexDigit || $0.isWhitespace } && contains(where: \.isHexDigit)
    }
}
