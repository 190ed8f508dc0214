// The one control command of the simulator: `switch` (CTL-8), on the primary's socket. Which secondary is active is all
// that there is to choose, and an app that is developed here has to see a switch before its users do.

import TandemBase
import TandemPropertyList
import TandemWire

extension Simulator: ControlResponder {
    package func respond(to request: ControlRequest, completion: @escaping (ControlAnswer) -> Void) {
        guard request.command == "switch" else {
            return completion(.failed(.unknownCommand, text: "the simulator knows no command but 'switch'"))
        }
        do throws(WireError) {
            let (pairing, name) = (
                try BodyFields(request.body).optionalIdentifier("pairing"),
                try BodyFields(request.body).optionalString("who")
            )
            completion(switchActive(to: number(pairing, name)))
        } catch {
            completion(.failed(.badRequest, text: "switch: \(error)"))
        }
    }

    /// The secondary of this pairing, or whose socket has this name.
    private func number(_ pairing: UniqueIdentifier?, _ name: String?) -> Int? {
        pairings.indices.map { $0 + 1 }.first { number in
            if let pairing { return pairings[number - 1] == pairing }
            return name == Self.name(.secondary, number)
        }
    }

    private func switchActive(to number: Int?) -> ControlAnswer {
        guard let number else {
            return .failed(.notFound, text: "there is no such secondary; they are called as their sockets: secondary-2")
        }
        let hasChanged = number != activeNumber
        activate(number)
        return .done([
            "pairing": .data(pairings[number - 1].bytes), "name": .string(Self.name(.secondary, number)),
            "role": .string(DeviceRole.primary.rawValue), "changed": .boolean(hasChanged),
        ])
    }
}
