// The control commands that look at a daemon: `status` (CTL-3), `health` (CTL-11) and `trace` (CTL-20).

import TandemBase
import TandemCrypto
import TandemDelivery
import TandemOperations
import TandemPairing
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemStore
import TandemTransport
import TandemWire

/// `status`: the whole device as one dictionary. A caller who is not the daemon's user sees only the apps that are its
/// own (CTL-2).
struct StatusCommand: ControlCommand {
    static var access: ControlAccess { .everyone }

    private let caller: Caller

    init(_ request: ControlRequest) { caller = request.caller }

    func run(on node: Node) async -> PropertyListDictionary {
        let apps = node.installed.state.records.values.sorted { $0.app < $1.app }.filter {
            caller.mayUse(appOf: $0.user)
        }
        let shown = caller.isOperator ? nil : Set(apps.map(\.app))
        var status: PropertyListDictionary = [
            "applications": .array(apps.map { .dictionary($0.status(on: node)) }),
            "configurations": .array(
                await node.configuration.status.describe(shown, to: caller.user).map { .dictionary($0) }),
        ]
        guard caller.isOperator else { return status }
        for (key, value) in node.deviceStatus { status[key] = value }
        status["localOther"] = node.options.localOther.map { .string($0) }
        // Once for all parts of the answer: each looks at all queues, or at all pairings.
        let (queues, names) = (node.waitingQueues, node.pairings.uniqueNames)
        let queuesOfPairings = Dictionary(grouping: queues, by: \.key.pairing)
        status["pairings"] = .array(
            node.pairings.all.map { .dictionary($0.status(on: node, queuesOfPairings[$0.pairing] ?? [])) })
        status["links"] = .array(node.joinLinks)
        status["queues"] = Node.describe(queues, names)
        let desired = node.configuration.desired
        let (rows, more) = await desired.rows(of: desired.keys(of: nil))
        status["desired"] = .array(rows.map { .dictionary($0) })
        if more > 0 { status["desiredMore"] = .integer(Int64(more)) }
        await node.configuration.keyStatus.add(to: &status)
        status["far"] = .array(node.configuration.farSecondaries.all.map { .dictionary($0) })
        status["contexts"] = .array(node.contexts(names))
        status["counterparts"] = .array(node.counterpartIdentities(names))
        status["health"] = .dictionary(node.health.report())
        status["counters"] = .dictionary(
            PropertyListDictionary(
                uniqueKeysWithValues: node.counters.snapshot.map { ($0.name, PropertyListValue($0.value)) }))
        return status
    }
}

/// `health`.
struct HealthCommand: ControlCommand {
    init(_ request: ControlRequest) {}

    func run(on node: Node) -> PropertyListDictionary { node.health.report() }
}

/// `trace`: the steps of one message or item, or all that come.
struct TraceCommand: ControlCommand {
    private let messages: Bool?
    private let id: UniqueIdentifier?
    private let after: UInt64?
    private let wait: Duration

    init(_ request: ControlRequest) throws(WireError) {
        messages = try request.fields.optional("messages", "a boolean", \.booleanValue)
        id = try request.fields.optionalIdentifier("id")
        after = try request.fields.optionalUnsigned("after")
        wait = try request.fields.milliseconds("wait", absent: .zero)
    }

    func run(on node: Node) async -> PropertyListDictionary {
        let tracing = node.tracing
        if let messages { tracing.setMessages(messages, of: node.relay) }
        if let id { return answer(node, tracing.log.ring.entries(of: id, limit: TraceService.eventsAtOnce)) }
        let after = after ?? tracing.log.ring.lastOrdinal
        if after >= tracing.log.ring.lastOrdinal, wait > .zero { await tracing.waitForEvent(atMost: wait) }
        return answer(node, tracing.log.ring.entries(after: after, limit: TraceService.eventsAtOnce), after: after)
    }

    private func answer(_ node: Node, _ entries: [TraceRing.Entry], after: UInt64 = 0) -> PropertyListDictionary {
        [
            "device": .data(node.device.keys.vendorIdentifier.bytes), "name": .string(node.options.name),
            "last": PropertyListValue(entries.last?.ordinal ?? after),
            "events": .array(entries.map { .dictionary($0.body) }),
        ]
    }
}

extension Node {
    /// The outbound queues in which something waits.
    var waitingQueues: [DurableDelivery.WaitingItems] { delivery.queues.filter { $0.count > 0 } }

    /// - Parameters:
    ///   - queues: those to describe.
    ///   - names: the names that only one device has, by its pairing.
    static func describe(
        _ queues: [DurableDelivery.WaitingItems], _ names: [UniqueIdentifier: String]
    ) -> PropertyListValue {
        .array(
            queues.map { queue in
                .dictionary(
                    PropertyListDictionary(present: [
                        "pairing": .data(queue.key.pairing.bytes), "app": .string(queue.key.app.description),
                        "peerName": names[queue.key.pairing].map { .string($0) },
                        "channel": .string(queue.key.channel.rawValue), "waiting": .integer(Int64(queue.count)),
                        "bytes": .integer(Int64(queue.bytes)), "oldest": queue.oldest.map { .integer($0) },
                        "code": queue.refusal.map { .integer($0.code) },
                        "refusal": queue.refusal?.name.map { .string($0) },
                    ]))
            })
    }

    /// The other devices' apps that have a manifest or have opened settings, at most LIM-85.
    fileprivate func counterpartIdentities(_ names: [UniqueIdentifier: String]) -> [PropertyListValue] {
        DeviceRole.allCases.flatMap { relay.announced(to: $0) }.lazy.compactMap { pairing, app, announcement in
            let identity = announcement.features.identity.status
            guard announcement.isInstalled, !identity.isEmpty || announcement.schema != nil else { return nil }
            return .dictionary(
                identity.merging(present: [
                    "pairing": .data(pairing.bytes), "peerName": names[pairing].map { .string($0) },
                    "app": .string(app.description), "connected": .boolean(announcement.isConnected),
                ]))
        }.prefix(DesiredStatus.rowLimit).map(\.self)
    }

    fileprivate func contexts(_ names: [UniqueIdentifier: String]) -> [PropertyListValue] {
        // A peer may name any application; one that is not installed here has no owner.
        delivery.contexts.revisions.filter { installed.state[$0.key.app] != nil }.map { context in
            .dictionary(
                PropertyListDictionary(present: [
                    "pairing": .data(context.key.pairing.bytes), "app": .string(context.key.app.description),
                    "peerName": names[context.key.pairing].map { .string($0) },
                    "sent": context.sent.map { .integer(Int64(clamping: $0)) },
                    "received": context.received.map { .integer(Int64(clamping: $0)) },
                ]))
        }
    }

    fileprivate var deviceStatus: PropertyListDictionary {
        [
            "device": .data(device.keys.vendorIdentifier.bytes), "name": .string(options.name),
            "role": .string(options.role.rawValue),
            "fingerprint": .string(device.keys.device.publicKey.identifier.fingerprint),
            "software": .string(local.software),
            "listening": .array(listening.map { .string($0.description) }), "local": .string(options.local),
            "state": .string(options.state), "uptime": .integer(loop.now.since(started).saturatingMilliseconds),
        ]
    }
}

extension PairingRecord {
    /// - Parameter queues: its own in which something waits.
    fileprivate func status(on node: Node, _ queues: [DurableDelivery.WaitingItems]) -> PropertyListDictionary {
        let link = node.links[pairing]
        let since = link?.readySince ?? node.links.downSince(pairing) ?? node.started
        let move = node.links.move(of: pairing)
        return PropertyListDictionary(present: [
            "pairing": .data(pairing.bytes), "name": .string(name), "role": .string(role.rawValue),
            "state": .string(state == .active ? "active" : "pending"),
            "level": .string(link == nil ? "unreachable" : "linked"),
            "reason": .string(link == nil ? node.links.unreachableReason(self) : "none"),
            "since": .integer(node.loop.now.since(since).saturatingMilliseconds),
            "active": .boolean(node.pairings.active(as: role)?.pairing == pairing),
            "peer": peerVendorIdentifier.map { .data($0.bytes) }, "software": link.map { .string($0.peer.software) },
            "version": highestVersion.map { .integer(Int64($0.number)) },
            "waiting": .integer(queues.reduce(0) { $0 + Int64($1.count) }),
            "oldest": queues.compactMap(\.oldest).max().map { .integer($0) },
            "error": node.links.lastError(of: pairing).map { .string($0) },
            "endedThere": node.links.endedThere(pairing).map { .integer($0.saturatingMilliseconds) },
            "skew": link?.clockSkew.map { .integer($0.saturatingMilliseconds) },
            "address": (link?.peerAddress.description ?? address).map { .string($0) },
            "dials": move.map { .string($0.address.description) },
            "dialError": move?.failure.map { .string("\($0)".cutForAnswer(to: 256)) },
        ])
    }
}

extension ApplicationRecord {
    fileprivate func status(on node: Node) -> PropertyListDictionary {
        let announcement = node.relay.side(node.local.side(of: app)).applications[app]?.announcement
        let identity = announcement?.features.identity.status ?? [:]
        return identity.merging(present: [
            "app": .string(app.description), "uid": .integer(Int64(user)),
            "role": role.map { .string($0.rawValue) },
            "connected": .boolean(node.local.connected(app) != nil),
            "identifier": identifier.map { .string($0.description) },
            "anchor": node.configuration.anchor(of: app)?.identifiers.first.map { .data($0.bytes) },
            "conflict": node.configuration.keyStatus.hasConflict(app) ? true : nil,
            "waives": node.configuration.waives(app) ? true : nil,
        ])
    }
}

extension ApplicationIdentity {
    fileprivate var status: PropertyListDictionary {
        PropertyListDictionary(present: [
            "name": name.map { .string($0) }, "version": version.map { .string($0) }, "icon": icon.map { .string($0) },
        ])
    }
}

extension TraceRing.Entry {
    fileprivate var body: PropertyListDictionary {
        PropertyListDictionary(present: [
            "ordinal": PropertyListValue(ordinal), "time": PropertyListValue(time.nanoseconds / 1000),
            "wall": .integer(wall.milliseconds), "step": .string(event.step.rawValue),
            "pairing": .data(event.pairing.bytes), "direction": .string(event.isOutbound ? "out" : "in"),
            "id": event.id.map { .data($0.bytes) }, "app": event.app.map { .string($0.description) },
            "channel": event.channel.map { .string($0.rawValue) },
            "sequence": event.sequence.map { PropertyListValue($0) }, "detail": event.detail.map { .string($0) },
        ])
    }
}
