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
            let rows = refused.prefix(DesiredStatus.rowLimit).map { one -> PropertyListValue in
                ["target": .string(one.target.text), "version": PropertyListValue(one.highest)]
            }
            return PropertyListDictionary(present: [
                "highest": highest, "refused": rows.count > 1 ? .array(Array(rows)) : nil,
            ])
        }
    }

    /// The versions up to this one that stay refused for a target.
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
        var last = LastDeliveries()
        var pace = AnswerPace(context.parts, of: user)
        for delivery in forwarder.state.deliveries {
            await pace.step()
            if isShown(delivery.key) { last.add(delivery) }
        }
        return last.rows
    }

    private func describe(_ slot: ConfigurationSlot) -> PropertyListDictionary {
        let (shown, fault) = (slot.shown, receiver.loadFault(of: slot))
        let record = shown?.record ?? slot.staged?.record
        let isRevoked = slot.waived == nil && slot.active.map(receiver.isSignerRevoked) == true
        return slot.key.fields.merging(present: [
            "state": .string(slot.stateName), "version": record.map { PropertyListValue($0.version) },
            "digest": record.map { .data($0.digest) }, "applied": shown.map { .integer($0.applied.milliseconds) },
            "waived": slot.waived == nil ? nil : true, "trial": slot.trial == nil ? nil : true,
            "attempts": slot.trial.map { PropertyListValue($0.attempts) },
            "lastVerdict": (fault?.name ?? receiver.lastVerdicts[slot.key]?.name).map { .string($0) },
            "text": fault.map { .string($0.isUnjudged ? $0.detail : "the app does not load it") },
            "signer": isRevoked ? "revoked" : nil,
        ])
    }

    private func describe(_ entry: ForwardedConfiguration) -> PropertyListDictionary {
        let peer = context.peer(entry.pairing)
        let name = peer?.name ?? "\(entry.pairing)"
        return entry.key.fields.merging(present: [
            "version": PropertyListValue(entry.version), "digest": .data(entry.digest),
            "pairing": .data(entry.pairing.bytes), "state": .string("\(entry.stateName) \(name)"),
            "via": peer?.via.map { .string($0) }, "lastVerdict": entry.verdict.map { .string($0) },
            "text": entry.text.map { .string($0) },
        ])
    }
}

/// The last of many deliveries, as many as one answer has: the oldest give way (LIM-85), whatever their apps are named.
struct LastDeliveries {
    private var newest: [ForwardedConfiguration] = []

    mutating func add(_ delivery: ForwardedConfiguration) {
        newest.append(delivery)
        if newest.count >= 4 * DesiredStatus.rowLimit { dropOldest() }
    }

    private mutating func dropOldest() {
        newest.sort { $0.accepted < $1.accepted }
        newest.removeFirst(max(0, newest.count - DesiredStatus.rowLimit))
    }

    /// By app, and then by time.
    var rows: [ForwardedConfiguration] {
        var last = self
        last.dropOldest()
        return last.newest.sorted { ($0.key.application, $0.accepted) < ($1.key.application, $1.accepted) }
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
