// Both sides of an app in one process, beside a simulator that the test starts.

import Foundation
import PairedConfiguration
import PairedSession

// snippet.simulatedPair
/// A simulator in a directory of its own, for one test.
final class SimulatedPair {
    struct NotStarted: Error {}

    private let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    private let simulator = Process()

    /// - Parameter tandem: the path of the command.
    init(tandem: String) throws {
        simulator.executableURL = URL(fileURLWithPath: tandem)
        simulator.arguments = ["simulate", "--local", directory.path, "--log", "error"]
        let output = Pipe()
        simulator.standardOutput = output
        try simulator.run()
        // Its one line, `ready: …`, comes when all sockets listen. A simulator that fails closes the pipe.
        guard !output.fileHandleForReading.availableData.isEmpty else { throw NotStarted() }
    }

    /// The options of the app on one side, `primary` or `secondary`.
    func options(_ side: String) -> PairedSessionOptions {
        let socket = directory.appendingPathComponent("\(side).sock").path
        var options = PairedSessionOptions(application: "com.example.kitchen", socketPath: socket)
        options.onMissingDaemon = nil
        return options
    }

    func end() throws {
        simulator.terminate()
        simulator.waitUntilExit()
        try FileManager.default.removeItem(at: directory)
    }
}
// snippet.end

// snippet.bothSides
func testBothSides(_ pair: SimulatedPair) async throws {
    let configuration = KitchenConfiguration(problems: .collect, preferences: MemoryPreferences(["volume": 70]))
    precondition(configuration.declarationProblems.isEmpty)
    let panel = try PairedSession(options: pair.options("secondary"), configuration: configuration)
    panel.handleMessages { _ in ["volume": .integer(Int64(configuration.volume))] }
    try await panel.activate(timeout: .seconds(10))

    let hub = try PairedSession(pair.options("primary"))
    try await hub.activate(timeout: .seconds(10))
    for await status in hub.reachabilityUpdates where status.isImmediate { break }
    let reply = try await hub.sendMessage(["question": "how loud"], timeout: .seconds(5))
    precondition(reply["volume"] == .integer(70))
    await hub.end()
    await panel.end()
}
// snippet.end
