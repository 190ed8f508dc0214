// Custom identifiers as claims (PAR-18), and what configuration is targeted at.

import TandemBase
import TandemCrypto
import TandemPairing
import TandemWire
import Testing

struct ClaimTests {
    private let own = UniqueIdentifier.random()

    private func secondaryRegistry() throws -> (PairingRegistry, PairingRecord, ApplicationIdentifier) {
        let fixture = try JoinFixture()
        var registry = JoinFixture.emptyRegistry
        let record = PairingRecord(
            pairing: .random(), role: .secondary, peer: fixture.primary.pin, claim: fixture.primary.claim,
            created: fixture.start)
        _ = try registry.joined(record)
        return (registry, record, try ApplicationIdentifier("com.example.app"))
    }

    private func target(
        of app: ApplicationIdentifier, through pairing: UniqueIdentifier, in registry: PairingRegistry,
        claiming claim: CustomIdentifier? = nil
    ) -> PairedIdentifier? {
        PairedTargets(registry, vendor: own, ownClaim: { _ in claim }).target(of: app, through: pairing)
    }

    @Test("PAR-18: without a claim the target is the primary's vendor identifier, with one the custom identifier")
    func target() throws {
        var (registry, record, app) = try secondaryRegistry()
        let vendor = try #require(record.peer.derivedIdentifier)
        #expect(target(of: app, through: record.pairing, in: registry) == .vendor(vendor))
        let custom = try CustomIdentifier("kitchen")
        #expect(registry.declared(custom, for: app, pairing: record.pairing).changes.count == 1)
        #expect(target(of: app, through: record.pairing, in: registry) == .custom(custom))
        let other = try ApplicationIdentifier("com.example.other")
        #expect(target(of: other, through: record.pairing, in: registry) == .vendor(vendor))
    }

    @Test("PAR-18, LIM-11: a primary claims no more identifiers than it may have apps, and a further one is reported")
    func bound() throws {
        var (registry, record, _) = try secondaryRegistry()
        let custom = try CustomIdentifier("kitchen")
        for number in 0..<Limits.applications {
            let app = try ApplicationIdentifier("com.example.a\(number)")
            #expect(registry.declared(custom, for: app, pairing: record.pairing).changes.count == 1)
        }
        let (first, more) = (try ApplicationIdentifier("com.example.a0"), try ApplicationIdentifier("com.example.more"))
        let change = registry.declared(custom, for: more, pairing: record.pairing)
        #expect(change.changes.isEmpty && change.event == .identifierLeftOut(record.pairing, more))
        #expect(registry.leavesOut(custom, of: more, in: record.pairing))
        #expect(!registry.leavesOut(nil, of: more, in: record.pairing), "it declares none")
        #expect(!registry.leavesOut(custom, of: first, in: record.pairing))
        #expect(registry.declared(nil, for: more, pairing: record.pairing).event == nil)
        _ = registry.unpair(record.pairing)
        #expect(!registry.leavesOut(custom, of: more, in: record.pairing))
    }

    @Test("PAR-18: a primary's own claim, else its own vendor identifier, is the target on its side")
    func ownTarget() throws {
        var fixture = try JoinFixture()
        let pairing = try fixture.joinWell().pairing
        let app = try ApplicationIdentifier("a")
        let custom = try CustomIdentifier("kitchen")
        #expect(target(of: app, through: pairing, in: fixture.registry) == .vendor(own))
        #expect(target(of: app, through: pairing, in: fixture.registry, claiming: custom) == .custom(custom))
        #expect(fixture.registry.declared(custom, for: app, pairing: pairing).changes.isEmpty)
    }

    @Test("PAR-18: a later, different claim is alarmed once and has no effect until accepted")
    func changed() throws {
        var (registry, record, app) = try secondaryRegistry()
        let (first, second) = (try CustomIdentifier("kitchen"), try CustomIdentifier("attacker"))
        _ = registry.declared(first, for: app, pairing: record.pairing)
        let change = registry.declared(second, for: app, pairing: record.pairing)
        let claim = IdentifierClaim(
            pairing: record.pairing, app: app, effective: first, offered: .identifier(second))
        #expect(change.event == .identifierChanged(claim) && change.changes.count == 1)
        let again = registry.declared(second, for: app, pairing: record.pairing)
        #expect(again.event == nil && again.changes.isEmpty)
        #expect(target(of: app, through: record.pairing, in: registry) == .custom(first))
        #expect(registry.acceptIdentifier(of: app, pairing: record.pairing)?.claim.effective == second)
        #expect(registry.acceptIdentifier(of: app, pairing: record.pairing) == nil)
        #expect(target(of: app, through: record.pairing, in: registry) == .custom(second))
    }

    @Test("PAR-18: declaring the one in force again withdraws a waiting offer")
    func withdrawn() throws {
        var (registry, record, app) = try secondaryRegistry()
        let (first, second) = (try CustomIdentifier("kitchen"), try CustomIdentifier("other"))
        _ = registry.declared(first, for: app, pairing: record.pairing)
        _ = registry.declared(second, for: app, pairing: record.pairing)
        #expect(registry.declared(first, for: app, pairing: record.pairing).changes.count == 1)
        #expect(registry.acceptIdentifier(of: app, pairing: record.pairing) == nil)
    }

    @Test("PAR-21: an identifier that is taken back is alarmed, and ends when this secondary's operator accepts that")
    func cleared() throws {
        var (registry, record, app) = try secondaryRegistry()
        let (first, second) = (try CustomIdentifier("kitchen"), try CustomIdentifier("attacker"))
        let vendor = try #require(record.peer.derivedIdentifier)
        #expect(registry.declared(nil, for: app, pairing: record.pairing).changes.isEmpty, "there was none")
        _ = registry.declared(first, for: app, pairing: record.pairing)
        let change = registry.declared(nil, for: app, pairing: record.pairing)
        let waiting = IdentifierClaim(pairing: record.pairing, app: app, effective: first, offered: .cleared)
        #expect(change.event == .identifierChanged(waiting) && change.changes.count == 1)
        #expect(target(of: app, through: record.pairing, in: registry) == .custom(first))
        let accepted = registry.acceptIdentifier(of: app, pairing: record.pairing)
        #expect(target(of: app, through: record.pairing, in: registry) == .vendor(vendor))
        #expect(registry.declared(nil, for: app, pairing: record.pairing).changes.isEmpty)
        // Else an app could take its identifier back to declare any other.
        #expect(registry.declared(second, for: app, pairing: record.pairing).event != nil)
        #expect(target(of: app, through: record.pairing, in: registry) == .vendor(vendor))
        let claim = try #require(accepted).claim
        #expect(claim.effective == nil)
        #expect(try IdentifierClaim(row: claim.row) == claim)
    }

    @Test("PAR-21: the stored claim remembers that a taking back waits, and the identifier in force withdraws it")
    func clearedIsStored() throws {
        var (registry, record, app) = try secondaryRegistry()
        let first = try CustomIdentifier("kitchen")
        _ = registry.declared(first, for: app, pairing: record.pairing)
        let change = registry.declared(nil, for: app, pairing: record.pairing)
        guard case .putClaim(let claim)? = change.changes.first else { throw WireError.missingKind }
        #expect(claim.offered == .cleared)
        #expect(try IdentifierClaim(row: claim.row) == claim)
        #expect(registry.declared(first, for: app, pairing: record.pairing).changes.count == 1)
        #expect(registry.acceptIdentifier(of: app, pairing: record.pairing) == nil)
    }

    @Test("PAR-18: identifiers are compared as bytes, not as text that looks the same")
    func bytes() throws {
        var (registry, record, app) = try secondaryRegistry()
        _ = registry.declared(try CustomIdentifier("K\u{00FC}che"), for: app, pairing: record.pairing)
        let change = registry.declared(try CustomIdentifier("Ku\u{0308}che"), for: app, pairing: record.pairing)
        #expect(change.event != nil)
    }
}
