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
        #expect(owners.claim(lamp, by: 1000, on: .primary) == .new)
        #expect(owners.claim(lamp, by: 1000, on: .primary) == .owned)
        #expect(owners.claim(lamp, by: 0, on: .primary) == .refused(.appOwned))
        #expect(owners[lamp] == ApplicationOwnership(user: 1000, role: .primary))
    }

    @Test func `SES-6: the operator assigns an app to another user, and a claim that was not stored is withdrawn`() {
        var owners = ApplicationOwners([lamp: ApplicationOwnership(user: 1000, role: .primary)])
        owners.assign(lamp, to: ApplicationOwnership(user: 1001, role: .primary))
        #expect(owners.claim(lamp, by: 1000, on: .primary) == .refused(.appOwned))
        owners.withdraw(lamp)
        #expect(owners.claim(lamp, by: 1000, on: .primary) == .new)
    }

    @Test func `SES-83: an app is on the side on which it was claimed first, and another user is not told which`() {
        var owners = ApplicationOwners()
        #expect(owners.claim(lamp, by: 1000, on: .primary) == .new)
        #expect(owners.claim(lamp, by: 1000, on: .secondary) == .refused(.appOtherSide))
        #expect(owners.claim(lamp, by: 1001, on: .secondary) == .refused(.appOwned))
        owners.withdraw(lamp)
        #expect(owners.claim(lamp, by: 1000, on: .secondary) == .new)
    }

    @Test func `SES-83: an assigned app without a side gets it by its first claim, and loses it if that is not stored`()
    {
        let reserved = ApplicationOwnership(user: 1000, role: nil)
        var owners = ApplicationOwners([lamp: reserved])
        let limit = owners.limit(of: 1001)
        #expect(owners.claim(lamp, by: 1000, on: .secondary) == .new)
        owners.revert(lamp, to: reserved)
        #expect(owners[lamp] == reserved)
        #expect(owners.claim(lamp, by: 1000, on: .primary) == .new)
        #expect(owners.claim(lamp, by: 1000, on: .secondary) == .refused(.appOtherSide))
        #expect(owners.limit(of: 1001) == limit, "it counts once")
        owners.revert(lamp, to: nil)
        #expect(owners[lamp] == nil)
    }

    @Test func `SES-75: an app that a user borrows stays nobody's, and counts until the last connection has ended`() {
        var owners = ApplicationOwners(operators: [])
        #expect(owners.borrow(lamp, by: 1000) == nil)
        let limit = owners.limit(of: 1001)
        #expect(owners.borrow(lamp, by: 1000) == nil && owners[lamp] == nil)
        #expect(owners.limit(of: 1001) == limit, "a second connection counts no more")
        #expect(owners.claim(lamp, by: 1001, on: .primary) == .new, "it belongs to the first that receives")
        owners.withdraw(lamp)
        owners.giveBack(lamp, by: 1000)
        #expect(owners.limit(of: 1001) == limit)
        owners.giveBack(lamp, by: 1000)
        owners.giveBack(lamp, by: 1000)
        #expect(owners.limit(of: 1001) > limit)
    }

    @Test func `SES-75: a borrower never uses the queues of the owner, also while the owner's claim is being stored`() {
        var owners = ApplicationOwners(operators: [0])
        #expect(owners.admit(1001, to: lamp, on: .primary, receives: false) == .borrowed)
        #expect(!owners.mayUseQueues(of: lamp, by: 1001) && owners.mayUseQueues(of: lamp, by: 0))
        #expect(owners.claim(lamp, by: 1000, on: .primary) == .new)
        #expect(owners.mayUseQueues(of: lamp, by: 1000) == true, "the claim counts at once, also before it is stored")
        #expect(!owners.mayUseQueues(of: lamp, by: 1001) && !owners.mayUseQueues(of: lamp, by: 0))
    }

    @Test func `SES-6, SES-75, SES-83: a connection is admitted, borrows, claims first, or is refused`() {
        var owners = ApplicationOwners()
        #expect(owners.admit(1000, to: lamp, on: .primary, receives: true) == .unclaimed)
        #expect(owners.admit(1000, to: lamp, on: .primary, receives: false) == .borrowed)
        owners.assign(lamp, to: ApplicationOwnership(user: 1000, role: nil))
        #expect(owners.admit(1000, to: lamp, on: .primary, receives: false) == .unclaimed, "its side is not decided")
        #expect(owners.claim(lamp, by: 1000, on: .primary) == .new)
        for receives in [false, true] {
            #expect(owners.admit(1000, to: lamp, on: .primary, receives: receives) == .owned)
            #expect(owners.admit(1000, to: lamp, on: .secondary, receives: receives) == .refused(.appOtherSide))
            #expect(owners.admit(0, to: lamp, on: .secondary, receives: receives) == .refused(.appOwned))
        }
        #expect(owners.isOwner(1000, of: lamp) && !owners.isOwner(0, of: lamp))
    }

    @Test func `SES-75, LIM-11: a user borrows no more apps than it may own`() throws {
        var owners = ApplicationOwners()
        let limit = owners.limit(of: 1000)
        for number in 0..<limit {
            #expect(owners.borrow(try ApplicationIdentifier("org.example.a\(number)"), by: 1000) == nil)
        }
        #expect(owners.borrow(lamp, by: 1000) == .tooManyApplications)
        #expect(owners.claim(lamp, by: 1000, on: .primary) == .refused(.tooManyApplications))
    }

    @Test func `SES-6: a device has room for so many apps and refuses the next`() throws {
        var owners = ApplicationOwners(operators: [1000])
        for number in 0..<Limits.applications {
            #expect(owners.claim(try ApplicationIdentifier("org.example.a\(number)"), by: 1000, on: .primary) == .new)
        }
        #expect(owners.claim(lamp, by: 1000, on: .primary) == .refused(.tooManyApplications))
    }

    @Test func `LIM-11: a user other than the daemon's gets half of the identifiers, and others theirs`() throws {
        var owners = ApplicationOwners(operators: [0, 1000])
        func claims(of user: UInt32) throws -> Int {
            var count = 0
            while owners.claim(try ApplicationIdentifier("org.example.u\(user).a\(count)"), by: user, on: .primary)
                == .new
            {
                count += 1
            }
            return count
        }
        #expect(try claims(of: 2000) == Limits.applications / 2)
        #expect(try claims(of: 2001) == Limits.applications / 6)
        #expect(try claims(of: 1000) == Limits.applications - Limits.applications / 2 - Limits.applications / 6)
        #expect(owners.claim(lamp, by: 2000, on: .primary) == .refused(.tooManyApplications))
        owners.withdraw(try ApplicationIdentifier("org.example.u2000.a0"))
        #expect(owners.claim(lamp, by: 1000, on: .primary) == .new)
    }
}
