// A whole device for tests of links: its keys, the real pairing registry, and a store that commits when the test lets
// it. Everything on one manual scheduler, so that hours pass in no time.

import TandemBase
import TandemCrypto
import TandemDaemon
import TandemPairing
import TandemReactor
import TandemSession
import TandemTLS
import TandemTestSupport
import TandemWire
import Testing

final class LinkedDevice {
    let name: String
    let key: DevicePrivateKey
    let scheduler: any Scheduler
    var registry = PairingRegistry(sealedUnder: tokenKey)
    private(set) var context: LinkContext
    private(set) var acceptor: LinkAcceptor
    /// Commits wait here while this is set.
    var holdsCommits = false
    private var heldCommits: [() -> Void] = []
    /// The disk is full: no join can be stored.
    var storesNothing = false
    private(set) var committed: [PairingChange] = []
    var positions: [UniqueIdentifier: LinkPositions] = [:]
    /// The pairings whose next hello this device's queues contradict.
    var contradicted: Set<UniqueIdentifier> = []

    private(set) var ready: [Link] = []
    private(set) var received: [Envelope] = []
    private(set) var receivedFrames: [Frame] = []
    private(set) var closed: [LinkCloseReason] = []
    private(set) var failures: [LinkFailure] = []
    private(set) var drained = 0
    private(set) var pairingEvents: [PairingEvent] = []
    private let box = LogLines()

    init(_ name: String, key: DevicePrivateKey = .generate(), on scheduler: any Scheduler, offer: HelloOffer? = nil)
        throws
    {
        self.name = name
        self.key = key
        self.scheduler = scheduler
        let identity = try TLSIdentity(key: key)
        let vendor = try #require(key.publicKey.identifier.derivedIdentifier)
        let device = LinkDevice(
            vendorIdentifier: vendor, name: name, software: "test/1", instance: .random(),
            offer: offer ?? HelloOffer(capabilities: Set(Capability.allCases)))
        let box = box
        context = LinkContext(
            scheduler: scheduler, identity: identity, device: device, log: box.append)
        acceptor = LinkAcceptor(context: context)
        context.host = self
    }

    var pin: KeyIdentifier { key.publicKey.identifier }

    var claim: JoinClaim { JoinClaim(name: name, reportKey: LinkedDevice.reportKey.publicKey.key.subjectPublicKeyInfo) }

    var own: PairingRegistry.OwnDevice { PairingRegistry.OwnDevice(pin: pin, claim: claim) }

    var link: Link? { ready.last }

    static let reportKey = ReportPrivateKey.generate()
    /// Seals the rows of tokens.
    static let tokenKey = SealingKey.random(SecretBytes(randomCount: SealedBytes.keyCount))

    func releaseCommits() {
        let held = heldCommits
        heldCommits = []
        for commit in held { commit() }
    }

    func commit(_ changes: [PairingChange]) async {
        await withUnsafeContinuation { continuation in
            let done = { [self] in
                committed += changes
                continuation.resume()
            }
            if holdsCommits { heldCommits.append(done) } else { scheduler.atEndOfTurn(done) }
        }
    }
}

extension LinkedDevice: LinkHost {
    func isPinned(_ pin: KeyIdentifier) -> Bool { registry.isPinned(pin, now: scheduler.wallNow) }

    func positions(of pairing: UniqueIdentifier) -> LinkPositions? {
        registry[pairing].map { positions[pairing] ?? LinkPositions(epoch: $0.epoch) }
    }

    func contradicts(_ peer: PeerGreeting, in pairing: UniqueIdentifier, capabilities: Set<Capability>) -> Bool {
        contradicted.remove(pairing) != nil
    }

    func judge(_ hello: PairingRegistry.PeerHello) async -> HelloVerdict {
        switch registry.hello(hello, now: scheduler.wallNow) {
        case .refused(let name, let event):
            pairingEvents.append(event)
            await commit([])
            return .refused(name)
        case .restored(let record, let changes, let event):
            pairingEvents.append(event)
            positions[record.pairing] = nil
            await commit(changes)
            return .refused(.epoch)
        case .accepted(let record, let changes, _, let isNewEpoch, _):
            if isNewEpoch { positions[record.pairing] = nil }
            await commit(changes)
            return .accepted(record)
        }
    }

    func judge(_ join: JoinRequest, peer: KeyIdentifier, exporter: [UInt8]) async -> JoinVerdict {
        if storesNothing { return .refused(.stopping) }
        let circumstances = PairingRegistry.JoinCircumstances(
            peer: peer, exporter: exporter, newPairing: .random(), now: scheduler.wallNow)
        switch registry.join(join, own: own, at: circumstances) {
        case .refused(let changes, let event):
            pairingEvents.append(event)
            await commit(changes)
            return .refused(.joinRefused)
        case .joined(let answer, let changes, let event):
            pairingEvents.append(event)
            await commit(changes)
            return .joined(answer)
        }
    }

    func linkDidBecomeReady(_ link: Link) { ready.append(link) }

    func link(_ link: Link, didReceive envelope: Envelope, in frame: Frame) {
        received.append(envelope)
        receivedFrames.append(frame)
    }

    func linkDidDrain(_ link: Link) { drained += 1 }

    func link(_ link: Link, didCloseWith reason: LinkCloseReason) { closed.append(reason) }

    func connectionDidFail(_ failure: LinkFailure) { failures.append(failure) }
}
