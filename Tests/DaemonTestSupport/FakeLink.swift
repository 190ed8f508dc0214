// A device link without TLS or a stream: it remembers what the relay gave it, and says how much of it has left. Two of
// them, on two devices, are a link that a test can cut at any byte.

import TandemBase
package import TandemDaemon
import TandemReactor
package import TandemSession
import TandemTestSupport
package import TandemWire
import Testing

package final class FakeLink: RelayEndpoint {
    package let number: ConnectionNumber
    package private(set) var sent: [Frame] = []
    package private(set) var acceptedBytes: UInt64 = 0
    package var departedBytes: UInt64 = 0
    package var isCongested = false
    package private(set) var overflows = 0
    /// How often frames were written together.
    package private(set) var writes = 0
    package private(set) var isReadingPaused = false
    package var port: RelayPort?
    /// The other device's link; frames arrive there at the end of the turn.
    package weak var other: FakeLink?
    private let scheduler: any Scheduler
    private var undelivered: [Frame] = []
    /// Frames wait here instead of leaving.
    package var isStuck = false
    /// The other device does not answer the question behind the announcements, until ``answer()``.
    package var isSlowToAnswer = false
    private var answered: (() -> Void)?
    /// The longest frame for which there is room.
    package var room = Int.max

    package init(_ relay: Relay) {
        number = relay.nextNumber()
        scheduler = relay.scheduler
    }

    package var queuedBytes: Int { Int(acceptedBytes - departedBytes) }

    package func isWritable(_ count: Int) -> Bool { count <= room && queuedBytes + count <= Limits.queuedBytes }

    package func send(_ frame: Frame) {
        sent.append(frame)
        acceptedBytes += UInt64(frame.count)
        undelivered.append(frame)
        scheduler.atEndOfTurn { [weak self] in self?.deliver() }
    }

    package func write(_ frames: RawSpan) {
        writes += 1
        var decoder = FrameDecoder(limit: Limits.frame)
        decoder.append(ByteSlice(copying: frames))
        do {
            while let frame = try decoder.next() { send(frame) }
        } catch {
            Issue.record("the relay wrote \(error)")
        }
    }

    package func overflowed() { overflows += 1 }

    package func pauseReading() { isReadingPaused = true }

    package func resumeReading() { isReadingPaused = false }

    package func awaitAnswer(_ answered: @escaping () -> Void) {
        if isSlowToAnswer { self.answered = answered } else { answered() }
    }

    /// The answer of the other device comes.
    package func answer() {
        answered?()
        answered = nil
    }

    private func deliver() {
        while !isStuck, !undelivered.isEmpty {
            let frame = undelivered.removeFirst()
            departedBytes += UInt64(frame.count)
            do {
                if let other { #expect(try other.port?.receive(frame, Envelope(reading: frame)) == nil) }
            } catch {
                Issue.record("the relay sent \(error)")
            }
        }
    }

    /// The link is gone on this device.
    package func lose(_ reason: ReachabilityReason = .noLink) {
        isStuck = true
        port?.closed(reason)
        port = nil
    }

    package var envelopes: [Envelope] { sent.compactMap { try? Envelope(reading: $0) } }

    package func sent(_ kind: FrameKind) -> [Envelope] { envelopes.filter { $0.kind == kind } }
}
