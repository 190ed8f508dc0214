// Reports about the loading of applied configurations (CFG-114). After its trial another build of the app may be
// installed that does not load what is applied. Each delivery has had its last verdict by then, so the senders of these
// bytes are told the fault, and told again when it is over.

package import TandemPropertyList
import TandemWire

/// A store row: the deliveries that get reports on loading (CFG-114), and the last report that they got. One with a
/// waived signature shows above the active one, whose deliveries stay.
package struct LoadReports: Sendable, Equatable {
    /// The news that the deliveries have.
    fileprivate enum Known: Sendable, Equatable {
        /// The app loads it, as all verdicts `applied` say.
        case loads
        /// The app does not load it, by this name.
        case fault(String)
        /// Some of them know a fault and others do not.
        case differs
    }

    /// Of one applied configuration, which has passed its trial.
    fileprivate struct Entry: Sendable, Equatable {
        let digest: [UInt8]
        var deliveries: ConfigurationDeliveries
        var known = Known.loads
    }

    /// One for each configuration with a delivery, the one that passed last at the end.
    private var entries: [Entry] = []

    init() {}

    var isEmpty: Bool { entries.isEmpty }

    var digests: [[UInt8]] { entries.map(\.digest) }

    /// Further deliveries of a configuration, whose senders know it as applied; nothing without one.
    mutating func add(_ newer: ConfigurationDeliveries, of digest: [UInt8]) {
        guard !newer.isEmpty else { return }
        var entry = entries.first { $0.digest == digest } ?? Entry(digest: digest, deliveries: newer)
        let earlier = entry.deliveries
        entry.deliveries = newer.joined(to: earlier).deliveries
        if entry.deliveries != earlier, entry.known != .loads { entry.known = .differs }
        entries.removeAll { $0.digest == digest }
        entries.append(entry)
    }

    /// Forgets those of all other configurations.
    mutating func keep(_ digests: [[UInt8]]) { entries.removeAll { !digests.contains($0.digest) } }

    /// The deliveries that brought a configuration; none if no report is owed to anybody.
    func deliveries(of digest: [UInt8]) -> ConfigurationDeliveries {
        entries.first { $0.digest == digest }?.deliveries ?? ConfigurationDeliveries()
    }

    /// Whether a report that the app loads a configuration would tell some delivery something new.
    package var mayNeedReport: Bool { entries.contains { $0.known != .loads } }

    /// Notes what the deliveries of a configuration are told next; returns whether it is new to them.
    mutating func note(_ fault: LoadFault?, of digest: [UInt8]) -> Bool {
        guard let index = entries.firstIndex(where: { $0.digest == digest }) else { return false }
        let next = fault.map { Known.fault($0.name) } ?? .loads
        defer { entries[index].known = next }
        return entries[index].known != next
    }
}

extension LoadReports {
    /// The fields of the last one, and the others beside them. Rows of earlier releases have only the former; these
    /// releases read no row with others.
    package var dictionary: PropertyListDictionary {
        (entries.last?.fields ?? [:]).merging(present: [
            "v": 1, "others": entries.count > 1 ? .array(entries.dropLast().map { .dictionary($0.fields) }) : nil,
        ])
    }

    package init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = try FieldReader(record: dictionary)
        let others = try fields.optional("others", "a list of dictionaries") { value in
            value.list(atMost: ConfigurationLimits.list) { $0.dictionaryValue }
        }
        for other in others ?? [] {
            var fields = FieldReader(other)
            entries.append(try Entry(&fields))
            try fields.refuseUnknownFields()
        }
        entries.append(try Entry(&fields))
        try fields.refuseUnknownFields()
    }
}

extension LoadReports.Entry {
    fileprivate var fields: PropertyListDictionary {
        var fields: PropertyListDictionary = ["digest": .data(digest)]
        // Empty for `differs`.
        switch known {
        case .loads: break
        case .fault(let name): fields["told"] = .string(name)
        case .differs: fields["told"] = .string("")
        }
        return fields.merging(deliveries.fields).merging(deliveries.rowFields)
    }

    fileprivate init(_ fields: inout FieldReader) throws(FieldError) {
        digest = try fields.required("digest", "32 bytes of data") { $0.digestValue }
        let told = try fields.optional("told", "a string") { $0.stringValue }
        known = told.map { $0.isEmpty ? .differs : .fault($0) } ?? .loads
        deliveries = try ConfigurationDeliveries(&fields)
    }
}
