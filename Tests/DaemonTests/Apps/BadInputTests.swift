// Bad input from strangers: each gets one refusal by name and is closed, and no other connection notices.

import TandemBase
import TandemDaemonTestSupport
import TandemPropertyList
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@Suite struct BadInputTests {
    let simulation = Simulation()

    /// A pair still talks after others have misbehaved.
    private func expectUnharmed(_ simulation: Simulation, _ caller: Client, _ counterpart: Client) throws {
        let request = try simulation.message()
        try caller.deliver(request)
        try counterpart.deliver(request.answer("still here"))
        #expect(caller.received(.reply).last?.id == request.id)
    }

    private func expectRefusal(_ name: String, of bytes: [UInt8], afterHello: Bool) throws {
        let simulation = Simulation()
        let (caller, counterpart) = (try simulation.app(.primary), try simulation.app(.secondary))
        let stranger = afterHello ? try simulation.app(.primary, "app.other") : simulation.connect(.primary)
        stranger.stream.send(bytes)
        simulation.scheduler.advance(by: .seconds(3))
        #expect(stranger.refusal == name && stranger.isClosed)
        try expectUnharmed(simulation, caller, counterpart)
    }

    @Test(arguments: [false, true])
    func `FRM-2: a length of 4 GiB, and of 0, is refused without waiting for it`(afterHello: Bool) throws {
        try expectRefusal("too-large", of: [0xFF, 0xFF, 0xFF, 0xFF], afterHello: afterHello)
        try expectRefusal("too-large", of: [0, 0, 0, 0], afterHello: afterHello)
    }

    @Test func `LIM-1: one byte above the frame limit is refused, the limit itself is not`() throws {
        try expectRefusal("too-large", of: Bytes.bigEndian(UInt32(Limits.frame + 1)), afterHello: true)
        let app = try simulation.app(.primary, "app.edge")
        app.stream.send(Bytes.bigEndian(UInt32(Limits.frame)))
        simulation.scheduler.run()
        #expect(app.refusal == nil)
    }

    @Test(arguments: [false, true])
    func `FRM-5: XML, text and garbage are malformed`(afterHello: Bool) throws {
        let xml =
            #"<?xml version="1.0"?><plist version="1.0"><dict><key>kind</key><string>hello</string></dict></plist>"#
        var generator = SeededGenerator(seed: 11)
        for payload in [Bytes.text(xml), Bytes.text("GET / HTTP/1.1\r\n\r\n"), generator.bytes(200), [0]] {
            try expectRefusal("malformed", of: Bytes.frame(payload), afterHello: afterHello)
        }
    }

    @Test func `FRM-2: a stream that is no frames at all is refused by its first length`() throws {
        try expectRefusal("too-large", of: Bytes.text("GET / HTTP/1.1\r\n\r\n"), afterHello: false)
    }

    @Test func `a root that is no dictionary, and an envelope without kind, are refused`() throws {
        let array = try PropertyListWriter.write(.array(["hello"]))
        try expectRefusal("malformed", of: Bytes.frame(array), afterHello: true)
        let empty = try PropertyListWriter.write(PropertyListDictionary())
        let stranger = try simulation.app(.primary, "app.c")
        stranger.stream.send(Bytes.frame(empty))
        simulation.scheduler.run()
        #expect(stranger.refusal == "envelope")
    }

    @Test func `FRM-9 FRM-11: unknown kinds, unknown keys, unlisted keys and unknown sealing are refused by name`()
        throws
    {
        let cases: [(PropertyListDictionary, String)] = [
            (["kind": "teleport"], "unknown-kind"), (["kind": "ping", "colour": "red"], "unknown-key"),
            (["kind": "ping", "code": 7], "envelope"), (["kind": "ping", "id": "text"], "envelope"),
            (["kind": "message"], "envelope"), (["kind": 7], "envelope"),
        ]
        for (envelope, name) in cases {
            try expectRefusal(name, of: Bytes.frame(try PropertyListWriter.write(envelope)), afterHello: true)
        }
        let message = try PropertyListReader.readDictionary(try simulation.message().frame().payload.copied()[...])
        var sealed = message
        sealed["sealing"] = 1
        try expectRefusal(
            "unknown-sealing", of: Bytes.frame(try PropertyListWriter.write(sealed)), afterHello: true)
    }

    @Test(arguments: FrameKind.allCases)
    func `FRM-10, FIL-1: a registered app may send only what its socket takes`(kind: FrameKind) throws {
        let allowed: [FrameKind] = [
            .message, .messageData, .reply, .failure, .ping, .pong, .bye, .submit, .verdict, .finishedAck, .query,
        ]
        let app = try simulation.app(.primary)
        let name = try ApplicationIdentifier("com.example.app")
        // The failure of an app answers a message; one that names a channel is no app's.
        var all = Envelope(
            kind, app: name, pairing: simulation.pairing, id: .random(), channel: .configuration, sequence: 1,
            reply: true, attempt: 1, code: 7001, name: "stopping", command: "status", revision: 1, offset: 0, body: [])
        if kind == .failure {
            let other = try simulation.app(.secondary)
            other.stream.send(try Self.trimmed(all).bytes)
            simulation.scheduler.run()
            #expect(other.refusal == "envelope")
            all.channel = nil
        }
        if kind == .verdict { all.name = "rejected" }
        if kind == .query { all.body = nil }
        app.stream.send(try Self.trimmed(all).bytes)
        simulation.scheduler.run()
        #expect(app.refusal == (allowed.contains(kind) ? nil : "unexpected"))
        // The table lets apps send a chunk, too; here it is a part of no file.
        #expect(kind.mayBeSent(by: .app) == (allowed.contains(kind) || kind == .chunk))
    }

    /// The frame of this envelope with only the keys that its kind may have.
    private static func trimmed(_ envelope: Envelope) throws(WireError) -> Frame {
        do throws(WireError) {
            return try envelope.frame()
        } catch {
            guard case .unlistedKey(let key, _) = error else { throw error }
            var rest = envelope
            rest.remove(key)
            return try trimmed(rest)
        }
    }

    @Test(arguments: [FrameKind.message, .messageData, .reply, .failure], [false, true])
    func `FRM-13, SES-21: a message under another app's name is not-yours, with the kind and the key`(
        kind: FrameKind, isPlain: Bool
    ) throws {
        let stranger = try simulation.app(.primary, "app.other")
        var envelope = try simulation.message()
        envelope.kind = kind
        if kind == .failure { envelope.code = 7001 }
        // A frame with an extension is read in full; any other by its head.
        if !isPlain { envelope.extensions = ["x-note": 1] }
        stranger.stream.send(try Self.trimmed(envelope).bytes)
        simulation.scheduler.run()
        #expect(stranger.refusal == "not-yours" && stranger.isClosed)
        #expect(try refusalText(of: stranger).hasPrefix("in \(kind.rawValue): key 'app' "))
    }

    @Test func `FRM-8: a message is refused for a wrong character in its application identifier, not as another app's`()
        throws
    {
        let app = try simulation.app(.primary)
        var bytes = try simulation.message().frame().bytes.copied()
        let name = try #require(bytes.firstRange(of: Array("com.example.app".utf8)))
        bytes[name.lowerBound + 3] = UInt8(ascii: " ")
        app.stream.send(ByteSlice(copying: bytes))
        simulation.scheduler.run()
        #expect(app.refusal == "envelope")
    }

    @Test func `FRM-10, SES-21: the refusal of an app's failure of an item names the key that is wrong in it`() throws {
        let stranger = try simulation.app(.primary)
        var failure = try simulation.message()
        (failure.kind, failure.code, failure.channel) = (.failure, 7014, .userInfo)
        stranger.stream.send(try Self.trimmed(failure).bytes)
        simulation.scheduler.run()
        #expect(stranger.refusal == "envelope")
        let text = try refusalText(of: stranger)
        #expect(text.hasPrefix("in failure: ") && text.contains("'channel'"), "\(text)")
    }

    private func refusalText(of client: Client) throws -> String {
        try Refusal(try #require(client.received(.refusal).first)).text
    }
}
