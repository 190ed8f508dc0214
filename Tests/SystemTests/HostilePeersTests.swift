// Peers that send garbage, XML, a length of 4 GiB, one byte a second or nothing, at the link listener and at the local
// socket, while a working pair goes on (FRM-2, FRM-4, LIM-3, LIM-4).

import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(4))) struct HostilePeersTests {
    private static let xml = Array("<?xml version=\"1.0\"?><plist version=\"1.0\"><dict/></plist>".utf8)
    private static let garbage = (0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 131 &+ 7) }

    @Test func strangersDoNotDisturbAWorkingPair() async throws {
        let devices = try await TwoDevices()
        try await devices.pair()
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
        let devices = try await TwoDevices()
        try await devices.pair()
        let flood = try (0..<200).map { _ in try RawSocket(devices.address) }
        devices.kiosk.signal(SIGKILL)
        _ = try await devices.kiosk.ending()
        try await devices.restartKiosk()
        let receiver = try devices.receiver(on: "kiosk")
        #expect(try await devices.isAnswered(from: "hub", within: .seconds(40)))
        #expect(flood.count == 200 && receiver.isRunning)
    }

    /// A well-formed frame around a payload that is not.
    private func frame(around payload: [UInt8]) -> [UInt8] {
        [0, 0, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)] + payload
    }
}
