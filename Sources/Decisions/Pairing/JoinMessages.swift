// The bodies of `join` and `joined` (PAR-6, PAR-9, PAR-11). Both are closed: an unknown key in the one exchange that is
// read from strangers is refused.

import TandemCrypto
package import TandemIdentity
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

    package init(body: PropertyListDictionary) throws(BodyError) {
        let reader = BodyReader(body)
        let isToken = try reader.string("method") == "token"
        let keys = ["method", "name", "reportKey", "minimum", "maximum"] + (isToken ? ["token", "proof"] : [])
        try reader.refuseKeys(otherThan: keys)
        method = isToken ? try .token(reader.token("token"), proof: reader.proof("proof")) : .trust
        guard isToken || body["method"] == "trust" else { throw BodyError(key: "method", problem: .value) }
        claim = try reader.claim()
        let (minimum, maximum) = (try reader.version("minimum"), try reader.version("maximum"))
        guard minimum <= maximum else { throw BodyError(key: "maximum", problem: .value) }
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
        var body: PropertyListDictionary = [
            "pairing": .data(pairing.bytes), "epoch": .integer(Int64(clamping: epoch)), "name": .string(claim.name),
            "reportKey": .data(claim.reportKey),
        ]
        if let proof { body["proof"] = .data(proof) }
        return body
    }

    package init(body: PropertyListDictionary) throws(BodyError) {
        let reader = BodyReader(body)
        try reader.refuseKeys(otherThan: ["pairing", "epoch", "name", "reportKey", "proof"])
        pairing = try reader.identifier("pairing")
        epoch = try reader.epoch("epoch")
        claim = try reader.claim()
        proof = body["proof"] == nil ? nil : try reader.proof("proof")
    }
}

extension BodyReader {
    /// Name and report key of an end; the key's own validity is judged when it is loaded.
    fileprivate func claim() throws(BodyError) -> JoinClaim {
        let name = try string("name")
        guard JoinLink.isName(name) else { throw BodyError(key: "name", problem: .value) }
        let reportKey = try data("reportKey")
        guard (1...2048).contains(reportKey.count) else { throw BodyError(key: "reportKey", problem: .value) }
        return JoinClaim(name: name, reportKey: reportKey)
    }

    func token(_ key: String) throws(BodyError) -> JoinTokenIdentifier {
        guard let token = JoinTokenIdentifier(bytes: try data(key)) else { throw BodyError(key: key, problem: .value) }
        return token
    }

    fileprivate func proof(_ key: String) throws(BodyError) -> [UInt8] {
        let proof = try data(key)
        guard proof.count == JoinTranscript.byteCount else { throw BodyError(key: key, problem: .value) }
        return proof
    }

    func version(_ key: String) throws(BodyError) -> ProtocolVersion {
        guard let number = UInt32(exactly: try count(key)), let version = ProtocolVersion(number) else {
            throw BodyError(key: key, problem: .value)
        }
        return version
    }

    /// A pairing's epoch: from 1.
    func epoch(_ key: String) throws(BodyError) -> UInt64 {
        let epoch = try count(key)
        guard epoch > 0, epoch <= UInt64(Int64.max) else { throw BodyError(key: key, problem: .value) }
        return epoch
    }

    func pin(_ key: String) throws(BodyError) -> KeyIdentifier {
        guard let pin = KeyIdentifier(bytes: try data(key)) else { throw BodyError(key: key, problem: .value) }
        return pin
    }
}
