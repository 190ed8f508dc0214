// Frames between a primary and the carriers below it (CFG-103, CFG-104): each names the far pairing that its content is
// for or from. A carrier never opens that content.

package import TandemBase
import TandemPropertyList
import TandemWire

/// A configuration, key set or revocation for a far secondary, as a primary gives it to a carrier.
package struct CarriedConfiguration: Sendable, Equatable {
    /// The far pairing.
    package let to: UniqueIdentifier
    /// 32 bytes: a later one of the same slot takes its place in a queue.
    package let slot: [UInt8]
    /// The exact bytes.
    package let envelope: [UInt8]

    package init(to: UniqueIdentifier, slot: [UInt8], envelope: [UInt8]) {
        (self.to, self.slot, self.envelope) = (to, slot, envelope)
    }

    package var bytes: [UInt8] {
        let fields: PropertyListDictionary = [
            "v": 1, "to": .data(to.bytes), "slot": .data(slot), "envelope": .data(envelope),
        ]
        return fields.ownBytes
    }

    /// Nil for anything else, such as an envelope for this device itself.
    package init?(_ bytes: [UInt8]) {
        guard let fields = Carriage.fields(bytes, 4), let to = fields["to"]?.identifierValue,
            let slot = fields["slot"]?.digestValue, let envelope = fields["envelope"]?.dataValue
        else { return nil }
        self.init(to: to, slot: slot, envelope: envelope)
    }

    /// Whether it claims to be a step of a key chain, which has room of its own on its way: no number of them costs a
    /// configuration its report.
    package var isKeyStatement: Bool {
        switch (try? UnverifiedEnvelope(envelope))?.claimedType {
        case .keySet, .revocation: true
        case .configuration, .report, .carrier, nil: false
        }
    }
}

/// A primary takes an item back that a carrier may not have delivered.
package struct CarriedCancellation: Sendable, Equatable {
    /// The far pairing.
    package let to: UniqueIdentifier
    /// The item that had the configuration.
    package let item: UniqueIdentifier

    package init(to: UniqueIdentifier, item: UniqueIdentifier) { (self.to, self.item) = (to, item) }

    package var bytes: [UInt8] {
        (["v": 1, "to": .data(to.bytes), "cancel": .data(item.bytes)] as PropertyListDictionary).ownBytes
    }

    package init?(_ bytes: [UInt8]) {
        guard let fields = Carriage.fields(bytes, 3), let to = fields["to"]?.identifierValue,
            let item = fields["cancel"]?.identifierValue
        else { return nil }
        self.init(to: to, item: item)
    }
}

/// The report of a far secondary, as a carrier gives it to its primary.
package struct CarriedReport: Sendable, Equatable {
    /// The far pairing.
    package let from: UniqueIdentifier
    /// The exact bytes.
    package let report: [UInt8]

    package init(from: UniqueIdentifier, report: [UInt8]) { (self.from, self.report) = (from, report) }

    package var bytes: [UInt8] {
        (["v": 1, "from": .data(from.bytes), "report": .data(report)] as PropertyListDictionary).ownBytes
    }

    package init?(_ bytes: [UInt8]) {
        guard let fields = Carriage.fields(bytes, 3), let from = fields["from"]?.identifierValue,
            let report = fields["report"]?.dataValue
        else { return nil }
        self.init(from: from, report: report)
    }
}

private enum Carriage {
    static func fields(_ bytes: [UInt8], _ count: Int) -> PropertyListDictionary? {
        guard let fields = try? PropertyListReader.readDictionary(bytes), fields.count == count,
            fields["v"]?.integerValue == 1
        else { return nil }
        return fields
    }
}
