// Bodies of `join` and `joined` (PAR-6, PAR-9, PAR-11), and the secondary's side of the exchange. Both bodies are
// closed: this exchange is read from strangers, so an unknown key is refused.

package import TandemBase
package import TandemCrypto
package import TandemPropertyList
package import TandemWire

/// The body of `join`.
package struct JoinRequest: Sendable, Equatable {
    /// Why the joining device should be believed.
    package enum Method: Sendable, Equatable {
        case token(JoinTokenIdentifier, proof: [UInt8])
        /// Its pin was trusted by hand.
        case trust
    }

    package let method: Method
    package let claim: JoinClaim
    package let versions: ClosedRange<ProtocolVersion>

    package init(method: Method, claim: JoinClaim, versions: ClosedRange<ProtocolVersion>) {
        self.method = method
        self.claim = claim
        self.versions = versions
    }

    package var body: PropertyListDictionary {
        var body: PropertyListDictionary = [
            "name": .string(claim.name), "reportKey": .data(claim.reportKey),
            "minimum": .integer(Int64(versions.lowerBound.number)),
            "maximum": .integer(Int64(versions.upperBound.number)),
        ]
        switch method {
        case .trust: body["method"] = "trust"
        case .token(let token, let proof):
            body["method"] = "token"
            body["token"] = .data(token.bytes)
            body["proof"] = .data(proof)
        }
        return body
    }

    package init(body: PropertyListDictionary) throws(WireError) {
        let fields = BodyFields(body)
        let word = try fields.string("method")
        let isToken = word.isWord("token")
        guard isToken || word.isWord("trust") else {
            throw .invalidValue(key: "method", expected: "token or trust")
        }
        let keys = ["method", "name", "reportKey", "minimum", "maximum"] + (isToken ? ["token", "proof"] : [])
        try fields.refuseKeys(otherThan: keys)
        method = isToken ? try .token(fields.token("token"), proof: fields.proof("proof")) : .trust
        claim = try fields.claim()
        let (minimum, maximum) = (try fields.version("minimum"), try fields.version("maximum"))
        guard minimum <= maximum else { throw .invalidValue(key: "maximum", expected: "a version from 'minimum'") }
        versions = minimum...maximum
    }
}

/// The body of `joined`.
package struct JoinAnswer: Sendable, Equatable {
    package let pairing: UniqueIdentifier
    package let epoch: UInt64
    package let claim: JoinClaim
    /// Absent after manual trust.
    package let proof: [UInt8]?

    package init(pairing: UniqueIdentifier, epoch: UInt64, claim: JoinClaim, proof: [UInt8]?) {
        self.pairing = pairing
        self.epoch = epoch
        self.claim = claim
        self.proof = proof
    }

    package var body: PropertyListDictionary {
        PropertyListDictionary(present: [
            "pairing": .data(pairing.bytes), "epoch": PropertyListValue(epoch), "name": .string(claim.name),
            "reportKey": .data(claim.reportKey), "proof": proof.map { .data($0) },
        ])
    }

    package init(body: PropertyListDictionary) throws(WireError) {
        let fields = BodyFields(body)
        try fields.refuseKeys(otherThan: ["pairing", "epoch", "name", "reportKey", "proof"])
        pairing = try fields.identifier("pairing")
        // It would mean every pairing of this device (SES-30).
        guard pairing != .zero else { throw .invalidValue(key: "pairing", expected: "data of 16 bytes, not all zero") }
        epoch = try fields.epoch("epoch")
        claim = try fields.claim()
        proof = body["proof"] == nil ? nil : try fields.proof("proof")
    }
}

extension BodyFields {
    /// Name and report key of an end; the key's own validity is judged when it is loaded.
    fileprivate func claim() throws(WireError) -> JoinClaim {
        let name = try required("name", "a name of 1-64 bytes") { value in
            value.stringValue.flatMap { $0.isText(within: JoinLink.maximumNameLength) ? $0 : nil }
        }
        let reportKey = try required("reportKey", "data of 1-2048 bytes") { value in
            value.dataValue.flatMap { (1...2048).contains($0.count) ? $0 : nil }
        }
        return JoinClaim(name: name, reportKey: reportKey)
    }

    package func token(_ key: String) throws(WireError) -> JoinTokenIdentifier {
        try required(key, "data of 16 bytes") { value in
            value.dataValue.flatMap { JoinTokenIdentifier(bytes: $0) }
        }
    }

    fileprivate func proof(_ key: String) throws(WireError) -> [UInt8] {
        try required(key, "data of 32 bytes") { value in
            value.dataValue.flatMap { $0.count == JoinTranscript.byteCount ? $0 : nil }
        }
    }

    func version(_ key: String) throws(WireError) -> ProtocolVersion {
        try required(key, "a version", \.versionValue)
    }

    func pin(_ key: String) throws(WireError) -> KeyIdentifier {
        try required(key, "data of 32 bytes") { value in value.dataValue.flatMap { KeyIdentifier(bytes: $0) } }
    }
}

// MARK: - the secondary

/// Why the secondary does not accept the answer to its join.
package enum JoinAnswerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The link or the trusted fingerprint is this device's own.
    case ownDevice
    /// The TLS peer's key is not the link's.
    case wrongPin
    /// The primary did not prove that it knows the secret.
    case wrongProof
    /// It answered with the identifier of another pairing of this device.
    case pairingTaken

    package var description: String {
        switch self {
        case .ownDevice: "a device cannot join itself: run 'tandem join' on the other device"
        case .wrongPin: "the device at this address is not the one that printed the link; check the address"
        case .wrongProof: "the device that answered does not know the link's secret; do not trust this address"
        case .pairingTaken: "the primary answered with a pairing that belongs to another device; nothing was stored"
        }
    }
}

/// The secondary's side of a join on one connection (PAR-6, PAR-9, PAR-11): the request that it sends once the TLS peer
/// has shown the right pin, and the check of the answer. It accepts the primary only with a proof made for this
/// connection.
package struct JoinAttempt: Sendable {
    /// By what the primary is to believe this device.
    package enum Credential: Sendable {
        case link(JoinLink)
        case trust(TrustedDevice)

        /// The pin that the TLS peer must show.
        package var pin: KeyIdentifier {
            switch self {
            case .link(let link): link.primary
            case .trust(let device): device.pin
            }
        }

        /// Where the primary is dialled.
        package var address: String? {
            switch self {
            case .link(let link): link.address
            case .trust(let device): device.address
            }
        }

        /// Refuses this device's own link, before it is dialled.
        package func checkPeer(of own: PairingRegistry.OwnDevice) throws(JoinAnswerError) {
            if pin == own.pin { throw .ownDevice }
        }
    }

    private let credential: Credential
    private let own: PairingRegistry.OwnDevice
    private let exporter: [UInt8]

    /// - Parameter exporter: the TLS exporter's value of the connection.
    package init(credential: Credential, own: PairingRegistry.OwnDevice, exporter: [UInt8]) {
        self.credential = credential
        self.own = own
        self.exporter = exporter
    }

    /// The first message; refuses a connection to another device. The link's expiry is for the primary's clock to judge
    /// (PAR-8): the two clocks may be decades apart, and neither has to be right.
    package func request(peer: KeyIdentifier) throws(JoinAnswerError) -> JoinRequest {
        guard peer == credential.pin else { throw .wrongPin }
        guard case .link(let link) = credential else { return request(.trust) }
        let message = transcript(link).secondaryMessage(own.claim)
        return request(.token(link.token, proof: HMACSHA256.code(for: message, key: link.secret)))
    }

    /// The pending pairing to commit, if the answer proves itself.
    package func accept(_ answer: JoinAnswer, now: WallTime) throws(JoinAnswerError) -> PairingRecord {
        if case .link(let link) = credential {
            let message = transcript(link).primaryMessage(answer.claim, pairing: answer.pairing)
            guard let proof = answer.proof, HMACSHA256.isValid(proof, for: message, key: link.secret) else {
                throw .wrongProof
            }
        }
        return PairingRecord(
            pairing: answer.pairing, role: .secondary, peer: credential.pin, claim: answer.claim, epoch: answer.epoch,
            created: now, address: credential.address)
    }

    private func request(_ method: JoinRequest.Method) -> JoinRequest {
        JoinRequest(method: method, claim: own.claim, versions: ProtocolVersion.supported)
    }

    private func transcript(_ link: JoinLink) -> JoinTranscript {
        JoinTranscript(exporter: exporter, primary: link.primary, secondary: own.pin, token: link.token)
    }
}
