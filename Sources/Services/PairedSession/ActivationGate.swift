// Gate between the registration and the app. A typed configuration that is installed on a session loads its files
// there: `activate()` returns, and messages and items reach the app, when its values are loaded. Arrivals wait in
// order until then.

import Synchronization
package import TandemBase
package import TandemSession
import TandemWire

/// A typed configuration as a session sees it: its part of the registration, and the calls that it takes.
package struct InstalledConfiguration: Sendable {
    /// The document that describes the properties, and its SHA-256, by which daemons know it.
    package struct Schema: Sendable {
        let digest: [UInt8]
        let document: [UInt8]

        package init(digest: [UInt8], document: [UInt8]) {
            self.digest = digest
            self.document = document
        }
    }

    /// PEM text of the compiled trust anchor of one side's app; called on the session's scheduler.
    let anchor: @Sendable (DeviceRole) -> String?
    /// The custom identifier that this device's app declares.
    let identifier: String?
    let allowsInvalidSignatures: Bool
    let identity: ApplicationIdentity
    /// nil: the properties cannot be described.
    let schema: Schema?
    /// The kinds of questions about its pages that it answers; each is a configuration message to `take`.
    let questions: [String]
    /// Loads what is stored on this device, and calls back once, from any thread.
    let load: @Sendable (DeviceRole, _ directory: String?, _ loaded: @escaping @Sendable () -> Void) -> Void
    /// Answers a configuration from the daemon, at any later time, from any thread.
    let take: @Sendable (ReceivedMessage) -> Void
    /// Hears of the pairings whenever the session's state may have changed, if the daemon carries synced settings.
    let follow: @Sendable ([PairedDevice]) -> Void

    package init(
        anchor: @escaping @Sendable (DeviceRole) -> String?, identifier: String?, allowsInvalidSignatures: Bool,
        identity: ApplicationIdentity = ApplicationIdentity(), schema: Schema? = nil, questions: [String] = [],
        load: @escaping @Sendable (DeviceRole, String?, @escaping @Sendable () -> Void) -> Void,
        take: @escaping @Sendable (ReceivedMessage) -> Void,
        follow: @escaping @Sendable ([PairedDevice]) -> Void = { _ in }
    ) {
        self.anchor = anchor
        self.identifier = identifier
        self.allowsInvalidSignatures = allowsInvalidSignatures
        self.identity = identity
        self.schema = schema
        self.questions = questions
        self.load = load
        self.take = take
        self.follow = follow
    }
}

/// The time in which a session takes its one typed configuration: until it is first asked to activate, because its
/// registration is fixed then. Usable from any thread.
final class InstallationWindow: Sendable {
    private enum State { case open, taken, closed }

    private let state = Mutex(State.open)

    /// Runs the action for the first configuration, before any activation.
    /// - Throws: 7008 `configuration` for a second one, or if an activation has begun.
    func take(_ action: () -> Void) throws(SessionError) {
        try state.withLock { state throws(SessionError) in
            switch state {
            case .open:
                action()
                state = .taken
            case .taken: throw .hasConfiguration
            case .closed: throw .installedTooLate
            }
        }
    }

    /// The session is asked to activate.
    func close() { state.withLock { $0 = .closed } }
}

/// The arrivals that wait until a configuration is loaded; confined to the session's scheduler.
final class ActivationGate {
    private struct Arrival {
        /// One of those that are bounded (SES-70); the daemon bounds how many items wait.
        let isMessage: Bool
        /// An answer to it is good on the connection that it came on alone, or the daemon gives it again on the next.
        let isOfConnection: Bool
        let pass: () -> Void
    }

    private var round: UInt64 = 0
    private(set) var isClosed = false
    private var waiting: [Arrival] = []

    /// A message that comes now has no place.
    var isFull: Bool { isClosed && waiting.count { $0.isMessage } >= ReceivedMessage.waitingAtMost }

    /// Lets an arrival pass, or keeps it until the gate opens.
    /// - Parameter isOfConnection: it is let go when its connection is lost.
    func pass(isMessage: Bool = false, isOfConnection: Bool, _ arrival: @escaping () -> Void) {
        guard isClosed else { return arrival() }
        waiting.append(Arrival(isMessage: isMessage, isOfConnection: isOfConnection, pass: arrival))
    }

    /// Closes the gate; the number opens it.
    func close() -> UInt64 {
        isClosed = true
        round += 1
        return round
    }

    /// Runs the action and lets pass what waits, unless the gate has been closed again since, or its load cancelled.
    func open(_ number: UInt64, then action: () -> Void) {
        guard isClosed, number == round else { return }
        isClosed = false
        action()
        let arrivals = waiting
        waiting = []
        for arrival in arrivals { arrival.pass() }
    }

    /// The session is activated no longer: a load that is under way opens nothing.
    func cancelOpening() { round += 1 }

    /// The connection is lost, and with it the arrivals of it.
    func forgetConnection() { waiting.removeAll(where: \.isOfConnection) }

    /// The session is over: messages that wait are let go, which answers them.
    func removeAll() { waiting = [] }
}
