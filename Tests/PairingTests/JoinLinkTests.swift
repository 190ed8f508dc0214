// The join link (PAR-4): one spelling in, the same spelling out, and every other text refused without repeating it.

import TandemBase
import TandemCrypto
import TandemPairing
import Testing

struct JoinLinkTests {
    @Test(
        "PAR-4: what is printed is read back as the same link",
        arguments: [
            "gateway.example:4747", "[::1]:1", "10.0.0.1:65535", "unix:/run/tandem/link.sock", "unix:/ü",
            "unix:/my hub/link.sock",
        ])
    func roundTrip(address: String) throws {
        let fixture = try JoinFixture()
        for name in [nil, "Küche & Bad", "a%20b"] {
            let link = try JoinLink(
                address: address, token: fixture.link.token, secret: fixture.link.secret, primary: fixture.primary.pin,
                expires: fixture.start, name: name)
            #expect(try JoinLink(text: link.text) == link)
        }
    }

    @Test("PAR-4: the printed form, letter by letter")
    func printed() throws {
        let text = try JoinFixture().link.text
        let expected =
            "tandem:join/1?at=gateway.example:4747&token=BwcHBwcHBwcHBwcHBwcHBw&secret=CQkJCQkJCQkJCQkJCQkJCQ"
            + "&key=AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE&expires=1800000900&name=gateway"
        #expect(text == expected)
    }

    @Test(
        "PAR-4: every change of spelling is refused",
        arguments: [
            ("tandem:join/1?", "tandem:join/2?", .notAJoinLink), ("tandem:", "TANDEM:", .notAJoinLink),
            ("at=", "to=", .parameter("at")), ("&token=", "&tokens=", .parameter("token")),
            ("secret=CQ", "secret=C", .parameter("secret")), ("&expires=", "&expires=0", .parameter("expires")),
            ("&expires=", "&expires=+", .parameter("expires")), ("&name=gateway", "&name=", .parameter("name")),
            ("&name=gateway", "&name=%67ateway", .parameter("name")), ("&name=gateway", "&nam=x", .parameter("name")),
            ("gateway.example:4747", "gateway.example:0", .address), ("gateway.example:4747", ":4747", .address),
            ("gateway.example:4747", "gateway.example", .address), ("gateway.example:4747", "unix:", .address),
            ("gateway.example:4747", "gateway.example:65536", .address), ("name=gateway", "name=gateway&x=1", .surplus),
            ("BwcHBw&", "BwcHBx&", .parameter("token")), ("name=gateway", "name=gateway&", .surplus),
            ("name=gateway", "name=%FF", .parameter("name")), ("name=gateway", "name=%2", .parameter("name")),
            ("&expires", "&key=AQ&expires", .parameter("expires")),
        ] as [(String, String, JoinLinkError)])
    func otherSpellings(part: String, replacement: String, error: JoinLinkError) throws {
        let text = try JoinFixture().link.text
        let pieces = text.split(separator: part, maxSplits: 1, omittingEmptySubsequences: false)
        try #require(pieces.count == 2)
        #expect(throws: error) { try JoinLink(text: pieces[0] + replacement + pieces[1]) }
    }

    @Test("PAR-4: a Unix path of 107 bytes fits, of 108 does not")
    func pathLength() throws {
        let fixture = try JoinFixture()
        func link(_ count: Int) throws -> JoinLink {
            try JoinLink(
                address: "unix:" + String(repeating: "p", count: count), token: fixture.link.token,
                secret: fixture.link.secret, primary: fixture.primary.pin, expires: fixture.start)
        }
        #expect(try link(107).address.utf8.count == 112)
        #expect(throws: JoinLinkError.address) { try link(108) }
    }

    @Test("PAR-12: no error repeats what was given")
    func quietErrors() {
        for text in ["tandem:join/1?at=SECRETSECRET", "SECRETSECRET", "tandem:join/1?at=a:1&token=SECRETSECRET"] {
            let error = #expect(throws: JoinLinkError.self) { try JoinLink(text: text) }
            #expect(error?.description.contains("SECRET") == false)
        }
    }
}
