// Reports about the loading of an applied configuration (CFG-114). After its trial another build of the app may be
// installed that does not load what is applied. Each delivery has had its last verdict by then, so the senders of these
// bytes are told the fault, and told again when it is over.

package import TandemPropertyList
import TandemWire

/// A store row: the deliveries that get reports on loading (CFG-114), and the last report that they got.
package struct LoadReports: Sendable, Equatable {
    /// The news that the deliveries have.
    private enum Known: Sendable, Equatable {
        /// The app loads it, as all verdicts `applied` say.
        case loads
        /// The app does not load it, by this name.
        case fault(String)
        /// Some of them know a fault and others do not.
        case differs
    }

    /// Of the applied configuration, which has passed its trial.
    let digest: [UInt8]
    let deliveries: ConfigurationDeliveries
    private var known: Known

    /// - Parameter former: those before these deliveries, which count if they are about the same bytes.
    /// - Returns: nil without a delivery.
    init?(of digest: [UInt8], to newer: ConfigurationDeliveries, after former: Self? = nil) {
        let earlier = former.flatMap { $0.digest == digest ? $0 : nil }
        deliveries = newer.joined(to: earlier?.deliveries ?? ConfigurationDeliveries()).deliveries
        guard !deliveries.isEmpty else { return nil }
        self.digest = digest
        let before = earlier?.known ?? .loads
        known = before == .loads || earlier?.deliveries == deliveries ? before : .differs
    }

    /// The deliveries, if they brought these bytes.
    func deliveries(of digest: [UInt8]) -> ConfigurationDeliveries? { digest == self.digest ? deliveries : nil }

    /// Whether a report that the app loads the configuration would tell some delivery something new.
    package var mayNeedReport: Bool { known != .loads }

    /// Notes what the deliveries are told next; returns whether it is new to them.
    mutating func note(_ fault: LoadFault?) -> Bool {
        let next = fault.map { Known.fault($0.name) } ?? .loads
        defer { known = next }
        return known != next
    }
}

extension LoadReports {
    package var dictionary: PropertyListDictionary {
        var fields: PropertyListDictionary = ["v": 1, "digest": .data(digest)]
        // Empty for `differs`.
        switch known {
        case .loads: break
        case .fault(let name): fields["told"] = .string(name)
        case .differs: fields["told"] = .string("")
        }
        return fields.merging(deliveries.fields).merging(deliveries.rowFields)
    }

    package init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = try FieldReader(record: dictionary)
        digest = try fields.required("digest", "32 bytes of data") { $0.digestValue }
        let told = try fields.optional("told", "a string") { $0.stringValue }
        known = told.map { $0.isEmpty ? .differs : .fault($0) } ?? .loads
        deliveries = try ConfigurationDeliveries(&fields)
        try fields.refuseUnknownFields()
    }
}
