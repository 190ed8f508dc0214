// Signals as events. They are blocked before the first thread starts and read from a signalfd, so that no handler ever
// interrupts code of ours; SIGPIPE is ignored, because a peer that is gone is an error value. A blocked set is
// inherited: code that starts another program resets it.

internal import CTandemLinux
internal import Glibc

/// A signal that a daemon reacts to.
package enum ProcessSignal: CaseIterable, Sendable {
    case terminate
    case interrupt
    case hangUp

    fileprivate var number: CInt {
        switch self {
        case .terminate: SIGTERM
        case .interrupt: SIGINT
        case .hangUp: SIGHUP
        }
    }

    /// Blocks the three and ignores SIGPIPE; the first thing a command that runs a loop does.
    package static func prepareProcess() throws(SystemError) {
        var signals = all
        try SystemCall.check(-pthread_sigmask(SIG_BLOCK, &signals, nil), "pthread_sigmask")
        signal(SIGPIPE, SIG_IGN)
    }

    fileprivate static var all: sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in allCases { sigaddset(&signals, signal.number) }
        return signals
    }
}

/// Reports the signals of this process on a loop.
package final class SignalSource: ReadinessTarget {
    private let descriptor: OwnedDescriptor
    private let loop: EventLoop
    private let handler: (ProcessSignal) -> Void
    private var registration: Registration?

    /// Watches until `cancel`; `prepareProcess` has been called before. The loop keeps the source alive.
    @discardableResult
    package init(loop: EventLoop, handler: @escaping (ProcessSignal) -> Void) throws(SystemError) {
        var signals = ProcessSignal.all
        descriptor = try OwnedDescriptor(tandem_signalfd_create(&signals), "signalfd")
        self.loop = loop
        self.handler = handler
        registration = try loop.register(descriptor.raw, for: .readable, target: self)
    }

    package func isReady(_ readiness: Readiness) {
        var number: CInt = 0
        while registration != nil, tandem_signalfd_read(descriptor.raw, &number) > 0 {
            guard let signal = ProcessSignal.allCases.first(where: { $0.number == number }) else { continue }
            handler(signal)
        }
    }

    /// Ends the watch; later signals stay pending.
    package func cancel() {
        if let registration { loop.deregister(registration) }
        registration = nil
    }
}
