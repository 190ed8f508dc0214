// Pace of a dialler: the wait before each attempt, and which failures are news for an operator. The dialler never gives
// up on a primary that is away; its waits grow (SES-19). They also grow while the primary replaces each link by another
// one: two daemons with one key would otherwise take the link from each other several times in a second (SES-91).

package import TandemBase
import TandemWire

/// The waits of one dialler, and what it reports.
package struct DialPace: Sendable {
    private var failures = Backoff()
    private var replacements = Backoff()
    /// Links in a row that the peer has replaced soon after they were ready.
    private var replaced = 0
    private var lastReady: MonotonicTime?
    private var unlinkedSince: MonotonicTime
    /// The reason in the last report; nil once there was a link.
    private var reported: String?

    /// - Parameter now: when the dialling begins.
    package init(at now: MonotonicTime) { unlinkedSince = now }

    package mutating func linked(at now: MonotonicTime) {
        if now.since(unlinkedSince) >= Limits.sharedKeyMemory { endSeries() }
        failures.reset()
        lastReady = now
        reported = nil
    }

    /// An operator changed something: the next attempt is made now, and the waits after it are short again.
    package mutating func hurry() {
        failures.reset()
        replacements.reset()
    }

    /// An attempt failed.
    /// - Returns: the wait before the next one, and whether an operator should know this reason.
    package mutating func failed(
        _ reason: String, at now: MonotonicTime, random: UInt64
    ) -> (wait: Duration, isNews: Bool) {
        let isNews = now.since(unlinkedSince) >= Limits.unlinkedPatience && reason != reported
        if isNews { reported = reason }
        return (failures.next(random: random), isNews)
    }

    /// The ready link has ended.
    /// - Parameter isReplaced: the peer has another link of this pairing instead.
    /// - Returns: the wait before the next attempt, and whether this end is the one that shows another daemon with this
    ///   device's key.
    package mutating func ended(
        isReplaced: Bool, at now: MonotonicTime, random: UInt64
    ) -> (wait: Duration, isFirstEvidence: Bool) {
        unlinkedSince = now
        if lastReady.map({ now.since($0) >= Limits.sharedKeyMemory }) ?? true { endSeries() }
        guard isReplaced else { return (failures.next(random: random), false) }
        replaced += 1
        return (replacements.next(random: random), replaced == Limits.sharedKeyEvents)
    }

    /// Whether another daemon takes the link from this one again and again. Neither a link nor a wait lasts long then.
    package func isContested(at now: MonotonicTime) -> Bool {
        let lastChange = max(lastReady ?? unlinkedSince, unlinkedSince)
        return replaced >= Limits.sharedKeyEvents && now.since(lastChange) < Limits.sharedKeyMemory
    }

    private mutating func endSeries() {
        replaced = 0
        replacements.reset()
    }
}
