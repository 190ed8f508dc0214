// What both halves of the carrier work with: the device's facts, its loop, its queues and the daemon around it. Shared
// by reference, so that the halves need not know the carrier that composes them.

import TandemBase
import TandemDelivery
import TandemReactor
import TandemSignedConfiguration

/// The surroundings of one carrier; confined to its loop.
final class CarrierContext {
    let options: Carrier.Options
    let exchange: DurableDelivery
    let scheduler: any Scheduler
    let log: LogHandler
    weak var delegate: (any CarrierDelegate)?

    init(
        _ options: Carrier.Options, exchange: DurableDelivery, scheduler: any Scheduler, log: @escaping LogHandler
    ) {
        self.options = options
        self.exchange = exchange
        self.scheduler = scheduler
        self.log = log
    }

    var reading: Reading { Reading(monotonic: scheduler.now, wall: scheduler.wallNow) }
}
