// Handovers of an app to its daemon (SES-89): items that the daemon has neither accepted nor refused, withdrawals that
// are pending, and the callers that wait for both. A caller waits for what was begun before its call: an app that goes
// on submitting does not prolong the wait.

/// The open handovers of one session, and the waits for them, each with its caller's token.
package struct Handovers<Token> {
    private struct Wait {
        let caller: UInt64
        /// The newest handover at the call.
        let newest: UInt64
        /// The number of handovers up to ``newest`` that have not ended.
        var openCount: Int
        let token: Token
    }

    private var open: Set<UInt64> = []
    private var last: UInt64 = 0
    /// In the order of the calls.
    private var waits: [Wait] = []

    package init() {}

    /// A submission or a withdrawal begins.
    /// - Returns: its number, for ``ended(_:)``.
    package mutating func begin() -> UInt64 {
        last += 1
        open.insert(last)
        return last
    }

    /// The daemon has accepted the item, the submission has failed, or the withdrawal is no longer pending. A second
    /// call for the same number changes nothing.
    /// - Returns: the tokens of the waits that end with it, in the order of their calls.
    package mutating func ended(_ number: UInt64) -> [Token] {
        guard open.remove(number) != nil else { return [] }
        for index in waits.indices where waits[index].newest >= number { waits[index].openCount -= 1 }
        let over = waits.filter { $0.openCount == 0 }
        if !over.isEmpty { waits.removeAll { $0.openCount == 0 } }
        return over.map(\.token)
    }

    /// Begins a wait for all open handovers; false if there are none.
    /// - Parameter caller: a number by which the wait can be ended early.
    package mutating func wait(_ caller: UInt64, token: Token) -> Bool {
        guard !open.isEmpty else { return false }
        waits.append(Wait(caller: caller, newest: last, openCount: open.count, token: token))
        return true
    }

    /// Ends a wait early; nil if it is over already.
    package mutating func stopWaiting(_ caller: UInt64) -> Token? {
        guard let index = waits.firstIndex(where: { $0.caller == caller }) else { return nil }
        return waits.remove(at: index).token
    }

    package mutating func stopWaiting() -> [Token] {
        defer { waits = [] }
        return waits.map(\.token)
    }
}
