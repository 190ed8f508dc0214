// The receiving app: a process that writes down each item before it says that it is handled. What a killed one has
// written stays, so that all of them together tell what the app has seen.

import Foundation
import Testing

/// One `tandem receive` after another on the kiosk.
final class ReceivingProcesses {
    private let workspace: Workspace
    private var current: Program
    private var starts = 0
    private var former: [DeliveryRecord.Delivery] = []
    /// As far as known; -1 before the first.
    private(set) var highest: Int64 = -1

    init(_ workspace: Workspace) throws {
        self.workspace = workspace
        current = try Self.start(0, workspace)
    }

    /// Whether an item with this number or a higher one has come.
    func hasReached(_ number: Int64) -> Bool {
        // Read only for news: the submitter asks before each item.
        if highest < number {
            // Numbers rise, so the last line is enough.
            let last = current.output.split(separator: "\n").last.flatMap(DeliveryRecord.Delivery.init(line:))
            highest = max(highest, last?.number ?? -1)
        }
        return highest >= number
    }

    /// Kills the process and starts the next.
    func replace() async throws {
        try await kill()
        starts += 1
        current = try Self.start(starts, workspace)
    }

    /// Kills the last one; returns all that was written, in its order.
    func end() async throws -> [DeliveryRecord.Delivery] {
        try await kill()
        return former
    }

    private func kill() async throws {
        try #require(current.isRunning, "it ended by itself: \(current.errors)")
        current.signal(SIGKILL)
        let lines = try await current.ending().output.split(separator: "\n")
        former += lines.compactMap(DeliveryRecord.Delivery.init(line:))
    }

    private static func start(_ number: Int, _ workspace: Workspace) throws -> Program {
        let arguments = ["receive", "--app", TwoDevices.app, "--device", workspace["kiosk.sock"]]
        return try Program("tandem", arguments, named: "receiver-\(number)", in: workspace)
    }
}
