// Ownership of application identifiers (SES-6).

import TandemBase
import TandemOperations
import TandemWire
import Testing

struct ApplicationOwnersTests {
    private let lamp: ApplicationIdentifier

    init() throws { lamp = try ApplicationIdentifier("org.example.lamp") }

    @Test func `SES-6: an app belongs to the first user that registers it, root included`() {
        var owners = ApplicationOwners()
        #expect(owners.claim(lamp, by: 1000) == .new)
        #expect(owners.claim(lamp, by: 1000) == .owned)
        #expect(owners.claim(lamp, by: 0) == .refused(.appOwned))
        #expect(owners[lamp] == 1000)
    }

    @Test func `SES-6: the operator assigns an app to another user, and a claim that was not stored is withdrawn`() {
        var owners = ApplicationOwners([lamp: 1000])
        owners.assign(lamp, to: 1001)
        #expect(owners.claim(lamp, by: 1000) == .refused(.appOwned))
        owners.withdraw(lamp)
        #expect(owners.claim(lamp, by: 1000) == .new)
    }

    @Test func `SES-6: a device has room for so many apps and refuses the next`() throws {
        var owners = ApplicationOwners()
        for number in 0..<Limits.applications {
            #expect(owners.claim(try ApplicationIdentifier("org.example.a\(number)"), by: 1000) == .new)
        }
        #expect(owners.claim(lamp, by: 1000) == .refused(.tooManyApplications))
    }
}
