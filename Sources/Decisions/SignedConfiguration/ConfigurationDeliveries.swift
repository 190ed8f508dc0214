// Deliveries of one configuration: several primaries, or one through several gateways, bring a device the same bytes.
// The device judges them once, and the sender of each delivery waits for the last verdict. So a staged configuration,
// and its trial after it, keep the last delivery of each pairing, and whatever ends them is reported to all of these. A
// trial also keeps those of other envelopes around the same signed bytes: each sender knows its own digest only.

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

/// The deliveries that are answered together (CFG-32): the last one of each pairing and envelope, in the order in which
/// they came.
package struct ConfigurationDeliveries: Sendable, Equatable {
    fileprivate struct Entry: Sendable, Equatable {
        let delivery: ConfigurationDelivery
        /// Of the envelope that it brought; nil for the configuration's own.
        let digest: [UInt8]?

        func replaces(_ other: Self) -> Bool { delivery.pairing == other.delivery.pairing && digest == other.digest }
    }

    fileprivate let entries: [Entry]

    fileprivate init(entries: [Entry]) { self.entries = entries }

    /// - Parameter delivery: nil for a configuration that came through no pairing.
    package init(_ delivery: ConfigurationDelivery? = nil) {
        entries = delivery.map { [Entry(delivery: $0, digest: nil)] } ?? []
    }

    package var all: [ConfigurationDelivery] { entries.map(\.delivery) }

    package var isEmpty: Bool { entries.isEmpty }

    package var newest: ConfigurationDelivery? { entries.last?.delivery }

    /// These deliveries, which brought the envelope of the first digest, of a configuration with the second one.
    func bringing(_ digest: [UInt8], of configuration: [UInt8]) -> Self {
        guard digest != configuration else { return self }
        return Self(entries: entries.map { Entry(delivery: $0.delivery, digest: digest) })
    }

    /// Each delivery with the digest of the envelope that it brought, which its report repeats.
    /// - Parameter configuration: the digest of the configuration.
    func answers(of configuration: [UInt8]) -> [(delivery: ConfigurationDelivery, digest: [UInt8])] {
        entries.map { ($0.delivery, $0.digest ?? configuration) }
    }

    /// - Returns: the last delivery of each pairing and envelope, the newest last, at most LIM-136; and those beyond
    ///   that.
    func joined(to earlier: Self) -> (deliveries: Self, surplus: Self) {
        var both = earlier.entries.filter { entry in !entries.contains { $0.replaces(entry) } } + entries
        var surplus: [Entry] = []
        while both.count > ConfigurationLimits.deliveries {
            surplus.append(both.remove(at: Self.indexToDrop(in: both)))
        }
        return (Self(entries: both), Self(entries: surplus))
    }

    /// The oldest delivery of the pairing with the most: a carrier can make any number of envelopes, and must not push
    /// out others' deliveries.
    private static func indexToDrop(in entries: [Entry]) -> Int {
        let counts = Dictionary(entries.map { ($0.delivery.pairing, 1) }, uniquingKeysWith: +)
        let most = counts.values.max()
        return entries.firstIndex { counts[$0.delivery.pairing] == most } ?? 0
    }
}

extension ConfigurationDelivery {
    fileprivate var fields: PropertyListDictionary {
        ["pairing": .data(pairing.bytes), "nonce": .data(nonce.bytes)]
    }
}

extension ConfigurationDeliveries.Entry {
    fileprivate var fields: PropertyListDictionary {
        var fields = delivery.fields
        fields["brought"] = digest.map { .data($0) }
        return fields
    }

    /// - Returns: nil if none is there.
    fileprivate static func read(_ fields: inout FieldReader) throws(FieldError) -> Self? {
        let digest = try fields.optional("brought", "32 bytes of data") { $0.digestValue }
        let pairing = try fields.optional("pairing", "16 bytes of data") { $0.identifierValue }
        let nonce = try fields.optional("nonce", "16 bytes of data") { $0.identifierValue }
        switch (pairing, nonce) {
        case (let pairing?, let nonce?):
            return Self(delivery: ConfigurationDelivery(pairing: pairing, nonce: nonce), digest: digest)
        case (nil, nil) where digest == nil: return nil
        default: throw FieldError(field: "nonce", problem: "and 'pairing' belong together")
        }
    }
}

extension ConfigurationDeliveries {
    /// The fields of a file, which tells of the newest one alone (CFG-36, CFG-64): apps know no others.
    var fields: PropertyListDictionary { entries.last?.delivery.fields ?? [:] }

    /// The fields that a row has beside ``fields``: the envelope of the newest one, and the deliveries before it.
    var rowFields: PropertyListDictionary {
        PropertyListDictionary(present: [
            "brought": entries.last?.digest.map { .data($0) },
            "earlier": entries.count > 1 ? .array(entries.dropLast().map { .dictionary($0.fields) }) : nil,
        ])
    }

    init(_ fields: inout FieldReader) throws(FieldError) {
        let earlier = try fields.optional("earlier", "a list of dictionaries") { value in
            value.list(atMost: ConfigurationLimits.list) { $0.dictionaryValue }
        }
        var read = Self()
        for dictionary in earlier ?? [] {
            var fields = FieldReader(dictionary)
            read = Self(one: try Entry.read(&fields)).joined(to: read).deliveries
            try fields.refuseUnknownFields()
        }
        self = Self(one: try Entry.read(&fields)).joined(to: read).deliveries
    }

    private init(one entry: Entry?) { self.init(entries: entry.map { [$0] } ?? []) }
}
