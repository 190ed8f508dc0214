// The draws of a run: where a daemon or an app takes a random number, the seed gives it.

import TandemTestSupport

/// Random numbers from a seed.
///
/// `@unchecked`: only the world's thread uses it.
final class Draws: @unchecked Sendable {
    private var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    func next() -> UInt64 { generator.next() }
}
