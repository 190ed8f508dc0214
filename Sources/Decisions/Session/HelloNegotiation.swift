// Negotiation of version and capabilities in `hello` (SES-2 to SES-4): the highest common version, the capabilities
// that both ends named, and never a version below the highest one seen with the pairing. A proxy that strips either
// causes a refusal.

package import TandemWire

/// The version and capabilities that both ends may use after `hello`.
package struct HelloAgreement: Sendable, Equatable {
    package let version: ProtocolVersion
    package let capabilities: Set<Capability>
}

/// The versions and capabilities of one end.
package struct HelloOffer: Sendable, Equatable {
    package let versions: ClosedRange<ProtocolVersion>
    package let capabilities: Set<Capability>

    package init(versions: ClosedRange<ProtocolVersion> = ProtocolVersion.supported, capabilities: Set<Capability>) {
        self.versions = versions
        self.capabilities = capabilities
    }
}

/// Why a `hello` is refused; `refusal` is what goes out.
package enum HelloFailure: Error, Sendable, Equatable {
    /// No common version, or an answer outside what was asked.
    case version
    /// Below the highest version seen with this pairing.
    case versionLowered(chosen: ProtocolVersion, seen: ProtocolVersion)
    /// The server named a capability that the client did not.
    case capability(Capability)

    package var refusal: RefusalName {
        switch self {
        case .version, .capability: .version
        case .versionLowered: .versionLowered
        }
    }
}

/// The negotiation, once for each side.
package struct HelloNegotiation: Sendable {
    private let own: HelloOffer
    /// The highest version seen with this pairing; nil on a local socket and for a new pairing.
    private let highestSeen: ProtocolVersion?

    package init(own: HelloOffer, highestSeen: ProtocolVersion? = nil) {
        self.own = own
        self.highestSeen = highestSeen
    }

    /// The server's choice for a client's offer.
    package func choose(for client: HelloOffer) throws(HelloFailure) -> HelloAgreement {
        guard let chosen = ProtocolVersion.chosen(from: client.versions, and: own.versions) else { throw .version }
        try checkNotLowered(chosen)
        return HelloAgreement(version: chosen, capabilities: own.capabilities.intersection(client.capabilities))
    }

    /// The client's check of the server's choice.
    package func accept(version: ProtocolVersion, capabilities: Set<Capability>) throws(HelloFailure) -> HelloAgreement
    {
        guard own.versions.contains(version) else { throw .version }
        if let foreign = capabilities.subtracting(own.capabilities).first { throw .capability(foreign) }
        try checkNotLowered(version)
        return HelloAgreement(version: version, capabilities: capabilities)
    }

    private func checkNotLowered(_ version: ProtocolVersion) throws(HelloFailure) {
        guard let highestSeen, version < highestSeen else { return }
        throw .versionLowered(chosen: version, seen: highestSeen)
    }
}
