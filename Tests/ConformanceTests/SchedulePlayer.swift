// One host app of a random schedule: it calls the public API in tasks that run on the world's clock, so that one seed
// gives one run, and hands all that its handlers see to the journal.

import PairedSession
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire

@testable import TandemConformance

/// Runs an app's tasks on its process's share of the clock.
final class ClockTasks: TaskExecutor {
    private let scheduler: any Scheduler

    init(_ scheduler: any Scheduler) { self.scheduler = scheduler }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        scheduler.submit { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}

/// The ways in which a handler ends.
enum HandlerRule: CaseIterable {
    case answer, hold, fail, drop
}

/// One process of an app.
///
/// `@unchecked`: only the world's thread uses it.
final class Player: @unchecked Sendable {
    let place: Place
    let process: Int
    let app: App
    let journal: ScheduleJournal
    unowned let world: any World
    private let tasks: ClockTasks
    let draw: (Int) -> Int
    /// The app uses the session by Apple's names.
    private(set) var named: NamedFace?
    /// The rule of the next message or item.
    var rule: () -> HandlerRule = { .answer }
    private(set) var heldMessages: [(message: ReceivedMessage, sight: Int)] = []
    private(set) var heldItems: [(token: HandlingToken, sight: Int)] = []
    private var lastRevision: UInt64?

    init(_ app: App, process: Int, world: any World, journal: ScheduleJournal, draw: @escaping (Int) -> Int) {
        (self.app, self.process, self.world, self.journal, self.draw) = (app, process, world, journal, draw)
        place = app.place
        tasks = ClockTasks(app.scheduler)
    }

    var session: PairedSession { app.session }

    func start(named isNamed: Bool) {
        if isNamed {
            let face = NamedFace(self)
            named = face
            return face.start()
        }
        receive()
        handle()
        observe()
        app.activate()
    }

    func standing(of pairing: UniqueIdentifier?) -> Standing {
        if let named { return named.standing }
        let own = pairing.map { session.session(for: $0) } ?? session
        let device = own.pairedDevice
        return Standing(
            activation: own.activationState, isPaired: device != nil,
            hasPairings: !session.pairedDevices.isEmpty, isInstalled: device?.reachability.reason != .notInstalled,
            level: device?.reachability.level, isPrimary: session.role != .secondary)
    }

    // MARK: calls

    /// Makes a call in a task of its own.
    func begin(
        _ number: Int64, _ kind: CallKind, to pairing: UniqueIdentifier?, timeout: Duration = .seconds(30),
        _ body: @escaping @Sendable (PairedSession, Call) async throws(SessionError) -> Call.Ending
    ) -> Call {
        let target = pairing ?? session.pairedDevice?.pairing
        let call = Call(number, kind, self, to: target, standing(of: pairing), at: world.now, timeout: timeout)
        call.paired = session.pairedDevices.map(\.pairing)
        journal.calls.append(call)
        let own = pairing.map { session.session(for: $0) } ?? session
        call.task = Task(executorPreference: tasks) { [self] in
            let ending: Call.Ending
            do throws(SessionError) { ending = try await body(own, call) } catch {
                ending = .failed(error)
                if call.kind.isItem { call.id = error.messageID }
            }
            call.end(ending, at: world.now, sights: journal.sights.count)
        }
        return call
    }

    func run(_ body: @escaping @Sendable () async -> Void) { Task(executorPreference: tasks) { await body() } }

    /// Follows an item to its end.
    func follow(_ call: Call, _ transfer: Transfer) {
        (call.transfer, call.id) = (transfer, transfer.id)
        run { [self] in
            do throws(SessionError) { call.finish(try await transfer.outcome(), at: world.now) } catch {
                call.silence = error
            }
        }
    }

    private static func content(_ number: Int64) -> PropertyListDictionary { ["n": .integer(number)] }

    /// The bytes that stand for a number.
    static func bytes(_ number: Int64) -> [UInt8] {
        [UInt8(number >> 16 & 255), UInt8(number >> 8 & 255), UInt8(number & 255)]
    }

    /// A message, data, or what is to be delivered either way.
    func ask(_ number: Int64, _ kind: CallKind, to pairing: UniqueIdentifier?, _ timeout: Duration) -> Call {
        let (content, bytes) = (Self.content(number), Self.bytes(number))
        return begin(number, kind, to: pairing, timeout: timeout) { [self] session, call throws(SessionError) in
            switch kind {
            case .data: return .reply(try await session.sendMessageData(bytes, timeout: timeout) == bytes ? number : -1)
            case .deliver:
                let receipt = try await session.deliver(content, timeout: timeout, ifUnreachable: .queue)
                if let transfer = receipt.transfer { follow(call, transfer) }
                return receipt.reply.map { .reply($0["n"]?.integerValue ?? -1) } ?? .done
            default:
                return .reply(try await session.sendMessage(content, timeout: timeout)["n"]?.integerValue ?? -1)
            }
        }
    }

    /// A message without reply, or one for all devices.
    func tell(_ number: Int64, _ kind: CallKind, to pairing: UniqueIdentifier?) -> Call {
        let content = Self.content(number)
        return begin(number, kind, to: kind == .note ? pairing : nil) { session, call throws(SessionError) in
            guard kind == .note else {
                return .outcomes(try await session.broadcast(content) { call.laterFailures.append(($0, $1)) })
            }
            try await session.sendMessageWithoutReply(content) { call.laterFailures.append((nil, $0)) }
            return .done
        }
    }

    func transfer(
        _ number: Int64, _ kind: CallKind, to pairing: UniqueIdentifier?, _ options: TransferOptions
    ) -> Call {
        let content = Self.content(number)
        let call = begin(number, kind, to: pairing) { [self] session, call throws(SessionError) in
            let transfer =
                kind == .userInfo
                ? try await session.transferUserInfo(content, options: options)
                : try await session.transferUrgentUserInfo(content, options: options)
            follow(call, transfer)
            return .done
        }
        call.options = options
        return call
    }

    func transferFile(_ number: Int64, _ path: String, to pairing: UniqueIdentifier?) -> Call {
        let metadata = Self.content(number)
        return begin(number, .file, to: pairing) { [self] session, call throws(SessionError) in
            let file = try await session.transferFile(path, metadata: metadata)
            if let transfer = file.transfer { follow(call, transfer) }
            return .done
        }
    }

    func update(_ number: Int64, to pairing: UniqueIdentifier?) -> Call {
        let content = Self.content(number)
        return begin(number, .context, to: pairing) { session, _ throws(SessionError) in
            try await session.updateApplicationContext(content)
            return .done
        }
    }

    /// A user info for each device.
    func giveAll(_ number: Int64, until level: AcknowledgementLevel, _ limit: Duration) -> Call {
        let content = Self.content(number)
        let call = begin(number, .receipts, to: nil, timeout: limit) { session, _ throws(SessionError) in
            .receipts(try await session.broadcastUserInfo(content, until: level, within: limit))
        }
        call.wanted = level
        return call
    }

    // MARK: handlers

    private func receive() {
        app.run { [weak self] core in
            core.receive { message in self?.took(message) }
        }
    }

    private func took(_ message: ReceivedMessage) {
        guard !message.isConfiguration else { return }
        let number = message.number ?? message.data.map { Int64($0[0]) << 16 | Int64($0[1]) << 8 | Int64($0[2]) } ?? -1
        let index = journal.sights.count
        journal.sights.append(
            Sight(
                number: number, place: place, process: process, pairing: message.pairing, channel: nil, id: message.id,
                attempt: 0))
        message.claim()
        switch message.wantsReply ? rule() : .answer {
        case .answer: answer(message, index)
        case .hold: heldMessages.append((message, index))
        case .fail:
            journal.sights[index].verdict = .failed
            message.fail("as the schedule says")
        case .drop: journal.sights[index].verdict = .dropped
        }
    }

    private func answer(_ message: ReceivedMessage, _ index: Int) {
        guard message.wantsReply else {
            journal.sights[index].verdict = .handled
            return
        }
        journal.sights[index].verdict = .replied
        do throws(SessionError) {
            if let data = message.data {
                try message.reply(data: data)
            } else {
                try message.reply(["n": .integer(message.number ?? -1)])
            }
        } catch { journal.fault("a reply was refused: \(error.text)") }
    }

    private func handle() {
        let channels: Set<Channel> = [.userInfo, .urgent, .context, .file]
        app.handle(channels) { [weak self] item, token in self?.took(item, token) }
    }

    private func took(_ item: DeliveredItem, _ token: HandlingToken) -> HandlingVerdict? {
        let index = journal.sights.count
        journal.sights.append(
            Sight(
                number: item.number, place: place, process: process, pairing: item.facts.pairing,
                channel: item.channel, id: item.facts.id, attempt: item.facts.attempt))
        switch rule() {
        case .answer:
            journal.sights[index].verdict = .handled
            return .handled
        case .hold:
            heldItems.append((token, index))
            return nil
        case .fail:
            journal.sights[index].verdict = .failed
            return .failed("as the schedule says")
        case .drop:
            journal.sights[index].verdict = .rejected
            return .rejected(ItemRejection(reason: "as the schedule says").error)
        }
    }

    /// Handlers return that have not.
    func release(message: Int) {
        guard heldMessages.indices.contains(message) else { return }
        let held = heldMessages.remove(at: message)
        if draw(4) == 0 { journal.sights[held.sight].verdict = .dropped } else { answer(held.message, held.sight) }
    }

    func release(item: Int) {
        guard heldItems.indices.contains(item) else { return }
        let held = heldItems.remove(at: item)
        let hasFailed = draw(4) == 0
        journal.sights[held.sight].verdict = hasFailed ? .failed : .handled
        if hasFailed { held.token.threw(.failed("as the schedule says")) } else { held.token.returned() }
    }

    func releaseAll() {
        while !heldMessages.isEmpty { release(message: 0) }
        while !heldItems.isEmpty { release(item: 0) }
    }

    // MARK: state

    /// SES-35: what a callback is given is the state that it reads, or an older one.
    private func observe() {
        let updates = session.reachabilityUpdates
        run { [weak self] in
            for await status in updates {
                guard let self else { return }
                let read = session.reachability
                if let lastRevision, status.revision < lastRevision { journal.fault("SES-35: the revision falls") }
                if status.revision == read.revision, status.level != read.level || status.reason != read.reason {
                    journal.fault("SES-35: \(place) is told \(status), and reads \(read)")
                }
                if read.revision < status.revision { journal.fault("SES-35: \(place) reads an older revision") }
                lastRevision = status.revision
            }
        }
    }
}
