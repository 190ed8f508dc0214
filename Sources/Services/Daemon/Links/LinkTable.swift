// The ready links, one for each pairing. A newer link replaces an older one (SES-19): the peer that dials again knows
// better than we do that the old connection is dead.

package import TandemBase

/// The ready links of a daemon; confined to the loop's thread.
package final class LinkTable {
    private var links: [UniqueIdentifier: Link] = [:]

    init() {}

    /// The ready link of a pairing.
    package subscript(pairing: UniqueIdentifier) -> Link? { links[pairing] }

    /// All ready links, in no order.
    package var all: [Link] { Array(links.values) }

    /// Ends a pairing's link, if it has one. A revoked peer is cut off by this at once (PAR-13).
    package func end(_ pairing: UniqueIdentifier, _ name: ByeName) { links[pairing]?.end(name) }

    /// Ends all links.
    package func endAll(_ name: ByeName) {
        for link in all { link.end(name) }
    }

    func insert(_ link: Link) {
        links[link.pairing]?.end(.replaced)
        links[link.pairing] = link
    }

    func remove(_ link: Link) {
        if links[link.pairing] === link { links[link.pairing] = nil }
    }
}
