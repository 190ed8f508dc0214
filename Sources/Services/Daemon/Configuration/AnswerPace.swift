// Pace of an answer whose work grows with apps and devices: it is worked out in parts, and the loop serves others
// between two of them. Of all answers that are worked out, one part is done in a turn, and users go round (SES-93).

/// The steps of one answer; for code that runs on the loop.
struct AnswerPace {
    /// Steps in one part: a step takes some microseconds, and so a part a few milliseconds.
    static let stepsAtOnce = 1024

    private let parts: LoopWork
    private let user: UInt32?
    private var steps = 0

    /// - Parameters:
    ///   - parts: those of all answers.
    ///   - user: the one who has asked; nil where only operators may ask.
    init(_ parts: LoopWork, of user: UInt32? = nil) { (self.parts, self.user) = (parts, user) }

    /// Takes one more step; after the last one of a part the caller goes on in a later turn.
    mutating func step() async {
        steps += 1
        if steps.isMultiple(of: Self.stepsAtOnce) { await parts.nextPiece(of: user) }
    }
}
