// Our own join links, identifiers, fingerprints, proofs and bodies of a join against the vectors that are given to
// others (Protocol/Vectors/pairing), in both directions: what is read, and what this code writes of the same facts.

import TandemBase
import TandemCrypto
import TandemPairing
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

extension VectorCase {
    fileprivate var kind: String? { pairs["kind"]?.stringValue }
    fileprivate var proves: Bool? { pairs["proves"]?.booleanValue }

    /// The bytes of a field in hexadecimal.
    fileprivate func data(_ key: String) -> [UInt8]? { pairs[key]?.stringValue.flatMap(Hexadecimal.decode) }
}

extension JoinLinkError {
    /// The name that the vectors give to the fault; it never travels.
    fileprivate var name: String {
        switch self {
        case .notAJoinLink: "not-a-join-link"
        case .address: "address"
        case .parameter(let name): name
        case .surplus: "surplus"
        }
    }
}

/// The connection and the link of a vector.
private struct JoinFacts {
    let exporter: [UInt8]
    let primary: KeyIdentifier
    let secondary: KeyIdentifier
    let link: JoinLink
    let now = WallTime(seconds: 1_800_000_000)

    var transcript: JoinTranscript {
        JoinTranscript(exporter: exporter, primary: primary, secondary: secondary, token: link.token)
    }

    init(_ vector: VectorCase) throws {
        exporter = try #require(vector.data("exporter"))
        primary = try #require(vector.data("primary").flatMap { KeyIdentifier(bytes: $0) })
        secondary = try #require(vector.data("secondary").flatMap { KeyIdentifier(bytes: $0) })
        link = try JoinLink(
            address: "gateway.example:4747",
            token: try #require(vector.data("token").flatMap { JoinTokenIdentifier(bytes: $0) }),
            secret: SecretBytes(copying: try #require(vector.data("secret"))), primary: primary,
            expires: now + JoinPolicy.life)
    }

    /// The secondary's side.
    func attempt(_ claim: JoinClaim) -> JoinAttempt {
        let own = PairingRegistry.OwnDevice(pin: secondary, claim: claim)
        return JoinAttempt(credential: .link(link), own: own, exporter: exporter)
    }

    /// The primary's side.
    func outcome(
        of request: JoinRequest, claim: JoinClaim, pairing: UniqueIdentifier
    ) -> PairingRegistry.JoinOutcome {
        var registry = JoinFixture.emptyRegistry
        _ = registry.issue(link)
        let circumstances = PairingRegistry.JoinCircumstances(
            peer: secondary, exporter: exporter, newPairing: pairing, now: now)
        return registry.join(request, own: PairingRegistry.OwnDevice(pin: primary, claim: claim), at: circumstances)
    }
}

@Suite struct JoinVectorTests {
    static let links = VectorCase.all(in: "pairing/links.json")
    static let cases = VectorCase.all(in: "pairing/joins.json")

    static func cases(_ kind: String) -> [VectorCase] { cases.filter { $0.kind == kind } }

    @Test("PAR-2, PAR-4, PAR-6, PAR-9, PAR-11: the vectors are there, of each kind the good and the bad ones")
    func areThere() {
        #expect(Self.links.count == VectorCase.count(in: "pairing/links.json"))
        #expect(Self.cases.count == VectorCase.count(in: "pairing/joins.json"))
        let faults = Set(Self.links.compactMap { $0.pairs["fault"]?.stringValue })
        let parameters: Set = ["at", "token", "secret", "key", "expires", "name"]
        #expect(faults == parameters.union(["not-a-join-link", "address", "surplus"]))
        #expect(Self.links.count { $0.pairs["link"] != nil } >= 15)
        #expect(Self.cases("identifier").count >= 4 && Self.cases("fingerprint").count >= 6)
        for (kind, errors) in [
            ("join", ["envelope", "unknown-key", "version"]), ("joined", ["envelope", "unknown-key"]),
        ] {
            let ofKind = Self.cases(kind)
            #expect(Set(ofKind.compactMap(\.error)) == Set(errors))
            #expect(ofKind.count { $0.proves == true } >= 7 && ofKind.count { $0.proves == false } >= 16)
        }
        let kinds: Set = ["identifier", "fingerprint", "join", "joined"]
        #expect(Set(Self.cases.compactMap(\.kind)) == kinds)
    }

    @Test(
        "PAR-4: a link has the fields that its vector says and is written of them, or has the fault", arguments: links)
    func link(vector: VectorCase) throws {
        let text = try #require(vector.pairs["text"]?.stringValue)
        guard let fields = vector.pairs["link"]?.dictionaryValue else {
            let error = #expect(throws: JoinLinkError.self) { try JoinLink(text: text) }
            #expect(error?.name == vector.pairs["fault"]?.stringValue)
            return
        }
        func data(_ key: String) -> [UInt8]? { fields[key]?.stringValue.flatMap(Hexadecimal.decode) }
        let link = try JoinLink(
            address: try #require(fields["at"]?.stringValue),
            token: try #require(data("token").flatMap { JoinTokenIdentifier(bytes: $0) }),
            secret: SecretBytes(copying: try #require(data("secret"))),
            primary: try #require(data("key").flatMap { KeyIdentifier(bytes: $0) }),
            expires: WallTime(seconds: UInt64(try #require(fields["expires"]?.integerValue))),
            name: fields["name"]?.stringValue)
        #expect(link.text == text)
        #expect(try JoinLink(text: text) == link)
    }

    @Test(
        "PAR-2: a public key has the pin and the vendor identifier that its vector says", arguments: cases("identifier")
    )
    func identifier(vector: VectorCase) throws {
        let pin = try PublicKey(subjectPublicKeyInfo: try #require(vector.bytes)).identifier
        #expect(pin.bytes == vector.data("pin"))
        let identifier = try #require(pin.derivedIdentifier)
        #expect(identifier.bytes == vector.data("identifier"))
        let text = try #require(vector.pairs["vendor"]?.stringValue)
        #expect(try PairedIdentifier(text: text) == .vendor(identifier))
        #expect(PairedIdentifier.vendor(identifier).text == text)
    }

    @Test(
        "PAR-11: a fingerprint has the groups that its vector says, and is read back", arguments: cases("fingerprint"))
    func fingerprint(vector: VectorCase) throws {
        let pin = try #require(vector.bytes.flatMap { KeyIdentifier(bytes: $0) })
        let groups = try #require(vector.pairs["groups"]?.arrayValue).compactMap(\.stringValue)
        #expect(pin.fingerprint.split(separator: "-").map(String.init) == groups)
        for separator in ["-", " ", ""] { #expect(KeyIdentifier(text: groups.joined(separator: separator)) == pin) }
    }

    @Test(
        "PAR-6, PAR-7, PAR-8, PAR-11, SES-24: a join reads, proves itself or is refused as its vector says",
        arguments: cases("join"))
    func join(vector: VectorCase) throws {
        let body = try vector.checkedValue()
        let refusal = refusal {
            let request = try JoinRequest(body: body)
            guard ProtocolVersion.chosen(from: request.versions) != nil else { return .version }
            try request.claim.checkKey()
            return nil
        }
        #expect(refusal?.rawValue == vector.error)
        guard vector.error == nil else { return }
        let request = try JoinRequest(body: body)
        #expect(request.body == body)
        guard let proves = vector.proves else {
            #expect(request.method == .trust)
            return
        }
        let facts = try JoinFacts(vector)
        #expect(facts.transcript.secondaryMessage(request.claim) == vector.data("message"))
        let primary = try JoinFixture().primary.claim
        let outcome = facts.outcome(of: request, claim: primary, pairing: .random())
        #expect(outcome.cause == (proves ? nil : .wrongProof))
        let written = try facts.attempt(request.claim).request(peer: facts.primary)
        #expect((written.method == request.method) == proves)
    }

    @Test(
        "PAR-9, PAR-11, PAR-14, SES-24, SES-30: a joined reads, proves itself or is refused as its vector says",
        arguments: cases("joined"))
    func joined(vector: VectorCase) throws {
        let body = try vector.checkedValue()
        let refusal = refusal {
            try JoinAnswer(body: body).claim.checkKey()
            return nil
        }
        #expect(refusal?.rawValue == vector.error)
        guard vector.error == nil else { return }
        let answer = try JoinAnswer(body: body)
        #expect(answer.body == body)
        guard let proves = vector.proves else {
            #expect(answer.proof == nil)
            return
        }
        let facts = try JoinFacts(vector)
        #expect(facts.transcript.primaryMessage(answer.claim, pairing: answer.pairing) == vector.data("message"))
        let attempt = facts.attempt(try JoinFixture().secondary.claim)
        let accepted = Result { () throws(JoinAnswerError) in try attempt.accept(answer, now: facts.now) }
        switch accepted {
        case .success(let record): #expect(proves && record.pairing == answer.pairing && record.epoch == answer.epoch)
        case .failure(let error): #expect(!proves && error == .wrongProof)
        }
        let request = try attempt.request(peer: facts.primary)
        let outcome = facts.outcome(of: request, claim: answer.claim, pairing: answer.pairing)
        let written = try outcome.joined().answer
        #expect(written.pairing == answer.pairing && written.claim == answer.claim)
        #expect((written.proof == answer.proof) == proves)
    }

    /// The refusal that an end of a link makes of reading a body; a report key that is none is refused as one that does
    /// not read (PAR-8).
    private func refusal(_ read: () throws -> RefusalName?) -> RefusalName? {
        do { return try read() } catch let error as WireError { return error.refusalName } catch is KeyError {
            return .envelope
        } catch {
            Issue.record(error)
            return nil
        }
    }
}
