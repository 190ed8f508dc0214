// Strangers at a device's door: plain bytes, other protocols, lengths from hell, silence, slowness and floods (LIM-1 to
// LIM-4, PAR-12). Each ends by its name and costs a paired device nothing.

import TandemBase
import TandemCrypto
import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemTLS
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@Suite struct StrangerTests {
    private let network = TestNetwork()

    private func primary() throws -> LinkedDevice {
        let primary = try LinkedDevice("gateway", on: network.scheduler)
        try network.attach(primary)
        return primary
    }

    private func stranger(at device: LinkedDevice, key: DevicePrivateKey = .generate()) throws -> RawLink {
        try RawLink(over: network.connect(to: device.acceptor), identity: TLSIdentity(key: key))
    }

    @Test(arguments: ["GET / HTTP/1.1\r\n\r\n", "<?xml version=\"1.0\"?>", "bplist00", "\0\0\0\u{8}bplist00"])
    func plainBytesEndTheConnectionAsNoTLS(text: String) throws {
        let device = try primary()
        let peer = try RawLink(over: network.connect(to: device.acceptor))
        peer.send(Array(text.utf8) + [UInt8](repeating: 0x20, count: 600))
        network.scheduler.run()
        #expect(peer.isClosed)
        #expect(device.failures.map(\.reason.name) == ["not-tls"])
        #expect(device.acceptor.unknownConnections == 0)
    }

    @Test func anEndWithoutTLSGoodbyeIsNamedTruncatedAndOneWithItIsNot() throws {
        let device = try primary()
        let rude = try stranger(at: device)
        network.scheduler.run()
        rude.stream.close(.closedHere)
        network.scheduler.run()
        #expect(device.failures.map(\.reason.name) == ["truncated"])
        let polite = try stranger(at: device)
        network.scheduler.run()
        polite.sayGoodbye()
        network.scheduler.run()
        #expect(polite.isClosed)
        #expect(device.failures.map(\.reason.name) == ["truncated", "closed-by-peer"])
    }

    @Test(
        arguments: [
            [0xFF, 0xFF, 0xFF, 0xFF], [0x80, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0x10, 0x01], [0x3C, 0x3F, 0x78, 0x6D],
        ] as [[UInt8]])
    func aLengthOverTheSmallLimitEndsAStrangersConnection(header: [UInt8]) throws {
        let device = try primary()
        let peer = try stranger(at: device)
        peer.send(header)
        network.scheduler.run()
        #expect(peer.isClosed)
        #expect(device.failures.map(\.reason.name) == ["invalid-frame"])
    }

    @Test func theLargestFrameOfAStrangerIsReadAndItsContentRefused() throws {
        let device = try primary()
        let peer = try stranger(at: device)
        peer.send(try Frame(payload: [UInt8](repeating: 0x41, count: Limits.unpinnedFrame)).bytes.copied())
        network.scheduler.run()
        #expect(peer.refusals == ["malformed"])
        #expect(peer.isClosed)
    }

    @Test func anXMLPropertyListInAFrameIsMalformed() throws {
        let device = try primary()
        let peer = try stranger(at: device)
        let xml = "<?xml version=\"1.0\"?><plist version=\"1.0\"><dict/></plist>"
        peer.send(try Frame(payload: Array(xml.utf8)).bytes.copied())
        network.scheduler.run()
        #expect(peer.refusals == ["malformed"])
    }

    @Test func aStrangersHelloIsRefusedAsNotPaired() throws {
        let device = try primary()
        let peer = try stranger(at: device)
        let hello = Hello.offer(software: "stranger/1")
        try peer.send(Envelope(.hello, pairing: .random()).with(body: hello.body))
        network.scheduler.run()
        #expect(peer.refusals == ["not-paired"])
        #expect(device.failures.first?.reason.name == "not-paired")
    }

    @Test(arguments: [FrameKind.ping, .pong])
    func anyOtherFirstFrameIsRefused(kind: FrameKind) throws {
        let device = try primary()
        let peer = try stranger(at: device)
        try peer.send(Envelope(kind))
        network.scheduler.run()
        #expect(peer.refusals == ["hello-expected"])
    }

    @Test(arguments: [Envelope(.bye), Envelope(.refusal, name: "version")])
    func `SES-1: a device that leaves before hello gets no answer`(farewell: Envelope) throws {
        let device = try primary()
        let peer = try stranger(at: device)
        try peer.send(farewell)
        network.scheduler.run()
        #expect(peer.isClosed && peer.received.isEmpty)
    }

    @Test func aSilentStrangerIsClosedAfterTenSeconds() throws {
        let device = try primary()
        let silent = try RawLink(over: network.connect(to: device.acceptor))
        let secured = try stranger(at: device)
        network.scheduler.advance(by: .milliseconds(9900))
        #expect(!silent.isClosed && !secured.isClosed)
        network.scheduler.advance(by: .milliseconds(200))
        #expect(silent.isClosed && secured.isClosed)
        #expect(Set(device.failures.map(\.reason.name)) == ["too-slow"])
    }

    @Test func aByteASecondIsClosedAfterTenSeconds() throws {
        let device = try primary()
        let plain = try RawLink(over: network.connect(to: device.acceptor))
        let secured = try stranger(at: device)
        let hello: [UInt8] = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3] + [UInt8](repeating: 0, count: 40)
        for second in 0..<11 {
            plain.send([hello[second]])
            secured.send([UInt8(second == 2 ? 4 : 0)])
            network.scheduler.advance(by: .seconds(1))
        }
        #expect(plain.isClosed && secured.isClosed)
        #expect(device.acceptor.unknownConnections == 0)
    }

    @Test func aFloodOfHalfOpenConnectionsGivesWayAndAPairedDeviceGetsIn() throws {
        let (device, secondary) = try network.pairedDevices()
        var flood: [RawLink] = []
        for _ in 0..<1000 {
            flood.append(try RawLink(over: network.connect(to: device.acceptor)))
            #expect(device.acceptor.unknownConnections <= Limits.unpinnedConnections)
        }
        network.scheduler.run()
        #expect(flood.filter { !$0.isClosed }.count == Limits.unpinnedConnections)
        let dialer = try network.dial(from: secondary)
        #expect(dialer.status == .linked)
        #expect(device.acceptor.crowdedOutConnections == UInt64(1000 - Limits.unpinnedConnections + 1))
        #expect(device.failures.first?.reason == .crowdedOut)
    }

    @Test func `SES-18: connections that are no links end with a daemon that stops, and the log says so`() throws {
        let (device, secondary) = try network.pairedDevices()
        let peers = [try stranger(at: device), try stranger(at: device, key: secondary.key)]
        network.scheduler.run()
        device.acceptor.close()
        network.scheduler.run()
        #expect(peers.allSatisfy { $0.isClosed } && device.acceptor.crowdedOutConnections == 0)
        #expect(device.failures.map(\.reason) == [.ended(.stopping), .ended(.stopping)])
    }

    @Test(arguments: [false, true])
    func `LIM-4, SES-61: a thousand strangers a second keep out no device that is 50 ms away`(strangersSend: Bool)
        throws
    {
        let (device, secondary) = try network.pairedDevices()
        network.faults.delay = .milliseconds(50) ... .milliseconds(50)
        let dialer = try network.dialer(of: secondary)
        var flood: [RawLink] = []
        for millisecond in 0..<1000 {
            let stranger = try RawLink(over: network.connect(to: device.acceptor))
            if strangersSend { stranger.send([22]) }
            flood.append(stranger)
            if millisecond == 400 { dialer.start() }
            network.scheduler.advance(by: .milliseconds(1))
        }
        #expect(dialer.status == .linked)
        #expect(device.acceptor.unknownConnections <= Limits.unpinnedConnections)
    }

    @Test func `LIM-52, SES-61: a paired device has at most four connections that are no links`() throws {
        let (device, secondary) = try network.pairedDevices()
        let silent = try (0..<20).map { _ in try stranger(at: device, key: secondary.key) }
        network.scheduler.run()
        #expect(silent.map(\.isClosed) == [Bool](repeating: true, count: 16) + [Bool](repeating: false, count: 4))
        #expect(device.acceptor.unlinkedConnections == Limits.unlinkedConnections)
        #expect(device.acceptor.unknownConnections == 0)
        let dialer = try network.dial(from: secondary)
        #expect(dialer.status == .linked && device.acceptor.unlinkedConnections == 3)
        network.scheduler.advance(by: .seconds(11))
        #expect(device.acceptor.unlinkedConnections == 0 && dialer.status == .linked)
    }

    @Test(arguments: [[Channel.file], Channel.allCases])
    func `LIM-52, LIM-150: a hello with as many positions as a device may have fits`(channels: [Channel]) throws {
        var (room, marks) = (LedgerRoom(), [SequenceMark]())
        for number in 0... {
            let app = try ApplicationIdentifier(String(repeating: "a", count: 124) + "\(1000 + number)")
            guard room.hasRoom(for: app) else { break }
            for channel in channels where room.hasRoom(for: app) {
                room.add(app)
                marks.append(SequenceMark(app: app, channel: channel, sequence: UInt64.max / 2 - UInt64(marks.count)))
            }
        }
        #expect(marks.count >= Limits.applications * channels.count)
        let hello = Hello(
            .chosen(.first), capabilities: Capability.allCases, software: "test", role: .primary, device: .random(),
            link: LinkHello(
                name: String(repeating: "g", count: 64), epoch: 4_294_967_295, instance: .random(), received: marks,
                sent: Array(marks.prefix(1)), clock: network.scheduler.wallNow))
        let frame = try Envelope(.hello, pairing: .random()).with(body: hello.body).frame()
        #expect(frame.payload.count <= Limits.helloFrame)
    }

    @Test func `LIM-52: before its hello was judged a paired device sends no large frame`() throws {
        let (device, secondary) = try network.pairedDevices()
        for count in [Limits.helloFrame, Limits.helloFrame + 1] {
            let peer = try stranger(at: device, key: secondary.key)
            network.scheduler.run()
            peer.send(try Frame(payload: [UInt8](repeating: 0x41, count: count)).bytes.copied())
            network.scheduler.run()
            #expect(peer.isClosed && peer.refusals == [count > Limits.helloFrame ? "too-large" : "malformed"])
        }
        #expect(device.acceptor.unlinkedConnections == 0)
    }

    @Test func aRunningLinkDoesNotFeelAFlood() throws {
        let (device, secondary, dialer) = try network.linkedDevices()
        var flood: [RawLink] = []
        for _ in 0..<400 { flood.append(try RawLink(over: network.connect(to: device.acceptor))) }
        network.scheduler.advance(by: .seconds(60))
        #expect(dialer.status == .linked)
        #expect(device.closed.isEmpty && secondary.closed.isEmpty)
        #expect(flood.filter { !$0.isClosed }.isEmpty)
    }

    @Test func anAcceptorThatClosesEndsThoseWhoAreNotLinksYet() throws {
        let (device, _, dialer) = try network.linkedDevices()
        let peer = try RawLink(over: network.connect(to: device.acceptor))
        device.acceptor.close()
        network.scheduler.run()
        #expect(peer.isClosed)
        #expect(dialer.status == .linked)
        #expect(device.context.links.all.count == 1)
    }
}
