// When a queue's commit begins while none is under way. Usually at the end of the loop's turn, with all changes of the
// turn. A turn that takes in many items can last longer than the sync: if the commit waited for its end, the disk would
// idle while the loop works, and the loop while the disk does. So the changes that are there go once they have gathered
// for half as long as the last commit took, and the rest follows in the next commit:
//
//     at the end     |--- turn, 64 items ---|== commit of 64 ==|--- turn, 64 items ---|== commit of 64 ==|
//     within a turn  |- 30 -|- 34 -|- 30 -|- 34 -|- 30 -|- 34 -|
//                           |= 30 =|= 34 =|= 30 =|= 34 =|= 30 =|= 34 =|
//
// A slow disk still gets one commit for each turn: there one more sync would cost more than the turn's work.

package import TandemBase

/// The times of one queue's commits.
package struct CommitPace: Sendable {
    /// How long the last commit took, in nanoseconds; nil before the first one.
    private var last: UInt64?
    private var began = MonotonicTime(nanoseconds: 0)
    /// When the first change came that waits for the next commit.
    private var gathering: MonotonicTime?

    package init() {}

    /// A change waits for the next commit, and no commit is under way.
    /// - Returns: whether that one begins now, before the turn ends.
    package mutating func isDue(at now: MonotonicTime) -> Bool {
        guard let gathering, let last else {
            gathering = now
            return false
        }
        guard now > gathering else { return false }
        return now.nanoseconds - gathering.nanoseconds >= last / 2
    }

    package mutating func commitBegins(at now: MonotonicTime) {
        began = now
        gathering = nil
    }

    package mutating func commitEnded(at now: MonotonicTime) {
        last = now > began ? now.nanoseconds - began.nanoseconds : 0
    }
}
