// The short way through a link: what it passes on by its head alone, and that nothing gets through on it which the full
// reading would have refused (FRM-10 to FRM-13).

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

@Suite struct LinkFrameTests {
    private let network = TestNetwork()
    private let forwarder = Forwarder()
    private let mine = UniqueIdentifier.random()
    private let others = UniqueIdentifier.random()

    /// A primary whose ready link has a forwarder, and the raw peer at its other end.
    private func link() throws -> (primary: LinkedDevice, peer: RawLink) {
        let (primary, peer) = try network.rawSecondary(in: mine)
        try primary.remember(others, .primary, peer: LinkedDevice("kiosk", on: network.scheduler))
        try peer.greet(mine)
        network.scheduler.run()
        try #require(primary.link).forwarder = forwarder
        return (primary, peer)
    }

    private func envelopes(_ pairing: UniqueIdentifier) throws -> [Envelope] {
        let app = try ApplicationIdentifier("com.example.lights")
        return [
            try Envelope(.message, app: app, pairing: pairing, id: .random(), reply: true, body: Body.bytes([:])),
            Envelope(.messageData, app: app, pairing: pairing, id: .random(), body: [1]),
            Envelope(.reply, app: app, pairing: pairing, id: .random(), body: [2]),
            Envelope(.failure, app: app, pairing: pairing, id: .random(), code: 7014, name: "no-link"),
        ]
    }

    @Test func messagesAndAnswersArePassedOnAsTheBytesTheyCameIn() throws {
        let (primary, peer) = try link()
        let frames = try envelopes(mine).map { try $0.frame() }
        for frame in frames { peer.send(frame.bytes.copied()) }
        network.scheduler.run()
        #expect(forwarder.frames == frames)
        #expect(forwarder.kinds == [.message, .messageData, .reply, .failure])
        #expect(primary.received.isEmpty)
    }

    @Test("FRM-10: a failure that names a channel answers an item, and is passed on to nobody")
    func aFailureOfAnItem() throws {
        let (primary, peer) = try link()
        var failure = try envelopes(mine)[3]
        failure.channel = .file
        try peer.send(failure)
        network.scheduler.run()
        #expect(forwarder.frames.isEmpty)
        #expect(primary.received == [failure])
    }

    @Test func aFrameOfAnothersPairingIsRefusedAndNotPassedOn() throws {
        for kind in 0..<4 {
            let (primary, peer) = try link()
            try peer.send(envelopes(others)[kind])
            network.scheduler.run()
            #expect(peer.refusals == ["not-yours"])
            #expect(forwarder.frames.isEmpty && primary.received.isEmpty)
            #expect(primary.closed.first?.name == "not-yours")
        }
    }

    @Test func `SES-72: a query or an answer without a pairing is not one of another pairing`() throws {
        let (primary, peer) = try link()
        let app = try ApplicationIdentifier("com.example.lights")
        for kind in [FrameKind.query, .answer] {
            try peer.send(Envelope(kind, app: app, id: .random(), command: "settings-get"))
        }
        network.scheduler.run()
        #expect(peer.refusals.isEmpty && primary.received.map(\.kind) == [.query, .answer])
    }

    @Test func aFrameInAnUnusualShapeIsReadInFull() throws {
        let (primary, peer) = try link()
        // Valid, and not plain.
        let frame = try Frame(payload: Bytes.widened(envelopes(mine)[1].frame().payload.copied(), offsetSize: 3))
        peer.send(frame.bytes.copied())
        network.scheduler.run()
        #expect(forwarder.frames.isEmpty)
        #expect(primary.receivedFrames == [frame])
    }

    @Test func everyOtherKindOfALinkIsReadInFull() throws {
        let (primary, peer) = try link()
        let id = UniqueIdentifier.random()
        let app = try ApplicationIdentifier("com.example.lights")
        try peer.send(Envelope(.ping, id: id))
        let announcement = ApplicationAnnouncement(
            isInstalled: true, isConnected: true, identifier: nil, trust: .noKey)
        try peer.send(Envelope(.application, app: app).with(body: announcement.body))
        network.scheduler.run()
        #expect(peer.received.contains { $0.kind == .pong && $0.id == id })
        #expect(primary.received.map(\.kind) == [.application])
        #expect(forwarder.frames.isEmpty)
    }

    @Test func whatIsMalformedIsRefusedByTheFullReading() throws {
        let payloads: [[UInt8]: String] = [
            try Body.bytes(["kind": "teleport"]): "unknown-kind",
            try Body.bytes(["kind": "messageData"]): "envelope",
            try Body.bytes([
                "kind": "messageData", "app": "com.example.lights", "pairing": .data(mine.bytes), "id": "x",
            ]):
                "envelope",
            [1, 2, 3]: "malformed",
        ]
        for (payload, name) in payloads {
            let (primary, peer) = try link()
            peer.send(try Frame(payload: payload).bytes.copied())
            network.scheduler.run()
            #expect(peer.refusals == [name])
            #expect(primary.closed.count == 1 && primary.received.isEmpty && forwarder.frames.isEmpty)
        }
    }

    @Test func whatTheForwarderLeavesIsReadInFull() throws {
        let (primary, peer) = try link()
        forwarder.takesFrames = false
        let envelopes = try envelopes(mine)
        for envelope in envelopes { try peer.send(envelope) }
        network.scheduler.run()
        #expect(primary.received == envelopes)
    }
}

private final class Forwarder: LinkForwarder {
    var takesFrames = true
    private(set) var frames: [Frame] = []
    private(set) var kinds: [FrameKind] = []

    func receive(_ frame: Frame, _ head: EnvelopeHead) -> Bool {
        frames.append(frame)
        kinds.append(head.kind)
        return takesFrames
    }
}
