// One signer, one secondary and one configuration that every case starts from. Each run makes new keys: nothing here
// may depend on which they are.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSignedConfiguration
import Testing

enum Fixture {
    static let key = ConfigurationPrivateKey.generate()
    static let stranger = ConfigurationPrivateKey.generate()
    static let now = WallTime(seconds: 1_800_000_000)
    static let delivery = ConfigurationDelivery(pairing: .random(), nonce: .random())

    static func application() throws -> ApplicationIdentifier { try ApplicationIdentifier("org.example.alarm") }

    static func target() throws -> PairedIdentifier { try PairedIdentifier(text: "custom:hw-1") }

    static func device() throws -> UniqueIdentifier {
        try #require(UniqueIdentifier(bytes: Array(0..<16)))
    }

    static func payload(version: UInt64 = 7) throws -> ConfigurationPayload {
        ConfigurationPayload(
            application: try application(), role: .secondary, target: try target(), version: version,
            transaction: .random(), issued: now.seconds - 60, values: ["logging": true, "volume": 80])
    }

    /// A signed configuration, with changes to its payload.
    static func envelope(
        version: UInt64 = 7, _ change: (inout ConfigurationPayload) throws -> Void = { _ in }
    ) throws -> [UInt8] {
        var payload = try payload(version: version)
        try change(&payload)
        return try ConfigurationSigner.sign(payload, with: [key])
    }

    /// Another envelope around the same signed bytes, with one more signature, which nobody trusts, as any carrier can
    /// make it.
    static func rewrapped(_ envelope: [UInt8]) throws -> [UInt8] {
        let unverified = try UnverifiedEnvelope(envelope)
        let junk = EnvelopeSignature(keyIdentifier: UniqueIdentifier.random().bytes, bytes: [1])
        return try SignedEnvelope.bytes(
            unverified.payload, type: unverified.payloadType, signatures: unverified.signatures + [junk])
    }

    /// An envelope whose payload has these fields besides the usual ones, well signed.
    static func envelope(fields: [String: PropertyListValue?]) throws -> [UInt8] {
        var dictionary = try payload().dictionary
        for (name, value) in fields { dictionary[name] = value }
        return try SignedEnvelope.bytes(
            try PropertyListWriter.write(dictionary), type: .configuration, signedWith: [key.key])
    }

    /// - Parameter history: the trusted keys; nil for the signer's alone.
    static func context(
        _ profile: VerificationProfile = .full, trusting history: KeySetHistory? = nil
    ) throws -> VerificationContext {
        VerificationContext(
            profile: profile, application: try application(), role: .secondary,
            anchor: .trusted(history ?? KeySetHistory(TrustedKeySet(key.publicKey))), target: try target(),
            device: try device(), now: now)
    }

    static func slotKey() throws -> ConfigurationSlotKey {
        ConfigurationSlotKey(application: try application(), role: .secondary, target: try target())
    }

    static func slot() throws -> ConfigurationSlot { ConfigurationSlot(key: try slotKey(), device: try device()) }

    /// A slot whose app is connected, has applied version 6 and lives with it.
    static func usedSlot() throws -> ConfigurationSlot {
        var slot = try slot()
        _ = slot.applicationConnected()
        try apply(try envelope(version: 6), to: &slot)
        live(&slot)
        return slot
    }

    /// A slot with version 6, which is good, and version 7, which its app has just applied.
    static func tryingSlot() throws -> ConfigurationSlot {
        var slot = try usedSlot()
        try apply(try envelope(), to: &slot)
        return slot
    }

    /// The app's reply to the offer of what is staged.
    static func reply(_ verdict: String, to slot: ConfigurationSlot, text: String? = nil) throws -> OfferReply {
        let digest = try #require(slot.staged?.record.digest)
        var message: PropertyListDictionary = ["tandem.verdict": .string(verdict), "tandem.digest": .data(digest)]
        message["tandem.text"] = text.map { .string($0) }
        return try #require(OfferReply(message))
    }

    /// The fields as they come back from a file or a row.
    static func written(_ fields: PropertyListDictionary) throws -> PropertyListDictionary {
        try PropertyListReader.readDictionary(try PropertyListWriter.write(fields))
    }

    /// The app lives until the trial of its configuration has passed.
    @discardableResult
    static func live(_ slot: inout ConfigurationSlot) -> ApplyTransition {
        _ = slot.timePassed(running: .seconds(10), now: now)
        return slot.timePassed(running: ConfigurationLimits.trial, now: now)
    }

    /// Version 50, signed by a stranger where that is allowed.
    @discardableResult
    static func receiveWaived(by slot: inout ConfigurationSlot) throws -> ApplyTransition {
        var context = try context()
        context.allowsInvalidSignatures = true
        let envelope = try ConfigurationSigner.sign(try payload(version: 50), with: [stranger])
        return slot.received(envelope, by: delivery, in: context)
    }

    /// Brings a configuration to `applied` as a daemon and its app do.
    static func apply(
        _ envelope: [UInt8], to slot: inout ConfigurationSlot, in context: VerificationContext? = nil
    ) throws {
        let context = try context ?? self.context()
        let transition = slot.received(envelope, by: delivery, in: context)
        guard case .offer(let offer)? = transition.effects.first else {
            Issue.record("not offered: \(transition)")
            return
        }
        let applicable = try ApplicableConfiguration(verifying: offer.envelope, in: context)
        let answer = slot.answered(OfferReply(applied: applicable.verified), now: now)
        #expect(answer.verdict == .applied)
        #expect(slot.active?.record.envelope == envelope)
    }

    /// The bytes are refused by this name, nothing has changed by it, and the next valid configuration applies.
    static func expectRejected(
        _ bytes: [UInt8], _ rejection: Rejection, in context: VerificationContext? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        var slot = try usedSlot()
        let before = slot
        let transition = slot.received(bytes, by: delivery, in: try context ?? self.context())
        #expect(transition.verdict == .rejected(rejection), sourceLocation: sourceLocation)
        #expect(slot == before, "a refusal changes nothing", sourceLocation: sourceLocation)
        guard case .report(let facts)? = transition.changes.first, transition.changes.count == 1 else {
            Issue.record("a refusal is reported and does nothing else", sourceLocation: sourceLocation)
            return
        }
        #expect(facts.verdict == .rejected(rejection), sourceLocation: sourceLocation)
        #expect(facts.good?.version == 6, sourceLocation: sourceLocation)
        try apply(try envelope(version: 1000), to: &slot)
    }
}

extension ConfigurationSlot {
    /// The app's receiving connection has registered.
    mutating func applicationConnected() -> ApplyTransition { applicationConnected(.registered) }
}

extension ApplyTransition {
    /// The reports of the event, in their order.
    var reports: [ReportFacts] { changes.compactMap { if case .report(let facts) = $0 { facts } else { nil } } }
}

/// A primary's account of the reports of one pairing.
struct ReportAccount {
    let key: ReportPublicKey
    let device: UniqueIdentifier
    let pairing: UniqueIdentifier
    /// The last accepted counter.
    private(set) var counter: UInt64
    private var counters: ReportCounter
    /// The nonces that were sent and have no final report.
    private(set) var open: Set<UniqueIdentifier>

    init(
        key: ReportPublicKey, device: UniqueIdentifier, pairing: UniqueIdentifier, counter: UInt64 = 0,
        open: Set<UniqueIdentifier>
    ) {
        (self.key, self.device, self.pairing) = (key, device, pairing)
        (self.counter, self.open) = (counter, open)
        counters = ReportCounter(["value": PropertyListValue(counter)]) ?? ReportCounter(epoch: 1)
    }

    /// A refused report changes nothing.
    mutating func accept(_ bytes: [UInt8]) throws(ReportFailure) -> ConfigurationReport {
        let report = try ConfigurationReport(verifying: bytes, by: key, device: device, pairing: pairing)
        var counters = counters
        try counters.accept(report)
        guard open.contains(report.facts.delivery.nonce) else { throw .wrongNonce }
        (self.counters, counter) = (counters, report.counter)
        if !report.isProvisional { open.remove(report.facts.delivery.nonce) }
        return report
    }
}
