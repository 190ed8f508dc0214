// The durable channels of a side's host apps (SES-48 to SES-56): what an app submits goes to the exchange, what the
// exchange has for an app goes to its receiving connection, one item of a queue at a time. What becomes of an item is
// the exchange's to decide.

import TandemBase
import TandemDelivery
package import TandemOperations
import TandemReactor
import TandemSession
import TandemWire

/// Connects host apps with the exchange of their device; confined to its loop. The endpoint owns it.
package final class DurableChannels {
    /// An item that an app has and has not said its verdict of.
    struct Given {
        let id: UniqueIdentifier
        let ordinal: UInt64
        let connection: ConnectionNumber
    }

    /// An item as its submitter names it. Apps choose the identifiers, perhaps the same for two pairings; the channel is not
    /// among it, because an urgent item that is demoted changes it.
    struct Submitted: Hashable {
        let pairing: UniqueIdentifier
        let app: ApplicationIdentifier
        let id: UniqueIdentifier

        init(_ id: UniqueIdentifier, in queue: QueueKey) {
            (pairing, app) = (queue.pairing, queue.app)
            self.id = id
        }
    }

    /// Ends that an app did not hear of before, told page by page: the next ones follow when these are confirmed.
    struct MissedEnds {
        /// Those of the page that was told.
        var unconfirmed: Set<Submitted> = []
        /// Of those told as they came the first that are not confirmed: as many as keep one from being told twice.
        var live: Set<Submitted> = []
        /// Queues that may have more, the next one last.
        var queues: [QueueKey]
    }

    let exchange: ItemExchange
    /// The bytes of the channel `file`; nil where no files are taken.
    package var files: FileExchange?
    unowned let endpoint: LocalEndpoint
    /// Who submitted an item that has not ended, and is still there; the app's receiving connection hears of all others.
    var submitters: [Submitted: ConnectionNumber] = [:]
    /// Lists of outstanding items in the making.
    var pages: [ConnectionNumber: Int] = [:]
    var given: [QueueKey: Given] = [:]
    /// Files that are being put into their app's directory.
    var handing: [QueueKey: ReceivedItem] = [:]
    /// What each app's receiving connection is told of former items.
    var missedEnds: [ApplicationIdentifier: MissedEnds] = [:]

    /// An operator lets the queues run empty: nothing new is taken (CTL-14).
    package var isDraining = false
    /// Told what apps submit, are given and have handled.
    package var onEvent: ((TraceEvent) -> Void)?

    package init(exchange: ItemExchange, endpoint: LocalEndpoint) {
        self.exchange = exchange
        self.endpoint = endpoint
    }

    /// The channels that an app's connection can have.
    static let channels: [Channel] = [.context, .userInfo, .urgent, .file]

    /// Takes `submit`, `chunk`, `verdict`, `heard` or `query` from a registered connection.
    /// - Returns: the refusal that the connection has earned; nil if all is well.
    func receive(_ envelope: Envelope, from connection: HostAppConnection) -> Refusal? {
        guard let app = envelope.app, app == connection.port?.app else {
            return Refusal(.notYours, "a frame of another application")
        }
        switch envelope.kind {
        case .submit: submit(envelope, app, connection)
        case .query: ask(envelope, app, connection)
        case .verdict: return judged(envelope, connection)
        case .chunk: return chunk(envelope, app, connection)
        case .heard: heard(envelope, app)
        default: return Refusal(.unexpected, "\(envelope.kind.rawValue) is not taken after register")
        }
        return nil
    }

    // MARK: connections

    /// A connection was told `registered`: it hears what is known, and gets items if it takes the app's messages.
    func entered(
        _ connection: HostAppConnection, _ app: ApplicationIdentifier, receives: Bool, _ channels: Set<Channel>
    ) {
        if channels.contains(.context) { tellContexts(of: app, to: connection) }
        guard receives, !channels.isEmpty else { return }
        missedEnds[app] = MissedEnds(queues: exchange.queuesWithEnds(of: app).reversed())
        tellEnds(of: app)
        exchange.consumerArrived(app, channels: channels)
    }

    /// A receiving connection is gone: what its app had comes again.
    func left(_ connection: HostAppConnection, _ app: ApplicationIdentifier, receives: Bool) {
        for (item, number) in submitters where number == connection.number { submitters[item] = nil }
        files?.sourceLeft(connection)
        guard receives else { return }
        given = given.filter { $0.value.connection != connection.number }
        handing = handing.filter { $0.key.app != app }
        missedEnds[app] = nil
        exchange.consumerLeft(app)
    }

    func note(_ step: TraceEvent.Step, _ id: UniqueIdentifier, _ queue: QueueKey, isOutbound: Bool) {
        onEvent?(
            TraceEvent(
                step, id: id, pairing: queue.pairing, app: queue.app, channel: queue.channel, isOutbound: isOutbound))
    }
}
