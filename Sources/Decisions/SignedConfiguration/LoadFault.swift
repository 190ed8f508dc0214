// Fault of an applied configuration that its app does not load (CFG-42), for the status and the reports on loading
// (CFG-114).

import TandemBase

/// The fault of an applied configuration that its app does not load, as the reply to a reload names it (CFG-42).
package struct LoadFault: Sendable {
    private enum Cause: Sendable {
        case rejected(Rejection)
        /// The app cannot read it (CFG-115).
        case unread
        /// The app has loaded other bytes, or none (CFG-116).
        case otherBytes
    }

    package let digest: [UInt8]
    private let cause: Cause
    /// The app's words, cut to what a report has room for.
    package let detail: String

    /// - Returns: nil if the reply names no fault.
    package init?(_ reply: OfferReply) {
        guard case .rejected(let rejection) = reply.verdict else { return nil }
        digest = reply.digest
        cause = .rejected(rejection)
        detail = ReportFacts.cut(reply.text ?? "")
    }

    /// - Parameter digest: of what is applied, which the app cannot name.
    package init(_ unread: UnreadConfiguration, of digest: [UInt8]) {
        self.digest = digest
        cause = .unread
        detail = ReportFacts.cut(unread.text)
    }

    /// - Parameters:
    ///   - digest: of what is applied.
    ///   - loaded: of what the app has loaded in its place; empty for none.
    init(of digest: [UInt8], loaded: [UInt8]) {
        self.digest = digest
        cause = .otherBytes
        detail =
            loaded.isEmpty
            ? "the app has loaded no configuration"
            : "the app has loaded another configuration, of digest \(Hexadecimal.encode(loaded.prefix(8)))"
    }

    /// The app's verdict; nil if it has given none.
    package var rejection: Rejection? { if case .rejected(let rejection) = cause { rejection } else { nil } }

    /// The name that a status and a report show for it.
    package var name: String {
        switch cause {
        case .rejected(let rejection): rejection.rawValue
        case .unread: UnjudgedOffer.name
        case .otherBytes: "other-loaded"
        }
    }

    /// Whether the app has not judged the configuration: it may be a good one.
    package var isUnjudged: Bool { rejection == nil }

    package var isOfOtherBytes: Bool { if case .otherBytes = cause { true } else { false } }

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
