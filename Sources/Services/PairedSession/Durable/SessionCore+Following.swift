// Accepted items across connections (SES-56): the daemon forgets who waits for an item when the connection goes, so on
// the next one this process names what it still waits for, and is told what it has missed.

import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemWire

extension SessionCore {
    /// On a new connection: names the accepted items whose ends somebody here waits for.
    func followAgain() {
        var pages: [UniqueIdentifier: [Transfer.Kind: [UniqueIdentifier]]] = [:]
        for transfer in followed.values {
            pages[transfer.pairing, default: [:]][transfer.kind, default: []].append(transfer.id)
        }
        for (pairing, kinds) in pages {
            for (kind, items) in kinds { follow(items[...], kind, pairing) }
        }
    }

    private func follow(_ items: ArraySlice<UniqueIdentifier>, _ kind: Transfer.Kind, _ pairing: UniqueIdentifier) {
        guard !items.isEmpty else { return }
        let names = items.prefix(Limits.pageItems).map { PropertyListValue.data($0.bytes) }
        ask("follow", pairing: pairing, channel: Channel(rawValue: kind.rawValue), ["items": .array(names)]) {
            [weak self] result in
            guard let self else { return }
            guard case .success(let answer) = result else { return followLater(items, kind, pairing) }
            forgotten((try? answer.dictionaryBody()) ?? [:])
            follow(items.dropFirst(Limits.pageItems), kind, pairing)
        }
    }

    /// A daemon whose disk is full cannot tell now. A new connection asks for everything again anyhow.
    private func followLater(
        _ items: ArraySlice<UniqueIdentifier>, _ kind: Transfer.Kind, _ pairing: UniqueIdentifier
    ) {
        scheduler.schedule(after: .seconds(1)) { [weak self, weak channel] in
            guard let self, let channel, channel === self.channel, machine.activation == .activated else { return }
            follow(items.filter { self.followed[$0] != nil }[...], kind, pairing)
        }
    }

    /// What the daemon knows nothing of any more: another connection has confirmed it, or it was forgotten (LIM-24).
    private func forgotten(_ body: PropertyListDictionary) {
        for value in body["unknown"]?.arrayValue ?? [] {
            guard let id = value.dataValue.flatMap({ UniqueIdentifier(bytes: $0) }),
                let transfer = followed.removeValue(forKey: id)
            else { continue }
            _ = transfers.ended(id)
            transfer.unfollowed(.endUnknown(id))
            fileEnded(id, isStored: false)
        }
    }
}

extension SessionError {
    fileprivate static func endUnknown(_ id: UniqueIdentifier) -> SessionError {
        SessionError(
            .genericError, name: "end-unknown",
            reason:
                "the item has ended, and this device does not know any more how: another connection of this app heard it, or too many "
                + "ends were not heard", messageID: id)
    }
}
