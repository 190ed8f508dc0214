// Contexts that a host app gets from its daemon (SES-52): what was last sent and received through each pairing when it
// registers, and each later one as it changes.

import TandemBase
import TandemDelivery
import TandemReactor
import TandemSession
import TandemTransport
import TandemWire

/// Sends apps their contexts; confined to its loop.
final class AppContexts {
    /// Bytes that may wait for a connection before the next context is sent to it.
    private static var waitingBytes: Int { 512 * 1024 }
    /// The time until a connection is looked at again that has taken nothing. One whose app has shut its reading down
    /// reports each queue as drained at once: draining alone would be a busy loop.
    private static var pause: Duration { .milliseconds(100) }

    private struct UnderWay {
        /// Sends the next context, once most of those before have left.
        var next: (() -> Void)?
        /// The bytes that waited when the connection was asked to say when more has left; nil if it was not asked.
        var waiting: Int?
        /// Run when all contexts are sent, or the connection is gone.
        var afterwards: [() -> Void] = []
    }

    private let delivery: DurableDelivery
    private unowned let endpoint: LocalEndpoint
    /// The connections that have named the channel, of users who may use the app's queues, and the received contexts
    /// that each was sent.
    private var takers: [ConnectionNumber: ReportedContexts] = [:]
    /// Of these the ones to which contexts are still being sent.
    private var underWay: [ConnectionNumber: UnderWay] = [:]

    init(of delivery: DurableDelivery, endpoint: LocalEndpoint) {
        self.delivery = delivery
        self.endpoint = endpoint
    }

    /// Sends what was last sent and received through each pairing. A thousand pairings have more than may wait for one
    /// connection (LIM-6): the next one is read when the connection has taken most of those before.
    func sendAll(of app: ApplicationIdentifier, to connection: HostAppConnection) {
        let number = connection.number
        takers[number] = ReportedContexts()
        underWay[number] = UnderWay()
        delivery.contexts.read(
            of: app, in: { [unowned endpoint] in endpoint.serves($0) },
            endpoint.accounts.readTurns(of: connection.credentials.user),
            each: { [weak self] context, next in
                guard let self, let connection = endpoint.connection(number) else { return }
                if takes(number, context) { send(context, to: [connection]) }
                underWay[number]?.next = next
                goOn(with: connection)
            }, then: { [weak self] in self?.finish(number) })
    }

    /// Runs an action behind the contexts that are being sent to a connection, at once if there are none (SES-62).
    func whenSent(to number: ConnectionNumber, _ action: @escaping () -> Void) {
        if underWay[number]?.afterwards.append(action) == nil { action() }
    }

    private func goOn(with connection: HostAppConnection) {
        let (number, waiting) = (connection.number, connection.channel.queuedBytes)
        guard let former = underWay[number], let next = former.next else { return }
        guard waiting > Self.waitingBytes else {
            underWay[number]?.next = nil
            underWay[number]?.waiting = nil
            return next()
        }
        if former.waiting.map({ waiting < $0 }) ?? true {
            underWay[number]?.waiting = waiting
            return connection.channel.awaitDrain()
        }
        underWay[number]?.waiting = nil
        endpoint.scheduler.schedule(after: Self.pause) { [weak self] in
            if let self, let connection = endpoint.connection(number) { goOn(with: connection) }
        }
    }

    /// More of what waits for the connection has left.
    func drained(_ connection: HostAppConnection) {
        if underWay[connection.number]?.waiting != nil { goOn(with: connection) }
    }

    /// The pairing has ended.
    func unpaired(_ pairing: UniqueIdentifier) {
        for number in takers.keys { takers[number]?.forget(pairing) }
    }

    /// The connection is gone.
    func left(_ connection: HostAppConnection) {
        takers[connection.number] = nil
        finish(connection.number)
    }

    private func finish(_ number: ConnectionNumber) {
        for action in underWay.removeValue(forKey: number)?.afterwards ?? [] { action() }
    }

    /// A context was sent or has arrived: all connections of its app that take contexts get it.
    func changed(_ context: LatestContext) {
        send(context, to: endpoint.connections(of: context.app).filter { takes($0.number, context) })
    }

    /// Whether a connection gets a context: a received one must be above those before (SES-52). The sent ones come in
    /// order by themselves, because their notices follow the same commits that reading follows.
    private func takes(_ number: ConnectionNumber, _ context: LatestContext) -> Bool {
        guard takers[number] != nil, let version = context.version else { return takers[number] != nil }
        return takers[number]?.advance(to: version, of: context.pairing) ?? false
    }

    /// One frame for all connections, whose queues share its bytes.
    private func send(_ context: LatestContext, to connections: [HostAppConnection]) {
        guard !connections.isEmpty else { return }
        let envelope = ContextFrame(
            app: context.app, pairing: context.pairing, context.direction, revision: context.revision,
            body: context.body[...]
        ).envelope
        do throws(WireError) {
            let frame = try envelope.frame()
            for connection in connections { connection.send(frame) }
        } catch {
            endpoint.log(.frameNotWritten(.context, error))
        }
    }
}
