// The receiving half of the one apply path (CFG-35): bytes that arrive are judged by their slot, what the slot answers
// is written and committed, and only then anybody hears of it. It never decides a verdict: the slot does, and the app's
// library.

import TandemBase
import TandemDelivery
import TandemFiles
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration
import TandemStore

/// Judges, stages, hands over and commits configurations; confined to its loop.
final class ConfigurationReceiver {
    typealias Completion = (ApplyTransition?) -> Void

    let context: CarrierContext
    let files: ConfigurationFiles
    let committed: CommittedState<ReceiverState>
    /// The apps whose code allows invalid signatures, as their last registrations said.
    var waivingApplications: Set<ApplicationIdentifier> = []
    /// What became of the last configuration of each slot, since the start.
    var lastVerdicts: [ConfigurationSlotKey: Verdict] = [:]
    /// Owed reports on their way into their queue.
    var submitting: Set<UniqueIdentifier> = []
    /// Who waits for the app's verdict on bytes with a digest; nil is told when the time is over.
    private var observers: [[UInt8]: [(ApplyTransition?) -> Void]] = [:]

    init(_ context: CarrierContext, files: ConfigurationFiles, state: ReceiverState, store: LoopStore) {
        self.context = context
        self.files = files
        committed = CommittedState(state, in: store)
    }

    /// Gives a slot an event. `completion` gets its answer once that is durable, or nil if it could not be stored.
    func perform(
        _ key: ConfigurationSlotKey,
        _ event: @escaping (inout ConfigurationSlot, VerificationContext) -> ApplyTransition,
        then completion: @escaping Completion = { _ in }
    ) {
        committed.perform(
            { [self] next in
                let before = next
                var slot = next[key]
                let transition = event(&slot, verification(of: key, in: next))
                next.keep(slot)
                guard writeFiles(transition, key, before: true) else {
                    next = before
                    return ([], { completion(nil) })
                }
                let changes = next.take(transition, of: key, signer: context.options.signer, now: context.reading)
                return (
                    changes,
                    { [self] in
                        _ = writeFiles(transition, key, before: false)
                        carryOut(transition, of: key)
                        submitOwed()
                        completion(transition)
                    }
                )
            },
            failure: { [self] error in
                context.log(LogEvent(.error, "configuration not stored", .text("error", error.description)))
                // A file may have been written ahead of the commit that failed: it goes back to what is in force.
                reconcileFiles(of: key.application, as: key.role)
                completion(nil)
            })
    }

    private func verification(of key: ConfigurationSlotKey, in state: ReceiverState) -> VerificationContext {
        VerificationContext(
            profile: .staging, application: key.application, role: key.role,
            anchor: state.anchors.anchor(of: AnchorKey(application: key.application, role: key.role)),
            target: key.target, device: state.device, now: context.reading.wall, clockFloor: state.clockFloor,
            allowsInvalidSignatures: context.options.allowsInvalidSignatures
                && waivingApplications.contains(key.application))
    }

    // MARK: observers

    /// Calls `observer` once, with the app's answer about bytes of this digest, or with nil.
    func observe(_ digest: [UInt8], _ observer: @escaping (ApplyTransition?) -> Void) {
        observers[digest, default: []].append(observer)
    }

    func stopObserving(_ digest: [UInt8]) { tell(nil, of: digest) }

    func tell(_ transition: ApplyTransition?, of digest: [UInt8]) {
        for observer in observers.removeValue(forKey: digest) ?? [] { observer(transition) }
    }

    // MARK: files

    /// Only the slot of the target that counts now has files.
    private func isShown(_ key: ConfigurationSlotKey) -> Bool {
        context.delegate?.configurationTarget(of: key.application, as: key.role) == key.target
    }

    private func writeFiles(_ transition: ApplyTransition, _ key: ConfigurationSlotKey, before: Bool) -> Bool {
        guard !transition.changes.isEmpty, isShown(key) else { return true }
        let owner = context.delegate?.owner(of: key.application)
        do throws(FileError) {
            let directory = try files.directory(of: key.application, owner: owner)
            for change in transition.changes {
                if before {
                    try files.writeBeforeCommit(change, in: directory, owner: owner)
                } else {
                    try files.writeAfterCommit(change, in: directory, owner: owner)
                }
            }
            return true
        } catch {
            context.log(
                LogEvent(
                    .error, "configuration file not written", .text("app", "\(key.application)"),
                    .text("error", error.description)))
            return false
        }
    }

    /// Makes the files of an app those of the target that counts now.
    func reconcileFiles(of app: ApplicationIdentifier, as role: DeviceRole) {
        let target = context.delegate?.configurationTarget(of: app, as: role)
        let slot = target.flatMap {
            committed.state.slots[ConfigurationSlotKey(application: app, role: role, target: $0)]
        }
        let owner = context.delegate?.owner(of: app)
        do throws(FileError) {
            try files.reconcile(slot, in: try files.directory(of: app, owner: owner), owner: owner)
        } catch {
            context.log(
                LogEvent(
                    .error, "configuration files not brought up to date", .text("app", "\(app)"),
                    .text("error", error.description)))
        }
    }
}
