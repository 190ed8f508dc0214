// Files between two real daemons over TLS: cut, killed, changed, taken back; and what they cost.

import Foundation
import PairedSession
import TandemPropertyList
import TandemWire
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct FileTransferTests {
    private let devices: FileDevices

    init() async throws { devices = try await FileDevices() }

    @Test("FIL-4, FIL-11, FIL-15: a file arrives whole, with its name and metadata, and nothing of it stays behind")
    func whole() async throws {
        let source = try devices.makeFile("Übersicht 1.bin", size: 3_000_001)
        let transfer = try await devices.sender.transferFile(source, metadata: ["album": .integer(7)], until: .handled)
        #expect(transfer.progress.handedOver == 3_000_001 && transfer.progress.transferred == 3_000_001)
        let (path, file) = try #require(devices.received.all.first)
        #expect(try devices.isSame(source, path))
        #expect(file.name == "Übersicht 1.bin" && file.size == 3_000_001 && file.metadata == ["album": .integer(7)])
        #expect(file.path.hasSuffix("/Übersicht 1.bin"))
        #expect(try await devices.isClean())
        await devices.end()
    }

    @Test("FIL-8: a large file whose link is cut twenty times goes on, and each cut costs a window and a chunk at most")
    func cuts() async throws {
        let size = 64 << 20
        let source = try devices.makeFile(size: size)
        let before = devices.proxy.passed
        devices.proxy.cut(at: (1...20).map { before + size / 21 * $0 })
        try await devices.sender.transferFile(source, until: .handled)
        let passed = devices.proxy.passed - before
        // Frames, TLS and handshakes beside the bytes themselves.
        let overhead = size / 100 + 21 * 16_384
        #expect(passed <= size + 20 * (262_144 + 65_536) + overhead, "\(passed - size) bytes more than the file has")
        let path = try #require(devices.received.all.first?.path)
        #expect(try devices.isSame(source, path))
        #expect(devices.received.all.count == 1)
        #expect(try await devices.isClean())
        await devices.end()
    }

    @Test("FIL-8, FIL-14: either daemon killed in the middle of a file goes on with it")
    func killed() async throws {
        let source = try devices.makeFile(size: 96 << 20)
        // The file may be on its way before its sender hears that it was accepted.
        let before = devices.proxy.passed
        let transfer = devices.sender.beginFileTransfer(source)
        try await transfer.reached(.accepted)
        try FileManager.default.removeItem(atPath: source)
        let copy = try devices.makeFile(size: 96 << 20)
        #expect(try await holds(within: .seconds(60)) { devices.proxy.passed - before > 16 << 20 })
        try await devices.devices.kiosk.end(by: SIGKILL)
        try await devices.devices.restartKiosk()
        #expect(try await holds(within: .seconds(60)) { devices.proxy.passed - before > 40 << 20 })
        try await devices.devices.hub.end(by: SIGKILL)
        try await devices.devices.restartHub()
        #expect(try await holds(within: .seconds(120)) { !devices.received.all.isEmpty })
        let path = try #require(devices.received.all.first?.path)
        #expect(try devices.isSame(copy, path))
        #expect(devices.proxy.passed - before < 100 << 20)
        #expect(try await devices.isClean())
        #expect(devices.received.all.count == 1)
        await devices.end()
    }

    @Test("FIL-16: a file that changes while it is read is not sent")
    func changing() async throws {
        let source = try devices.makeFile(size: 64 << 20)
        let writer = Task.detached {
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: source))
            while !Task.isCancelled {
                try handle.seek(toOffset: 5)
                try handle.write(contentsOf: Data([UInt8.random(in: 0...255)]))
                try await Task.sleep(for: .milliseconds(1))
            }
        }
        let error = await #expect(throws: SessionError.self) { try await devices.sender.transferFile(source) }
        writer.cancel()
        #expect(error?.code == .fileAccessDenied && error?.name == "source-changed")
        #expect(try await devices.isClean())
        #expect(devices.received.all.isEmpty)
        await devices.end()
    }

    @Test("FIL-16: what is no readable file is 7013", arguments: ["missing", "directory", "link"])
    func unreadable(_ what: String) async throws {
        let path = devices.devices.workspace[what]
        if what == "directory" {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        if what == "link" {
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/etc/hosts")
        }
        let error = await #expect(throws: SessionError.self) { try await devices.sender.transferFile(path) }
        #expect(error?.code == .fileAccessDenied)
        await devices.end()
    }

    @Test("FIL-14: a file can be taken back in every phase, and both sides agree")
    func takenBack() async throws {
        let source = try devices.makeFile(size: 64 << 20)
        // While it is handed over.
        let first = devices.sender.beginFileTransfer(source)
        for await progress in first.progressUpdates where progress.handedOver > 0 { break }
        #expect(try await first.cancel() == .cancelled)
        await #expect(throws: SessionError.self) { try await first.reached(.accepted) }
        #expect(try await devices.isClean())
        // While it travels.
        let second = try await devices.sender.transferFile(source)
        for await progress in second.progressUpdates where progress.transferred > 0 { break }
        _ = try await second.cancel()
        #expect(try await second.outcome() == .cancelled)
        #expect(try await devices.isClean())
        // While the other device is away.
        try await devices.devices.kiosk.end(by: SIGTERM)
        let third = try await devices.sender.transferFile(source)
        #expect(try await third.cancel() == .cancelled)
        #expect(try await third.outcome() == .cancelled)
        try await devices.devices.restartKiosk()
        // When it was handled.
        let fourth = try await devices.sender.transferFile(source, until: .handled)
        #expect(try await fourth.cancel() != .cancelled)
        #expect(devices.received.all.map(\.file.facts.id) == [fourth.id])
        #expect(try await devices.isClean())
        await devices.end()
    }

    @Test("a large file is never held in memory, and lets messages pass")
    func cost() async throws {
        let source = try devices.makeFile(size: 192 << 20)
        devices.receiver.handleMessages { _ in [:] }
        let started = [devices.devices.hub, devices.devices.kiosk].compactMap(\.residentBytes)
        let sender = devices.sender
        let sending = Task { try await sender.transferFile(source, until: .handled) }
        var waits: [Duration] = []
        var peaks = started
        while devices.received.all.isEmpty, waits.count < 20_000 {
            let began = ContinuousClock.now
            _ = try await devices.sender.sendMessage(["n": .integer(Int64(waits.count))])
            waits.append(ContinuousClock.now - began)
            let now = [devices.devices.hub, devices.devices.kiosk].compactMap(\.residentBytes)
            peaks = zip(peaks, now).map { max($0, $1) }
            try await Task.sleep(for: .milliseconds(2))
        }
        _ = try await sending.value
        let sorted = waits.sorted()
        #expect(sorted.count > 20)
        // Exact on a quiet machine (Scripts/bench); here others may compile meanwhile.
        #expect(sorted[sorted.count * 95 / 100] < .milliseconds(250), "\(sorted.suffix(5))")
        for (start, peak) in zip(started, peaks) { #expect(peak - start < 24 << 20, "\(started) \(peaks)") }
        await devices.end()
    }
}
