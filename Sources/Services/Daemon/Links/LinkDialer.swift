// Keeps one pairing's link up from the side that dials (SES-19): connect, be greeted, and after any loss wait and try
// again, for ever. It never gives up on a peer that refuses: an operator may put right on the other side what is wrong.

package import TandemBase
import TandemCrypto
package import TandemPairing
import TandemReactor
import TandemSession
package import TandemTransport

/// Dials one paired device; confined to the loop's thread.
package final class LinkDialer {
    /// What it is doing.
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
    }

    package private(set) var status = Status.idle
    package private(set) var lastFailure: Failure?
    package let pairing: UniqueIdentifier
    private let record: () -> PairingRecord?
    private let address: SocketAddress
    private let context: LinkContext
    private let source: StreamSource
    private let random: () -> UInt64
    private var backoff = Backoff()
    private var timer: TimerToken?
    private var cancelConnect: StreamSource.Cancel?
    private var connection: DialledConnection?

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
    }

    /// Dials at once. Nothing if it runs already.
    package func start() {
        guard status == .idle else { return }
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
        cancelConnect = source.connect(address) { [weak self] outcome in
            self?.cancelConnect = nil
            switch outcome {
            case .success(let stream): self?.open(record, over: stream)
            case .failure(let error): self?.retry(after: .unreachable("\(error)"))
            }
        }
    }

    private func open(_ record: PairingRecord, over stream: any ByteStream) {
        do throws(TLSError) {
            let connection = try DialledConnection(to: record, over: stream, context: context) { [weak self] outcome in
                self?.opened(outcome)
            }
            self.connection = connection
            connection.start()
        } catch { retry(after: .ended(.notSecured(error))) }
    }

    private func opened(_ outcome: DialledConnection.Outcome) {
        connection = nil
        switch outcome {
        case .linked(let link):
            status = .linked
            backoff.reset()
            link.onClose = { [weak self] reason in
                guard let self, status == .linked else { return }
                retry(after: .ended(reason))
            }
        case .failed(let reason): retry(after: .ended(reason))
        }
    }

    private func retry(after failure: Failure) {
        lastFailure = failure
        let wait = backoff.next(random: random())
        status = .waiting(context.scheduler.now + wait)
        context.log(
            LogEvent(
                .debug, "dialling again later", .text("pairing", "\(pairing)"), .outside("reason", "\(failure)"),
                .integer("milliseconds", wait.saturatingMilliseconds)))
        timer = context.scheduler.schedule(after: wait) { [weak self] in self?.connect() }
    }
}
