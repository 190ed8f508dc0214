// The registry's transitions in force: what changed is durable first, then relay, exchange, dialers and carrier hear of
// it.

import TandemBase
import TandemCrypto
import TandemPairing
import TandemPropertyList
import TandemReactor
import TandemStore
import TandemTransport

extension PairingChange {
    /// The change of the store's row.
    var rowChange: RowChange {
        let row = self.row
        guard let value = row.value else { return .delete(.pairing, key: row.key) }
        do {
            return .put(.pairing, key: row.key, value: try PropertyListWriter.write(value))
        } catch {
            preconditionFailure("a pairing's row can always be written: \(error)")
        }
    }
}

extension Node {
    /// Makes a pairing known to relay and exchange.
    func introduce(_ record: PairingRecord) {
        guard let peer = record.peerVendorIdentifier else { return }
        exchange.setPairing(record.pairing, epoch: record.epoch)
        relay.setPairing(
            RelayedPairing(
                pairing: record.pairing, role: record.role, peer: peer, name: record.name,
                isPending: record.state == .pending))
    }

    /// Binds the default sessions of both sides to the chosen pairings. With another primary the apps of a secondary
    /// get that primary's configuration, or none.
    func chooseActive() {
        for role in DeviceRole.allCases { relay.setActive(registry.state.active(as: role)?.pairing, role: role) }
        let primary = registry.state.active(as: .secondary)?.pairing
        guard primary != activePrimary else { return }
        activePrimary = primary
        for app in installed.state.records.keys.sorted() { targetChanged(of: app) }
    }

    /// The rows that go with a pairing, for the commit that removes it.
    func removal(of pairing: UniqueIdentifier) -> [RowChange] { DurableDelivery.removal(of: pairing) }

    /// A pairing has been removed from the registry: its link, queues and configuration go too.
    func forget(_ record: PairingRecord, targets: [ApplicationIdentifier: PairedIdentifier]) {
        dialers.removeValue(forKey: record.pairing)?.stop()
        linkErrors[record.pairing] = nil
        context.links.end(record.pairing, .unpaired)
        relay.removePairing(record.pairing, role: record.role)
        pairingDirectories.remove(record.pairing)
        exchange.removePairing(record.pairing, apps: Array(installed.state.records.keys))
        // A commit of its queues that was under way may have put a row back behind the first removal.
        store.commit(removal(of: record.pairing)) { _ in }
        carrier.unpaired(record.pairing, targets: targets)
        chooseActive()
        log(LogEvent(.info, "unpaired", .text("pairing", "\(record.pairing)"), .outside("peer", record.name)))
    }

    /// What configuration through a pairing is targeted at, for each app; empty where this device is the primary.
    func targets(through record: PairingRecord) -> [ApplicationIdentifier: PairedIdentifier] {
        guard record.role == .secondary else { return [:] }
        let apps = Set(installed.state.records.keys).union(carrier.configuredApplications)
        return Dictionary(
            uniqueKeysWithValues: apps.compactMap { app in target(of: app, through: record.pairing).map { (app, $0) } })
    }

    func target(of app: ApplicationIdentifier, through pairing: UniqueIdentifier) -> PairedIdentifier? {
        registry.state.target(
            of: pairing, app: app, own: device.keys.vendorIdentifier, ownClaim: installed.state[app]?.identifier)
    }

    /// Removes what time has ended, once a minute.
    func scheduleExpiry() {
        loop.schedule(after: .seconds(60)) { [weak self] in
            guard let self, !isStopping else { return }
            expire()
            scheduleExpiry()
        }
    }

    private func expire() {
        let now = loop.wallNow
        registry.perform(
            { [self] next in
                let before = next.pairings
                let changes = next.expire(now: now)
                let gone = before.filter { next[$0.pairing] == nil }
                let rows = changes.map(\.rowChange) + gone.flatMap { removal(of: $0.pairing) }
                return (rows, { [self] in for record in gone { forget(record, targets: [:]) } })
            },
            failure: { [self] in report($0) })
    }

    // MARK: dialling

    /// Dials the primary of a pairing in which this device is the secondary.
    func dial(_ record: PairingRecord) {
        guard record.role == .secondary, dialers[record.pairing] == nil, !isStopping,
            let address = record.address.flatMap({ try? SocketAddress($0) })
        else { return }
        let dialer = LinkDialer(
            pairing: record.pairing, at: address, context: context, source: network.dialling,
            random: random, record: { [weak self] in self?.registry.state[record.pairing] })
        dialers[record.pairing] = dialer
        dialer.start()
    }

    /// A commit failed: the change did not happen. A full disk may recover; a store that failed for good ends the
    /// daemon (``Node/onFatal``), and its next start says what is wrong.
    func report(_ error: StoreError) { log(LogEvent(.error, "not stored", .text("error", error.description))) }
}
