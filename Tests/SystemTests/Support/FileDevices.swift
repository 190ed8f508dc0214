// Two daemons with a link that can be cut, and an app on each, in this process.

import Foundation
import PairedSession
import Synchronization
import TandemPropertyList
import Testing

/// A hub and a kiosk that give each other files.
final class FileDevices {
    let devices: TwoDevices
    let proxy: NetworkProxy
    let sender: PairedSession
    let receiver: PairedSession
    let received = ReceivedFiles()

    init(in workspace: Workspace? = nil) async throws {
        devices = try await TwoDevices(in: workspace)
        let port = try #require(UInt16(devices.address.split(separator: ":").last ?? ""))
        proxy = try NetworkProxy(to: port)
        let workspace = devices.workspace
        let link = try await tandem("pair", "--device", workspace["hub.sock"], "--link-only", in: workspace)
        let through = link.output.replacingOccurrences(of: ":\(port)", with: ":\(proxy.port)")
        let joined = try await tandem("join", "--device", workspace["kiosk.sock"], in: workspace, input: through)
        try #require(joined.status == 0, "\(joined)")
        try #require(await devices.isLinked())
        sender = try Self.session("hub", workspace, receives: false)
        receiver = try Self.session("kiosk", workspace, receives: true)
        try await receiver.activate(timeout: .seconds(20))
        try await sender.activate(timeout: .seconds(20))
        let directory = workspace["received"]
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let received = received
        receiver.handleFiles { file in
            let path = "\(directory)/\(file.facts.id)"
            try file.move(to: path)
            received.add(path, file)
        }
    }

    private static func session(_ side: String, _ workspace: Workspace, receives: Bool) throws -> PairedSession {
        var options = PairedSessionOptions(application: TwoDevices.app, socketPath: workspace["\(side).sock"])
        options.receivesMessages = receives
        return try PairedSession(options)
    }

    /// A file of so many bytes that never repeat in step with a chunk.
    func makeFile(_ name: String = "source.bin", size: Int) throws -> String {
        var data = Data(count: size)
        var state: UInt64 = 88_172_645_463_325_252
        data.withUnsafeMutableBytes { bytes in
            for place in stride(from: 0, to: size - 7, by: 8) {
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                bytes.storeBytes(of: state, toByteOffset: place, as: UInt64.self)
            }
        }
        let path = devices.workspace[name]
        try data.write(to: URL(fileURLWithPath: path))
        return path
    }

    func isSame(_ path: String, _ other: String) throws -> Bool {
        try Data(contentsOf: URL(fileURLWithPath: path)) == Data(contentsOf: URL(fileURLWithPath: other))
    }

    /// The files that a device still keeps below its state directory.
    func leftovers(on side: String) throws -> [String] {
        let root = devices.workspace[side]
        return ["spool", "partial", "apps/\(TwoDevices.app)/inbox"].flatMap { part -> [String] in
            let found = FileManager.default.enumerator(atPath: "\(root)/\(part)")?.allObjects as? [String] ?? []
            return found.filter { name in
                var isDirectory: ObjCBool = false
                _ = FileManager.default.fileExists(atPath: "\(root)/\(part)/\(name)", isDirectory: &isDirectory)
                return !isDirectory.boolValue
            }
        }
    }

    func isClean() async throws -> Bool {
        try await holds(within: .seconds(10)) { try leftovers(on: "hub").isEmpty && leftovers(on: "kiosk").isEmpty }
    }

    func end() async {
        await sender.end()
        await receiver.end()
        proxy.end()
    }
}

/// The files in the order in which they came.
final class ReceivedFiles: Sendable {
    private let files = Mutex<[(path: String, file: ReceivedFile)]>([])

    func add(_ path: String, _ file: ReceivedFile) { files.withLock { $0.append((path, file)) } }

    var all: [(path: String, file: ReceivedFile)] { files.withLock { $0 } }
}
