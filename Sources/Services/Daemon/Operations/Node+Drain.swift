// The control command `drain` (CTL-14): before a device goes away for good or its store is moved, what was accepted
// leaves and nothing new comes in. Messages go on: they are answered or fail at once anyway.

import TandemPropertyList
import TandemReactor
import TandemWire

extension Node {
    /// Between two looks at the queues.
    private static var drainInterval: Duration { .milliseconds(100) }

    func drain(_ body: BodyFields, _ completion: @escaping Answering) throws(WireError) {
        let time = try body.milliseconds("wait", absent: .zero)
        isDraining = !(try body.boolean("end", absent: false))
        router.apps.setDraining(isDraining)
        guard isDraining else { return completion(.done(drainReport)) }
        waitUntilDrained(within: time, completion)
    }

    private func waitUntilDrained(within time: Duration, _ completion: @escaping Answering) {
        guard time > .zero, isDraining, exchange.queues.contains(where: { $0.count > 0 }) else {
            return completion(.done(drainReport))
        }
        let pause = min(Self.drainInterval, time)
        loop.schedule(after: pause) { [self] in waitUntilDrained(within: time - pause, completion) }
    }

    private var drainReport: PropertyListDictionary {
        let left = waitingQueues
        return ["drained": .boolean(left.isEmpty), "draining": .boolean(isDraining), "queues": .array(left)]
    }
}
