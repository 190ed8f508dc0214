// How a daemon's parts come to know each other, and what was stored comes back into them.

import TandemBase
import TandemCrypto
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
        relay.delegate = self
        exchange.delegate = self
        local.delegate = self
        local.controlResponder = self
        let items = DurableChannels(exchange: exchange, endpoint: local)
        items.files = files
        items.onEvent = { [weak self] in self?.note($0) }
        local.items = items
        files.items = exchange
        files.delegate = self
        carrier.delegate = self
        exchange.userOf = { [installed] in installed.state[$0]?.user }
        files.userOf = exchange.userOf
        try restore()
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
        restoreFiles()
    }
}
