// Activation of a host app's session (SES-1, SES-5 to SES-7, SES-19, SES-23): every path in and out.

import TandemBase
import TandemSession
import TandemWire
import Testing

struct ClientSessionTests {
    private let now = MonotonicTime(nanoseconds: 1_000)
    private let device = UniqueIdentifier.random()
    // Pairings: the only one, or two of which the second one becomes the active one.
    private let id = UniqueIdentifier.random()
    private let old = UniqueIdentifier.random()
    private let new = UniqueIdentifier.random()

    private func pairing(_ id: UniqueIdentifier) -> PairingState {
        PairingState(
            pairing: id, peer: .random(), name: "panel", role: .primary, target: .vendor(device), isInstalled: true,
            level: .immediate, reason: .none, since: now)
    }

    private func state(
        _ revision: UInt64, active: UniqueIdentifier?, _ ids: [UniqueIdentifier]
    ) -> SessionState {
        SessionState(revision: revision, active: active, pairings: ids.map { pairing($0) })
    }

    private func connected() -> ClientSession {
        var session = ClientSession(now: now)
        _ = session.activate()
        _ = session.connected()
        return session
    }

    private func activated(role: DeviceRole = .primary, _ state: SessionState) -> ClientSession {
        var session = connected()
        _ = session.greeted()
        _ = session.registered(answer(role, state))
        return session
    }

    private func answer(_ role: DeviceRole, _ state: SessionState) -> RegistrationAnswer {
        RegistrationAnswer(device: device, role: role, directory: nil, uid: 1000, state: state)
    }

    @Test("SES-1, SES-5: connect, hello, register, activated")
    func straightWay() {
        var session = ClientSession(now: now)
        #expect(session.activate() == [.connect])
        #expect(session.connected() == [.startTimer(.seconds(10)), .sendHello])
        #expect(session.greeted() == [.startTimer(.seconds(10)), .sendRegister])
        #expect(session.activation == .notActivated)
        let effects = session.registered(answer(.primary, state(1, active: nil, [])))
        #expect(effects == [.stopTimer, .activation(.activated), .stateChanged])
        #expect(session.activation == .activated && session.role == .primary && session.device == device)
    }

    @Test("activating again does nothing in any phase on the way or there")
    func idempotent() {
        var session = ClientSession(now: now)
        _ = session.activate()
        #expect(session.activate() == [])
        _ = session.connected()
        #expect(session.activate() == [])
        _ = session.greeted()
        #expect(session.activate() == [])
        _ = session.registered(answer(.primary, state(1, active: nil, [])))
        #expect(session.activate() == [])
        _ = session.lost(now: now, random: 0)
        #expect(session.activate() == [])
    }

    @Test("SES-19: without a daemon it keeps trying, with growing waits, and says noDaemon")
    func noDaemon() {
        var session = ClientSession(now: now)
        _ = session.activate()
        #expect(session.lost(now: now, random: 0) == [.disconnect, .startTimer(.milliseconds(100))])
        #expect(session.timerFired(now: now, random: 0) == [.connect])
        #expect(session.lost(now: now, random: 0) == [.disconnect, .startTimer(.milliseconds(200))])
        #expect(session.reachability(of: nil).reason == .noDaemon)
        #expect(session.activation == .notActivated)
    }

    @Test("LIM-4: a daemon that does not greet within 10 s is left and dialled again")
    func silentDaemon() {
        var session = connected()
        #expect(session.timerFired(now: now, random: 0) == [.disconnect, .startTimer(.milliseconds(100))])
        #expect(session.phase == .waiting)
    }

    @Test("SES-23: losing the daemon fails all open requests and dials again, from the first wait")
    func daemonLost() {
        var session = activated(state(1, active: id, [id]))
        let effects = session.lost(now: now + .seconds(9), random: 0)
        #expect(
            effects == [
                .disconnect, .failRequests(to: nil, .daemonLost), .activation(.notActivated), .stateChanged,
                .startTimer(.milliseconds(100)),
            ])
        #expect(session.reachability(of: nil) == (.unreachable, .noDaemon, now + .seconds(9)))
    }

    @Test("SES-23: a primary's switch passes inactive and not activated; requests to the old one fail")
    func switchOnPrimary() {
        var session = activated(state(1, active: old, [old, new]))
        let effects = session.stateArrived(state(2, active: new, [old, new]))
        #expect(
            effects == [
                .activation(.inactive), .failRequests(to: old, .switched), .stateChanged, .deliverArrivals,
            ])
        #expect(session.state?.active == new && session.activation == .inactive)
        #expect(
            session.standing(of: old).activation == .activated && session.standing(of: new).activation == .activated)
        #expect(
            session.arrivalsDelivered() == [.activation(.notActivated), .activation(.activated), .stateChanged])
        #expect(session.activation == .activated && session.arrivalsDelivered() == [])
    }

    @Test("SES-31: what changes while a switch is under way joins it, and the last word counts")
    func switchTwice() {
        var session = activated(state(1, active: old, [old, new]))
        _ = session.stateArrived(state(2, active: new, [old, new]))
        let back = session.stateArrived(state(3, active: old, [old, new]))
        #expect(back == [.failRequests(to: new, .switched), .stateChanged])
        #expect(session.arrivalsDelivered().contains(.activation(.activated)))
        #expect(session.state?.active == old)
    }

    @Test("SES-31: a switch that happened without a connection is seen as one when it is back")
    func switchWhileLost() {
        var session = activated(state(1, active: old, [old, new]))
        for (active, effects) in [
            (old, [.stopTimer, .activation(.activated), .stateChanged]),
            (new, [.stopTimer, .activation(.inactive), .stateChanged, .deliverArrivals]),
        ] as [(UniqueIdentifier, [ClientSession.Effect])] {
            _ = session.lost(now: now, random: 0)
            _ = session.timerFired(now: now, random: 0)
            _ = (session.connected(), session.greeted())
            #expect(session.registered(answer(.primary, state(1, active: active, [old, new]))) == effects)
        }
    }

    @Test("SES-50: a pairing that ended without a connection is lost when it is back, and not at another daemon")
    func pairingLostMeanwhile() {
        let (kept, gone) = (UniqueIdentifier.random(), UniqueIdentifier.random())
        func effects(of role: DeviceRole) -> [ClientSession.Effect] {
            var session = activated(role: .secondary, state(1, active: kept, [kept, gone]))
            _ = session.lost(now: now, random: 0)
            _ = session.timerFired(now: now, random: 0)
            _ = (session.connected(), session.greeted())
            return session.registered(answer(role, state(1, active: kept, [kept])))
        }
        let loss = ClientSession.Effect.failRequests(to: gone, .unpaired)
        #expect(effects(of: .secondary) == [.stopTimer, loss, .activation(.activated), .stateChanged])
        #expect(!effects(of: .primary).contains(loss), "its socket was found instead")
    }

    @Test("SES-31: a daemon that is lost during a switch ends it")
    func lostDuringSwitch() {
        var session = activated(state(1, active: old, [old, new]))
        _ = session.stateArrived(state(2, active: new, [old, new]))
        #expect(session.lost(now: now, random: 0).contains(.activation(.notActivated)))
        #expect(session.activation == .notActivated && session.arrivalsDelivered() == [])
    }

    @Test("SES-23: a secondary's session stays activated when its active primary changes")
    func switchOnSecondary() {
        var session = activated(role: .secondary, state(1, active: old, [old, new]))
        #expect(session.stateArrived(state(2, active: new, [old, new])) == [.stateChanged])
    }

    @Test("SES-23: requests to a pairing that is removed fail as unpaired")
    func unpaired() {
        var session = activated(role: .secondary, state(1, active: id, [id]))
        let effects = session.stateArrived(state(2, active: nil, []))
        #expect(effects == [.failRequests(to: id, .unpaired), .stateChanged])
        #expect(session.reachability(of: nil).reason == .notPaired)
    }

    @Test("The first pairing of a session that had none is no switch")
    func firstPairing() {
        var session = activated(state(1, active: nil, []))
        #expect(session.stateArrived(state(2, active: id, [id])) == [.stateChanged])
    }

    @Test("SES-7: a revision that does not grow is ignored")
    func oldRevision() {
        var session = activated(state(5, active: id, [id]))
        #expect(session.stateArrived(state(5, active: nil, [])) == [])
        #expect(session.stateArrived(state(4, active: nil, [])) == [])
        #expect(session.state?.active == id)
    }

    @Test(
        "SES-6: a refusal that waiting cannot cure ends the attempts",
        arguments: [
            RefusalName.appOwned, .appRemoved, .appOtherSide, .application, .alreadyReceiving, .version, .notAllowed,
            .tooManyApplications,
        ])
    func finalRefusal(name: RefusalName) {
        var session = connected()
        #expect(session.refused(name, now: now, random: 0) == [.disconnect, .stopTimer, .activationRefused(name)])
        #expect(session.lost(now: now, random: 0) == [.disconnect])
        #expect(session.activate() == [.connect])
    }

    @Test("SES-6: already-receiving after a reconnect is the daemon's memory of the old connection: try again")
    func staleReceiver() {
        var session = activated(state(1, active: nil, []))
        _ = session.lost(now: now, random: 0)
        _ = session.timerFired(now: now, random: 0)
        _ = session.connected()
        #expect(session.refused(.alreadyReceiving, now: now, random: 0).last == .startTimer(.milliseconds(200)))
    }

    @Test("SES-6: already-receiving after a connection that ended while it registered is tried again")
    func staleRegistration() {
        var session = connected()
        _ = session.greeted()
        _ = session.timerFired(now: now, random: 0)
        _ = session.timerFired(now: now, random: 0)
        _ = session.connected()
        _ = session.greeted()
        #expect(session.refused(.alreadyReceiving, now: now, random: 0).last == .startTimer(.milliseconds(200)))
    }

    @Test("SES-18: a daemon that stops is dialled again", arguments: [RefusalName.stopping, .slowConsumer, .malformed])
    func passingRefusal(name: RefusalName) {
        var session = activated(state(1, active: nil, []))
        #expect(session.refused(name, now: now, random: 0).last == .startTimer(.milliseconds(100)))
    }

    @Test("The app's own end completes everything and connects no more")
    func end() {
        var session = activated(state(1, active: id, [id]))
        let effects = session.end(now: now)
        #expect(effects.contains(.failRequests(to: nil, .ended)))
        #expect(session.phase == .idle)
        #expect(session.lost(now: now, random: 0) == [.disconnect])
        #expect(session.timerFired(now: now, random: 0) == [])
    }

    @Test("Frames of the wrong phase change nothing")
    func wrongPhase() {
        var session = ClientSession(now: now)
        #expect(session.greeted() == [])
        #expect(session.registered(answer(.primary, state(1, active: nil, []))) == [])
        #expect(session.stateArrived(state(1, active: nil, [])) == [])
        #expect(session.connected() == [.disconnect])
        #expect(session.phase == .idle)
    }
}
