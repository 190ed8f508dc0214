// The network of a world on a manual clock: streams inside the process between whoever listens and whoever dials, with
// the faults that the world asks for. It knows whose end is whose, so that a killed process leaves no connection
// behind.

import PairedSession
import TandemBase
import TandemDaemon
import TandemReactor
import TandemTestSupport
import TandemTransport

/// All streams of a world.
final class ManualNetwork {
    let clock: ManualScheduler
    var isLinkAllowed = true
    var streamFaults: FaultPlan?
    var frameFate: FrameFate.Rule?
    /// How long a piece is under way between an app and its daemon.
    var appDelay: ClosedRange<Duration> = .zero ... .zero
    private var lastAppSeed: UInt64 = 0
    private var links: [String: (owner: ProcessScheduler, acceptor: LinkAcceptor)] = [:]
    private var apps: [String: (owner: ProcessScheduler, endpoint: LocalEndpoint)] = [:]
    private var linkStreams: [Weak] = []
    private var streams: [Weak] = []

    private struct Weak {
        weak var stream: InProcessStream?
        let owner: ProcessScheduler
    }

    init(_ clock: ManualScheduler) { self.clock = clock }

    func cutLinks() {
        for entry in linkStreams { entry.stream?.close(.failed(SystemError(call: "recv", errno: 104))) }
        linkStreams = []
    }

    /// The kernel closes what the process had open.
    func forget(_ process: ProcessScheduler) {
        for entry in streams where entry.owner === process {
            entry.stream?.delegate = nil
            entry.stream?.close(.closedHere)
        }
        streams.removeAll { $0.stream == nil || $0.owner === process }
        links = links.filter { $0.value.owner !== process }
        apps = apps.filter { $0.value.owner !== process }
    }

    func listen(_ address: SocketAddress, _ owner: ProcessScheduler, _ acceptor: LinkAcceptor) {
        links["\(address)"] = (owner, acceptor)
    }

    func listen(_ address: SocketAddress, _ owner: ProcessScheduler, _ endpoint: LocalEndpoint) {
        apps["\(address)"] = (owner, endpoint)
    }

    func dialLink(_ address: SocketAddress, _ caller: ProcessScheduler) -> InProcessStream? {
        guard isLinkAllowed, let (owner, acceptor) = links["\(address)"] else { return nil }
        if streamFaults != nil { streamFaults?.seed &+= 2 }
        let (ours, theirs) = pair(caller, owner, streamFaults ?? .none)
        linkStreams.append(Weak(stream: ours, owner: caller))
        acceptor.take(theirs)
        return ours
    }

    func dialDaemon(_ path: String, _ caller: ProcessScheduler) -> InProcessStream? {
        guard let (owner, endpoint) = apps["\(SocketAddress.unix(path: path))"] else { return nil }
        lastAppSeed &+= 2
        var faults = FaultPlan(seed: lastAppSeed)
        faults.delay = appDelay
        let (ours, theirs) = pair(caller, owner, faults)
        endpoint.accept(theirs, credentials: PeerCredentials(user: Linux.user, process: 1))
        return ours
    }

    private func pair(
        _ first: ProcessScheduler, _ second: ProcessScheduler, _ faults: FaultPlan
    ) -> (InProcessStream, InProcessStream) {
        let ends = InProcessStream.pair(on: clock, faults: faults)
        streams += [Weak(stream: ends.0, owner: first), Weak(stream: ends.1, owner: second)]
        return ends
    }
}

/// One daemon's view of the network.
final class ManualNodeNetwork: NodeNetwork {
    private let network: ManualNetwork
    private let process: ProcessScheduler

    init(_ network: ManualNetwork, _ process: ProcessScheduler) { (self.network, self.process) = (network, process) }

    var dialling: StreamSource {
        StreamSource { [network, process] address, completion in
            let attempt = process.schedule(after: .milliseconds(1)) {
                if let stream = network.dialLink(address, process) { return completion(.success(stream)) }
                completion(.failure(.failed(address, SystemError(call: "connect", errno: 111))))
            }
            return { process.cancel(attempt) }
        }
    }

    var wrapping: (any StreamFilter) -> any StreamFilter {
        { [network] tls in FrameFaultFilter(tls) { network.frameFate } }
    }

    func listen(at address: SocketAddress, for links: LinkAcceptor) throws(ListenError) -> SocketAddress {
        network.listen(address, process, links)
        return address
    }

    func listen(at address: SocketAddress, access: SocketAccess, for apps: LocalEndpoint) throws(ListenError) {
        network.listen(address, process, apps)
    }
}

/// How an app reaches its daemon.
final class ManualDialer: Dialer {
    private let process: ProcessScheduler
    private let connect: () -> InProcessStream?
    private var attempt: TimerToken?

    init(_ process: ProcessScheduler, connect: @escaping () -> InProcessStream?) {
        (self.process, self.connect) = (process, connect)
    }

    func dial(_ completion: @escaping ((any ByteStream)?) -> Void) {
        attempt = process.schedule(after: .milliseconds(1)) { [connect] in completion(connect()) }
    }

    func cancel() {
        if let attempt { process.cancel(attempt) }
    }
}
