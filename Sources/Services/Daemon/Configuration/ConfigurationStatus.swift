// Configurations of a device for people and programs: each slot of its apps and each delivery to a secondary in words
// (`status`), and how much of an app or a target a change would end (CTL-29). The secondaries that lack something are
// in the desired state's own status.

import TandemBase
import TandemPropertyList
import TandemSignedConfiguration

/// A view of both halves of the configuration service; confined to their loop.
struct ConfigurationStatus {
    /// The trusted key of an app on one side, and what was verified with it.
    struct Contents: Sendable, Equatable {
        let anchor: KnownAnchor?
        /// The configurations that wait or are applied.
        let configurations: Int
        /// The versions that stay refused (CFG-30), in the order of their targets.
        let refused: [RefusedVersions]

        /// The highest of the versions that stay refused.
        var highest: PropertyListValue? { refused.map(\.highest).max().map { PropertyListValue($0) } }

        /// The keys of an answer that say which versions of one app stay refused (CTL-31, CTL-33). With the rows of
        /// several apps an answer could outgrow its frame.
        var refusal: PropertyListDictionary {
            var fields: PropertyListDictionary = [:]
            fields["highest"] = highest
            guard refused.count > 1 else { return fields }
            let rows = refused.prefix(DesiredStatus.rowLimit).map { one -> PropertyListValue in
                ["target": .string(one.target.text), "version": PropertyListValue(one.highest)]
            }
            fields["refused"] = .array(Array(rows))
            return fields
        }
    }

    /// Of one target the versions up to this one.
    struct RefusedVersions: Sendable, Equatable {
        let target: PairedIdentifier
        let highest: UInt64
    }

    private let receiver: ConfigurationReceiver
    private let forwarder: ConfigurationForwarder
    private let context: ConfigurationContext

    init(of receiver: ConfigurationReceiver, _ forwarder: ConfigurationForwarder, _ context: ConfigurationContext) {
        self.receiver = receiver
        self.forwarder = forwarder
        self.context = context
    }

    // MARK: contents

    /// The state that a change of the trusted key, or the app's removal, would end.
    func contents(of key: KeySubject) -> Contents {
        let slots = receiver.state.slots.values.filter { $0.key.subject == key }
        let refused = slots.compactMap { slot in
            [slot.mark?.highestRefused, slot.active?.record.version].compactMap(\.self).max().map {
                RefusedVersions(target: slot.key.target, highest: $0)
            }
        }
        return Contents(
            anchor: receiver.state.anchors[key], configurations: slots.reduce(0) { $0 + $1.configurations },
            refused: refused.sorted { $0.target.text < $1.target.text })
    }

    /// The configurations that stay desired of the secondaries, whatever keys this device trusts (CFG-70).
    func desiredCount(of key: KeySubject) -> Int {
        let state = forwarder.state
        return state.keys.filter { $0.subject == key }.reduce(0) { $0 + state.desired(of: $1).count }
    }

    /// The configurations that wait or are applied for these targets of secondaries' apps.
    func count(of targets: [ApplicationIdentifier: PairedIdentifier]) -> Int {
        targets.reduce(0) { count, entry in
            let key = ConfigurationSlotKey(application: entry.key, role: .secondary, target: entry.value)
            return count + (receiver.state.slots[key]?.configurations ?? 0)
        }
    }

    // MARK: words

    /// The state of the configuration of an app of this device in a word or two; nil if it has none.
    func stateName(of app: ApplicationIdentifier) -> String? {
        context.shownKey(of: context.subject(of: app)).flatMap { receiver.state.slots[$0]?.stateName }
    }

    /// The configurations of these apps (nil: all), for `status` of a user.
    func describe(_ apps: Set<ApplicationIdentifier>?, to user: UInt32) async -> [PropertyListDictionary] {
        let isShown = { (key: ConfigurationSlotKey) in apps?.contains(key.application) ?? true }
        let own = receiver.state.slots.values.filter { isShown($0.key) }
            .sorted { ($0.key.application, $0.key.target.text) < ($1.key.application, $1.key.target.text) }
            .map { describe($0) }
        let forwarded = await lastDeliveries(where: isShown, to: user)
        return own + forwarded.map { describe($0) }
    }

    /// The last deliveries, as many as one answer has.
    private func lastDeliveries(
        where isShown: (ConfigurationSlotKey) -> Bool, to user: UInt32
    ) async -> [ForwardedConfiguration] {
        var last: [ForwardedConfiguration] = []
        func sort() {
            last.sort { ($0.key.application, $0.accepted) < ($1.key.application, $1.accepted) }
            last.removeFirst(max(0, last.count - DesiredStatus.rowLimit))
        }
        var pace = AnswerPace(context.parts, of: user)
        for delivery in forwarder.state.deliveries {
            await pace.step()
            guard isShown(delivery.key) else { continue }
            last.append(delivery)
            if last.count >= 4 * DesiredStatus.rowLimit { sort() }
        }
        sort()
        return last
    }

    private func describe(_ slot: ConfigurationSlot) -> PropertyListDictionary {
        var body = slot.key.fields
        body["state"] = .string(slot.stateName)
        let shown = slot.shown
        body["version"] = (shown?.record.version ?? slot.staged?.record.version).map { PropertyListValue($0) }
        body["digest"] = (shown?.record.digest ?? slot.staged?.record.digest).map { .data($0) }
        body["applied"] = shown.map { .integer($0.applied.milliseconds) }
        if slot.waived != nil { body["waived"] = true }
        if let trial = slot.trial {
            body["trial"] = true
            body["attempts"] = PropertyListValue(trial.attempts)
        }
        body["lastVerdict"] = receiver.lastVerdicts[slot.key].map { .string($0.name) }
        if let fault = receiver.loadFault(of: slot) {
            body["lastVerdict"] = .string(fault.name)
            body["text"] = .string(fault.isUnjudged ? fault.detail : "the app does not load it")
        }
        if slot.waived == nil, let active = slot.active, receiver.isSignerRevoked(active) { body["signer"] = "revoked" }
        return body
    }

    private func describe(_ entry: ForwardedConfiguration) -> PropertyListDictionary {
        let peer = context.peer(entry.pairing)
        let name = peer?.name ?? "\(entry.pairing)"
        var body = entry.key.fields.merging([
            "version": PropertyListValue(entry.version), "digest": .data(entry.digest),
            "pairing": .data(entry.pairing.bytes), "state": .string("\(entry.stateName) \(name)"),
        ])
        body["via"] = peer?.via.map { .string($0) }
        body["lastVerdict"] = entry.verdict.map { .string($0) }
        body["text"] = entry.text.map { .string($0) }
        return body
    }
}

extension ConfigurationSlot {
    /// How many configurations wait or are applied.
    fileprivate var configurations: Int { (active == nil && waived == nil ? 0 : 1) + (staged == nil ? 0 : 1) }

    /// The state in a word or two.
    fileprivate var stateName: String {
        switch phase {
        case .waitingForApplication: "waiting for app"
        case .waitingForClock: "waiting for clock"
        case .offered: "handed to app"
        case .idle where waived != nil: "applied, invalid signature allowed"
        case .idle: active == nil ? "none" : "applied"
        }
    }
}

extension ForwardedConfiguration {
    /// The state in a word or two, before the secondary's name.
    fileprivate var stateName: String {
        if let ending { return "\(ending.rawValue) to" }
        return verdict == nil ? "on its way to" : "forwarded to"
    }
}
