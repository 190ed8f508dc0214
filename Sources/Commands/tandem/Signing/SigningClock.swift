// The time that `sign` and `keyset` write into what they sign, and the warning about a clock that was never set.

import TandemBase
import TandemReactor

/// The clock of the machine that signs.
enum SigningClock {
    /// The time for a new statement; warns if no right clock shows it. Devices judge the statement by their own clocks.
    static func read(_ console: Console) -> WallTime {
        let now = Linux.wallTime
        if let warning = warning(at: now) { console.warn(warning) }
        return now
    }

    /// nil for a clock that may be right.
    static func warning(at now: WallTime) -> String? {
        guard now < .earliestPlausible else { return nil }
        return "warning: the clock shows \(now) and is probably not set; what is signed carries this time, and with "
            + "--expires every device whose clock is right refuses it as expired"
    }
}
