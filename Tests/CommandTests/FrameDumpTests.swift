// `tandem dump`: each frame on a line, nothing of a body, and faults by place and name (FRM-2).

import TandemBase
import TandemControl
import TandemCrypto
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

@testable import tandem

struct FrameDumpTests {
    private func frames() throws -> [[UInt8]] {
        let app = try ApplicationIdentifier("org.example.lamp")
        return try [
            Envelope(.ping),
            Envelope(
                .message, app: app, pairing: UniqueIdentifier(high: 1, low: 2), id: UniqueIdentifier(high: 3, low: 4),
                reply: true, body: Array("the secret".utf8)),
            Envelope(.refusal, name: "stopping\u{1B}[2J\u{202E}"),
        ].map { try $0.frame().bytes.copied() }
    }

    @Test(arguments: [1, 7, 1000])
    func `every frame is a line, however the bytes come`(pieces: Int) throws {
        var dump = FrameDump()
        var lines: [String] = []
        let bytes = try frames().flatMap { $0 }
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            try dump.add(Array(bytes[start..<min(start + pieces, bytes.count)])) { lines.append($0) }
        }
        try dump.end()
        #expect(lines.count == 3)
        #expect(lines[0].hasPrefix("0 ping bytes="))
        #expect(lines[1].contains(" app=org.example.lamp pairing=00000000-0000-0001-0000-000000000002 "))
        let digest = Hexadecimal.encode(SHA256.digest(Array("the secret".utf8)).prefix(4))
        #expect(lines[1].hasSuffix(" reply=yes body=10/\(digest)"))
        #expect(!lines.joined().contains("secret"))
        #expect(lines[2].hasSuffix("name=stopping?[2J?"), "\(lines[2])")
    }

    @Test func `the frames before a fault are shown, and the fault by its place and name`() throws {
        let ping = try frames()[0]
        let faults: [([UInt8], String)] = [
            ([0, 0, 0, 0], "too-large"), ([0xFF, 0xFF, 0xFF, 0xFF], "too-large"), ([0, 0, 0, 3, 1, 2, 3], "malformed"),
        ]
        for (bytes, name) in faults {
            var dump = FrameDump()
            var lines: [String] = []
            let failure = #expect(throws: CommandFailure.self) { try dump.add(ping + bytes) { lines.append($0) } }
            #expect(lines.count == 1 && lines.first?.hasPrefix("0 ping ") == true, "\(lines)")
            #expect(failure?.text.hasPrefix("byte \(ping.count), frame 2: ") == true, "\(bytes)")
            #expect(failure?.text.contains(": \(name): ") == true, "\(bytes)")
        }
    }

    @Test func `a stream that ends within a frame says so`() throws {
        var dump = FrameDump()
        var lines: [String] = []
        try dump.add(Array(frames()[0].dropLast())) { lines.append($0) }
        #expect(lines.isEmpty)
        #expect(throws: CommandFailure.self) { try dump.end() }
    }
}
