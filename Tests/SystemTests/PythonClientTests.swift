// A client in another language, written from Protocol/ alone, talks to our simulator and to two paired daemons: the
// text is enough (FRM, SES).

import Testing

@Suite struct PythonClientTests {
    /// Starts the Python client as the app on one side.
    static func client(_ side: String, _ app: String, _ arguments: String..., in workspace: Workspace) throws -> Program
    {
        let folder = #filePath.split(separator: "/").dropLast().map { "/" + $0 }.joined()
        return try Program(
            "/usr/bin/python3",
            ["\(folder)/python_client/tandem_client.py", "--socket", workspace["\(side).sock"], "--app", app]
                + arguments,
            named: "\(side)-\(UInt32.random(in: 0 ... .max))", in: workspace,
            environment: ["PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8"])
    }

    @Test(arguments: [("primary", "secondary"), ("secondary", "primary")])
    func aMessageAndItsReplyPassBothWays(here: String, there: String) async throws {
        try await withSimulator { workspace in
            let receiver = try Self.client(there, "a.b", "receive", "--reply", #"{"answer": [2, 2.5]}"#, in: workspace)
            let sender = try Self.client(here, "a.b", "send", #"{"question": "gr\u00fc\u00dfe"}"#, in: workspace)
            let sent = try await sender.ending()
            #expect(sent.status == 0, "\(sent.errors)")
            #expect(sent.output == "{\"answer\": [2, 2.5]}\n")
            let received = try await receiver.ending()
            #expect(received.status == 0, "\(received.errors)")
            #expect(received.output == "{\"question\": \"gr\u{fc}\u{df}e\"}\n")
        }
    }

    @Test(arguments: [("hub", "kiosk"), ("kiosk", "hub")])
    func aMessageAndItsReplyPassThroughTwoDaemons(here: String, there: String) async throws {
        let devices = try await TwoDevices(paired: true)
        let receiver = try Self.client(there, "a.b", "receive", "--reply", #"{"answer": 2}"#, in: devices.workspace)
        let sender = try Self.client(here, "a.b", "send", #"{"question": 1}"#, in: devices.workspace)
        let sent = try await sender.ending()
        #expect(sent.status == 0 && sent.output == "{\"answer\": 2}\n", "\(sent)")
        let received = try await receiver.ending()
        #expect(received.status == 0 && received.output == "{\"question\": 1}\n", "\(received)")
    }

    @Test func anUnhandledMessageFailsByName() async throws {
        try await withSimulator { workspace in
            let receiver = try Self.client("secondary", "a", "receive", in: workspace)
            let sent = try await Self.client("primary", "a", "send", "{}", in: workspace).ending()
            #expect(sent.status == 1)
            #expect(sent.errors.contains("7014 unhandled"), "\(sent.errors)")
            #expect(try await receiver.ending().status == 0)
        }
    }

    @Test func aMalformedApplicationIsRefusedByName() async throws {
        try await withSimulator { workspace in
            let refused = try await Self.client("primary", "../etc", "state", in: workspace).ending()
            #expect(refused.status == 1)
            #expect(refused.errors.contains("application:"), "\(refused.errors)")
            let state = try await Self.client("primary", "a", "state", in: workspace).ending()
            #expect(state.status == 0, "\(state.errors)")
            #expect(state.output.contains("\"role\": \"primary\""))
        }
    }
}
