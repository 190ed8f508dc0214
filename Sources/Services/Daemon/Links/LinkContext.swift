// Surroundings of all device connections of one daemon: its loop, its key, its description, its host and its ready
// links. One object, so that the acceptor, the dialers and the joins cannot disagree about any of it.

package import TandemBase
import TandemOperations
package import TandemReactor
package import TandemSession
package import TandemTLS
package import TandemTransport
package import TandemWire

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
        _ versions: Hello.Versions, role: DeviceRole, _ positions: LinkPositions, capabilities: Set<Capability>,
        clock: WallTime
    ) -> Hello {
        let link = LinkHello(
            name: name, epoch: positions.epoch, instance: instance, received: positions.received, sent: positions.sent,
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
    private var restTimer: TimerToken?
    package let device: LinkDevice
    private let sink: LogHandler
    private var paces = LogPaces.ofLinks
    /// Shared by its connections while they work.
    let memory: LinkMemory
    /// The bytes that wait for peers that do not read (LIM-49).
    package let queue = QueueAccount()
    /// The ready links.
    package let links = LinkTable()
    /// Wraps the filter between a connection's frames and its bytes: a test adds faults around TLS.
    package var wrapping: (any StreamFilter) -> any StreamFilter = { $0 }
    /// The device behind the links; it owns this context.
    package weak var host: (any LinkHost)?

    package init(
        scheduler: any Scheduler, identity: @autoclosure @escaping () throws(TLSError) -> TLSIdentity,
        device: LinkDevice, log: @escaping LogHandler = { _ in }
    ) {
        self.scheduler = scheduler
        memory = LinkMemory(scheduler)
        makeIdentity = identity
        self.device = device
        sink = log
    }

    /// Logs what peers cause, in its pace (LIM-54).
    package func log(_ event: LogEvent) {
        if let line = paces.admit(event, at: scheduler.now) { sink(line) }
    }

    func log(_ level: LogLevel, _ message: StaticString, _ fields: LogField...) {
        log(LogEvent(level, message, fields: fields))
    }

    var reading: ClockReading { scheduler.reading }

    /// This device's key and settings for TLS. Made for the first connection: a daemon that starts serves its host apps
    /// first.
    /// - Throws: if OpenSSL refuses the settings, at each connection.
    func identity() throws(TLSError) -> TLSIdentity {
        if let madeIdentity { return madeIdentity }
        let identity = try makeIdentity()
        madeIdentity = identity
        return identity
    }

    /// The time without a handshake after which a group of peers counts as connected.
    private static var rest: Duration { .milliseconds(250) }

    /// A handshake takes several times the memory that its link keeps, and leaves it in pieces between what others
    /// keep: when a group of peers has connected, malloc returns it. Called for links that became ready, and for
    /// accepted connections that ended without one: joins, strangers, failed handshakes.
    func handshakeEnded() {
        if let restTimer { scheduler.cancel(restTimer) }
        restTimer = scheduler.schedule(after: Self.rest) { [self] in
            restTimer = nil
            Linux.giveBackHeap()
        }
    }
}

/// The ready links of a daemon, one for each pairing. A newer link replaces an older one (SES-19): the peer that dials
/// again has noticed first that the old connection is dead. Confined to the loop's thread.
package final class LinkTable {
    private var links: [UniqueIdentifier: Link] = [:]

    /// The ready link of a pairing.
    package subscript(pairing: UniqueIdentifier) -> Link? { links[pairing] }

    /// All ready links, in no order.
    package var all: [Link] { Array(links.values) }

    /// Ends a pairing's link, if it has one. A revoked peer is cut off by this at once (PAR-13).
    package func end(_ pairing: UniqueIdentifier, _ name: ByeName) { links[pairing]?.end(name) }

    /// Ends all links.
    package func endAll(_ name: ByeName) {
        for link in all { link.end(name) }
    }

    func insert(_ link: Link) {
        links[link.pairing]?.end(.replaced)
        links[link.pairing] = link
    }

    func remove(_ link: Link) {
        if links[link.pairing] === link { links[link.pairing] = nil }
    }
}

/// The memory that the device connections of one loop share while they work; an idle connection has none of its own.
final class LinkMemory {
    let workspace = TLSWorkspace()
    /// Place of plaintext: the blocks of the loop's other reads, so that a connection that retains a slice copies it
    /// away in time.
    let blocks: ReadBlocks

    init(_ scheduler: any Scheduler) { blocks = (scheduler as? EventLoop)?.readBlocks ?? ReadBlocks() }
}
