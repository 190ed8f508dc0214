// The carrier's way in: what the daemon around it tells it.

package import TandemBase
import TandemDelivery
import TandemPairing
import TandemReactor
package import TandemSession
import TandemSignedConfiguration
import TandemStore
package import TandemWire

extension Carrier {
    /// How often lifetimes are counted and what waits for the clock is tried again.
    static var tick: Duration { .seconds(10) }

    /// Brings the apps' files up to date and sends what was owed; once, before the first connection.
    package func start() {
        closeAbandonedSlots()
        let apps = Set(receiver.committed.state.slots.keys.filter { $0.role == options.role }.map(\.application))
        for app in apps.sorted() { receiver.reconcileFiles(of: app, as: options.role) }
        receiver.submitOwed()
        scheduleTick()
    }

    /// A crash may have come between a pairing's removal and its slots': no primary is left who could target them
    /// (CFG-31).
    private func closeAbandonedSlots() {
        for key in receiver.committed.state.slots.keys where key.role == .secondary {
            let targets = delegate?.configurationTargets(of: key.application) ?? []
            if !targets.contains(key.target) { receiver.perform(key, { slot, _ in slot.closed() }) }
        }
    }

    private func scheduleTick() {
        scheduler.schedule(after: Self.tick) { [weak self] in
            guard let self else { return }
            receiver.timePassed(running: scheduler.now.since(lastTick), now: scheduler.wallNow)
            receiver.reportHeldFailures()
            lastTick = scheduler.now
            scheduleTick()
        }
    }

    /// An app's receiving connection has registered.
    package func connected(
        _ app: ApplicationIdentifier, as role: DeviceRole, _ registration: TandemSession.Registration
    ) {
        receiver.connected(app, as: role, registration)
    }

    /// An app's receiving connection is gone.
    package func disconnected(_ app: ApplicationIdentifier, as role: DeviceRole) {
        receiver.disconnected(app, as: role)
    }

    /// What configuration for this side's app is targeted at has changed: another primary, or another identifier of it.
    package func targetChanged(of app: ApplicationIdentifier, as role: DeviceRole, isConnected: Bool) {
        receiver.targetChanged(of: app, as: role, isConnected: isConnected)
    }

    /// A durable item of the channel `configuration` has arrived. It is handled once what it leads to is durable.
    package func received(_ item: ReceivedItem) {
        guard let record = delegate?.pairingRecord(item.queue.pairing) else {
            return context.exchange.arrivals.handled(item.ordinal, in: item.queue)
        }
        switch record.role {
        case .primary: forwarder.received(item.payload, from: record) { [self] in finish(item, isDurable: $0) }
        case .secondary: judge(item)
        }
    }

    private func judge(_ item: ReceivedItem) {
        let app = item.queue.app
        guard let target = delegate?.configurationTarget(of: app, through: item.queue.pairing) else {
            return context.exchange.arrivals.handled(item.ordinal, in: item.queue)
        }
        let key = ConfigurationSlotKey(application: app, role: .secondary, target: target)
        let delivery = ConfigurationDelivery(pairing: item.queue.pairing, nonce: item.id)
        receiver.perform(key, { slot, context in slot.received(item.payload, by: delivery, in: context) }) {
            [self] transition in
            receiver.logVerdict(transition, of: key)
            finish(item, isDurable: transition != nil)
        }
    }

    private func finish(_ item: ReceivedItem, isDurable: Bool) {
        if isDurable {
            context.exchange.arrivals.handled(item.ordinal, in: item.queue)
        } else {
            context.exchange.arrivals.failed(item.ordinal, in: item.queue)
        }
    }

    /// An item that this device submitted has ended.
    package func ended(_ id: UniqueIdentifier, _ outcome: Outcome) { forwarder.ended(id, outcome) }

    /// A pairing is gone.
    /// - Parameter targets: what configuration through it was targeted at, for each app; empty on the primary.
    package func unpaired(_ pairing: UniqueIdentifier, targets: [ApplicationIdentifier: PairedIdentifier]) {
        forwarder.unpaired(pairing)
        receiver.committed.perform(
            { next in
                next.gates = next.gates.filter { $0.key.pairing != pairing }
                return ([], {})
            }, failure: { _ in })
        for (app, target) in targets {
            receiver.perform(
                ConfigurationSlotKey(application: app, role: .secondary, target: target), { slot, _ in slot.closed() }
            ) { [self] _ in receiver.reconcileFiles(of: app, as: .secondary) }
        }
    }
}

extension ConfigurationReceiver {
    func targetChanged(of app: ApplicationIdentifier, as role: DeviceRole, isConnected: Bool) {
        reconcileFiles(of: app, as: role)
        disconnected(app, as: role)
        guard isConnected, let key = shownKey(of: app, as: role) else { return }
        perform(key, { slot, _ in slot.applicationConnected() }) { [self] _ in
            offer(ConfigurationOffer.reloadMessage, to: key) { _ in }
        }
    }

    func timePassed(running: Duration, now: WallTime) {
        for key in committed.state.slots.keys {
            // Two events: a lifetime that runs must not keep from another trial what waits for the clock.
            perform(key, { slot, _ in slot.timePassed(running: running, now: now) })
            perform(key, { slot, context in slot.clockMoved(in: context) }) { [self] in logVerdict($0, of: key) }
        }
    }
}
