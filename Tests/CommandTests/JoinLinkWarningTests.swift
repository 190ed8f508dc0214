// The warning of `pair` about a link that other machines cannot use.

import Testing

@testable import tandem

@Suite struct JoinLinkWarningTests {
    @Test("PAR-4: 'pair' warns of a link that only this machine can use")
    func linkToThisMachine() {
        let rest =
            "&token=BwcHBwcHBwcHBwcHBwcHBw&secret=CQkJCQkJCQkJCQkJCQkJCQ"
            + "&key=\(String(repeating: "A", count: 43))&expires=1"
        func warning(_ address: String) -> String? { JoinLinkWarning.text(of: "tandem:join/1?at=\(address)\(rest)") }
        #expect(warning("127.0.0.1:4747")?.contains("only this machine can join at 127.0.0.1:4747") == true)
        #expect(warning("localhost:4747") != nil)
        #expect(warning("hub.example:4747") == nil && warning("10.0.0.1:4747") == nil && warning("unix:/l") == nil)
    }
}
