// Keys for people and programs: the trusted ones of this device (`trust-list`, CTL-27), and the key sets and
// revocations at its secondaries, with what each has accepted, lacks and refuses (CTL-74).

import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration

/// The keys of a device at one moment; confined to its loop.
struct KeyStatus {
    private let chains: KeyChainDeliveries
    private let anchors: ConfigurationAnchors
    private let context: ConfigurationContext
    /// Whether an app of this device has registered last with another anchor than the trusted one.
    private let isConflicting: (KeySubject) -> Bool

    init(
        _ chains: KeyChainDeliveries, _ anchors: ConfigurationAnchors, _ context: ConfigurationContext,
        isConflicting: @escaping (KeySubject) -> Bool
    ) {
        (self.chains, self.anchors, self.context) = (chains, anchors, context)
        self.isConflicting = isConflicting
    }

    // MARK: this device

    /// The trusted keys, for `trust-list`.
    var trusted: [PropertyListDictionary] {
        anchors.all.map { anchor in
            anchor.summary.merging(present: [
                "expired": isExpired(anchor) ? true : nil, "conflict": isConflicting(anchor.key) ? true : nil,
            ])
        }
    }

    /// Whether an app of this device has another anchor than the one that is trusted for it.
    func hasConflict(_ app: ApplicationIdentifier) -> Bool { isConflicting(context.subject(of: app)) }

    /// The apps whose key set in force has expired.
    var expired: [String] { anchors.all.filter(isExpired).map(\.key.name) }

    /// The apps whose key set in force expires soon (CTL-12), with its last moment; the first to expire first.
    var expiring: [String] {
        let soon = anchors.all.filter { validity(of: $0) == .expiring }
        return soon.compactMap { anchor in anchor.expires.map { (anchor.key.name, WallTime(seconds: $0)) } }
            .sorted { $0.1 < $1.1 }.map { name, end in "\(name) at \(end)" }
    }

    private func isExpired(_ anchor: KnownAnchor) -> Bool { validity(of: anchor) == .expired }

    /// Nil for an anchor that is refused.
    private func validity(of anchor: KnownAnchor) -> TrustedKeySet.Validity? {
        anchor.anchor.trusted?.current.validity(at: context.scheduler.wallNow)
    }

    // MARK: secondaries

    /// Adds to an answer one row for each secondary and app with key sets or revocations, those that lack one first,
    /// and the number of rows that are left out.
    func add(to body: inout PropertyListDictionary, of app: ApplicationIdentifier? = nil) async {
        var rows = StatusRows()
        var pace = AnswerPace(context.parts)
        for anchor in brought where app.map({ $0 == anchor.key.application }) ?? true {
            for peer in context.receivers(of: anchor.key.application) {
                await pace.step()
                guard let standing = standing(of: peer, along: anchor) else { continue }
                rows.add(isLacking: standing.waiting > 0) { row(peer, anchor, standing) }
            }
        }
        body["keys"] = .array(rows.shown.map { .dictionary($0) })
        if rows.more > 0 { body["keysMore"] = .integer(Int64(rows.more)) }
    }

    /// The secondaries that refuse what they lack, each with the name of the refusal. Without a row for each secondary
    /// and app: `health` is asked often.
    var refusals: [String] {
        chains.refused.compactMap { key -> String? in
            let app = key.subject.application
            guard let anchor = anchors[key.subject], let peer = context.peer(key.pairing),
                let standing = standing(of: peer, along: anchor), let verdict = standing.refusal?.verdict,
                standing.isRefused(hasApplication: context.hasApplication(app, at: peer))
            else { return nil }
            return "\(peer.label): \(app) [\(verdict.name)]"
        }.sorted()
    }

    /// The anchors that statements for secondaries have followed.
    private var brought: [KnownAnchor] { anchors.all.filter { $0.key.role == .secondary && !$0.steps.isEmpty } }

    /// Nil for a secondary that only carries: it may never trust a key for the app.
    private func standing(of peer: ConfigurationPeer, along anchor: KnownAnchor) -> KeyChainDeliveries.Standing? {
        let app = anchor.key.application
        guard !context.onlyCarries(app, peer) else { return nil }
        return chains.standing(
            of: KeyChainDeliveries.Key(pairing: peer.pairing, subject: anchor.key), along: anchor.steps, in: peer.epoch,
            under: context.trust(of: app, at: peer))
    }

    private func row(
        _ peer: ConfigurationPeer, _ anchor: KnownAnchor, _ standing: KeyChainDeliveries.Standing
    ) -> PropertyListDictionary {
        anchor.key.fields.merging(present: [
            "name": .string(peer.name), "via": peer.via.map { .string($0) }, "pairing": .data(peer.pairing.bytes),
            "version": standing.last.map { PropertyListValue($0.keySetVersion) },
            "waiting": .integer(Int64(standing.waiting)), "verdict": standing.refusal.map { .string($0.verdict.name) },
            "text": standing.refusal?.text.map { .string($0) },
        ])
    }
}

extension KeySubject {
    /// For people.
    fileprivate var name: String { "\(application) (\(role.rawValue))" }
}
