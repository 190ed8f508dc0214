// A chain of three devices for tests of carriers: a primary, a carrier that is its secondary, and a far secondary.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSignedConfiguration
import Testing

/// A primary, a carrier that is its secondary, and a far secondary of the carrier.
struct Chain {
    struct Device {
        let identifier: UniqueIdentifier
        let key: ReportPrivateKey

        init(identifier: UniqueIdentifier = .random(), key: ReportPrivateKey = .generate()) {
            (self.identifier, self.key) = (identifier, key)
        }
    }

    let app: ApplicationIdentifier
    let top = Device()
    let carrier = Device()
    let far = Device()
    /// Between top and carrier, and between carrier and far.
    let upper = UniqueIdentifier.random()
    let lower = UniqueIdentifier.random()
    var known = FarSecondaries()
    var desired = DesiredConfigurations()
    var slot: ConfigurationSlot
    var counter: UInt64 = 0
    private var farCounter: UInt64 = 0

    init() throws {
        app = try Fixture.application()
        let key = ConfigurationSlotKey(application: app, role: .secondary, target: .vendor(carrier.identifier))
        slot = ConfigurationSlot(key: key, device: far.identifier)
        _ = slot.applicationConnected()
        try learn()
    }

    var target: PairedIdentifier { .vendor(carrier.identifier) }

    func secondary(
        _ pairing: UniqueIdentifier? = nil, _ device: Device? = nil, key: ReportPrivateKey? = nil,
        epoch: UInt64 = 1, target: PairedIdentifier? = nil, installed: Bool = true
    ) -> CarrierStatement.Secondary {
        let device = device ?? far
        return CarrierStatement.Secondary(
            pairing: pairing ?? lower, device: device.identifier, name: "kiosk",
            reportKey: (key ?? device.key).publicKey.key.subjectPublicKeyInfo, epoch: epoch,
            target: target ?? self.target, installed: installed)
    }

    func statement(
        _ secondaries: [CarrierStatement.Secondary], below: [[UInt8]] = [], counter: UInt64
    ) -> [UInt8] {
        CarrierStatement(
            of: carrier.identifier, through: upper, about: app, counter: counter, secondaries: secondaries, below: below
        ).signed(with: carrier.key)
    }

    @discardableResult
    mutating func learn(
        _ secondaries: [CarrierStatement.Secondary]? = nil, below: [[UInt8]] = []
    ) throws -> FarTransition {
        counter += 1
        return try take(statement(secondaries ?? [secondary()], below: below, counter: counter))
    }

    @discardableResult
    mutating func take(
        _ statement: [UInt8], from other: FarSecondaries.Carrier? = nil
    ) throws -> FarTransition {
        let pairing = upper
        return try known.take(
            statement, about: app,
            from: other ?? .init(pairing: upper, device: carrier.identifier, key: carrier.key.publicKey),
            at: top.identifier, now: Fixture.now, isDirect: { $0 == pairing })
    }

    func addressee() throws -> ConfigurationAddressee {
        let known = known
        let far = try #require(known[lower])
        return ConfigurationAddressee(pairing: lower, device: far.facts.device) { [lower] in
            known.target(of: $0, at: lower)
        }
    }

    func envelope(
        _ version: UInt64, _ change: (inout ConfigurationPayload) throws -> Void = { _ in }
    ) throws -> [UInt8] {
        try Fixture.envelope(version: version) { payload in
            payload.target = target
            try change(&payload)
        }
    }

    /// The operator of the top applies an envelope; returns the item for the far secondary.
    mutating func apply(_ envelope: [UInt8]) throws -> ConfigurationItem {
        let transition = try desired.accept(
            try DesiredConfiguration(envelope: envelope, accepted: Fixture.now), for: [try addressee()],
            hasLeft: { _ in false }, at: Fixture.now, identifier: { .random() })
        return try #require(transition.deliveries.first)
    }

    /// The far secondary judges bytes as its daemon and app do; returns the verdict.
    /// - Parameter failure: the app's own verdict; nil if it takes what is good.
    mutating func judge(
        _ envelope: [UInt8], nonce: UniqueIdentifier, refusing failure: VerificationFailure? = nil
    ) throws -> ReportFacts {
        var context = try Fixture.context()
        (context.target, context.device) = (target, far.identifier)
        let delivery = ConfigurationDelivery(pairing: lower, nonce: nonce)
        var transition = slot.received(envelope, by: delivery, in: context)
        if case .offer(let offer)? = transition.effects.first {
            context.profile = .full
            let verified = try ApplicableConfiguration(verifying: offer.envelope, in: context).verified
            let reply = failure.map { OfferReply($0, of: offer.envelope) } ?? OfferReply(applied: verified)
            transition = slot.answered(reply, now: Fixture.now)
            _ = Fixture.live(&slot)
        }
        return try #require(transition.reports.first)
    }

    /// The far secondary's signed report.
    mutating func report(_ facts: ReportFacts, of device: Device? = nil) -> [UInt8] {
        farCounter += 1
        let device = device ?? far
        return ConfigurationReport(facts, device: device.identifier, counter: farCounter, time: Fixture.now)
            .signed(with: device.key)
    }

    /// The top takes a report about the far secondary.
    @discardableResult
    mutating func take(report: [UInt8]) throws(ReportFailure) -> ForwardedConfiguration {
        guard let facts = known[lower]?.facts, let addressee = try? addressee(),
            let key = try? PublicKey(subjectPublicKeyInfo: facts.reportKey)
        else { throw .wrongDevice }
        return try desired.report(
            report, from: addressee, device: facts.device, key: ReportPublicKey(key), at: Fixture.now,
            identifier: { .random() }
        ).entry
    }

    func standing() throws -> SecondaryStanding? {
        let key = ConfigurationSlotKey(application: app, role: .secondary, target: target)
        return desired.standing(of: try addressee(), for: key)
    }

    /// The statement of a device below the carrier to the carrier.
    func below(
        _ secondaries: [CarrierStatement.Secondary], below: [[UInt8]] = [], by maker: Device? = nil,
        through pairing: UniqueIdentifier? = nil, counter: UInt64 = 1, about other: ApplicationIdentifier? = nil
    ) -> [UInt8] {
        let maker = maker ?? far
        return CarrierStatement(
            of: maker.identifier, through: pairing ?? lower, about: other ?? app, counter: counter,
            secondaries: secondaries, below: below
        ).signed(with: maker.key)
    }
}
