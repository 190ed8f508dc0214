// Random schedules of signed configuration: the steps, and how they are drawn. A step means something in any state, so
// that a schedule which finds a fault can be made shorter by leaving steps out.

import TandemTestSupport

struct Step: Equatable, CustomStringConvertible {
    /// The kinds, each with its weight.
    enum Kind: String, CaseIterable {
        case apply, applyOlder, applySame, applyOther, applyAgainWrapped, wrongTarget, untimely, unknownKey, locally
        case rotate, revoke, withdraw, clock, linkDown, linkUp, restartPrimary, restartSecondary, crashPrimary
        case crashSecondary, appStarts, appLeaves, appCrashes, appHangs, shortTime, longTime, permission, pairAgain
        case rollout, fullDisk, freeDisk, switchPrimary

        var weight: Int {
            switch self {
            case .apply: 12
            case .appStarts, .shortTime, .longTime: 6
            case .applyOlder, .applySame, .applyOther, .linkUp, .rotate, .crashSecondary, .freeDisk: 4
            case .wrongTarget, .untimely, .linkDown, .restartPrimary, .restartSecondary, .crashPrimary, .clock: 3
            case .appLeaves, .appCrashes, .appHangs, .revoke, .withdraw, .unknownKey, .locally: 3
            case .applyAgainWrapped, .permission, .pairAgain, .rollout, .fullDisk, .switchPrimary: 2
            }
        }
    }

    let kind: Kind
    /// The choices that the step makes come from it.
    let draw: UInt64

    var description: String { ".init(kind: .\(kind), draw: \(draw))" }

    /// One of several, by the draw.
    func choose(_ count: Int, shifted: UInt64 = 0) -> Int { Int((draw >> shifted) % UInt64(max(count, 1))) }
}

extension [Step] {
    /// A schedule of a seed.
    static func drawn(from seed: UInt64, count: Int) -> [Step] {
        var generator = SeededGenerator(seed: seed)
        let bag = Step.Kind.allCases.flatMap { Array<Step.Kind>(repeating: $0, count: $0.weight) }
        return (0..<count).map { _ in
            Step(kind: bag[Int.random(in: bag.indices, using: &generator)], draw: generator.next() >> 8)
        }
    }
}
