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
        let queues = Dictionary(grouping: node.delivery.queues, by: \.key.pairing)
        status["pairings"] = .array(
            node.pairings.all.map { .dictionary($0.status(on: node, queues[$0.pairing] ?? [])) })
        status["links"] = .array(node.joinLinks)
        status["queues"] = .array(node.waitingQueues)
        let desired = node.configuration.desired
        let (rows, more) = await desired.rows(of: desired.keys(of: nil))
        status["desired"] = .array(rows.map { .dictionary($0) })
        if more > 0 { status["desiredMore"] = .integer(Int64(more)) }
        await node.configuration.keyStatus.add(to: &status)
        status["far"] = .array(node.configuration.farSecondaries.all.map { .dictionary($0) })
        status["contexts"] = .array(node.contexts)
        status["counterparts"] = .array(node.counterpartIdentities)
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
    var waitingQueues: [PropertyListValue] {
        let names = pairings.uniqueNames
        return delivery.queues.filter { $0.count > 0 }.map { queue in
            var body = Self.describe(queue)
            body["peerName"] = names[queue.key.pairing].map { .string($0) }
            return .dictionary(body)
        }
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

    /// The other devices' apps that have a manifest or have opened settings, at most LIM-85.
    fileprivate var counterpartIdentities: [PropertyListValue] {
        let names = pairings.uniqueNames
        return DeviceRole.allCases.flatMap { relay.announced(to: $0) }.lazy.compactMap { pairing, app, announcement in
            var body = announcement.features.identity.status
            guard announcement.isInstalled, !body.isEmpty || announcement.schema != nil else { return nil }
            body["pairing"] = .data(pairing.bytes)
            body["peerName"] = names[pairing].map { .string($0) }
            body["app"] = .string(app.description)
            body["connected"] = .boolean(announcement.isConnected)
            return .dictionary(body)
        }.prefix(DesiredStatus.rowLimit).map(\.self)
    }

    fileprivate var contexts: [PropertyListValue] {
        let names = pairings.uniqueNames
        // A peer may name any application; one that is not installed here has no owner.
        return delivery.contexts.revisions.filter { installed.state[$0.key.app] != nil }.map { context in
            var body: PropertyListDictionary = [
                "pairing": .data(context.key.pairing.bytes), "app": .string(context.key.app.description),
            ]
            body["peerName"] = names[context.key.pairing].map { .string($0) }
            body["sent"] = context.sent.map { .integer(Int64(clamping: $0)) }
            body["received"] = context.received.map { .integer(Int64(clamping: $0)) }
            return .dictionary(body)
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
    /// - Parameter queues: its own. Those of all pairings are listed once, and not for each.
    fileprivate func status(on node: Node, _ queues: [DurableDelivery.WaitingItems]) -> PropertyListDictionary {
        let link = node.links[pairing]
        let since = link?.readySince ?? node.links.downSince(pairing) ?? node.started
        var body: PropertyListDictionary = [
            "pairing": .data(pairing.bytes), "name": .string(name), "role": .string(role.rawValue),
            "state": .string(state == .active ? "active" : "pending"),
            "level": .string(link == nil ? "unreachable" : "linked"),
            "reason": .string(link == nil ? node.links.unreachableReason(self) : "none"),
            "since": .integer(node.loop.now.since(since).saturatingMilliseconds),
            "active": .boolean(node.pairings.active(as: role)?.pairing == pairing),
        ]
        body["peer"] = peerVendorIdentifier.map { .data($0.bytes) }
        body["software"] = link.map { .string($0.peer.software) }
        body["version"] = highestVersion.map { .integer(Int64($0.number)) }
        body["waiting"] = .integer(queues.reduce(0) { $0 + Int64($1.count) })
        body["oldest"] = queues.compactMap(\.oldest).max().map { .integer($0) }
        body["error"] = node.links.lastError(of: pairing).map { .string($0) }
        body["endedThere"] = node.links.endedThere(pairing).map { .integer($0.saturatingMilliseconds) }
        body["skew"] = link?.clockSkew.map { .integer($0.saturatingMilliseconds) }
        body["address"] = (link?.peerAddress.description ?? address).map { .string($0) }
        if let move = node.links.move(of: pairing) {
            body["dials"] = .string(move.address.description)
            body["dialError"] = move.failure.map { .string("\($0)".cutForAnswer(to: 256)) }
        }
        return body
    }
}

extension ApplicationRecord {
    fileprivate func status(on node: Node) -> PropertyListDictionary {
        let announcement = node.relay.side(node.local.side(of: app)).applications[app]?.announcement
        var body = announcement?.features.identity.status ?? [:]
        body["app"] = .string(app.description)
        body["uid"] = .integer(Int64(user))
        body["role"] = role.map { .string($0.rawValue) }
        body["connected"] = .boolean(node.local.connected(app) != nil)
        body["identifier"] = identifier.map { .string($0.description) }
        body["anchor"] = node.configuration.anchor(of: app)?.identifiers.first.map { .data($0.bytes) }
        if node.configuration.keyStatus.hasConflict(app) { body["conflict"] = true }
        if node.configuration.waives(app) { body["waives"] = true }
        return body
    }
}

extension ApplicationIdentity {
    fileprivate var status: PropertyListDictionary {
        var body: PropertyListDictionary = [:]
        body["name"] = name.map { .string($0) }
        body["version"] = version.map { .string($0) }
        body["icon"] = icon.map { .string($0) }
        return body
    }
}

extension TraceRing.Entry {
    fileprivate var body: PropertyListDictionary {
        var body: PropertyListDictionary = [
            "ordinal": PropertyListValue(ordinal), "time": PropertyListValue(time.nanoseconds / 1000),
            "wall": .integer(wall.milliseconds), "step": .string(event.step.rawValue),
            "pairing": .data(event.pairing.bytes), "direction": .string(event.isOutbound ? "out" : "in"),
        ]
        body["id"] = event.id.map { .data($0.bytes) }
        body["app"] = event.app.map { .string($0.description) }
        body["channel"] = event.channel.map { .string($0.rawValue) }
        body["sequence"] = event.sequence.map { PropertyListValue($0) }
        body["detail"] = event.detail.map { .string($0) }
        return body
    }
}
