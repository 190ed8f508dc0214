// The way between two daemons, as a proxy that does to their connections what networks do: bytes are late, wrong, stop
// for a while or end anywhere, by the plan and the seed of the in-process streams. It looks at no byte.

import TandemBase
import TandemReactor
import TandemTestSupport
import TandemTransport

/// Passes the connections of device links on; confined to its loop.
final class LinkProxy {
    /// Otherwise each connection ends at once.
    var isOpen = true
    /// Of connections that come from now on.
    var faults: FaultPlan?
    private let target: SocketAddress
    private let loop: EventLoop
    private var listener: StreamListener?
    private var passages: [ObjectIdentifier: LinkPassage] = [:]

    init(at address: SocketAddress, to target: SocketAddress, on loop: EventLoop) throws {
        (self.target, self.loop) = (target, loop)
        listener = try StreamListener(at: address, loop: loop, budget: ConnectionBudget(limit: 64)) {
            [weak self] near in
            self?.take(near)
        }
    }

    /// Ends all connections, on both sides.
    func cut() { for passage in Array(passages.values) { passage.end() } }

    func close() {
        isOpen = false
        listener?.close()
        cut()
    }

    private func take(_ near: SocketStream) {
        guard isOpen else { return near.close(.closedHere) }
        StreamConnector(to: target, loop: loop) { [weak self] outcome in
            guard case .success(let far) = outcome else { return near.close(.closedHere) }
            guard let self, isOpen else {
                far.close(.closedHere)
                return near.close(.closedHere)
            }
            join(near, far)
        }
    }

    private func join(_ near: SocketStream, _ far: SocketStream) {
        faults?.seed &+= 2
        let passage = LinkPassage(near, far, faults ?? .none) { [weak self] passage in
            self?.passages[ObjectIdentifier(passage)] = nil
        }
        passages[ObjectIdentifier(passage)] = passage
        passage.start()
    }
}

/// One connection of a proxy.
private final class LinkPassage: ByteStreamDelegate {
    private struct Way {
        var dice: FaultDice
        /// Nothing sent before that arrives later.
        var busyUntil: MonotonicTime
    }

    private let ends: [SocketStream]
    private var ways: [Way]
    private let loop: any Scheduler
    private let onEnd: (LinkPassage) -> Void
    private var hasEnded = false

    init(_ near: SocketStream, _ far: SocketStream, _ faults: FaultPlan, onEnd: @escaping (LinkPassage) -> Void) {
        (ends, loop, self.onEnd) = ([near, far], near.scheduler, onEnd)
        var back = faults
        back.seed &+= 1
        ways = [faults, back].map { [loop] in Way(dice: FaultDice($0), busyUntil: loop.now) }
    }

    func start() {
        for end in ends {
            end.delegate = self
            end.start()
        }
    }

    func end() {
        for end in ends { end.close(.closedHere) }
    }

    func stream(_ stream: any ByteStream, didReceive bytes: ByteSlice) {
        let way = number(of: stream)
        let outcome = ways[way].dice.roll(for: bytes.copied())
        let other = ends[1 - way]
        let delay = outcome.delay + (outcome.stalls ? ways[way].dice.stallTime : .zero)
        later(by: delay, on: way) { for copy in outcome.copies { other.send(copy) } }
        if outcome.isCut { later(by: .zero, on: way) { [self] in end() } }
        if other.isCongested { ends[way].pauseReading() }
    }

    func streamDidDrain(_ stream: any ByteStream) { ends[1 - number(of: stream)].resumeReading() }

    /// Bytes in flight still arrive.
    func stream(_ stream: any ByteStream, didCloseWith reason: CloseReason) {
        let way = number(of: stream)
        later(by: .zero, on: way) { [ends] in ends[1 - way].closeAfterFlush(.closedHere) }
        guard !hasEnded else { return }
        hasEnded = true
        onEnd(self)
    }

    private func number(of stream: any ByteStream) -> Int { stream === ends[0] ? 0 : 1 }

    /// In order, whatever each waits for.
    private func later(by delay: Duration, on way: Int, _ action: @escaping () -> Void) {
        let now = loop.now
        let due = max(now + delay, ways[way].busyUntil)
        guard due > now else { return action() }
        ways[way].busyUntil = due + .nanoseconds(1)
        loop.schedule(after: due.since(now), action)
    }
}
