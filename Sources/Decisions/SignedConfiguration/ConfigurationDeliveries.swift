// Deliveries of one configuration: several primaries, or one through several gateways, bring a device the same bytes.
// The device judges them once, and the sender of each delivery waits for the last verdict. So a staged configuration,
// and its trial after it, keep the last delivery of each pairing, and whatever ends them is reported to all of these.

package import TandemBase
import TandemPropertyList
import TandemWire

/// How a configuration came: through which pairing, under which nonce of its forwarding frame.
package struct ConfigurationDelivery: Sendable, Hashable {
    package let pairing: UniqueIdentifier
    package let nonce: UniqueIdentifier

    package init(pairing: UniqueIdentifier, nonce: UniqueIdentifier) {
        self.pairing = pairing
        self.nonce = nonce
    }
}

/// The deliveries that are answered together (CFG-32): the last one of each pairing, in the order in which they came.
package struct ConfigurationDeliveries: Sendable, Equatable {
    package let all: [ConfigurationDelivery]

    private init(all: [ConfigurationDelivery]) { self.all = all }

    /// - Parameter delivery: nil for a configuration that came through no pairing.
    package init(_ delivery: ConfigurationDelivery? = nil) {
        all = delivery.map { [$0] } ?? []
    }

    package var isEmpty: Bool { all.isEmpty }

    package var newest: ConfigurationDelivery? { all.last }

    /// - Returns: the last delivery of each pairing, the newest last, at most LIM-136; and the oldest ones beyond that.
    func joined(to earlier: Self) -> (deliveries: Self, surplus: Self) {
        let pairings = Set(all.map(\.pairing))
        let both = earlier.all.filter { !pairings.contains($0.pairing) } + all
        let surplus = max(0, both.count - ConfigurationLimits.deliveries)
        return (Self(all: Array(both.dropFirst(surplus))), Self(all: Array(both.prefix(surplus))))
    }
}

extension ConfigurationDelivery {
    fileprivate var fields: PropertyListDictionary {
        ["pairing": .data(pairing.bytes), "nonce": .data(nonce.bytes)]
    }

    /// - Returns: nil if none is there.
    fileprivate static func read(_ fields: inout FieldReader) throws(FieldError) -> Self? {
        let pairing = try fields.optional("pairing", "16 bytes of data") { $0.identifierValue }
        let nonce = try fields.optional("nonce", "16 bytes of data") { $0.identifierValue }
        switch (pairing, nonce) {
        case (let pairing?, let nonce?): return Self(pairing: pairing, nonce: nonce)
        case (nil, nil): return nil
        default: throw FieldError(field: "nonce", problem: "and 'pairing' belong together")
        }
    }
}

extension ConfigurationDeliveries {
    /// The fields of a file, which tells of the newest one alone (CFG-36, CFG-64): apps know no others.
    var fields: PropertyListDictionary { newest?.fields ?? [:] }

    /// The field of a row that tells of those before the newest one, beside ``fields``; nil if there are none.
    var earlier: PropertyListValue? {
        all.count > 1 ? .array(all.dropLast().map { .dictionary($0.fields) }) : nil
    }

    /// Reads the fields of a file or a row.
    init(_ fields: inout FieldReader) throws(FieldError) {
        let earlier = try fields.optional("earlier", "a list of dictionaries") { value in
            value.list(atMost: ConfigurationLimits.list) { $0.dictionaryValue }
        }
        var read = Self()
        for dictionary in earlier ?? [] {
            var fields = FieldReader(dictionary)
            read = Self(try ConfigurationDelivery.read(&fields)).joined(to: read).deliveries
            try fields.refuseUnknownFields()
        }
        self = Self(try ConfigurationDelivery.read(&fields)).joined(to: read).deliveries
    }
}
