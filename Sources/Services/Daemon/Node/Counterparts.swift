// Apps that paired devices have announced, kept for the time after a restart (SES-64).

import TandemBase
import TandemOperations
import TandemReactor
import TandemStore
import TandemWire

/// The stored announcements of paired devices; confined to the loop.
final class Counterparts {
    private let stored: CommittedState<CounterpartApplications>
    private let scheduler: any Scheduler
    private let log: LogHandler
    /// Whether apps are installed, as announced and not stored yet.
    private lazy var pending = PendingAnnouncements<Bool>(on: scheduler) { [weak self] in self?.store($0, then: $1) }
    private var pace = LogPace()
    /// Called when announcements have been stored.
    var whenStored: () -> Void = {}

    init(_ stored: CommittedState<CounterpartApplications>, scheduler: any Scheduler, log: @escaping LogHandler) {
        self.stored = stored
        self.scheduler = scheduler
        self.log = log
    }

    /// The apps that a paired device has, as far as it is stored.
    subscript(pairing: UniqueIdentifier) -> Set<ApplicationIdentifier> { stored.state.apps[pairing] ?? [] }

    /// A paired device has announced an app.
    func announced(_ app: ApplicationIdentifier, isInstalled: Bool, in pairing: UniqueIdentifier) {
        pending.add(isInstalled, for: app, in: pairing)
    }

    func remove(_ pairing: UniqueIdentifier) {
        pending.remove(pairing)
        stored.perform(room: .reserve, { Commit($0.remove(pairing)) {} }, failure: { [self] in failed($0) })
    }

    /// Forgets all pairings but these: a crash may have come between a pairing's end and this.
    func keepOnly(_ known: Set<UniqueIdentifier>) {
        for pairing in stored.state.apps.keys where !known.contains(pairing) { remove(pairing) }
    }

    private func store(
        _ announcements: [UniqueIdentifier: [ApplicationIdentifier: Bool]],
        then done: @escaping (_ isStored: Bool) -> Void
    ) {
        stored.perform(
            { [self] next in
                var changes: [RowChange] = []
                for (pairing, apps) in announcements {
                    // Removals first, because they make room for the new apps (LIM-11).
                    for (app, isInstalled) in apps.sorted(by: { !$0.value && $1.value }) {
                        changes += next.announced(app, isInstalled: isInstalled, in: pairing)
                    }
                }
                return Commit(changes) { [self, changes] in
                    done(true)
                    if !changes.isEmpty { whenStored() }
                }
            },
            failure: { [self] error in
                failed(error)
                done(false)
            })
    }

    private func failed(_ error: StoreError) {
        if let line = pace.admit(.notStored(error), at: scheduler.now) { log(line) }
    }
}

/// The apps that paired devices have announced as installed (SES-64). Each is written once, because an app that was
/// registered stays so.
struct CounterpartApplications {
    private(set) var apps: [UniqueIdentifier: Set<ApplicationIdentifier>] = [:]

    init(rows: [Row], path: String) throws(NodeError) {
        for row in rows {
            guard let (pairing, app) = Self.entry(row) else { throw .row(path: path, reason: "a counterpart's row") }
            apps[pairing, default: []].insert(app)
        }
    }

    /// Takes an announcement. A device that announces more apps than it may have (LIM-11) fills no disk.
    mutating func announced(
        _ app: ApplicationIdentifier, isInstalled: Bool, in pairing: UniqueIdentifier
    ) -> [RowChange] {
        var known = apps[pairing, default: []]
        guard known.contains(app) != isInstalled, !isInstalled || known.count < Limits.applications else { return [] }
        if isInstalled { known.insert(app) } else { known.remove(app) }
        apps[pairing] = known
        let key = pairing.bytes + Array(app.description.utf8)
        return [isInstalled ? .put(.counterpart, key: key, value: [1]) : .delete(.counterpart, key: key)]
    }

    /// Forgets a pairing; also one of which nothing is known, because rows may have outlived it.
    mutating func remove(_ pairing: UniqueIdentifier) -> [RowChange] {
        apps[pairing] = nil
        return [.deleteAll(.prefix(pairing.bytes, in: .counterpart))]
    }

    private static func entry(_ row: Row) -> (UniqueIdentifier, ApplicationIdentifier)? {
        guard let pairing = UniqueIdentifier(bytes: Array(row.key.prefix(16))),
            let name = String(validating: row.key.dropFirst(16), as: UTF8.self),
            let app = try? ApplicationIdentifier(name)
        else { return nil }
        return (pairing, app)
    }
}
