// One message for many receivers: the sixteen bytes of `pairing` are written in place, and nothing else is (SES-30).

import TandemBase
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

@Suite struct BroadcastFramesTests {
    private func message(_ kind: FrameKind = .message, body: [UInt8], trace: String? = nil) throws -> Envelope {
        var message = Envelope(
            kind, app: try ApplicationIdentifier("com.example.app"), pairing: .zero, id: .random(), body: body)
        if let trace { message.extensions = ["x-trace": .string(trace)] }
        return message
    }

    @Test func `SES-30: each receiver's frames are what the sender would have written to it alone`() throws {
        var generator = SeededGenerator(seed: 7)
        // Plain and not, short and long, with sixteen zeros that are no pairing.
        let messages = try [
            message(body: Bytes.text("short")), message(.messageData, body: generator.bytes(70_000)),
            message(body: Bytes.text("traced"), trace: "4bf92f3577b34da6"),
            message(.messageData, body: [UInt8](repeating: 0, count: 17)),
            message(.messageData, body: [UInt8](repeating: 0, count: 4096)),
        ]
        var frames = BroadcastFrames()
        for message in messages { #expect(frames.append(try message.frame())) }
        for _ in 0..<3 {
            let pairing = UniqueIdentifier.random(using: &generator)
            frames.address(to: pairing)
            let expected = try messages.flatMap { message in
                var message = message
                message.pairing = pairing
                return try message.frame().bytes.copied()
            }
            #expect(frames.bytes == expected)
        }
        frames.removeAll()
        #expect(frames.bytes.isEmpty)
        #expect(frames.append(try messages[0].frame()))
        frames.address(to: .zero)
        #expect(frames.bytes == (try messages[0].frame().bytes.copied()))
    }

    @Test(arguments: [nil, "4bf92f3577b34da6"])
    func `SES-30: a value that shares the bytes of the pairing is told in any shape`(trace: String?) throws {
        var frames = BroadcastFrames()
        #expect(!frames.append(try message(.messageData, body: [UInt8](repeating: 0, count: 16), trace: trace).frame()))
        #expect(!frames.append(try Envelope(.ping, id: .random()).frame()))
        #expect(frames.bytes.isEmpty)
        #expect(frames.append(try message(body: Bytes.text("apart"), trace: trace).frame()))
    }

    @Test func `SES-30: an identifier of sixteen zeros shares the bytes too`() throws {
        var frames = BroadcastFrames()
        var message = try message(body: Bytes.text("twin"))
        message.id = .zero
        #expect(!frames.append(try message.frame()))
    }
}
