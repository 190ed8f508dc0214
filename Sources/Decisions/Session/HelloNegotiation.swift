// Negotiation of version and capabilities in `hello` (SES-2, SES-3): the highest common version, and the capabilities
// that both ends named. That a pairing's version never falls (SES-4) is for its registry to judge.

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

/// Why a `hello` is refused as ``RefusalName/version``.
package enum HelloFailure: Error, Sendable, Equatable {
    /// No common version, or an answer outside what was asked.
    case version
    /// The server named a capability that the client did not.
    case capability(Capability)
}

extension HelloFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .version: "no protocol version in common"
        case .capability(let capability): "it names the capability '\(capability.rawValue)', which was not offered"
        }
    }
}

extension HelloOffer {
    /// The server's choice for a client's offer.
    package func choose(for client: HelloOffer) throws(HelloFailure) -> HelloAgreement {
        guard let chosen = ProtocolVersion.chosen(from: client.versions, and: versions) else { throw .version }
        return HelloAgreement(version: chosen, capabilities: capabilities.intersection(client.capabilities))
    }

    /// The client's check of the server's choice.
    package func accept(version: ProtocolVersion, capabilities: Set<Capability>) throws(HelloFailure) -> HelloAgreement
    {
        guard versions.contains(version) else { throw .version }
        if let foreign = capabilities.subtracting(self.capabilities).first { throw .capability(foreign) }
        return HelloAgreement(version: version, capabilities: capabilities)
    }
}
