// Durable delivery for the host apps of one device (SES-48 to SES-56, FIL): submissions of apps go to durable delivery,
// and received items go to the receiving connection of their app, one item of a queue at a time. Durable delivery
// decides each item's outcome.

package import TandemBase
import TandemDelivery
import TandemFiles
package import TandemOperations
import TandemPropertyList
import TandemReactor
package import TandemSession
import TandemStore
package import TandemWire

/// Connects the host apps of one side with the durable delivery of their device; confined to its loop. The endpoint
/// owns it.
package final class AppDelivery {
    private let delivery: DurableDelivery
    private unowned let endpoint: LocalEndpoint
    // The endpoint's own, kept here: each item needs them, and loading them through the unowned endpoint costs more.
    private let registrations: ApplicationRegistrations
    private let accounts: LocalAccounts
    private let role: DeviceRole
    private let outcomes: AppOutcomes
    private let contexts: AppContexts
    private let queries: AppQueries
    private var offered = OfferedItems()
    // Unchecked, because nothing is called while it is touched; each item uses it.
    @exclusivity(unchecked) private var frames = ItemFrames()
    /// Traces what apps submit, are given and have handled.
    package var trace: (TraceEvent) -> Void = { _ in }
    /// Called when an app has handled an item.
    var whenHandled: (ApplicationIdentifier) -> Void = { _ in }

    package init(delivery: DurableDelivery, endpoint: LocalEndpoint) {
        self.delivery = delivery
        self.endpoint = endpoint
        (registrations, accounts, role) = (endpoint.registrations, endpoint.accounts, endpoint.options.role)
        outcomes = AppOutcomes(of: delivery, endpoint: endpoint)
        contexts = AppContexts(of: delivery, endpoint: endpoint)
        queries = AppQueries(to: delivery, outcomes: outcomes, contexts: contexts, endpoint: endpoint)
        endpoint.side.whenChosen = { [weak delivery] in delivery?.arrivals.chosen($0) }
    }

    /// Whether a pairing is one of this side's.
    func serves(_ pairing: UniqueIdentifier) -> Bool { endpoint.serves(pairing) }

    /// Takes `submit`, `chunk`, `verdict`, `finishedAck` or `query` from a registered connection.
    /// - Returns: the refusal that the connection has earned; nil if all is well.
    func receive(_ envelope: Envelope, from connection: HostAppConnection) -> Refusal? {
        guard let app = connection.port?.app, envelope.isAbout(app) else {
            return Refusal(foreign: .app, in: envelope.kind)
        }
        do throws(WireError) {
            switch envelope.kind {
            case .submit: submit(try SubmitFrame(envelope), connection)
            case .query: queries.answer(try QueryFrame(envelope), connection)
            case .verdict: judged(try VerdictFrame(envelope), connection)
            case .chunk: return chunk(try ChunkFrame(envelope), connection)
            case .finishedAck: outcomes.acknowledged(try FinishedAckFrame(envelope).item)
            default: return Refusal(.unexpected, "\(envelope.kind.rawValue) is not taken after register")
            }
            return nil
        } catch {
            return Refusal(error.refusalName, in: envelope.kind, error)
        }
    }

    /// Takes an event of an app's channel.
    package func take(_ event: DeliveryEvent) {
        switch event {
        case .received(let item): received(item)
        case .stored(let id, let queue): outcomes.stored(id, in: queue)
        case .ended(let id, let queue, let outcome, let refusal): outcomes.ended(id, in: queue, outcome, refusal)
        case .contextChanged(let context): contexts.changed(context)
        case .fileReleased, .itemsMayWait, .needsEpoch, .violation, .stalled: break
        }
    }

    /// The pairing has ended.
    package func unpaired(_ pairing: UniqueIdentifier) { contexts.unpaired(pairing) }

    // MARK: connections

    /// A connection was registered: it gets what is known, and items if it takes the app's messages.
    func entered(
        _ connection: HostAppConnection, _ app: ApplicationIdentifier, receives: Bool, _ channels: Set<Channel>
    ) {
        if channels.contains(.context), registrations.mayUseQueues(of: app, by: connection.credentials.user) {
            contexts.sendAll(of: app, to: connection)
        }
        guard receives, !channels.isEmpty else { return }
        outcomes.receiverArrived(app)
        delivery.arrivals.consumerArrived(app, channels: channels) { [weak endpoint] in
            endpoint?.serves($0) ?? false
        }
    }

    /// More of what waits for a connection has left.
    func drained(_ connection: HostAppConnection) { contexts.drained(connection) }

    /// A connection is gone: what its app had as the receiver comes again.
    func left(_ connection: HostAppConnection, _ app: ApplicationIdentifier, receives: Bool) {
        contexts.left(connection)
        queries.left(app)
        outcomes.submitterLeft()
        delivery.files?.uploads.sourceLeft(connection.number)
        guard receives else { return }
        offered.remove(connection.number, app)
        outcomes.receiverLeft(app)
        delivery.arrivals.consumerLeft(app)
    }

    /// Sends a frame to a connection; if that is nil or gone, to the receiving connection of the app.
    package func notify(_ envelope: Envelope, _ number: ConnectionNumber?, _ app: ApplicationIdentifier?) {
        (number.flatMap(endpoint.connection) ?? app.flatMap(endpoint.receiver))?.send(envelope)
    }

    private func note(_ step: TraceEvent.Step, _ id: UniqueIdentifier, _ queue: QueueKey, isOutbound: Bool) {
        trace(
            TraceEvent(
                step, id: id, pairing: queue.pairing, app: queue.app, channel: queue.channel, isOutbound: isOutbound))
    }

    // MARK: submitting

    /// Checks a submission in the order of SES-13, and answers it when it is durable or when it cannot be (SES-48,
    /// SES-49).
    private func submit(_ frame: SubmitFrame, _ connection: HostAppConnection) {
        let item = frame.item
        let hasFile = item.queue.channel.properties.hasFile
        let obstacle = obstacle(toNew: frame, connection)
        let isAccepted = (obstacle != nil || hasFile || delivery.isDiskFull) && hasAccepted(item, of: connection)
        if let obstacle, !isAccepted { return refuse(item, obstacle, connection) }
        guard !queries.hasTakenBack(item) else { return refuse(item, .takenBack, connection) }
        if isAccepted { return answerAgain(item, unless: obstacle, connection) }
        if hasFile { return submitFile(frame, connection) }
        outcomes.setSubmitter(connection.number, of: item.id, in: item.queue)
        submit(Array(frame.body), of: frame, connection)
    }

    /// Gives an item to its queue.
    /// - Parameter body: the submission's, or the manifest of a file that is durable here.
    private func submit(_ body: [UInt8], of frame: SubmitFrame, _ connection: HostAppConnection) {
        let (item, number) = (frame.item, connection.number)
        let (user, size) = (connection.credentials.user, body.count + DeliveryLink.frameSize)
        accounts.beginSubmission(of: user, size, from: connection.port)
        delivery.submissions.submit(OutboundItem(frame, body), to: item.queue) { [weak self] result in
            guard let self else { return }
            accounts.endSubmission(of: user, size)
            if case .failure(let failure) = result, !failure.isUndecided, item.queue.channel.properties.hasFile {
                delivery.files?.uploads.discard(item)
            }
            submitted(item, result, number)
        }
    }

    /// Answers the submission of a known item, but never takes it as a new one: its commit may have lost it, and this
    /// frame may be one that is refused.
    /// - Parameter obstacle: the answer if it is lost; nil for the store's own.
    private func answerAgain(_ item: ItemKey, unless obstacle: SessionError?, _ connection: HostAppConnection) {
        let (number, user) = (connection.number, connection.credentials.user)
        outcomes.setSubmitter(number, of: item.id, in: item.queue)
        accounts.beginSubmission(of: user, DeliveryLink.frameSize, from: connection.port)
        delivery.submissions.answerAgain(item.id, in: item.queue) { [weak self] result in
            guard let self else { return }
            accounts.endSubmission(of: user, DeliveryLink.frameSize)
            guard case .failure(.lost) = result, let obstacle else { return submitted(item, result, number) }
            outcomes.removeSubmitter(of: item.id, in: item.queue)
            if let connection = endpoint.connection(number) { refuse(item, obstacle, connection) }
        }
    }

    private func submitted(
        _ item: ItemKey, _ result: Result<SubmitReceipt, DeliveryFailure>, _ number: ConnectionNumber
    ) {
        if case .success = result { note(.accepted, item.id, item.queue, isOutbound: true) }
        guard let connection = endpoint.connection(number) else { return }
        switch result {
        case .success(let receipt):
            if receipt.note == nil, receipt.revision == nil {
                connection.send { () throws(WireError) in try frames.accepted(item) }
            } else {
                connection.send(AcceptedFrame(item, note: receipt.note, revision: receipt.revision))
            }
            // The app hears how far an item that was submitted before has come since (DEL-33).
            if receipt.isDuplicate, !item.queue.channel.properties.isLatestWins {
                outcomes.subscribe(to: [item.id], in: item.queue, connection) { _ in }
            }
        // The library submits the item again to the next run of the daemon, which knows what became of it (DEL-48).
        case .failure(let failure) where failure.isUndecided: break
        case .failure(let failure):
            outcomes.removeSubmitter(of: item.id, in: item.queue)
            refuse(item, SessionError(failure), connection)
        }
    }

    private func refuse(_ item: ItemKey, _ error: SessionError, _ connection: HostAppConnection) {
        connection.send(FailureFrame(of: item, error))
    }

    /// Whether an item of the app was accepted before. Whatever has changed since, it continues, also if its app has
    /// missed the acceptance (DEL-33, CTL-14).
    private func hasAccepted(_ item: ItemKey, of connection: HostAppConnection) -> Bool {
        item.queue.channel.isForApps
            && registrations.mayUseQueues(of: item.queue.app, by: connection.credentials.user)
            && delivery.submissions.hasAccepted(item.id, in: item.queue)
    }

    /// The first reason against taking an item that was not accepted before (SES-13), as far as the daemon can see.
    private func obstacle(toNew frame: SubmitFrame, _ connection: HostAppConnection) -> SessionError? {
        let queue = frame.item.queue
        let route = connection.port?.route(through: queue.pairing)
        let owner = registrations.owner(of: queue.app)
        let check = SendCheck(
            SessionStanding(.activated),
            counterpart: route.map { route in
                let seen = route.reachability
                // Without an owner here, an item for an app that is not known there either would be left behind
                // (SES-75).
                let isForNobody = owner == nil && !route.isInstalled
                return SendCheck.Counterpart(
                    role: role, level: seen.level, reason: isForNobody ? .notInstalled : seen.reason)
            },
            namedPairing: queue.pairing, badArgument: Self.badArgument(frame), bodySize: frame.body.count,
            bodyLimit: queue.channel.properties.bodyLimit ?? 0,
            needsReachability: false)
        if let refusal = check.refusal { return SessionError(refusal, messageID: frame.item.id) }
        guard registrations.mayUseQueues(ofOwner: owner, by: connection.credentials.user) else {
            return .nobodysQueue
        }
        return delivery.submissions.isDraining ? .draining : nil
    }

    private static func badArgument(_ frame: SubmitFrame) -> BadArgument? {
        let channel = frame.item.queue.channel
        guard let limit = channel.properties.bodyLimit else { return .channel }
        if channel.properties.overflow != nil, !frame.urgentKind.isShortText { return .kind }
        // A body that is too large is refused for its size, without being parsed.
        return frame.body.count > limit || PropertyListReader.isDictionary(frame.body) ? nil : .body
    }

    // MARK: submitting files

    /// An app begins to submit a file, which becomes an item when it is durable here.
    private func submitFile(_ frame: SubmitFrame, _ connection: HostAppConnection) {
        let item = frame.item
        let number = connection.number
        guard let files = delivery.files?.uploads, let body = try? Body.dictionary(frame.body) else {
            let error = SessionError(.deliveryFailed, .unsupportedKind, reason: "no files are taken here")
            return refuse(item, error, connection)
        }
        outcomes.setSubmitter(number, of: item.id, in: item.queue)
        files.take(item, body: body, from: number) { [weak self] result in
            guard let self else { return }
            switch result {
            case .failure(let refusal): refuse(item, refusal, number)
            case .success(let manifest):
                // The connection is there: its end would have dropped the upload.
                if let connection = endpoint.connection(number) { submit(manifest, of: frame, connection) }
            }
        }
    }

    private func refuse(_ item: ItemKey, _ refusal: FileRefusal, _ number: ConnectionNumber) {
        // Another connection may submit the same file by now.
        outcomes.removeSubmitter(number, of: item.id, in: item.queue)
        guard let connection = endpoint.connection(number) else { return }
        let failure = FailureFrame(of: item, code: refusal.code, name: refusal.name, body: refusal.body)
        connection.send(failure)
    }

    private func chunk(_ chunk: ChunkFrame, _ connection: HostAppConnection) -> Refusal? {
        guard let files = delivery.files?.uploads, chunk.item.queue.channel.properties.hasFile else {
            return Refusal(.unexpected, "a part of no file")
        }
        return files.take(chunk, from: connection.number)
            ? nil : Refusal(.unexpected, "a part of a file out of its place")
    }

    // MARK: delivering

    /// An item for its app's handler (SES-51). A file goes into the app's directory first.
    private func received(_ item: ReceivedItem) {
        guard item.queue.channel.properties.hasFile else { return deliver(item, item.payload) }
        guard let files = delivery.files?.offers else { return fail(item) }
        offered.begin(item)
        files.offer(item.id, in: item.queue, manifest: item.payload) { [weak self] result in
            // The app may have gone meanwhile, and come back, and be given the item again.
            guard let self, offered.end(item) else { return }
            switch result {
            case .success(let body): deliver(item, body)
            case .failure(.later(let error)) where error.isExhaustion:
                delivery.arrivals.pauseWithoutAttempt(item.ordinal, in: item.queue)
            case .failure(.later), .failure(.noInbox): fail(item)
            case .failure(.missing):
                let code = Int64(SessionError.Code.fileAccessDenied.rawValue)
                delivery.arrivals.rejected(item.ordinal, code: code, in: item.queue)
            }
        }
    }

    private func fail(_ item: ReceivedItem) { delivery.arrivals.failed(item.ordinal, in: item.queue) }

    private func deliver(_ item: ReceivedItem, _ body: [UInt8]) {
        guard let connection = endpoint.receiver(of: item.queue.app) else { return fail(item) }
        offered.delivered(item, to: connection.number)
        connection.send(
            DeliveryFrame(
                ItemKey(item.queue, item.id), attempt: item.attempt, topic: item.topic, age: item.age,
                remaining: item.remaining, revision: item.revision, body: body[...]
            ))
        note(.delivered, item.id, item.queue, isOutbound: false)
    }

    /// The answer to an item of a peer whose body no app could read (DEL-28); nil if it is readable. The bodies of
    /// files and of configuration are judged where they go.
    package static func fault(of item: Envelope) -> Envelope? {
        let channel: Channel? = item[.channel]
        guard let channel, !channel.properties.hasFile, let limit = channel.properties.bodyLimit, let body = item.body
        else { return nil }
        let error: SessionError
        if body.count > limit {
            // As a `delivery` it might not even fit a frame.
            error = SessionError(
                .payloadTooLarge, .tooLarge, reason: "the body is larger than this channel's", actual: body.count,
                limit: limit)
        } else if !PropertyListReader.isDictionary(body) {
            error = SessionError(
                .deliveryFailed, .malformed, reason: "the body is not a dictionary of a binary property list")
        } else {
            return nil
        }
        return try? FailureFrame(of: ItemFrame(item).item, error).envelope
    }

    /// The answer to an item of a peer that its app cannot get: one that no app could read, or for an app that is not
    /// installed on the side of its pairing (SES-83); nil for any other.
    func refusal(of item: Envelope) -> Envelope? {
        if let fault = Self.fault(of: item) { return fault }
        guard let app: ApplicationIdentifier = item[.app], let channel: Channel = item[.channel], channel.isForApps,
            endpoint.isElsewhere(app)
        else { return nil }
        return try? FailureFrame(
            of: ItemFrame(item).item, SessionError(.notInstalled(on: role), messageID: item[.id])
        ).envelope
    }

    private func judged(_ frame: VerdictFrame, _ connection: HostAppConnection) {
        let (id, queue) = (frame.item.id, frame.item.queue)
        // A verdict on an item that this connection does not have is ignored: the item was handed to another, or
        // withdrawn.
        guard let ordinal = offered.judged(id, in: queue, by: connection.number) else { return }
        switch frame.verdict {
        case .handled:
            note(.handled, id, queue, isOutbound: false)
            whenHandled(queue.app)
            delivery.arrivals.handled(ordinal, in: queue)
        case .failed(let text):
            log("handler failed", frame.item, text, connection)
            delivery.arrivals.failed(ordinal, in: queue)
        case .rejected(let code, let text):
            log("handler rejected an item", frame.item, text, connection)
            delivery.arrivals.rejected(ordinal, code: Int64(code), in: queue)
        // The app may not know yet that this pairing is the active one. Synced settings wait for the app's own store,
        // whichever is.
        case .later where endpoint.side.active == queue.pairing || queue.channel == .settings:
            delivery.arrivals.pauseWithoutAttempt(ordinal, in: queue)
        case .later: delivery.arrivals.putOff(ordinal, in: queue)
        }
    }

    /// The reason is the app's own text, which nobody else keeps.
    private func log(_ message: StaticString, _ item: ItemKey, _ reason: String, _ connection: HostAppConnection) {
        endpoint.accounts.log(
            LogEvent(
                .info, message, fields: item.queue.fields + [.text("id", "\(item.id)"), .outside("reason", reason)]),
            of: connection.credentials.user)
    }
}

/// The items that apps have and have not judged, one of each queue.
private struct OfferedItems {
    private struct Delivered {
        let id: UniqueIdentifier
        let ordinal: UInt64
        let connection: ConnectionNumber
    }

    private var delivered: [QueueKey: Delivered] = [:]
    /// Files that are being moved into their app's directory.
    private var moving: [QueueKey: ReceivedItem] = [:]

    mutating func begin(_ item: ReceivedItem) { moving[item.queue] = item }

    /// - Returns: whether the item is still the one whose file is moved.
    mutating func end(_ item: ReceivedItem) -> Bool {
        guard moving[item.queue] == item else { return false }
        moving[item.queue] = nil
        return true
    }

    mutating func delivered(_ item: ReceivedItem, to connection: ConnectionNumber) {
        delivered[item.queue] = Delivered(id: item.id, ordinal: item.ordinal, connection: connection)
    }

    /// - Returns: the ordinal of the item; nil if this connection does not have it.
    mutating func judged(_ id: UniqueIdentifier, in queue: QueueKey, by connection: ConnectionNumber) -> UInt64? {
        guard let item = delivered[queue], item.id == id, item.connection == connection else { return nil }
        delivered[queue] = nil
        return item.ordinal
    }

    mutating func remove(_ connection: ConnectionNumber, _ app: ApplicationIdentifier) {
        delivered = delivered.filter { $0.value.connection != connection }
        moving = moving.filter { $0.key.app != app }
    }
}

extension OutboundItem {
    /// The item of a `submit`.
    fileprivate init(_ frame: borrowing SubmitFrame, _ body: [UInt8]) {
        self.init(
            id: frame.item.id, payload: body, supersedeKey: frame.key.map { Array($0.utf8) },
            lifetime: frame.remaining, topic: frame.topic,
            kind: frame.item.queue.channel.properties.overflow == nil ? nil : frame.urgentKind, after: frame.after,
            policy: frame.isAlwaysNew ? .always : .ifChanged)
    }
}

extension SessionError {
    fileprivate static var nobodysQueue: SessionError {
        SessionError(
            .genericError, .notInstalled,
            reason:
                "no app of this name is registered on this device, and only its owner may send items as it: run the "
                + "app once as its user, or 'tandem receive --app APP'")
    }

    fileprivate static var takenBack: SessionError {
        SessionError(
            .genericError, .cancelled, reason: "the app has taken the item back already", isRetryable: false)
    }

    fileprivate static var draining: SessionError {
        SessionError(
            .genericError, .draining, reason: "this device is draining and accepts no new items",
            isRetryable: true)
    }

    /// Why an item did not become durable.
    fileprivate init(_ failure: DeliveryFailure) {
        switch failure {
        case .full(let full):
            self.init(
                .genericError, .queueFull, reason: "\(full)", actual: full.exceeded.actual,
                limit: full.exceeded.limit, isRetryable: true)
        case .unpaired: self.init(.deviceNotPaired, .notPaired, reason: "\(failure)")
        case .store(.full):
            self.init(
                .insufficientSpace, .insufficientSpace, reason: "this device's disk is full: \(failure)",
                isRetryable: true)
        case .store(let error):
            var isBusy = false
            if case .overloaded = error { isBusy = true }
            self.init(
                .genericError, .store, reason: "the item could not be made durable: \(failure)", isRetryable: isBusy)
        case .lost: self.init(.genericError, .store, reason: "the item could not be made durable: \(failure)")
        }
    }
}
