// `context set` and `context show`: the latest application context of each side.

import PairedSession
import TandemPropertyList

extension Subcommand {
    static let contextSet = Subcommand(
        path: ["context", "set"], summary: "replace an app's context for its counterpart",
        operands: [.optional("JSON")],
        options: [
            .device, .application.required, .flag("always", "a new revision even if nothing has changed"),
            MessageText.option,
        ],
        notes: """
            Durable when the command returns; of several that wait only the newest is delivered. JSON is one object, or
            '-' for standard input.
            """,
        examples: ["context set --app org.example.lamp '{\"scene\":\"evening\"}'"]
    ) { arguments, console in
        let context = try MessageText.content(arguments)
        let session = try arguments.session(receives: false)
        try await session.activate(timeout: HostSession.patience)
        let update = try await session.updateApplicationContext(
            context, policy: arguments.has("always") ? .always : .ifChanged)
        console.print(json: ["revision": PropertyListValue(update.revision), "new": .boolean(update.isNew)])
        await session.end()
    }

    static let contextShow = Subcommand(
        path: ["context", "show"], summary: "show the contexts that an app has sent and received",
        options: [.device, .application.required],
        notes: "A context that was never sent or received is absent; an empty one is {}.",
        examples: ["context show --app org.example.lamp"]
    ) { arguments, console in
        let session = try arguments.session(receives: false)
        try await session.activate(timeout: HostSession.patience)
        // The daemon sends its contexts before it answers this (SES-62).
        _ = try? await session.outstandingTransfers(.urgent)
        let line = PropertyListDictionary(present: [
            "sent": session.applicationContext.map { .dictionary($0) },
            "received": session.receivedApplicationContext.map { .dictionary($0) },
        ])
        console.print(json: .dictionary(line))
        await session.end()
    }
}
