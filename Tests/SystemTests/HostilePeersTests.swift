// Peers that send garbage, XML, a length of 4 GiB, one byte a second or nothing, at the link listener and at the local
// socket, while a working pair goes on (FRM-2, FRM-4, LIM-3, LIM-4).

import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct HostilePeersTests {
    private static let xml = Array("<?xml version=\"1.0\"?><plist version=\"1.0\"><dict/></plist>".utf8)
    private static let garbage = (0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 131 &+ 7) }

    @Test func strangersDoNotDisturbAWorkingPair() async throws {
        let devices = try await TwoDevices(paired: true)
        let receiver = try devices.receiver(on: "kiosk")
        try #require(try await devices.isAnswered(from: "hub"))
        let listeners = [devices.address, "unix:\(devices.workspace["hub.sock"])"]
        var loud: [RawSocket] = []
        var slow: [RawSocket] = []
        for listener in listeners {
            for bytes in [Self.garbage, Self.xml, [0xFF, 0xFF, 0xFF, 0xFF], [0, 0, 0, 0], frame(around: Self.xml)] {
                let stranger = try RawSocket(listener)
                stranger.write(bytes)
                loud.append(stranger)
            }
            for _ in 0..<8 { slow.append(try RawSocket(listener)) }
        }
        // A byte every other second from the slow ones; the rest is silence.
        for second in 0..<14 {
            for stranger in slow where !stranger.isClosed && second.isMultiple(of: 2) { stranger.write([0]) }
            #expect(try await devices.isAnswered(from: "hub", within: .seconds(5)), "second \(second)")
            try await Task.sleep(for: .seconds(1))
        }
        let stillOpen = loud.indices.filter { !loud[$0].isClosed } + slow.indices.filter { !slow[$0].isClosed }
        #expect(stillOpen == [])
        #expect(devices.hub.isRunning && devices.kiosk.isRunning && receiver.isRunning)
    }

    @Test func aFloodOfStrangersLeavesRoomForThePairedDevice() async throws {
        let devices = try await TwoDevices(paired: true)
        let flood = try (0..<200).map { _ in try RawSocket(devices.address) }
        try await devices.kiosk.end(by: SIGKILL)
        try await devices.restartKiosk()
        let receiver = try devices.receiver(on: "kiosk")
        #expect(try await devices.isAnswered(from: "hub", within: .seconds(40)))
        #expect(flood.count == 200 && receiver.isRunning)
    }

    @Test func aThousandPeersThatClaimGigabytesCostTheDaemonOnlyWhatTheySent() async throws {
        let workspace = Workspace()
        let socket = workspace["hub.sock"]
        let daemon = try Program(
            "tandem",
            [
                "primary", "--state", workspace["hub"], "--local", socket, "--listen",
                "127.0.0.1:\(FreePort.find())",
            ], named: "hub", in: workspace)
        try #require(try await holds(within: .seconds(20)) { daemon.output.contains("ready") })
        let before = try #require(daemon.residentBytes)
        // 4 GiB - 1, which is refused, and the limit itself, which is waited for; then some bytes.
        for header: [UInt8] in [[0xFF, 0xFF, 0xFF, 0xFF], [0, 8, 0, 0]] {
            var peers: [RawSocket] = []
            for _ in 0..<500 {
                let peer = try RawSocket("unix:\(socket)")
                peer.write(header + Self.garbage.prefix(100))
                peers.append(peer)
            }
            let isRefused = header[0] == 0xFF
            let isRead = try await holds(within: .seconds(8)) { peers.allSatisfy(\.isClosed) == isRefused }
            #expect(isRead, "header \(header)")
            // Answered after all that came before it was read.
            #expect(try await tandem("status", "--device", socket, in: workspace).status == 0)
            let after = try #require(daemon.residentBytes)
            #expect(after < before + 24 << 20, "from \(before) to \(after) bytes")
            #expect(peers.count == 500 && daemon.isRunning)
        }
    }

    /// A well-formed frame around a payload that is not.
    private func frame(around payload: [UInt8]) -> [UInt8] {
        [0, 0, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)] + payload
    }
}
