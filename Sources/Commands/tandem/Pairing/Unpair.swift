// Ends a pairing on this side, at once. The other device learns it when it next connects.

import TandemBase
import TandemPropertyList

extension Subcommand {
    static let unpair = Subcommand(
        path: ["unpair"], summary: "end a pairing at once and forget what waits for it",
        operands: [.required("PAIRING|NAME")], options: [.device],
        notes: "Configuration that came through the pairing is deactivated, and its versions stay refused.",
        examples: ["unpair kiosk", "unpair 0123ABCD-0000-4000-8000-0123456789AB"]
    ) { arguments, console in
        let who = arguments.operands[0]
        let pairing = UniqueIdentifier(text: who)
        _ = try arguments.ask("unpair", pairing.map { ["pairing": .data($0.bytes)] } ?? ["who": .string(who)])
        console.print("unpaired \(who)")
    }

    static let allowVersion = Subcommand(
        path: ["allow-version"], summary: "let a paired device use an older protocol version than it did before",
        operands: [.required("PAIRING"), .required("VERSION")], options: [.device],
        notes: "Without this a device that suddenly speaks an older version is refused: it may be somebody in between.",
        examples: ["allow-version 0123ABCD-0000-4000-8000-0123456789AB 1"]
    ) { arguments, console in
        let pairing = try arguments.pairing()
        guard let version = UInt32(arguments.operands[1]), version > 0 else {
            throw CommandFailure.usage("'\(arguments.operands[1])' is not a protocol version")
        }
        let body: PropertyListDictionary = ["pairing": .data(pairing.bytes), "version": .integer(Int64(version))]
        _ = try arguments.ask("allow-version", body)
        console.print("version \(version) is allowed again")
    }
}
