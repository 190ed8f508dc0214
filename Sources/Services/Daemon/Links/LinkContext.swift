// What all device connections of one daemon share: its loop, its key, what it says of itself, and whom it asks. One
// object, so that the acceptor, the dialers and the joins cannot disagree about any of it.

package import TandemBase
package import TandemCrypto
package import TandemReactor
package import TandemSession
package import TandemTransport
import TandemWire

/// This device as its peers see it.
package struct LinkDevice: Sendable {
    package let vendorIdentifier: UniqueIdentifier
    /// For people; 1-64 bytes.
    package let name: String
    /// Name and version of the software, for people.
    package let software: String
    /// New at each start of the daemon.
    package let instance: UniqueIdentifier
    package let offer: HelloOffer

    package init(
        vendorIdentifier: UniqueIdentifier, name: String, software: String, instance: UniqueIdentifier,
        offer: HelloOffer = HelloOffer(capabilities: Set(Capability.allCases))
    ) {
        self.vendorIdentifier = vendorIdentifier
        self.name = name
        self.software = software
        self.instance = instance
        self.offer = offer
    }
}

extension LinkDevice {
    /// This device's hello for a pairing in which it has the role.
    func hello(
        _ versions: Hello.Versions, role: DeviceRole, _ situation: LinkSituation, capabilities: Set<Capability>,
        clock: WallTime
    ) -> Hello {
        let link = LinkHello(
            name: name, epoch: situation.epoch, instance: instance, received: situation.received, sent: situation.sent,
            clock: clock)
        return Hello(
            versions, capabilities: Capability.allCases.filter(capabilities.contains), software: software,
            role: role, device: vendorIdentifier, link: link)
    }
}

/// The surroundings of device connections; confined to the scheduler's thread.
package final class LinkContext {
    package let scheduler: any Scheduler
    private let makeIdentity: () throws(TLSError) -> TLSIdentity
    private var madeIdentity: TLSIdentity?
    fileprivate var restTimer: TimerToken?
    package let device: LinkDevice
    package let log: LogHandler
    /// What its connections share while they work.
    let memory: LinkMemory
    /// The ready links.
    package let links = LinkTable()
    /// What stands between a connection's frames and its TLS: the TLS itself, or a test's faults around it.
    package var wrapping: (any StreamFilter) -> any StreamFilter = { $0 }
    /// Owned by whoever owns this context.
    package private(set) weak var authority: (any LinkAuthority)?
    package private(set) weak var delegate: (any LinkDelegate)?

    package init(
        scheduler: any Scheduler, identity: @autoclosure @escaping () throws(TLSError) -> TLSIdentity,
        device: LinkDevice, authority: any LinkAuthority, delegate: any LinkDelegate,
        log: @escaping LogHandler = { _ in }
    ) {
        self.scheduler = scheduler
        memory = LinkMemory(scheduler)
        makeIdentity = identity
        self.device = device
        self.authority = authority
        self.delegate = delegate
        self.log = log
    }

    var wallNow: WallTime { scheduler.wallNow }

    /// What this device brings to TLS. Made for the first connection: a daemon that starts serves its host apps first.
    /// - Throws: if OpenSSL refuses the settings, at each connection.
    func identity() throws(TLSError) -> TLSIdentity {
        if let madeIdentity { return madeIdentity }
        let identity = try makeIdentity()
        madeIdentity = identity
        return identity
    }
}

extension LinkContext {
    /// Without another handshake for this long there was the last of them for now.
    private static var rest: Duration { .milliseconds(250) }

    /// A handshake takes several times the memory that its link keeps, and leaves it in pieces between what others
    /// keep: when a group of peers has connected, malloc is asked to give it back. Told of links that became ready, and
    /// of accepted connections that ended without one: joins, strangers, failed handshakes.
    func handshakeEnded() {
        if let restTimer { scheduler.cancel(restTimer) }
        restTimer = scheduler.schedule(after: Self.rest) { [self] in
            restTimer = nil
            Linux.giveBackHeap()
        }
    }
}
