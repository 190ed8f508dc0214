// Custom identifiers that a primary's apps claim; a claim is no proof. The first identifier of an app takes effect. Any
// later one raises the alarm `identifier-changed` and waits until this secondary's operator accepts it; the old one
// stays in force. Otherwise a compromised app could redirect configuration to itself by renaming. To have none again is
// such a change, too: the next identifier would be a first one otherwise.

package import TandemBase
package import TandemPropertyList
package import TandemWire

/// The claims of one app of one primary.
package struct IdentifierClaim: Sendable, Equatable {
    /// A claim that waits for the operator.
    package enum Offer: Sendable, Equatable {
        case identifier(CustomIdentifier)
        /// The primary's operator has taken its identifier back: the vendor identifier counts (PAR-21).
        case cleared

        fileprivate init(_ identifier: CustomIdentifier?) { self = identifier.map { .identifier($0) } ?? .cleared }

        var identifier: CustomIdentifier? {
            if case .identifier(let identifier) = self { identifier } else { nil }
        }
    }

    package let pairing: UniqueIdentifier
    package let app: ApplicationIdentifier
    /// The identifier in force; nil for none again.
    package fileprivate(set) var effective: CustomIdentifier?
    /// A later, different claim that waits for the operator.
    package fileprivate(set) var offered: Offer?

    package var row: PropertyListDictionary {
        var row: PropertyListDictionary = [
            "pairing": .data(pairing.bytes), "app": .string(app.description),
        ]
        row["effective"] = effective.map { .string($0.description) }
        switch offered {
        case .identifier(let identifier): row["offered"] = .string(identifier.description)
        case .cleared: row["cleared"] = true
        case nil: break
        }
        return row
    }

    package init(
        pairing: UniqueIdentifier, app: ApplicationIdentifier, effective: CustomIdentifier?, offered: Offer? = nil
    ) {
        self.pairing = pairing
        self.app = app
        self.effective = effective
        self.offered = offered
    }

    package init(row: PropertyListDictionary) throws(WireError) {
        let fields = BodyFields(row)
        try fields.refuseKeys(otherThan: ["pairing", "app", "effective", "offered", "cleared"])
        let offered = try fields.optionalCustomIdentifier("offered").map { Offer.identifier($0) }
        self.init(
            pairing: try fields.identifier("pairing"), app: try fields.application("app"),
            effective: try fields.optionalCustomIdentifier("effective"),
            offered: try fields.boolean("cleared", absent: false) ? .cleared : offered)
    }
}

/// All claims of this secondary's primaries.
package struct CustomIdentifierClaims: Sendable, Equatable {
    package enum Verdict: Sendable, Equatable {
        case unchanged
        /// The first one, which is in force now, or the one in force again, which withdraws a waiting offer.
        case changed(IdentifierClaim)
        /// Alarm `identifier-changed`; the old one stays. Raised once for each new value.
        case offered(IdentifierClaim)
        /// The pairing has no room for a further app's; it has no effect.
        case leftOut
    }

    /// By pairing: a primary chooses how many claims it has, and no look at another pairing's counts them.
    private var claims: [UniqueIdentifier: [ApplicationIdentifier: IdentifierClaim]] = [:]

    package init(claims: [IdentifierClaim] = []) {
        for claim in claims where self.claim(claim.pairing, claim.app) == nil { insert(claim) }
    }

    private mutating func insert(_ claim: IdentifierClaim) { claims[claim.pairing, default: [:]][claim.app] = claim }

    var applications: Set<ApplicationIdentifier> { Set(claims.values.flatMap(\.keys)) }

    package func claim(_ pairing: UniqueIdentifier, _ app: ApplicationIdentifier) -> IdentifierClaim? {
        claims[pairing]?[app]
    }

    /// Whether a further app of the pairing's primary may claim an identifier. No more than a device may have apps: it
    /// can announce others on each link (LIM-11). A claim stays when its app is withdrawn, which could otherwise come
    /// back with another identifier as its first one.
    func hasRoom(in pairing: UniqueIdentifier) -> Bool {
        claims[pairing, default: [:]].count < Limits.applications
    }

    /// The primary's app declared this identifier; nil: its operator has taken it back. An app that declares none has
    /// declared nothing: the one in force stays.
    package mutating func declared(
        _ identifier: CustomIdentifier?, for app: ApplicationIdentifier, pairing: UniqueIdentifier
    ) -> Verdict {
        guard var claim = self.claim(pairing, app) else {
            guard let identifier else { return .unchanged }
            guard hasRoom(in: pairing) else { return .leftOut }
            let claim = IdentifierClaim(pairing: pairing, app: app, effective: identifier)
            insert(claim)
            return .changed(claim)
        }
        let offer = claim.effective == identifier ? nil : IdentifierClaim.Offer(identifier)
        guard claim.offered != offer else { return .unchanged }
        claim.offered = offer
        insert(claim)
        return offer == nil ? .changed(claim) : .offered(claim)
    }

    /// The operator accepts the waiting offer; nil if none waits.
    package mutating func accept(_ app: ApplicationIdentifier, pairing: UniqueIdentifier) -> IdentifierClaim? {
        guard var claim = self.claim(pairing, app), let offered = claim.offered else { return nil }
        (claim.effective, claim.offered) = (offered.identifier, nil)
        insert(claim)
        return claim
    }

    /// Gives a pairing the claims of another one that it does not have; returns them.
    package mutating func copy(from old: UniqueIdentifier, to new: UniqueIdentifier) -> [IdentifierClaim] {
        let copies = claims[old, default: [:]].values.filter { claim(new, $0.app) == nil }.map {
            IdentifierClaim(pairing: new, app: $0.app, effective: $0.effective, offered: $0.offered)
        }
        for copy in copies { insert(copy) }
        return copies.sorted { $0.app < $1.app }
    }

    /// Removes the claims of a pairing; returns their apps, sorted.
    package mutating func remove(pairing: UniqueIdentifier) -> [ApplicationIdentifier] {
        claims.removeValue(forKey: pairing)?.keys.sorted() ?? []
    }
}
