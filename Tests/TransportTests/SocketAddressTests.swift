// Addresses as people write them: each has one meaning, and each mistake its own words.

import TandemTransport
import Testing

@Suite struct SocketAddressTests {
    @Test(arguments: [
        ("localhost:4747", SocketAddress.tcp(host: "localhost", port: 4747)),
        ("127.0.0.1:0", .tcp(host: "127.0.0.1", port: 0)), ("[::1]:65535", .tcp(host: "::1", port: 65535)),
        ("*:1", .tcp(host: "*", port: 1)), ("unix:/run/x.sock", .unix(path: "/run/x.sock")),
        ("unix:relative", .unix(path: "relative")), ("unix:a:b", .unix(path: "a:b")),
    ])
    func anAddressReadsAndWritesTheSame(text: String, address: SocketAddress) throws {
        #expect(try SocketAddress(text) == address)
        #expect(address.description == text)
    }

    @Test(arguments: [
        ("", SocketAddressError.missingPort("")), ("localhost", .missingPort("localhost")), ("host:", .badPort("")),
        ("host:x", .badPort("x")), ("host:65536", .badPort("65536")), ("host:-1", .badPort("-1")),
        ("host:+1", .badPort("+1")), ("host: 1", .badPort(" 1")), (":4747", .badHost(":4747")),
        ("::1:4747", .badHost("::1:4747")), ("[]:1", .badHost("[]:1")), ("[host]:1", .badHost("[host]:1")),
        ("[::1:1", .badHost("[::1:1")), ("a b:1", .badHost("a b:1")), ("a/b:1", .badHost("a/b:1")),
        ("unix:", .emptyPath), ("unix:a\0b", .nulInPath),
    ])
    func aMistakeIsNamed(text: String, error: SocketAddressError) {
        #expect(throws: error) { try SocketAddress(text) }
        #expect(!error.description.isEmpty)
    }

    @Test(arguments: [
        ("127.0.0.1:1", true), ("127.9.8.7:1", true), ("localhost:1", true), ("[::1]:1", true), ("0.0.0.0:1", false),
        ("127.0.0.1.example:1", false), ("hub:1", false), ("[::]:1", false), ("unix:/run/x.sock", false),
    ])
    func anAddressOfTheMachineItselfIsKnown(text: String, isLoopback: Bool) throws {
        #expect(try SocketAddress(text).isLoopback == isLoopback)
    }

    @Test func aHostThatIsTooLongIsRefusedBeforeItIsCompared() throws {
        let longest = String(repeating: "h", count: 253)
        #expect(try SocketAddress("\(longest):65535") == .tcp(host: longest, port: 65535))
        let start = String(repeating: "h", count: 64)
        #expect(throws: SocketAddressError.badHost("\(start)...")) { try SocketAddress("\(longest)\(longest):1") }
    }

    @Test func aPathOfMoreThan107BytesIsRefusedWithThatNumber() throws {
        let longest = "/" + String(repeating: "p", count: 106)
        #expect(try SocketAddress("unix:" + longest) == .unix(path: longest))
        #expect(throws: SocketAddressError.pathTooLong(bytes: 108)) { try SocketAddress("unix:" + longest + "p") }
        #expect(SocketAddressError.pathTooLong(bytes: 108).description.contains("107"))
        // Bytes count, not characters.
        #expect(throws: SocketAddressError.pathTooLong(bytes: 110)) {
            try SocketAddress("unix:" + String(repeating: "é", count: 55))
        }
    }

    @Test func wildcardsAreKnown() throws {
        for text in ["0.0.0.0:1", "[::]:1", "*:1"] { #expect(try SocketAddress(text).isWildcard) }
        for text in ["127.0.0.1:1", "[::1]:1", "unix:*"] { #expect(try !SocketAddress(text).isWildcard) }
    }
}
