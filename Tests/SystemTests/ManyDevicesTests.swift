// The shipped simulator with several secondaries (SES-22), and one message to all of them (SES-30).

import Glibc
import Testing

@Suite struct ManyDevicesTests {
    @Test("SES-30, CTL-73: one message reaches all devices that are there, and the command names the others and fails")
    func oneMessageReachesAllThatAreThereAndNamesTheOthers() async throws {
        try await withSimulator("--secondaries", "3") { workspace in
            let receivers = try ["secondary.sock", "secondary-3.sock"].map { socket in
                try Program(
                    "tandem", ["receive", "--app", "a.b", "--device", workspace[socket]], named: "receiver-\(socket)",
                    in: workspace)
            }
            var sent = try await broadcast(in: workspace)
            for _ in 0..<100 where sent.reached < 2 { sent = try await broadcast(in: workspace) }
            #expect(sent.reached == 2 && sent.ending.status == 1, "\(sent.ending)")
            #expect(sent.ending.errors.contains("has not left for 1 of 3 paired devices"), "\(sent.ending)")
            #expect(sent.ending.output.contains("watchAppNotInstalled"), "\(sent.ending)")
            for receiver in receivers {
                let hasArrived = try await holds(within: .seconds(10)) { receiver.output.contains(#"{"to":"all"}"#) }
                #expect(hasArrived, "\(receiver.output) \(receiver.errors)")
                receiver.signal(SIGTERM)
            }
        }
    }

    private func broadcast(in workspace: Workspace) async throws -> (ending: Program.Ending, reached: Int) {
        let ending = try await tandem(
            "send", "--app", "a.b", "--all", "--device", workspace["primary.sock"], #"{"to":"all"}"#, in: workspace)
        return (ending, ending.output.split(separator: "\n").count { $0.contains(#""sent":true"#) })
    }

    @Test func severalPairsTalkAndTheSimulatorStopsInOrder() async throws {
        try await withSimulator { workspace in
            let apps = (0..<6).map { "org.example.app\($0)" }
            let receivers = try apps.map { app in
                try Program(
                    "tandem",
                    [
                        "receive", "--app", app, "--device", workspace["secondary.sock"], "--reply",
                        #"{"app":"\#(app)"}"#,
                    ],
                    named: "receiver-\(app)", in: workspace)
            }
            for (app, receiver) in zip(apps, receivers) {
                var answered: Program.Ending?
                for _ in 0..<100 where answered?.status != 0 {
                    answered = try await tandem(
                        "send", "--app", app, "--device", workspace["primary.sock"], #"{"to":"\#(app)"}"#, in: workspace
                    )
                }
                #expect(answered?.output == "{\"app\":\"\(app)\"}\n", "\(String(describing: answered))")
                receiver.signal(SIGTERM)
            }
        }
    }

    @Test("LIM-20: more secondaries than there may be are a wrong call")
    func moreSecondariesThanThereMayBeAreAWrongCall() async throws {
        let workspace = Workspace()
        for count in ["0", "2049"] {
            let ending = try await tandem("simulate", "--local", workspace.path, "--secondaries", count, in: workspace)
            #expect(ending.status == 2 && ending.errors.contains("--secondaries"), "\(ending)")
        }
    }
}
