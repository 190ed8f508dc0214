// Between two whole daemons, every rejection that bytes can lead to, whatever an honest primary would refuse itself:
// the secondary's signed report has its name, what it holds stays, and the next good configuration is applied.

import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSignedConfiguration
import TandemTestSupport
import Testing

@Suite(.timeLimit(.minutes(10)), .serialized) struct HijackedPrimaryTests {
    private let nodes: TwoNodes
    private let holders: KeyHolders

    init() throws {
        nodes = try TwoNodes(paired: true)
        holders = KeyHolders(of: nodes.app)
    }

    /// These need more than bytes: another anchor, another clock, or a key that was good until now.
    private static let notByBytes: Set<Rejection> = [
        .noKey, .weakKey, .unknownAlgorithm, .clockUnset, .signerRevoked, .anchorConflict, .identifierChanged,
    ]

    /// An envelope of version 6 with other fields, well signed.
    private func envelope(fields: [String: PropertyListValue]) throws -> [UInt8] {
        var payload = try PropertyListReader.readDictionary(try UnverifiedEnvelope(try nodes.envelope(6)).payload)
        for (name, value) in fields { payload[name] = value }
        return try signed(try PropertyListWriter.write(payload))
    }

    private func signed(_ payload: [UInt8], as type: SignedPayloadType = .configuration) throws -> [UInt8] {
        try SignedEnvelope.bytes(payload, type: type, signedWith: [nodes.signer.key])
    }

    private func doublySigned() throws -> [UInt8] {
        let good = try UnverifiedEnvelope(try nodes.envelope(6))
        return try SignedEnvelope.bytes(
            good.payload, type: good.payloadType, signatures: good.signatures + good.signatures)
    }

    /// A statement about keys that does not say whose, well signed.
    private func nameless(_ type: SignedPayloadType) throws -> [UInt8] {
        let payload: PropertyListDictionary = ["typ": "keyset", "spec": "1.0"]
        let key = type == .revocation ? holders.revoker : holders.root
        return try SignedEnvelope.bytes(try PropertyListWriter.write(payload), type: type, signedWith: [key])
    }

    /// Bytes that are refused under the first key set.
    private func refusals() throws -> [(Rejection, [UInt8])] {
        let now = nodes.clock.wallNow.seconds
        let other = try ApplicationIdentifier("org.example.other")
        return [
            (.oversize, [UInt8](repeating: 0, count: ConfigurationLimits.envelope + 1)), (.malformed, [1, 2, 3]),
            (.shape, try PropertyListWriter.write(["v": 1] as PropertyListDictionary)),
            (.duplicateKeyIdentifier, try doublySigned()),
            (.threshold, try nodes.envelope(6, with: .generate())),
            (.wrongType, try signed(try UnverifiedEnvelope(try nodes.envelope(6)).payload, as: .report)),
            (.payloadMalformed, try signed([1, 2, 3])), (.payloadMalformed, try nameless(.keySet)),
            (.payloadMalformed, try nameless(.revocation)), (.critical, try envelope(fields: ["crit": ["unheard-of"]])),
            (.wrongRole, try nodes.envelope(6) { $0.role = .primary }),
            (.wrongApplication, try nodes.envelope(6) { $0.application = other }),
            (.wrongTarget, try nodes.envelope(6) { $0.target = .vendor(.random()) }),
            (.oldKeySet, try nodes.envelope(6) { $0.keySetVersion = 2 }), (.rollback, try nodes.envelope(4)),
            (.equivocation, try nodes.envelope(5) { $0.values = ["volume": 81] }),
            (.expired, try nodes.envelope(6) { ($0.issued, $0.expires) = (now - 100, now - 50) }),
            (.future, try nodes.envelope(6) { $0.notBefore = now + 40_000 }),
            (.schema, try nodes.envelope(6) { $0.values = ["volume": 101] }),
            (.keySetGap, try holders.set(3, [nodes.signer])),
            (.keySetIllegal, try holders.revocation(of: ConfigurationPrivateKey(holders.root), under: 1)),
        ]
    }

    @Test("CFG-20, CFG-24, CFG-50: each fault is refused by its name in a signed report, and what is held stays")
    func eachFaultIsRefusedByItsName() throws {
        let anchor = try holders.set(1, [nodes.signer])
        let app = try nodes.startApp(from: anchor)
        let primary = try HijackedPrimary(of: nodes)
        let good = try nodes.envelope(5)
        #expect(try primary.report(on: good).facts.verdict == .applied)
        let refused = try refusals()
        for (rejection, bytes) in refused { try expect(rejection, on: bytes, from: primary, app) }
        // A key set that is over by the time of the configuration.
        let expiry = nodes.clock.wallNow.seconds + 30
        let (second, third) = (
            try holders.set(2, [nodes.signer], expires: expiry), try holders.set(3, [nodes.signer])
        )
        #expect(try primary.report(on: second).facts.verdict == .applied)
        try expect(.keySetExpired, on: try nodes.envelope(6) { $0.keySetVersion = 2 }, from: primary, app)
        let names = Set(refused.map(\.0)).union([.keySetExpired])
        #expect(names.union(Self.notByBytes) == Set(Rejection.allCases))
        #expect(try primary.report(on: third).facts.verdict == .applied)
        let known = try history(anchor, second, third)
        app.judgeOffers(to: nodes.app, on: nodes.clock) { known }
        let next = try nodes.envelope(6) { $0.keySetVersion = 3 }
        #expect(try primary.report(on: next).facts.verdict == .applied)
        #expect(app.offers.last?.envelope == next)
        #expect(try nodes.held()?["version"] == 6)
    }

    private func history(_ anchor: [UInt8], _ statements: [UInt8]...) throws -> KeySetHistory {
        var history = try KeySetHistory(anchor: anchor)
        #expect(history.follow(statements) == nil)
        return history
    }

    /// Bytes that the secondary refuses: the app sees them only if it refuses them itself.
    private func expect(
        _ rejection: Rejection, on bytes: [UInt8], from primary: HijackedPrimary, _ app: Client
    ) throws {
        // Of early failures one is reported in a minute (CFG-52).
        nodes.clock.advance(by: .seconds(60))
        let held = try nodes.held()
        let offers = app.offers.count
        if rejection == .schema {
            app.answerOffers { OfferReply(VerificationFailure(.schema, "volume: too loud"), of: $0.envelope) }
        }
        let facts = try primary.report(on: bytes).facts
        #expect(facts.verdict == .rejected(rejection))
        #expect(facts.good?.version == 5, "\(rejection)")
        for fact in ["state", "version", "digest", "target"] {
            #expect(try nodes.held()?[fact] == held?[fact], "\(rejection): \(fact)")
        }
        #expect(app.offers.count == offers + (rejection == .schema ? 1 : 0), "\(rejection)")
    }
}
