// `switch` (CTL-7): the operator chooses which pairing the default sessions of host apps are bound to. The choice is
// durable before any app hears of it; what waits for either device stays where it is.

import TandemBase
import TandemPairing
import TandemPropertyList
import TandemReactor
import TandemStore
import TandemWire

extension Node {
    func switchActive(_ body: BodyFields, _ completion: @escaping Answering) throws(WireError) {
        let record: PairingRecord
        switch try pairing(namedBy: body) {
        case .found(let found): record = found
        case .unclear(let text): return completion(.failed(.notFound, text: text))
        }
        registry.perform(
            { [self] next in
                guard let changes = next.select(record.pairing) else {
                    return (
                        [], { completion(.failed(.notFound, text: "this pairing is pending; it carries nothing yet")) }
                    )
                }
                return (
                    changes.map(\.rowChange),
                    { [self] in switched(to: record, hasChanged: !changes.isEmpty, completion) }
                )
            },
            failure: { [self] in fail($0, completion) })
    }

    private func switched(to record: PairingRecord, hasChanged: Bool, _ completion: Answering) {
        chooseActive()
        if hasChanged {
            log(LogEvent(.info, "switched", .text("pairing", "\(record.pairing)"), .outside("peer", record.name)))
        }
        completion(
            .done([
                "pairing": .data(record.pairing.bytes), "name": .string(record.name),
                "role": .string(record.role.rawValue), "changed": .boolean(hasChanged),
            ]))
    }

    /// The only pairing that `pairing` or `who` names.
    enum NamedPairing {
        case found(PairingRecord)
        case unclear(String)
    }

    func pairing(namedBy body: BodyFields) throws(WireError) -> NamedPairing {
        let pairing = try body.optionalIdentifier("pairing")
        let name = try body.optionalString("who")
        let found = registry.state.pairings.filter { $0.pairing == pairing || (pairing == nil && $0.name == name) }
        guard let record = found.first else { return .unclear("no such pairing") }
        guard found.count == 1 else {
            return .unclear("several devices have this name; name the pairing's identifier")
        }
        return .found(record)
    }
}
