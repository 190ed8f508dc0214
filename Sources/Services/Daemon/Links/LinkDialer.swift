// Link dialler: keeps one pairing's link up from the side that dials (SES-19). It connects, exchanges hellos, and after
// any loss waits and tries again, for ever. It never gives up on a peer that refuses: an operator may correct the other
// side.

package import TandemBase
import TandemOperations
package import TandemPairing
package import TandemReactor
import TandemSession
import TandemTLS
package import TandemTransport
import TandemWire

/// Dials one paired device; confined to the loop's thread.
package final class LinkDialer {
    /// The activity at the moment.
    package enum Status: Sendable, Equatable {
        case idle
        case connecting
        case linked
        /// Until this time.
        case waiting(MonotonicTime)
    }

    /// Why the last attempt or link ended.
    package enum Failure: Sendable, Equatable, CustomStringConvertible {
        case unreachable(String)
        case ended(LinkCloseReason)

        package var description: String {
            switch self {
            case .unreachable(let text): text
            case .ended(let reason): "\(reason)"
            }
        }

        fileprivate var logFields: [LogField] {
            guard case .ended(let reason) = self else { return [.outside("reason", description)] }
            guard reason.isOtherDevice else { return [reason.logField] }
            return [reason.logField, .text("advice", OtherDevice.ways)]
        }
    }

    package private(set) var status = Status.idle
    package private(set) var lastFailure: Failure?
    package let pairing: UniqueIdentifier
    private let record: () -> PairingRecord?
    private let address: SocketAddress
    private let context: LinkContext
    private let source: StreamSource
    private let random: () -> UInt64
    private var pace: DialPace
    private var timer: TimerToken?
    private var cancelConnect: StreamSource.Cancel?
    private var connection: DialledConnection?
    /// The last address that took a connection and gave no link, as another device does: the next attempt begins behind
    /// it.
    private var failedPeer: PeerDescription?

    /// - Parameters:
    ///   - record: the pairing as it is now; nil when it is gone, which ends the dialling.
    ///   - random: spreads the waits (SES-19).
    package init(
        pairing: UniqueIdentifier, at address: SocketAddress, context: LinkContext, source: StreamSource,
        random: @escaping () -> UInt64, record: @escaping () -> PairingRecord?
    ) {
        self.pairing = pairing
        self.address = address
        self.context = context
        self.source = source
        self.random = random
        self.record = record
        pace = DialPace(at: context.scheduler.now)
    }

    /// Whether it has no link of its own and dials for one.
    package var isTrying: Bool {
        switch status {
        case .connecting, .waiting: true
        case .idle, .linked: false
        }
    }

    /// Whether another daemon with this device's key takes the link from it again and again (SES-91).
    package var isContested: Bool { pace.isContested(at: context.scheduler.now) }

    /// Dials at once. Nothing if it runs already.
    package func start() {
        guard status == .idle else { return }
        connect()
    }

    /// Dials now if it waits for the next attempt.
    package func hurry() {
        guard case .waiting = status else { return }
        if let timer { context.scheduler.cancel(timer) }
        pace.hurry()
        connect()
    }

    /// Ends dialling. A ready link is not ended by this.
    package func stop() {
        if let timer { context.scheduler.cancel(timer) }
        timer = nil
        cancelConnect?()
        cancelConnect = nil
        connection?.cancel()
        connection = nil
        status = .idle
    }

    private func connect() {
        timer = nil
        guard let record = record() else { return status = .idle }
        status = .connecting
        cancelConnect = source.connect(address, past: failedPeer) { [weak self] outcome in
            self?.cancelConnect = nil
            switch outcome {
            case .success(let stream): self?.open(record, over: stream)
            case .failure(let error): self?.failed(.unreachable("\(error)"))
            }
        }
    }

    private func open(_ record: PairingRecord, over stream: any ByteStream) {
        let peer = stream.peer
        do throws(TLSError) {
            let connection = try DialledConnection(to: record, over: stream, context: context) { [weak self] outcome in
                self?.opened(outcome, at: peer)
            }
            self.connection = connection
            connection.start()
        } catch { failed(.ended(.notSecured(error))) }
    }

    private func opened(_ outcome: Result<Link, LinkCloseReason>, at peer: PeerDescription) {
        connection = nil
        switch outcome {
        case .success(let link):
            status = .linked
            pace.linked(at: context.scheduler.now)
            link.whenClosed = { [weak self] reason in
                guard let self, status == .linked else { return }
                ended(reason)
            }
        case .failure(let reason):
            switch reason {
            case .notSecured, .stream: failedPeer = peer
            default: break
            }
            failed(.ended(reason))
        }
    }

    private func failed(_ failure: Failure) {
        let (wait, isNews) = pace.failed("\(failure)", at: context.scheduler.now, random: random())
        if isNews {
            let place: [LogField] = [.outside("address", "\(address)")]
            report("cannot link to the primary, dialling goes on", place + failure.logFields)
        }
        retry(in: wait, after: failure)
    }

    private func ended(_ reason: LinkCloseReason) {
        let isReplaced = reason == .endedByPeer(.replaced)
        let (wait, isFirstEvidence) = pace.ended(
            isReplaced: isReplaced, at: context.scheduler.now, random: random())
        if isFirstEvidence {
            report("another daemon uses this device's key; is a copy of its state directory running?", [])
        }
        retry(in: wait, after: .ended(reason))
    }

    private func report(_ message: StaticString, _ fields: [LogField]) {
        let subject: [LogField] = [.text("pairing", "\(pairing)"), .outside("peer", record()?.name ?? "-")]
        context.log(LogEvent(.warning, message, fields: subject + fields))
    }

    private func retry(in wait: Duration, after failure: Failure) {
        lastFailure = failure
        status = .waiting(context.scheduler.now + wait)
        context.log(
            .debug, "dialling again later", .text("pairing", "\(pairing)"), .outside("reason", "\(failure)"),
            .integer("milliseconds", wait.saturatingMilliseconds))
        timer = context.scheduler.schedule(after: wait) { [weak self] in self?.connect() }
    }
}

/// The client's side of a connection that is not a link yet (SES-1 to SES-4). TLS has already refused every key but the
/// pinned one. The rest is to agree on a version that is not lowered, and to commit that the pairing is alive before
/// anything is sent on it. Confined to the loop's thread.
private final class DialledConnection {
    private let record: PairingRecord
    private let context: LinkContext
    private let channel: SecuredChannel
    private var isJudging = false
    /// The clock in our hello: it may be set before the answer comes.
    private var told: ClockReading
    private var completion: ((Result<Link, LinkCloseReason>) -> Void)?

    init(
        to record: PairingRecord, over stream: any ByteStream, context: LinkContext,
        completion: @escaping (Result<Link, LinkCloseReason>) -> Void
    ) throws(TLSError) {
        self.record = record
        self.context = context
        self.completion = completion
        told = context.reading
        channel = try SecuredChannel(over: stream, side: .client, peer: .pinned(record.peer), context: context)
    }

    func start() {
        channel.frames.delegate = self
        channel.frames.start()
    }

    /// Cancels the attempt; the completion is not called.
    func cancel() {
        completion = nil
        channel.cut(.ended(.stopping))
    }

    private func finish(_ outcome: Result<Link, LinkCloseReason>) {
        completion?(outcome)
        completion = nil
    }

    private func judge(_ hello: PeerGreeting) {
        guard let host = context.host else { return channel.refuse(.stopping, "this device is stopping") }
        guard case .chosen(let version) = hello.versions else {
            return channel.refuse(.envelope, "a server's hello names one 'version'")
        }
        let agreement: HelloAgreement
        do throws(HelloFailure) {
            agreement = try context.device.offer.accept(version: version, capabilities: hello.capabilities)
        } catch { return channel.refuse(.version, "\(error)") }
        isJudging = true
        channel.frames.pauseReading()
        context.scheduler.start { [self] in
            let verdict = await host.judge(hello, in: record.pairing, from: record.peer, agreement, phase: .answer)
            guard isJudging, completion != nil else { return }
            isJudging = false
            self.judged(verdict, hello, agreement)
        }
    }

    private func judged(_ verdict: HelloVerdict, _ hello: PeerGreeting, _ agreement: HelloAgreement) {
        switch verdict {
        case .refused(let name): channel.refuse(name, name.inWords)
        case .accepted(let record):
            // The registry may have changed again since the commit.
            guard context.host?.positions(of: record.pairing) != nil else { return channel.cut(.ended(.unpaired)) }
            let link = Link(
                record: record, peer: hello, clocks: LinkClocks(told: told, heard: hello.clock), agreement: agreement,
                channel: channel, context: context)
            finish(.success(link))
            link.begin()
            channel.frames.resumeReading()
        }
    }
}

extension DialledConnection: FrameChannelDelegate {
    func channelDidOpen(_ frames: FrameChannel) {
        guard let positions = context.host?.positions(of: record.pairing) else {
            return channel.cut(.ended(.unpaired))
        }
        channel.frames.limit = Limits.helloFrame
        let offer = context.device.offer
        told = context.reading
        let hello = context.device.hello(
            .offered(offer.versions), role: record.role, positions, capabilities: offer.capabilities,
            clock: told.wall)
        channel.send(HelloFrame(hello, pairing: record.pairing))
    }

    func channel(_ frames: FrameChannel, didReceive frame: Frame) {
        guard !isJudging else { return }
        let envelope: Envelope
        do throws(WireError) { envelope = try Envelope(reading: frame) } catch {
            return channel.refuse(error.refusalName, "\(error)")
        }
        do throws(WireError) {
            switch envelope.kind {
            case .hello where envelope[.pairing] ?? record.pairing == record.pairing:
                judge(try PeerGreeting(HelloFrame(envelope).hello(from: .server), at: context.scheduler.now))
            case .hello: channel.refuse(.notYours, Refusal.text(foreign: .pairing, in: .hello))
            case .bye, .refusal: channel.end(SecuredChannel.farewell(envelope))
            default: channel.refuse(.helloExpected, "the first frame was '\(envelope.kind.rawValue)'")
            }
        } catch { channel.refuse(error.refusalName, Refusal.text(in: envelope.kind, error)) }
    }

    func channelDidDrain(_ channel: FrameChannel) {}

    func channel(_ frames: FrameChannel, didCloseWith reason: CloseReason) {
        isJudging = false
        // A cancelled attempt has no result.
        guard completion != nil else { return }
        let reason = channel.reason(for: reason)
        let failure = LinkFailure(
            pairing: record.pairing, isAccepted: false, pin: channel.tls.peerPin, isStranger: false, reason: reason)
        context.host?.connectionDidFail(failure)
        finish(.failure(reason))
    }
}

/// Source of streams for the dialling side: sockets in a daemon, in-process streams in tests.
package struct StreamSource {
    /// Ends an attempt whose outcome is no longer needed.
    package typealias Cancel = () -> Void
    package typealias Completion = (Result<any ByteStream, ConnectError>) -> Void

    private let begin: (SocketAddress, _ failed: PeerDescription?, @escaping Completion) -> Cancel

    /// - Parameter connect: as ``connect(_:past:then:)``.
    package init(connectPast connect: @escaping (SocketAddress, PeerDescription?, @escaping Completion) -> Cancel) {
        begin = connect
    }

    /// - Parameter connect: as ``connect(_:past:then:)``, for a source in which each address is one place.
    package init(connect: @escaping (SocketAddress, @escaping Completion) -> Cancel) {
        begin = { address, _, completion in connect(address, completion) }
    }

    /// Begins an attempt.
    /// - Parameters:
    ///   - failed: of the addresses of a name the one to be tried last; those behind it are tried first.
    ///   - completion: called once, never from inside the call, and not after the cancel.
    package func connect(
        _ address: SocketAddress, past failed: PeerDescription? = nil, then completion: @escaping Completion
    ) -> Cancel { begin(address, failed, completion) }

    /// Sockets of this loop.
    package static func sockets(on loop: EventLoop) -> StreamSource {
        StreamSource(connectPast: { address, failed, completion in
            let connector = StreamConnector(to: address, past: failed, loop: loop) { outcome in
                completion(outcome.map { $0 as any ByteStream })
            }
            return { connector.cancel() }
        })
    }
}
