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
    /// Of the applied configuration, which has passed its trial.
    let digest: [UInt8]
    let deliveries: ConfigurationDeliveries
    /// The name of the fault; nil if the app loads it, as all verdicts `applied` say. Empty while a fault is not known
    /// to each of the deliveries.
    private var told: String?

    /// - Parameter known: those before these deliveries, which count if they are about the same bytes.
    /// - Returns: nil without a delivery.
    init?(of digest: [UInt8], to newer: ConfigurationDeliveries, after known: Self? = nil) {
        let earlier = known.flatMap { $0.digest == digest ? $0 : nil }
        deliveries = newer.joined(to: earlier?.deliveries ?? ConfigurationDeliveries()).deliveries
        guard !deliveries.isEmpty else { return nil }
        self.digest = digest
        told = earlier?.told == nil || earlier?.deliveries == deliveries ? earlier?.told : ""
    }

    /// The deliveries, if they brought these bytes.
    func deliveries(of digest: [UInt8]) -> ConfigurationDeliveries? { digest == self.digest ? deliveries : nil }

    /// Whether a fault was told and may be over.
    package var hasToldFault: Bool { told != nil }

    /// Notes what the deliveries are told next; returns whether it is new to them.
    mutating func tell(_ fault: LoadFault?) -> Bool {
        let name = fault?.rejection.rawValue
        defer { told = name }
        return told != name
    }
}

extension LoadReports {
    /// The row's fields.
    package var dictionary: PropertyListDictionary {
        var fields: PropertyListDictionary = ["v": 1, "digest": .data(digest)]
        fields["told"] = told.map { .string($0) }
        return fields.merging(deliveries.fields).merging(deliveries.rowFields)
    }

    package init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = FieldReader(dictionary)
        try fields.firstVersion()
        digest = try fields.required("digest", "32 bytes of data") { $0.digestValue }
        told = try fields.optional("told", "a string") { $0.stringValue }
        deliveries = try ConfigurationDeliveries(&fields)
        try fields.refuseUnknownFields()
    }
}
