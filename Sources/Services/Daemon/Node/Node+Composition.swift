// How a daemon's parts come to know each other, and what was stored comes back into them.

import TandemBase
import TandemCrypto
import TandemFiles
import TandemPairing
import TandemSession
import TandemStore

extension Node {
    /// Introduces the parts to each other and gives them what was stored.
    func prepare(_ software: String) throws(NodeError) {
        let link = LinkDevice(
            vendorIdentifier: device.keys.vendorIdentifier, name: options.name, software: software, instance: instance)
        let key = device.keys.device
        let context = LinkContext(
            scheduler: loop, identity: try TLSIdentity(key: key), device: link, authority: self, delegate: self,
            log: log)
        context.wrapping = network.wrapping
        links = (context, LinkAcceptor(context: context))
        store.whenPoisoned = { [weak self] error in self?.onFatal?(.store(error)) }
        if device.store.statistics.beganCutOff {
            log(LogEvent(.info, "a commit that a crash cut off was dropped; nothing acknowledged was in it"))
        }
        connectRelay()
        connectLocal()
        local.controlResponder = self
        connectRouter()
        carrier.delegate = self
        try restore()
    }

    private func connectRouter() {
        router.apps.onTrace { [weak self] in self?.note($0) }
        router.connect(
            DeviceRouter.Outlets(
                needsEpoch: { [weak self] in self?.beginEpoch(of: $0) },
                frameMoved: { [weak self] in self?.note($0, isSent: $1) },
                itemsMayWait: { [weak self] in self?.itemsMayWait() }))
    }

    /// One of two stores was restored: both ends number their items from the beginning.
    private func beginEpoch(of pairing: UniqueIdentifier) {
        log(LogEvent(.warning, "one of the stores was restored, a new epoch begins", .text("pairing", "\(pairing)")))
        registry.perform(
            { [self] next in
                let changes = next.beginEpoch(pairing).map(\.rowChange)
                let epoch = next[pairing]?.epoch
                return (
                    changes,
                    { [self] in
                        if let epoch { exchange.setPairing(pairing, epoch: epoch) }
                        context.links.end(pairing, .replaced)
                    }
                )
            },
            failure: { [self] in report($0) })
    }

    private func restore() throws(NodeError) {
        for record in registry.state.pairings { exchange.setPairing(record.pairing, epoch: record.epoch) }
        do {
            try exchange.restore { try device.rows(in: $0) }
        } catch let error as NodeError {
            throw error
        } catch {
            throw .row(path: device.store.path, reason: String(describing: error))
        }
        pairingDirectories.keepOnly(registry.state.pairings.map(\.pairing))
        for record in registry.state.pairings { introduce(record) }
        for application in installed.state.records.values {
            relay.install(
                application.app, role: options.role, identifier: application.identifier,
                isAnchored: carrier.anchorIdentifier(of: application.app) != nil)
        }
        activePrimary = registry.state.active(as: .secondary)?.pairing
        chooseActive()
        // Removes files that belong to no item, now that the items are known.
        exchange.restoreFiles(
            of: Set(registry.state.pairings.map(\.pairing)), apps: Array(installed.state.records.keys))
    }
}
