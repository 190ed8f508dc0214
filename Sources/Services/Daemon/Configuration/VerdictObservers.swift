// Callers that wait for an app's verdict, such as 'tandem apply' at the device's own daemon. An app may never answer:
// each caller waits for as long as it has said, and the configuration stays in any case.

import TandemReactor
import TandemSignedConfiguration

/// Expectations of an app's verdicts on configurations, by the digests of their bytes.
final class VerdictObservers {
    private let scheduler: any Scheduler
    private var expectations: [[UInt8]: [Expectation<ApplyTransition>]] = [:]

    init(on scheduler: any Scheduler) { self.scheduler = scheduler }

    /// Expects the app's answer about bytes of this digest, until ``stop(_:of:)``.
    func observe(_ digest: [UInt8]) -> Expectation<ApplyTransition> {
        let expectation = Expectation<ApplyTransition>(on: scheduler)
        expectations[digest, default: []].append(expectation)
        return expectation
    }

    func stop(_ expectation: Expectation<ApplyTransition>, of digest: [UInt8]) {
        expectations[digest]?.removeAll { $0 === expectation }
        if expectations[digest]?.isEmpty == true { expectations[digest] = nil }
    }

    func notify(_ transition: ApplyTransition, of digest: [UInt8]) {
        for expectation in expectations[digest] ?? [] { expectation.fulfil(transition) }
    }
}
