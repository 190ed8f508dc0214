// Clocks that are set while a link lasts (CTL-10, SES-86): both ends know the difference that there is, and not the one
// that there was at the hello.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemReactor
import TandemTestSupport
import TandemWire
import Testing

@Suite struct LinkClockTests {
    /// Seconds of 56 years.
    private static let sinceThe1970s = 56 * 365 * 86_400

    private let network = TestNetwork()
    private let gateway: OwnWallClock
    private let panel: OwnWallClock

    init() {
        gateway = OwnWallClock(network.scheduler)
        panel = OwnWallClock(network.scheduler)
    }

    /// Two linked devices, each with a wall clock of its own.
    private struct Pair {
        let primary: LinkedDevice
        let secondary: LinkedDevice
        let dialer: LinkDialer

        /// How many seconds each one sees the other's clock ahead.
        var skews: [Int?] {
            [primary, secondary].map { device in
                (device.link?.clockSkew).map { Int((Double($0.saturatingMilliseconds) / 1000).rounded()) }
            }
        }
    }

    private func linked() throws -> Pair {
        let (primary, secondary) = try network.pairedDevices(on: (gateway, panel))
        let dialer = try network.dial(from: secondary)
        try #require(primary.ready.count == 1 && secondary.ready.count == 1)
        return Pair(primary: primary, secondary: secondary, dialer: dialer)
    }

    @Test("CTL-10, SES-86: a device that links in 1970 sees the difference end when it is set, and its peer soon after")
    func aClockIsSetRight() throws {
        panel.lead = .seconds(-Self.sinceThe1970s)
        let pair = try linked()
        #expect(pair.skews == [-Self.sinceThe1970s, Self.sinceThe1970s])
        network.scheduler.advance(by: .seconds(7))
        panel.lead = .zero
        #expect(pair.skews == [-Self.sinceThe1970s, 0])
        network.scheduler.advance(by: .seconds(6))
        #expect(pair.skews == [0, 0])
        #expect(pair.primary.closed.isEmpty && pair.secondary.closed.isEmpty)
    }

    @Test("CTL-10, SES-86: a difference that begins after the hello is seen by both")
    func aClockIsSetWrong() throws {
        let pair = try linked()
        #expect(pair.skews == [0, 0])
        gateway.lead = .seconds(3600)
        #expect(pair.skews == [-3600, 0])
        network.scheduler.advance(by: .seconds(6))
        #expect(pair.skews == [-3600, 3600])
        gateway.lead = .seconds(-7200)
        network.scheduler.advance(by: .seconds(6))
        #expect(pair.skews == [7200, -7200])
    }

    @Test("SES-86: a clock that is set while the dialling side waits for the answer is told")
    func aClockIsSetBeforeTheAnswer() throws {
        let (primary, secondary) = try network.pairedDevices(on: (gateway, panel))
        primary.holdsCommits = true
        let dialer = try network.dial(from: secondary)
        try #require(primary.ready.isEmpty)
        panel.lead = .seconds(3600)
        primary.releaseCommits()
        network.scheduler.advance(by: .seconds(1))
        let pair = Pair(primary: primary, secondary: secondary, dialer: dialer)
        #expect(pair.skews == [3600, -3600])
    }

    @Test("SES-86: a link that is never silent tells a clock that was set, too")
    func aBusyLink() throws {
        let pair = try linked()
        let (near, far) = (try #require(pair.primary.link), try #require(pair.secondary.link))
        let app = try ApplicationIdentifier("com.example.lights")
        panel.lead = .seconds(600)
        for _ in 0..<6 {
            for link in [near, far] {
                link.send(Envelope(.messageData, app: app, pairing: link.pairing, id: .random(), body: [1]))
            }
            network.scheduler.advance(by: .seconds(1))
        }
        #expect(pair.skews == [600, -600])
    }

    @Test("SES-86: a clock that leaves its course slowly is told after an hour")
    func aClockDrifts() throws {
        let pair = try linked()
        panel.lead = .milliseconds(900)
        network.scheduler.advance(by: .seconds(60))
        #expect(pair.skews == [0, -1])
        network.scheduler.advance(by: .seconds(3600))
        #expect(pair.skews == [1, -1])
    }

    @Test("SES-86, FRM-9: an absurd clock does no harm, and a value of another type is passed over")
    func anAbsurdClock() throws {
        let pairing = UniqueIdentifier.random()
        let (primary, peer) = try network.rawSecondary(in: pairing, on: gateway)
        try peer.greet(pairing)
        network.scheduler.run()
        let link = try #require(primary.link)
        #expect(link.clockSkew == nil)
        var last: Duration?
        for value: PropertyListValue in [.integer(.max), .integer(.min), "noon", true, .unsigned(.max)] {
            let id = UniqueIdentifier.random()
            var ping = Envelope(.ping, id: id)
            ping.extensions["x-clock"] = value
            try peer.send(ping)
            network.scheduler.run()
            #expect(peer.received.contains { $0.kind == .pong && $0.id == id })
            if value.integerValue != nil { last = link.clockSkew }
            #expect(link.clockSkew == last && last != nil)
            network.scheduler.advance(by: .seconds(1))
            last = link.clockSkew
        }
        #expect(primary.closed.isEmpty)
    }
}

/// The common manual time with a wall clock of its own.
///
/// `@unchecked`: `lead` belongs to the thread of the time; all else is the common scheduler's.
private final class OwnWallClock: Scheduler, @unchecked Sendable {
    private let common: ManualScheduler
    /// How far it is ahead of the common wall clock.
    var lead = Duration.zero

    init(_ common: ManualScheduler) { self.common = common }

    var now: MonotonicTime { common.now }
    var wallNow: WallTime { common.wallNow + lead }
    var isCurrent: Bool { common.isCurrent }

    @discardableResult
    func schedule(after delay: Duration, _ action: @escaping () -> Void) -> TimerToken {
        common.schedule(after: delay, action)
    }

    func cancel(_ token: TimerToken) { common.cancel(token) }

    func submit(_ action: @escaping @Sendable () -> Void) { common.submit(action) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        submit { [self] in job.runSynchronously(on: asUnownedSerialExecutor()) }
    }

    func atEndOfTurn(_ participant: any TurnParticipant) { common.atEndOfTurn(participant) }

    func atEndOfTurn(_ action: @escaping () -> Void) { common.atEndOfTurn(action) }
}
