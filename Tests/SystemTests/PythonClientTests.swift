// A client in another language, written from Protocol/ alone, talks to our simulator: the text is enough (FRM, SES).

import TandemTestSupport
import Testing

@Suite struct PythonClientTests {
    static func client(_ socket: String, _ app: String, _ arguments: [String], seconds: Int = 20) -> ChildProcess {
        let folder = "/" + #filePath.split(separator: "/").dropLast().joined(separator: "/")
        return ChildProcess(
            Program.python,
            [
                "\(folder)/python_client/tandem_client.py", "--socket", socket, "--app", app, "--timeout",
                String(seconds),
            ] + arguments)
    }

    /// A simulator that is ready, and its directory.
    static func simulator() throws -> (ChildProcess, TemporaryDirectory) {
        let directory = TemporaryDirectory()
        let simulator = ChildProcess(Program.tandem, ["simulate", "--local", directory.path])
        try #require(ChildProcess.holds(within: 20) { simulator.output.contains("ready") }, "\(simulator.errors)")
        return (simulator, directory)
    }

    @Test func aMessageAndItsReplyPassBothWays() throws {
        let (simulator, directory) = try Self.simulator()
        for (here, there) in [("primary", "secondary"), ("secondary", "primary")] {
            let receiver = Self.client(
                directory.path("\(there).sock"), "com.example.python", ["receive", "--reply", #"{"answer": [2, 2.5]}"#])
            let sender = Self.client(
                directory.path("\(here).sock"), "com.example.python", ["send", #"{"question": "gr\u00fc\u00dfe"}"#])
            #expect(sender.exitCode() == 0, "\(sender.errors)")
            #expect(sender.output == "{\"answer\": [2, 2.5]}\n")
            #expect(receiver.exitCode() == 0, "\(receiver.errors)")
            #expect(receiver.output == "{\"question\": \"gr\u{fc}\u{df}e\"}\n")
        }
        simulator.terminate()
        #expect(simulator.exitCode() == 0)
    }

    @Test func anUnhandledMessageFailsByName() throws {
        let (simulator, directory) = try Self.simulator()
        let receiver = Self.client(directory.path("secondary.sock"), "a", ["receive"])
        let sender = Self.client(directory.path("primary.sock"), "a", ["send", "{}"])
        #expect(sender.exitCode() == 1)
        #expect(sender.errors.contains("7014 unhandled"))
        #expect(receiver.exitCode() == 0)
        simulator.terminate()
        #expect(simulator.exitCode() == 0)
    }

    @Test func aMalformedApplicationIsRefusedByName() throws {
        let (simulator, directory) = try Self.simulator()
        let client = Self.client(directory.path("primary.sock"), "../etc", ["state"])
        #expect(client.exitCode() == 1)
        #expect(client.errors.contains("envelope") || client.errors.contains("application"), "\(client.errors)")
        let next = Self.client(directory.path("primary.sock"), "a", ["state"])
        #expect(next.exitCode() == 0)
        #expect(next.output.contains("\"role\": \"primary\""))
        simulator.terminate()
        #expect(simulator.exitCode() == 0)
    }
}
