// The side that dials: the pin is required, refusals are distinguished, and dialling goes on for ever with spread waits
// (SES-19). The versions may never fall back (SES-4), and a hello must be that of the pairing (PAR-14).

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPairing
import TandemSession
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@Suite struct DiallingTests {
    private let network = TestNetwork()

    @Test func aDeviceWithAnotherKeyAtTheAddressIsRefusedByItsPin() throws {
        let (_, secondary) = try network.pairedDevices()
        let impostor = try LinkedDevice("impostor", on: network.scheduler)
        try network.attach(impostor)
        let dialer = try network.dial(from: secondary)
        #expect(secondary.failures.first?.reason.name == "wrong-pin")
        #expect(impostor.failures.first?.reason.name == "refused-by-peer")
        #expect(secondary.ready.isEmpty && impostor.ready.isEmpty)
        guard case .waiting = dialer.status else { throw Unexpected("\(dialer.status)") }
    }

    @Test(
        "SES-19: behind an address of the primary's name at which another device, or none, answers the next one is tried",
        arguments: [true, false])
    func noPrimaryAtTheFirstAddress(isDevice: Bool) throws {
        let (primary, secondary) = try network.pairedDevices()
        let impostor = try LinkedDevice("impostor", on: network.scheduler)
        let pairing = try #require(secondary.registry.pairings.first).pairing
        var attempts: [PeerDescription?] = []
        let source = StreamSource(connectPast: { [network] _, passed, completion in
            attempts.append(passed)
            let attempt = network.scheduler.schedule(after: .zero) {
                if passed == nil, !isDevice {
                    let (near, far) = InProcessStream.pair(on: network.scheduler)
                    far.close(.closedHere)
                    return completion(.success(near))
                }
                let device = passed == nil ? impostor : primary
                completion(.success(network.connect(to: device.acceptor)))
            }
            return { network.scheduler.cancel(attempt) }
        })
        let dialer = LinkDialer(
            pairing: pairing, at: try SocketAddress(TestNetwork.address), context: secondary.context, source: source,
            random: { 0 }, record: { [weak secondary] in secondary?.registry[pairing] })
        dialer.start()
        network.scheduler.advance(by: .seconds(1))
        #expect(attempts == [nil, .inProcess])
        #expect(secondary.failures.map(\.reason.name) == [isDevice ? "wrong-pin" : "closed-by-peer"])
        #expect(dialer.status == .linked && primary.ready.count == 1 && impostor.ready.isEmpty)
        primary.link?.end(.stopping)
        network.scheduler.advance(by: .seconds(1))
        #expect(attempts.last == .inProcess && dialer.status == .linked, "the address that was right comes first")
        dialer.stop()
    }

    @Test func diallingGoesOnForEverWithWaitsThatGrowAndAreSpread() throws {
        let (primary, secondary) = try network.pairedDevices()
        network.isDown = true
        let dialer = try network.dialer(of: secondary)
        dialer.start()
        network.scheduler.advance(by: .seconds(600))
        let waits = zip(network.attempts.dropFirst(), network.attempts).map { $0.since($1) }
        #expect((Duration.milliseconds(100)...Duration.milliseconds(200)).contains(waits[0]))
        #expect((Duration.milliseconds(200)...Duration.milliseconds(400)).contains(waits[1]))
        #expect(waits.allSatisfy { $0 <= .seconds(30) })
        #expect(waits.suffix(10).allSatisfy { $0 >= .seconds(15) })
        #expect(Set(waits.suffix(10)).count > 5)
        network.isDown = false
        network.scheduler.advance(by: .seconds(31))
        #expect(dialer.status == .linked)
        #expect(primary.ready.count == 1)
    }

    @Test func twoDevicesDoNotDialInStep() throws {
        func attempts(seed: UInt64) throws -> [MonotonicTime] {
            let network = TestNetwork()
            let (_, secondary) = try network.pairedDevices()
            network.isDown = true
            let dialer = try network.dialer(of: secondary, seed: seed)
            dialer.start()
            network.scheduler.advance(by: .seconds(100))
            #expect(dialer.lastFailure != nil)
            return network.attempts
        }
        let (first, second) = (try attempts(seed: 1), try attempts(seed: 2))
        #expect(try attempts(seed: 1) == first)
        #expect(Set(first.dropFirst()).isDisjoint(with: second.dropFirst()))
    }

    @Test func waitsStartAgainOnceALinkWasReady() throws {
        let (primary, secondary, dialer) = try network.linkedDevices()
        network.isDown = true
        primary.link?.end(.stopping)
        network.scheduler.advance(by: .seconds(120))
        network.isDown = false
        network.scheduler.advance(by: .seconds(31))
        #expect(secondary.ready.count == 2)
        let lost = network.scheduler.now
        secondary.link?.end(.stopping)
        network.scheduler.advance(by: .milliseconds(201))
        #expect(secondary.ready.count == 3)
        #expect(network.attempts.last.map { $0.since(lost) <= .milliseconds(200) } == true)
        #expect(dialer.status == .linked)
    }

    @Test func `SES-91: two devices with one key take the link from each other less and less often`() throws {
        let (primary, secondary) = try network.pairedDevices()
        let copy = try LinkedDevice("panel", key: secondary.key, on: network.scheduler)
        let pairing = try #require(secondary.registry.pairings.first).pairing
        try copy.remember(pairing, .secondary, peer: primary)
        let dialers = [try network.dialer(of: secondary), try network.dialer(of: copy, seed: 2)]
        for dialer in dialers { dialer.start() }
        network.scheduler.advance(by: .seconds(120))
        #expect((8...40).contains(primary.ready.count), "\(primary.ready.count) links")
        #expect(dialers.allSatisfy { $0.isContested })
        dialers[1].stop()
        network.scheduler.advance(by: .seconds(91))
        #expect(dialers[0].status == .linked && !dialers[0].isContested)
    }

    @Test func `SES-91: a link that was replaced once is back at once`() throws {
        let (primary, secondary, dialer) = try network.linkedDevices()
        network.scheduler.advance(by: .seconds(1))
        primary.link?.end(.replaced)
        network.scheduler.advance(by: .milliseconds(201))
        #expect(secondary.closed == [.endedByPeer(.replaced)])
        #expect(dialer.status == .linked && primary.ready.count == 2 && !dialer.isContested)
    }

    @Test func aStoppedDialerDialsNoMore() throws {
        let (_, secondary) = try network.pairedDevices()
        network.isDown = true
        let dialer = try network.dialer(of: secondary)
        dialer.start()
        network.scheduler.advance(by: .seconds(5))
        dialer.stop()
        let count = network.attempts.count
        network.scheduler.advance(by: .seconds(300))
        #expect(network.attempts.count == count)
        #expect(dialer.status == .idle)
    }

    @Test func `PAR-19: an attempt that is stopped, as for another address, is no failure of the pairing`() throws {
        let (primary, secondary) = try network.pairedDevices()
        primary.holdsCommits = true
        let dialer = try network.dial(from: secondary)
        #expect(dialer.status == .connecting)
        dialer.stop()
        network.scheduler.run()
        #expect(secondary.failures.isEmpty && dialer.lastFailure == nil && dialer.status == .idle)
        primary.releaseCommits()
        network.scheduler.run()
        #expect(secondary.ready.isEmpty && primary.closed.count == primary.ready.count)
    }

    @Test func aDialerWhosePairingIsGoneStops() throws {
        let (_, secondary) = try network.pairedDevices()
        network.isDown = true
        let dialer = try network.dial(from: secondary)
        _ = secondary.registry.unpair(dialer.pairing)
        network.scheduler.advance(by: .seconds(300))
        #expect(dialer.status == .idle)
        #expect(network.attempts.count == 1)
    }

    @Test func aVersionBelowTheHighestSeenIsRefusedUntilTheOperatorAllowsIt() throws {
        let versions = PerRole(primary: ProtocolVersion(2), secondary: nil)
        let (primary, secondary) = try network.pairedDevices(versions: versions)
        let dialer = try network.dial(from: secondary)
        #expect(primary.failures.first?.reason.name == "version-lowered")
        #expect(secondary.failures.first?.reason == .refusedByPeer(.versionLowered))
        #expect(primary.pairingEvents.contains { if case .versionLowered = $0 { true } else { false } })
        _ = try primary.registry.allowVersion(.first, for: dialer.pairing)
        network.scheduler.advance(by: .seconds(1))
        #expect(dialer.status == .linked)
    }

    @Test func aServerThatLowersTheVersionIsRefusedByTheClient() throws {
        let versions = PerRole(primary: nil, secondary: ProtocolVersion(2))
        let (primary, secondary) = try network.pairedDevices(versions: versions)
        let dialer = try network.dial(from: secondary)
        #expect(secondary.failures.first?.reason.name == "version-lowered")
        #expect(secondary.ready.isEmpty && primary.closed.count == primary.ready.count)
        #expect(dialer.lastFailure != nil)
    }

    @Test func noCommonVersionIsRefused() throws {
        let two = try #require(ProtocolVersion(2))
        let offer = HelloOffer(versions: two...two, capabilities: [])
        let (primary, secondary) = try network.pairedDevices(offer: offer)
        let dialer = try network.dial(from: secondary)
        #expect(primary.ready.isEmpty && dialer.lastFailure == .ended(.refusedByPeer(.version)))
    }

    /// Links two devices whose records name these epochs, and whose queues have come this far; gives the epoch agreed
    /// on.
    private func settle(
        primary: UInt64, empty primaryIsEmpty: Bool, secondary: UInt64, empty secondaryIsEmpty: Bool
    ) throws -> UInt64? {
        let (gateway, panel) = try network.pairedDevices(epochs: PerRole(primary: primary, secondary: secondary))
        let pairing = try #require(gateway.registry.pairings.first).pairing
        let mark = SequenceMark(app: try ApplicationIdentifier("app"), channel: .configuration, sequence: 9)
        if !primaryIsEmpty { gateway.positions[pairing] = LinkPositions(epoch: primary, sent: [mark]) }
        if !secondaryIsEmpty { panel.positions[pairing] = LinkPositions(epoch: secondary, received: [mark]) }
        let dialer = try network.dial(from: panel)
        #expect(dialer.status == .linked)
        #expect(gateway.link?.peer.positions.epoch == panel.link?.peer.positions.epoch)
        #expect(gateway.registry[pairing]?.epoch == panel.registry[pairing]?.epoch)
        if primary != secondary { #expect(gateway.link?.peer.positions.isEmpty == true) }
        return gateway.registry[pairing]?.epoch
    }

    @Test func anEpochThatOneSideBeganIsTakenOverByTheOther() throws {
        #expect(try settle(primary: 2, empty: true, secondary: 1, empty: false) == 2)
        #expect(try settle(primary: 1, empty: false, secondary: 2, empty: true) == 2)
        #expect(try settle(primary: 3, empty: false, secondary: 3, empty: false) == 3)
    }

    @Test func aRestoredStoreOnEitherSideBeginsTheNextEpoch() throws {
        #expect(try settle(primary: 5, empty: false, secondary: 2, empty: false) == 6)
        #expect(try settle(primary: 2, empty: false, secondary: 5, empty: false) == 6)
    }

    @Test func `THR-106: an answer in an earlier epoch, as a backup would give it, makes no link`() throws {
        let (primary, secondary) = try network.pairedDevices(epochs: PerRole(4))
        primary.positions[try #require(primary.registry.pairings.first).pairing] = LinkPositions(epoch: 3)
        let dialer = try network.dial(from: secondary)
        #expect(dialer.lastFailure.map { "\($0)" }?.hasPrefix("epoch") == true)
        #expect(secondary.ready.isEmpty)
    }

    @Test func aCorruptingNetworkEndsConnectionsAndNeverMakesAWrongLink() throws {
        network.faults = FaultPlan(seed: 7)
        network.faults.corrupt = 400
        let (primary, secondary) = try network.pairedDevices()
        let dialer = try network.dialer(of: secondary)
        dialer.start()
        network.scheduler.advance(by: .seconds(600))
        #expect(network.connections > 20)
        #expect(primary.received.isEmpty && secondary.received.isEmpty)
        network.faults = .none
        network.scheduler.advance(by: .seconds(60))
        #expect(dialer.status == .linked)
    }
}
