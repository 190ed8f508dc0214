// `transfers list` and `transfers cancel`: an app's durable items that have not ended, also those of earlier processes.

import PairedSession
import TandemBase
import TandemControl
import TandemOperations
import TandemPropertyList

extension Subcommand {
    static let transfersList = Subcommand(
        path: ["transfers", "list"], summary: "show an app's items that have not ended, in their order",
        options: [.device, .application.required, .json],
        examples: ["transfers list --app org.example.lamp"]
    ) { arguments, console in
        let session = try arguments.session(receives: false)
        try await session.activate(timeout: HostSession.patience)
        let transfers = try await outstanding(session)
        if arguments.has("json") {
            for transfer in transfers { console.print(json: .dictionary(transfer.line)) }
        } else {
            var table = Table("transfers", ["channel", "state", "bytes", "topic", "refused", "id"])
            for item in transfers {
                table.add(
                    item.kind.rawValue, item.stateWord, String(item.size), item.topic.map { Printable.text($0) } ?? "",
                    item.refusal.map { Printable.text($0) } ?? "", "\(item.id)")
            }
            for line in table.listing { console.print(line) }
        }
        await session.end()
    }

    static let transfersCancel = Subcommand(
        path: ["transfers", "cancel"], summary: "cancel an item that no handler has received",
        operands: [.required("UUID")], options: [.device, .application.required],
        notes: "Exit code 1 if the item has already ended, or if the other device has not answered yet.",
        examples: ["transfers cancel --app org.example.lamp 0123ABCD-0000-4000-8000-0123456789AB"]
    ) { arguments, console in
        let id = try UniqueIdentifier(
            argument: arguments.operands[0], "is no UUID; 'tandem transfers list' shows them")
        let session = try arguments.session(receives: false)
        try await session.activate(timeout: HostSession.patience)
        guard let transfer = try await outstanding(session).first(where: { $0.id == id }) else {
            throw CommandFailure.refused(
                "no item with this identifier is outstanding; 'tandem transfers list' shows those that are")
        }
        let outcome = try await session.cancelTransfer(transfer)
        await session.end()
        switch outcome {
        case .cancelled: console.print("cancelled")
        case .tooLate(let outcome): throw CommandFailure.no(["too late: \(outcome)"])
        case .unknown: throw CommandFailure.no(["asked the other device; 'tandem trace \(id)' shows what comes of it"])
        }
    }

    private static func outstanding(_ session: PairedSession) async throws -> [OutstandingTransfer] {
        var transfers: [OutstandingTransfer] = []
        for kind in Transfer.Kind.allCases { transfers += try await session.outstandingTransfers(kind) }
        return transfers
    }
}

extension OutstandingTransfer {
    fileprivate var stateWord: String { state == .stored ? "stored" : "accepted" }

    fileprivate var line: PropertyListDictionary {
        PropertyListDictionary(present: [
            "id": .string("\(id)"), "channel": .string(kind.rawValue), "state": .string(stateWord),
            "size": .integer(Int64(size)), "topic": topic.map { .string($0) }, "refusal": refusal.map { .string($0) },
        ])
    }
}
