// What came of `apply` (CTL-3): one result for each secondary, or the reason why nothing was forwarded.

package import TandemBase
import TandemReactor

/// What is known of a configuration at one secondary.
package struct ApplyResult: Sendable, Equatable {
    /// nil for this device's own app.
    package let pairing: UniqueIdentifier?
    /// The device's name.
    package let name: String
    /// Nil while nothing is known: the configuration waits for the link or for the report.
    package let verdict: String?
    package let text: String?
    package let version: UInt64
    package let digest: [UInt8]
}

package enum ApplyOutcome: Sendable, Equatable {
    case results([ApplyResult])
    /// Nothing was forwarded.
    case failed(name: String, text: String)
}

/// Somebody who waits for the reports on some items.
final class ApplyWaiter {
    let ids: [UniqueIdentifier]
    let completion: (ApplyOutcome) -> Void
    var timer: TimerToken?

    init(ids: [UniqueIdentifier], completion: @escaping (ApplyOutcome) -> Void) {
        self.ids = ids
        self.completion = completion
    }
}
