// The async API as a host app uses it: every public member of the session that an app needs, with the one import. The
// regions between `snippet` lines are the listings of the documentation (Scripts/docs).

import PairedConfiguration
import PairedSession

@main
struct PlainApp {
    static func main() async {
        do {
            let session = try await opened()
            state(of: session)
            try await ask(session)
            try await Durable.queue(session)
            try await Durable.look(session)
            try await Devices.address(session)
            await session.end()
        } catch {
            explain(error)
        }
    }

    // snippet.open
    static func opened() async throws(SessionError) -> PairedSession {
        let session = try PairedSession(PairedSessionOptions(application: "com.example.kitchen"))
        session.handleMessages { message in
            guard let question = message.dictionary?["question"]?.stringValue else { return nil }
            return ["answer": .string("\(question)? 21 degrees.")]
        }
        try await session.activate(timeout: .seconds(10))
        return session
    }
    // snippet.end

    // snippet.ask
    static func ask(_ session: PairedSession) async throws(SessionError) {
        let reply = try await session.sendMessage(["question": "how warm"], timeout: .seconds(5))
        print(reply["answer"]?.stringValue ?? "no answer")
    }
    // snippet.end

    // snippet.errors
    static func explain(_ error: SessionError) {
        switch error.code {
        case .notReachable: print("later: \(error.name ?? "")")
        case .payloadTooLarge: print("\(error.actual ?? 0) bytes are more than \(error.limit ?? 0)")
        case .payloadUnsupportedTypes: print("cannot be sent: the value at \(error.keyPath ?? "the root")")
        case .messageReplyTimedOut: print("no reply; whether it was handled is not known")
        default: print("\(error) retryable: \(error.isRetryable)")
        }
    }
    // snippet.end

    /// The properties that can be read at any time.
    static func state(of session: PairedSession) {
        print(session.activationState == .activated, session.reachability.level, session.hasContentPending)
        print(session.role ?? .primary, session.deviceIdentifier?.description ?? "-", session.directory ?? "-")
        print(session.pairedDevice?.name ?? "no counterpart", PairedSession.standardTimeout, session.isSupported)
        print(session.statistics.lateReplies, session.statistics.unobservedFailures)
    }

    /// Every option.
    static func options() -> PairedSessionOptions {
        var options = PairedSessionOptions(application: "com.example.kitchen", socketPath: "/run/tandem/secondary.sock")
        options.role = .secondary
        options.receivesMessages = true
        options.identifier = "kitchen"
        options.anchor = KitchenConfiguration().publicKey
        options.allowsInvalidSignatures = false
        options.provides = ["lights"]
        options.showsComplication = true
        options.software = "Kitchen 1.0"
        return options
    }
}
