// Faults between the two ends of an in-process stream: chances in thousandths for each sent piece, drawn from a seed,
// so that a failure found once is found again. Bytes change only by these faults.

/// The faults of one direction.
package struct FaultPlan: Sendable {
    package var seed: UInt64
    /// Each piece arrives after a time from this range; order is kept.
    package var delay: ClosedRange<Duration> = .zero ... .zero
    /// The line takes no more in a second; nil is any number.
    package var bytesPerSecond: Int?
    /// Chances in thousandths.
    package var drop = 0
    package var duplicate = 0
    /// The piece may overtake others and be overtaken.
    package var reorder = 0
    /// One bit of the piece is wrong.
    package var corrupt = 0
    /// The connection ends somewhere inside the piece.
    package var cut = 0
    /// This piece and all after it come later by `stallTime`.
    package var stall = 0
    package var stallTime = Duration.seconds(1)

    package init(seed: UInt64) { self.seed = seed }

    /// Nothing goes wrong.
    package static var none: Self { Self(seed: 0) }
}

/// The draws of a plan.
package struct FaultDice {
    /// The fate of one piece.
    package struct Outcome: Equatable {
        package var copies: [[UInt8]]
        package var delay: Duration
        /// How long the line is busy with it.
        package var duration: Duration
        package var mayOvertake = false
        package var isCut = false
        package var stalls = false
    }

    private let plan: FaultPlan

    package var stallTime: Duration { plan.stallTime }

    private var random: SeededGenerator

    package init(_ plan: FaultPlan) {
        self.plan = plan
        random = SeededGenerator(seed: plan.seed)
    }

    package mutating func roll(for piece: [UInt8]) -> Outcome {
        var outcome = Outcome(copies: [piece], delay: drawDelay(), duration: duration(of: piece.count))
        if happens(plan.drop) { outcome.copies = [] }
        if happens(plan.duplicate) { outcome.copies += outcome.copies }
        outcome.mayOvertake = happens(plan.reorder)
        outcome.stalls = happens(plan.stall)
        if happens(plan.corrupt) { flipOneBit(in: &outcome.copies) }
        if happens(plan.cut) {
            outcome.isCut = true
            outcome.copies = [Array(piece.prefix(Int(random.next() % UInt64(piece.count))))]
        }
        return outcome
    }

    private mutating func flipOneBit(in copies: inout [[UInt8]]) {
        guard !copies.isEmpty, !copies[0].isEmpty else { return }
        let bit = random.next() % UInt64(copies[0].count * 8)
        copies[0][Int(bit / 8)] ^= 1 << UInt8(bit % 8)
    }

    private func duration(of count: Int) -> Duration {
        plan.bytesPerSecond.map { .microseconds(count * 1_000_000 / $0) } ?? .zero
    }

    private mutating func drawDelay() -> Duration {
        let low = plan.delay.lowerBound
        let span = (plan.delay.upperBound - low) / .nanoseconds(1)
        guard span >= 1 else { return low }
        return low + .nanoseconds(Int64(random.next() % UInt64(span)))
    }

    private mutating func happens(_ thousandths: Int) -> Bool { random.next() % 1000 < UInt64(thousandths) }
}
