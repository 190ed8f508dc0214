// Items that were taken back before they came.

import TandemBase
import TandemDelivery
import TandemWire
import Testing

struct EarlyWithdrawalsTests {
    @Test("SES-54, LIM-59: the last ones of each app stay, until it has no connection")
    func bounded() throws {
        var withdrawals = EarlyWithdrawals()
        let (pairing, app) = (UniqueIdentifier.random(), try ApplicationIdentifier("com.example.app"))
        let items = (0...EarlyWithdrawals.limit).map { _ in
            ItemKey(QueueKey(pairing: pairing, app: app, channel: .userInfo), .random())
        }
        for item in items { withdrawals.add(item) }
        withdrawals.add(items[1])
        #expect(!withdrawals.contains(items[0]) && items.dropFirst().allSatisfy { withdrawals.contains($0) })
        let other = try ApplicationIdentifier("com.example.other")
        withdrawals.forget(other)
        #expect(withdrawals.keepsAny(of: app) && !withdrawals.keepsAny(of: other))
        withdrawals.forget(app)
        #expect(!withdrawals.contains(items[1]))
    }
}
