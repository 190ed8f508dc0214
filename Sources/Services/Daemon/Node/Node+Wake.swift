// The wake-up hook's eyes (CTL-22): for which apps durable items wait here. Looked at when items come, when an app
// leaves and at the start; configuration does not count, because the daemon itself takes it.

import TandemBase
import TandemReactor

extension Node {
    /// Tells the starter, once at the end of the turn, what waits.
    func itemsMayWait() {
        guard starter != nil, !isLookingForItems else { return }
        isLookingForItems = true
        loop.atEndOfTurn { [self] in
            isLookingForItems = false
            starter?.workChanged(exchange.applicationsWithItems)
        }
    }
}
