// `status` (CTL-3): the whole device as one dictionary. A caller who is not the daemon's user sees only what concerns
// the apps that are its own (CTL-2).

import TandemBase
import TandemCrypto
import TandemDelivery
import TandemPairing
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemStore
import TandemTransport
import TandemWire

extension Node {
    func status(for request: ControlRequest) -> PropertyListDictionary {
        let apps = installed.state.records.values.sorted { $0.app < $1.app }.filter {
            request.isPrivileged || $0.user == request.caller.user
        }
        let shown = Set(apps.map(\.app))
        var status: PropertyListDictionary = [
            "applications": .array(apps.map { .dictionary(describe($0)) }),
            "configurations": .array(carrier.describe(shown).map { .dictionary($0) }),
        ]
        guard request.isPrivileged else { return status }
        status["configurations"] = .array(carrier.describe(nil).map { .dictionary($0) })
        for (key, value) in deviceStatus { status[key] = value }
        status["pairings"] = .array(registry.state.pairings.map { .dictionary(describe($0)) })
        status["queues"] = .array(waitingQueues)
        status["contexts"] = .array(contexts)
        status["health"] = .dictionary(healthReport)
        status["counters"] = .dictionary(
            PropertyListDictionary(
                uniqueKeysWithValues: counters.snapshot.map { ($0.name, PropertyListValue($0.value)) }))
        return status
    }

    /// The outbound queues in which something waits.
    var waitingQueues: [PropertyListValue] {
        exchange.queues.filter { $0.count > 0 }.map { .dictionary(Self.describe($0)) }
    }

    private var contexts: [PropertyListValue] {
        // A peer may name any application; what is not here is nobody's.
        exchange.contextRevisions.filter { installed.state[$0.key.app] != nil }.map { context in
            var body: PropertyListDictionary = [
                "pairing": .data(context.key.pairing.bytes), "app": .string(context.key.app.description),
            ]
            body["sent"] = context.sent.map { .integer(Int64(clamping: $0)) }
            body["received"] = context.received.map { .integer(Int64(clamping: $0)) }
            return .dictionary(body)
        }
    }

    private var deviceStatus: PropertyListDictionary {
        [
            "device": .data(device.keys.vendorIdentifier.bytes), "name": .string(options.name),
            "role": .string(options.role.rawValue),
            "fingerprint": .string(device.keys.device.publicKey.identifier.fingerprint),
            "software": .string(local.options.software),
            "listening": .array(listening.map { .string($0.description) }), "local": .string(options.local),
            "state": .string(options.state), "uptime": .integer(loop.now.since(started).saturatingMilliseconds),
        ]
    }

    private func describe(_ record: PairingRecord) -> PropertyListDictionary {
        let link = context.links[record.pairing]
        let since = link?.readySince ?? linkDownSince[record.pairing] ?? started
        var body: PropertyListDictionary = [
            "pairing": .data(record.pairing.bytes), "name": .string(record.name), "role": .string(record.role.rawValue),
            "state": .string(record.state == .active ? "active" : "pending"),
            "level": .string(link == nil ? "unreachable" : "linked"),
            "reason": .string(link == nil ? unreachableReason(record) : "none"),
            "since": .integer(loop.now.since(since).saturatingMilliseconds),
            "active": .boolean(registry.state.active(as: record.role)?.pairing == record.pairing),
        ]
        body["peer"] = record.peerVendorIdentifier.map { .data($0.bytes) }
        body["version"] = record.highestVersion.map { .integer(Int64($0.number)) }
        let queues = exchange.queues.filter { $0.key.pairing == record.pairing }
        body["waiting"] = .integer(queues.reduce(0) { $0 + Int64($1.count) })
        body["oldest"] = queues.compactMap(\.oldest).max().map { .integer($0) }
        body["error"] = linkErrors[record.pairing].map { .string($0) }
        body["skew"] = link?.peer.clockSkew.map { .integer($0.saturatingMilliseconds) }
        body["address"] = (link?.peerAddress.description ?? record.address).map { .string($0) }
        return body
    }

    func unreachableReason(_ record: PairingRecord) -> String {
        if record.state == .pending { return ReachabilityReason.pending.rawValue }
        return dialers[record.pairing]?.lastFailure?.description ?? ReachabilityReason.noLink.rawValue
    }

    private func describe(_ record: ApplicationRecord) -> PropertyListDictionary {
        var body: PropertyListDictionary = [
            "app": .string(record.app.description), "uid": .integer(Int64(record.user)),
            "connected": .boolean(local.connected(record.app) != nil),
        ]
        body["identifier"] = record.identifier.map { .string($0.description) }
        body["anchor"] = carrier.anchorIdentifier(of: record.app).map { .data($0.bytes) }
        return body
    }

    private static func describe(_ queue: DurableDelivery.WaitingItems) -> PropertyListDictionary {
        var body: PropertyListDictionary = [
            "pairing": .data(queue.key.pairing.bytes), "app": .string(queue.key.app.description),
            "channel": .string(queue.key.channel.rawValue), "waiting": .integer(Int64(queue.count)),
            "bytes": .integer(Int64(queue.bytes)),
        ]
        body["oldest"] = queue.oldest.map { .integer($0) }
        body["code"] = queue.refusal.map { .integer($0.code) }
        body["refusal"] = queue.refusal?.name.map { .string($0) }
        return body
    }
}
