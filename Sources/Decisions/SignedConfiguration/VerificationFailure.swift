// A rejection with what a report and a person need beside its name: the words, and the facts of the payload once a good
// signature vouched for them. Equality looks at the name only, so that tests compare names and not prose.

package import TandemBase

/// A configuration that was rejected.
package struct VerificationFailure: Error, Sendable {
    package let rejection: Rejection
    /// What is wrong and where, in one sentence without the name.
    package let detail: String
    /// The payload, if its signature was good and it could be read.
    package let payload: ConfigurationPayload?

    package init(_ rejection: Rejection, _ detail: String, payload: ConfigurationPayload? = nil) {
        self.rejection = rejection
        self.detail = detail
        self.payload = payload
    }

    /// The `txid` of the payload, if it may be told.
    package var transaction: UniqueIdentifier? { payload?.transaction }
}

extension VerificationFailure: Equatable {
    package static func == (left: Self, right: Self) -> Bool { left.rejection == right.rejection }
}

extension VerificationFailure: CustomStringConvertible {
    package var description: String { "\(rejection): \(detail)" }
}
