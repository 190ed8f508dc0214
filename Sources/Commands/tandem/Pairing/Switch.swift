// Chooses which paired device the apps' default sessions talk to. Nothing that waits for either device is lost or
// moved.

import TandemBase
import TandemPropertyList

extension Subcommand {
    static let switchDevice = Subcommand(
        path: ["switch"], summary: "choose which paired device is the active one",
        operands: [.required("PAIRING|NAME")], options: [.device],
        notes:
            "On a primary it names a secondary, on a secondary one of its primaries. 'tandem status' marks the active "
            + "one with *. Apps see the switch as inactive, deactivated and activated; what waits for a device stays "
            + "with that device.",
        examples: ["switch kiosk", "switch --device primary 0123ABCD-0000-4000-8000-0123456789AB"]
    ) { arguments, console in
        let who = arguments.operands[0]
        let pairing = UniqueIdentifier(text: who)
        let answer = try arguments.ask("switch", pairing.map { ["pairing": .data($0.bytes)] } ?? ["who": .string(who)])
        let fact = Fact(answer)
        let verb = answer["changed"]?.booleanValue == false ? "was active already" : "is active now"
        console.print("\(fact.text("name")) \(verb)  \(fact.text("pairing"))")
    }
}
