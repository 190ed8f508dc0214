// Files between links, apps' directories and the exchange of files.

package import TandemBase
import TandemDelivery
import TandemFiles
import TandemPairing
import TandemStore
package import TandemWire

extension Node: FileExchangeDelegate {
    package func files(_ files: FileExchange, send envelope: Envelope, over pairing: UniqueIdentifier) {
        context.links[pairing]?.send(envelope)
    }

    package func files(_ files: FileExchange, tell envelope: Envelope, to app: ApplicationIdentifier) {
        local.items?.tell(envelope, to: app)
    }

    package func files(_ files: FileExchange, completed app: ApplicationIdentifier) { itemsMayWait() }

    package func files(_ files: FileExchange, inboxOf app: ApplicationIdentifier) -> FileInbox? {
        guard let user = installed.state[app]?.user else { return nil }
        return FileInbox(of: app, owner: user, log: log) { () throws(FileError) in
            try device.applications.directory(named: app.description, mode: 0o750, owner: user)
        }
    }

    /// Removes files that belong to no item, once the items are known.
    func restoreFiles() {
        let kept = exchange.filesToKeep()
        files.restore(
            sent: kept.sent, received: kept.received, pairings: Set(registry.state.pairings.map(\.pairing)),
            apps: Array(installed.state.records.keys))
    }

    /// Takes a frame of the durable channels from a link.
    func takeItem(_ envelope: Envelope, from link: Link) {
        if envelope.kind != .chunk, envelope.kind != .want { note(envelope, isSent: false) }
        let isFile = envelope.channel == .file
        let isRead: Bool
        switch envelope.kind {
        case .chunk, .want: isRead = isFile && files.receive(envelope)
        case .item, .gap: isRead = isFile ? files.receive(envelope) : exchange.receive(envelope)
        default: isRead = exchange.receive(envelope)
        }
        if !isRead { link.refuse(.envelope, "\(envelope.kind.rawValue) does not read") }
        if envelope.kind == .item { itemsMayWait() }
    }
}
