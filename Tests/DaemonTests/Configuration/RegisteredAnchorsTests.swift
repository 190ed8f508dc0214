// Conflicts between the anchors with which apps register and the trusted ones, as the status of keys shows them.

import TandemBase
import TandemCrypto
import TandemSignedConfiguration
import TandemTestSupport
import Testing

@testable import TandemDaemon

@Suite struct RegisteredAnchorsTests {
    @Test("CFG-17, CTL-27: an app's key set ahead of the chain is a conflict until the rotations have come")
    func aheadOfTheChain() throws {
        let holders = KeyHolders(of: try ApplicationIdentifier("org.example.alarm"))
        let (first, second) = (try holders.set(1, [.generate()]), try holders.set(2, [.generate()]))
        var anchors = ConfigurationAnchors()
        let learning = anchors.learn(KeySetText.text(of: first), for: holders.subject, from: .operator)
        guard case .new(let trusted) = learning else { throw Unexpected("not learned: \(learning)") }
        var registered = RegisteredAnchors()
        func isConflicting(_ anchor: KnownAnchor) -> Bool { registered.isConflicting(with: anchor) }
        #expect(!isConflicting(trusted))
        registered.registered(KeySetText.text(of: second), for: holders.subject)
        #expect(isConflicting(trusted))
        let grown = try #require(try anchors.follow(second, of: holders.subject, isCarried: false))
        #expect(!isConflicting(grown))
        registered.registered("no key", for: holders.subject)
        #expect(isConflicting(grown))
        registered.registered(nil, for: holders.subject)
        #expect(!isConflicting(grown))
    }
}
