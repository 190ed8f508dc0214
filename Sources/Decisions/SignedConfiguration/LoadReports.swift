// Reports about the loading of an applied configuration (CFG-114). After its trial another build of the app may be
// installed that does not load what is applied. Each delivery has had its last verdict by then, so the senders of these
// bytes are told the fault, and told again when it is over.

package import TandemPropertyList
import TandemWire

/// The fault of an applied configuration that its app does not load, as the reply to a reload names it (CFG-42).
package struct LoadFault: Sendable {
    package let digest: [UInt8]
    package let rejection: Rejection
    /// The app's words, cut to what a report has room for.
    private let detail: String

    /// - Returns: nil if the reply names no fault.
    package init?(_ reply: OfferReply) {
        guard case .rejected(let rejection) = reply.verdict else { return nil }
        digest = reply.digest
        self.rejection = rejection
        detail = ReportFacts.cut(reply.text ?? "")
    }

    /// The fault, if it is about this configuration.
    package func of(_ shown: ActiveConfiguration?) -> Self? { digest == shown?.record.digest ? self : nil }

    /// The words for people.
    var text: String { "the app does not load it [\(rejection)]" + (detail.isEmpty ? "" : ": \(detail)") }
}

extension LoadFault: Equatable {
    /// The words are for people, and may be others each time.
    package static func == (left: Self, right: Self) -> Bool {
        left.digest == right.digest && left.rejection == right.rejection
    }
}

/// The deliveries that are told whether the app loads what they brought, and what they were told last: a row.
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

    /// Whether an app that loads what they brought is news to some of the deliveries.
    package var mayNeedReport: Bool { known != .loads }

    /// Notes what the deliveries are told next; returns whether it is new to them.
    mutating func note(_ fault: LoadFault?) -> Bool {
        let next = fault.map { Known.fault($0.rejection.rawValue) } ?? .loads
        defer { known = next }
        return known != next
    }
}

extension LoadReports {
    /// The row's fields.
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
        var fields = FieldReader(dictionary)
        try fields.firstVersion()
        digest = try fields.required("digest", "32 bytes of data") { $0.digestValue }
        let told = try fields.optional("told", "a string") { $0.stringValue }
        known = told.map { $0.isEmpty ? .differs : .fault($0) } ?? .loads
        deliveries = try ConfigurationDeliveries(&fields)
        try fields.refuseUnknownFields()
    }
}
