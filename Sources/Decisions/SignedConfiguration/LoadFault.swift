// Fault of an applied configuration that its app does not load (CFG-42), for the status and the reports on loading
// (CFG-114).

/// The fault of an applied configuration that its app does not load, as the reply to a reload names it (CFG-42).
package struct LoadFault: Sendable {
    package let digest: [UInt8]
    /// The app's verdict; nil if it cannot read the configuration, and so has not judged it (CFG-115).
    package let rejection: Rejection?
    /// The app's words, cut to what a report has room for.
    package let detail: String

    /// - Returns: nil if the reply names no fault.
    package init?(_ reply: OfferReply) {
        guard case .rejected(let rejection) = reply.verdict else { return nil }
        digest = reply.digest
        self.rejection = rejection
        detail = ReportFacts.cut(reply.text ?? "")
    }

    /// - Parameter digest: of what is applied, which the app cannot name.
    package init(_ unread: UnreadConfiguration, of digest: [UInt8]) {
        self.digest = digest
        rejection = nil
        detail = ReportFacts.cut(unread.text)
    }

    /// The name that a status and a report show for it.
    package var name: String { rejection?.rawValue ?? UnjudgedOffer.name }

    /// Whether the app cannot read the configuration: it may be a good one.
    package var isUnread: Bool { rejection == nil }

    /// The fault, if it is about this configuration.
    package func of(_ shown: ActiveConfiguration?) -> Self? { digest == shown?.record.digest ? self : nil }

    var text: String { "the app does not load it [\(name)]" + (detail.isEmpty ? "" : ": \(detail)") }
}

extension LoadFault: Equatable {
    /// The words are for people, and may be others each time.
    package static func == (left: Self, right: Self) -> Bool {
        left.digest == right.digest && left.name == right.name
    }
}
