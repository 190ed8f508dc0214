// Announcements of paired devices on their way to the store. A device can send them as fast as its link allows, so only
// the latest one of each app is stored, with one commit at a time for all of them.

import TandemBase
import TandemReactor
import TandemStore
import TandemWire

/// Announcements that are not stored yet, by pairing and app; confined to the loop.
final class PendingAnnouncements<Value: Equatable> {
    /// Stores all of these in one commit, and then reports whether they are stored.
    typealias Store = (
        _ all: [UniqueIdentifier: [ApplicationIdentifier: Value]], _ done: @escaping (_ isStored: Bool) -> Void
    ) -> Void

    private var pending: [UniqueIdentifier: [ApplicationIdentifier: Value]] = [:]
    private var isStoring = false
    private let retry: LaterAttempt
    private let store: Store

    init(on scheduler: any Scheduler, store: @escaping Store) {
        retry = LaterAttempt(on: scheduler)
        self.store = store
    }

    /// A device has announced this of an app.
    func add(_ value: Value, for app: ApplicationIdentifier, in pairing: UniqueIdentifier) {
        let isKnown = pending[pairing]?[app] != nil
        // A device may announce more names than it may have, and nothing takes them from here while the disk is full.
        guard isKnown || (pending[pairing]?.count ?? 0) < 2 * Limits.applications else { return }
        pending[pairing, default: [:]][app] = value
        storePending()
    }

    /// Drops the announcements of a pairing that has ended.
    func remove(_ pairing: UniqueIdentifier) { pending[pairing] = nil }

    private func storePending() {
        guard !isStoring, !retry.isComing, !pending.isEmpty else { return }
        isStoring = true
        let all = pending
        store(all) { [self] isStored in
            isStoring = false
            // The devices announce them once.
            guard isStored else { return retry.request { [weak self] in self?.storePending() } }
            forget(all)
            storePending()
        }
    }

    /// Drops what is stored, except where something newer came meanwhile.
    private func forget(_ stored: [UniqueIdentifier: [ApplicationIdentifier: Value]]) {
        for (pairing, apps) in stored {
            for (app, value) in apps where pending[pairing]?[app] == value { pending[pairing]?[app] = nil }
            if pending[pairing]?.isEmpty == true { pending[pairing] = nil }
        }
    }
}
