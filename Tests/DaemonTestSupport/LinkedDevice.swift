// A whole device for tests of links: its keys, the real pairing registry, and a store that commits when the test lets
// it. Everything on one manual scheduler, so that hours pass in no time.

package import TandemBase
package import TandemCrypto
package import TandemDaemon
package import TandemPairing
package import TandemReactor
package import TandemSession
import TandemTLS
import TandemTestSupport
package import TandemWire
import Testing

package final class LinkedDevice {
    package let name: String
    package let key: DevicePrivateKey
    package let scheduler: any Scheduler
    package var registry = PairingRegistry(sealedUnder: tokenKey)
    package private(set) var context: LinkContext
    package private(set) var acceptor: LinkAcceptor
    /// Commits wait here while this is set.
    package var holdsCommits = false
    private var heldCommits: [() -> Void] = []
    /// The disk is full: no join can be stored.
    package var storesNothing = false
    package private(set) var committed: [PairingChange] = []
    package var positions: [UniqueIdentifier: LinkPositions] = [:]
    /// The pairings whose next hello this device's queues contradict.
    package var contradicted: Set<UniqueIdentifier> = []

    package private(set) var ready: [Link] = []
    package private(set) var received: [Envelope] = []
    package private(set) var receivedFrames: [Frame] = []
    package private(set) var closed: [LinkCloseReason] = []
    package private(set) var failures: [LinkFailure] = []
    package private(set) var drained = 0
    package private(set) var pairingEvents: [PairingEvent] = []
    private let box = LogLines()

    package init(
        _ name: String, key: DevicePrivateKey = .generate(), on scheduler: any Scheduler, offer: HelloOffer? = nil
    )
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

    package var pin: KeyIdentifier { key.publicKey.identifier }

    package var claim: JoinClaim {
        JoinClaim(name: name, reportKey: LinkedDevice.reportKey.publicKey.key.subjectPublicKeyInfo)
    }

    package var own: PairingRegistry.OwnDevice { PairingRegistry.OwnDevice(pin: pin, claim: claim) }

    package var link: Link? { ready.last }

    package static let reportKey = ReportPrivateKey.generate()
    /// Seals the rows of tokens.
    package static let tokenKey = SealingKey.random(SecretBytes(randomCount: SealedBytes.keyCount))

    package func releaseCommits() {
        let held = heldCommits
        heldCommits = []
        for commit in held { commit() }
    }

    package func commit(_ changes: [PairingChange]) async {
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
    package func isPinned(_ pin: KeyIdentifier) -> Bool { registry.isPinned(pin, now: scheduler.wallNow) }

    package func positions(of pairing: UniqueIdentifier) -> LinkPositions? {
        registry[pairing].map { positions[pairing] ?? LinkPositions(epoch: $0.epoch) }
    }

    package func contradicts(_ peer: PeerGreeting, in pairing: UniqueIdentifier, capabilities: Set<Capability>) -> Bool
    {
        contradicted.remove(pairing) != nil
    }

    package func judge(_ hello: PairingRegistry.PeerHello) async -> HelloVerdict {
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

    package func judge(_ join: JoinRequest, peer: KeyIdentifier, exporter: [UInt8]) async -> JoinVerdict {
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

    package func linkDidBecomeReady(_ link: Link) { ready.append(link) }

    package func link(_ link: Link, didReceive envelope: Envelope, in frame: Frame) {
        received.append(envelope)
        receivedFrames.append(frame)
    }

    package func linkDidDrain(_ link: Link) { drained += 1 }

    package func link(_ link: Link, didCloseWith reason: LinkCloseReason) { closed.append(reason) }

    package func connectionDidFail(_ failure: LinkFailure) { failures.append(failure) }
}
