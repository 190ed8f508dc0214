// Installed apps of a daemon: what they declare when they register, and the operator's changes of them (SES-73,
// SES-74). Such a change is decided by one commit of all rows that name the app; its queues and its directory follow. A
// row names the remainder, so that the next start goes on after a crash. Registrations of the app wait until nothing is
// left.

import TandemBase
import TandemOperations
import TandemReactor
import TandemSession
import TandemSignedConfiguration
import TandemStore
import TandemWire

/// The apps of one daemon; confined to its loop.
final class ApplicationService {
    /// The state that a device keeps of an app.
    struct Contents: Sendable, Equatable {
        /// nil: nobody owns the app, and only items wait for it or were sent as it.
        let record: ApplicationRecord?
        let isConnected: Bool
        let isReceiving: Bool
        let delivery: DurableDelivery.ApplicationContents
        let configuration: ConfigurationStatus.Contents
        /// The state of its configuration for the present target, in a word or two.
        let configurationState: String?

        /// Nothing is kept of the app but what others say of it.
        var isEmpty: Bool {
            record == nil && delivery == DurableDelivery.ApplicationContents() && configuration.anchor == nil
                && configuration.configurations == 0
        }
    }

    enum Assignment {
        /// It was the user's already.
        case unchanged
        case done
        /// The app is installed on the other side, and stays there.
        case otherSide
    }

    private let installed: CommittedState<InstalledApplications>
    private let local: LocalSides
    private let delivery: DurableDelivery
    private let configuration: ConfigurationService
    private let directories: PairingDirectories
    private let scheduler: any Scheduler
    private let log: LogHandler
    /// Apps whose identifiers for this device a full disk has refused; each is stored again later.
    private var undeclared: Set<ApplicationIdentifier> = []
    private let retry: LaterAttempt
    private var isStopping = false
    /// Called when a change of an app has ended: items may wait that its new owner or side takes.
    var whenChanged: (ApplicationIdentifier) -> Void = { _ in }

    init(
        _ installed: CommittedState<InstalledApplications>, at local: LocalSides, delivery: DurableDelivery,
        configuration: ConfigurationService, directories: PairingDirectories, log: @escaping LogHandler
    ) {
        self.installed = installed
        self.local = local
        self.delivery = delivery
        self.configuration = configuration
        self.directories = directories
        scheduler = local.scheduler
        retry = LaterAttempt(on: scheduler)
        self.log = log
    }

    /// Goes on with what an earlier run has left; once, before the first registration.
    func start() {
        installed.perform(room: .reserve, { Commit($0.writeSides()) {} }, failure: { [log] in log(.notStored($0)) })
        for (app, remainder) in installed.state.leaving {
            guard local.registrations.beginChange(of: app) else { continue }
            scheduler.start { [self] in
                if remainder == .all, await !clear(app) { return }
                await removeDirectory(of: app)
            }
        }
    }

    /// The store closes soon: the next start goes on with what is left.
    func stop() { isStopping = true }

    // MARK: registrations

    /// Stores that an app is installed, with its user and side; false if that could not be stored.
    func install(_ app: ApplicationIdentifier, as ownership: ApplicationOwnership) async -> Bool {
        await installed.isStored(
            { next in Commit(next.install(app, as: ownership)) {} }, failure: { log(.notStored($0)) })
    }

    /// An app's receiving connection has registered. Its configuration begins once its identifier is stored, and also
    /// where that fails.
    func connected(_ application: ConnectedApplication) async {
        await declare(application)
        // The app may have gone meanwhile, and come again with another registration.
        guard local.connected(application.app) == application else { return }
        configuration.connected(application)
    }

    /// Stores the app's identifier for this device; on a full disk later, if the app is still there.
    /// - Parameter isRetry: the configuration knows of the app already.
    private func declare(_ application: ConnectedApplication, isRetry: Bool = false) async {
        let app = application.app
        do throws(StoreError) {
            try await installed.commit { [self] next in
                let registered = next.registered(app)
                let changes = application.registration.identifier.map { next.declare($0, for: app) } ?? []
                return Commit(registered + changes) { [self] in
                    // With another identifier for this device its own app has another target.
                    guard !changes.isEmpty, application.role == .primary else { return }
                    local.relay.refresh(app, role: .primary)
                    let isConnected = isRetry && local.connected(app) == application
                    configuration.targetChanged(of: app, as: .primary, isConnected: isConnected)
                }
            }
        } catch {
            log(.notStored(error))
            undeclared.insert(app)
            retry.request { [weak self] in self?.declareAgain() }
        }
    }

    private func declareAgain() {
        let applications = undeclared.compactMap { local.connected($0) }
        undeclared = []
        for application in applications {
            scheduler.start { [self] in await declare(application, isRetry: true) }
        }
    }

    // MARK: schemas

    /// The digests of the schema that an app has sent.
    func schema(of app: ApplicationIdentifier) -> SchemaDigests? { installed.state[app]?.schema }

    /// Stores the digests of an app's schema, unless the app belongs to another user by now, whose directory has none.
    /// - Returns: whether they are stored and are still those of the app.
    func describe(_ app: ApplicationIdentifier, of owner: UInt32, by schema: SchemaDigests) async -> Bool {
        await change(app) { $0[app]?.user == owner ? $0.describe(app, schema) : [] }
            && installed.state[app]?.user == owner
    }

    /// The file with the schema of this digest is lost: the app sends it again when it registers.
    func lostSchema(of app: ApplicationIdentifier, digest: [UInt8]) {
        scheduler.start { [self] in
            _ = await change(app) { $0[app]?.schema?.exact == digest ? $0.describe(app, nil) : [] }
        }
    }

    /// Changes an app's schema; the counterparts learn which one they may know.
    private func change(
        _ app: ApplicationIdentifier, _ transition: @escaping (inout InstalledApplications) -> [RowChange]
    ) async -> Bool {
        await installed.isStored(
            { [local] next in
                let changes = transition(&next)
                let open = next[app]?.schema?.open
                return Commit(changes) { local.relay.describe(app, schema: open, role: local.side(of: app)) }
            }, failure: { log(.notStored($0)) })
    }

    // MARK: the apps

    /// The apps and their users.
    var owners: [ApplicationIdentifier: UInt32] { installed.state.records.mapValues(\.user) }

    /// The state that the device keeps of each app that is installed, or of which something is kept, in their order.
    var contents: [(app: ApplicationIdentifier, contents: Contents)] {
        let delivered = delivery.contents
        let apps = Set(installed.state.records.keys).union(delivery.applications).sorted()
        return apps.map { (app: $0, contents: contents(of: $0, delivered[$0])) }.filter { !$0.contents.isEmpty }
    }

    /// The state that the device keeps of an app.
    func contents(of app: ApplicationIdentifier) -> Contents { contents(of: app, delivery.contents[app]) }

    /// The same of an app of which nothing is kept: nothing waits, and it has no owner.
    func bareContents(of app: ApplicationIdentifier) -> Contents { contents(of: app, nil) }

    private func contents(
        of app: ApplicationIdentifier, _ delivered: DurableDelivery.ApplicationContents?
    ) -> Contents {
        Contents(
            record: installed.state[app],
            isConnected: DeviceRole.allCases.contains { !local[$0].connections(of: app).isEmpty },
            isReceiving: local.connected(app) != nil, delivery: delivered ?? DurableDelivery.ApplicationContents(),
            configuration: configuration.status.contents(
                of: KeySubject(application: app, role: local.side(of: app))),
            configurationState: configuration.status.stateName(of: app))
    }

    // MARK: the operator's changes

    /// Removes an app with all that the device keeps of it (SES-73); returns what that was.
    func remove(_ app: ApplicationIdentifier) async throws(StoreError) -> Contents {
        await beginChange(of: app)
        let decision = configuration.decideRemoval(of: app)
        await installed.hold()
        let contents = contents(of: app)
        guard !contents.isEmpty else {
            installed.release()
            endChange(of: app)
            return contents
        }
        var next = installed.state
        let rows = next.remove(app)
        do throws(StoreError) { try await configuration.remove(app, by: decision, with: rows) } catch {
            installed.release()
            endChange(of: app)
            throw error
        }
        installed.release(next) { local.remove(app) }
        log(LogEvent(.info, "app removed", .text("app", "\(app)")))
        guard await clear(app) else { return contents }
        scheduler.start { [self] in await removeDirectory(of: app) }
        return contents
    }

    /// Assigns an app to a user (SES-74), and one that is not installed yet to a side (SES-83).
    func assign(
        _ app: ApplicationIdentifier, to user: UInt32, on role: DeviceRole?
    ) async throws(StoreError) -> Assignment {
        await beginChange(of: app)
        let former = installed.state[app]
        if let former, !former.isReserved, let role, former.role != role {
            endChange(of: app)
            return .otherSide
        }
        let hasChanged: Bool
        do throws(StoreError) {
            hasChanged = try await installed.commit { [self] next in
                let changes = next.assign(app, to: user, on: role)
                guard let ownership = next[app]?.ownership, !changes.isEmpty else { return Commit(changes) { false } }
                return Commit(changes) { [self] in
                    local.assign(app, to: ownership)
                    // It is in the former user's directory.
                    if former?.user != user { local.relay.describe(app, schema: nil, role: local.side(of: app)) }
                    delivery.reassign(app)
                    return true
                }
            }
        } catch {
            endChange(of: app)
            throw error
        }
        if hasChanged {
            log(LogEvent(.info, "app assigned", .text("app", "\(app)"), .integer("uid", user)))
        }
        if hasChanged, let former, former.user != user {
            scheduler.start { [self] in await removeDirectory(of: app) }
        } else {
            endChange(of: app)
        }
        return hasChanged ? .done : .unchanged
    }

    /// Takes an app's custom identifier back (PAR-21); returns it, or nil if there is none.
    func clearIdentifier(of app: ApplicationIdentifier) async throws(StoreError) -> CustomIdentifier? {
        try await installed.commit { [self] next in
            let identifier = next[app]?.identifier
            return Commit(next.clearIdentifier(of: app)) { [self] in
                guard let identifier else { return nil }
                let role = local.side(of: app)
                local.relay.clearIdentifier(of: app, role: role)
                let isConnected = local.connected(app) != nil
                configuration.targetChanged(of: app, as: role, isConnected: isConnected)
                return identifier
            }
        }
    }

    /// One change of an app follows the other.
    private func beginChange(of app: ApplicationIdentifier) async {
        while !local.registrations.beginChange(of: app) { await local.registrations.waitForChange(of: app) }
    }

    private func endChange(of app: ApplicationIdentifier) {
        local.registrations.endChange(of: app)
        whenChanged(app)
    }

    // MARK: what follows

    /// Returns false if the daemon stops first: the next start goes on.
    private func clear(_ app: ApplicationIdentifier) async -> Bool {
        let code = { [local] (pairing: UniqueIdentifier) -> SessionError.Code in
            local[.secondary].serves(pairing) ? .watchAppNotInstalled : .companionAppNotInstalled
        }
        while await !delivery.clear(app, code: code) {
            if isStopping { return false }
            await scheduler.sleep(for: .seconds(1))
        }
        return true
    }

    /// Removes the app's directory, and then lets it register; the next owner has a new one.
    private func removeDirectory(of app: ApplicationIdentifier) async {
        await directories.remove(of: app)
        while await !forget(app) {
            if isStopping { return }
            await scheduler.sleep(for: .seconds(1))
        }
        if installed.state[app] != nil { configuration.ownerChanged(of: app) }
        endChange(of: app)
    }

    private func forget(_ app: ApplicationIdentifier) async -> Bool {
        await installed.isStored(
            room: .reserve, { next in Commit(next.left(app)) {} }, failure: { log(.notStored($0)) })
    }
}
