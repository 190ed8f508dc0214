// Trust by hand: both operators compare and name the other device's fingerprint. For devices that cannot pass a link.

import TandemBase
import TandemPropertyList

extension Subcommand {
    static let trustDevice = Subcommand(
        path: ["trust-device"], summary: "trust another device by its fingerprint (run it on both devices)",
        operands: [.required("FINGERPRINT")],
        options: [
            .device, .valued("role", "primary|secondary", "the other device's part in the pairing").required,
            .valued("address", "ADDRESS", "where the primary listens: HOST:PORT or unix:PATH"),
            .valued("name", "NAME", "a name for the other device"),
        ],
        notes: """
            'tandem status' on the other device shows its fingerprint. The secondary names the primary's address; the
            pairing is made when it connects and both sides have trusted each other.
            """,
        examples: [
            "trust-device --role primary --address hub.example:4747 ABCD-EFGH-...",
            "trust-device --role secondary --name kiosk ABCD-EFGH-...",
        ]
    ) { arguments, console in
        let peer = try arguments.role()
        if peer == .primary, !arguments.has("address") {
            throw CommandFailure.usage("--address is missing: a secondary must know where its primary listens")
        }
        var body: PropertyListDictionary = [
            "fingerprint": .string(arguments.operands[0]), "role": .string(peer.rawValue),
        ]
        for key in ["address", "name"] { body[key] = arguments.value(key).map { .string($0) } }
        _ = try arguments.ask("trust-device", body, of: peer.counterpart)
        console.print("trusted as \(peer.rawValue)")
    }
}
