// The async API as a host app uses it: every public member that an app needs, with the one import.

import PairedConfiguration
import PairedSession

@main
struct PlainApp {
    static func main() async {
        var options = PairedSessionOptions(application: "com.example.plain")
        options.identifier = "kitchen"
        do {
            let session = try PairedSession(options)
            session.handleMessages { message in
                guard let question = message.dictionary?["question"]?.stringValue else { return nil }
                return ["answer": .string(question + "?"), "at": .date(.init(millisecondsSinceReferenceDate: 0))]
            }
            session.handleMessageData { message in message.data }
            try await session.activate(timeout: .seconds(1))
            try await ask(session)
        } catch {
            print("\(error.code.rawValue) \(error.name ?? "") retryable: \(error.isRetryable)")
        }
    }

    static func ask(_ session: PairedSession) async throws(SessionError) {
        let reply = try await session.sendMessage(["question": "how warm"], timeout: .seconds(5))
        for (key, value) in reply { print(key, value) }
        for device in session.pairedDevices {
            print(device.name, device.role, device.target.text, device.reachability.level)
            try await session.session(for: device.pairing).sendMessageWithoutReply(["hello": true])
        }
        guard session.activationState == .activated, session.reachability.reason == .none else { return }
        for await status in session.reachabilityUpdates where status.level == .unreachable {
            print(status.reason.rawValue, status.since)
            break
        }
        for await message in session.messages {
            try message.reply(["seen": .integer(Int64(message.dictionary?.count ?? 0))])
        }
    }
}
