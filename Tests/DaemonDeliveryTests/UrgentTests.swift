// Urgent items: a number for each day, one current of each kind, and what is over budget waits with the rest.

import TandemDaemon
import TandemDaemonTestSupport
import TandemDelivery
import TandemTestSupport
import TandemWire
import Testing

@Suite struct UrgentTests {
    private let pair: DeliveryPair
    private var sender: MemoryDevice { pair.sender }

    init() throws { pair = try DeliveryPair() }

    private var remaining: Int {
        sender.delivery.submissions.urgentBudget(of: sender.app, in: sender.pairing).remaining
    }

    @Test(
        "DEL-23, LIM-26: the 51st of a day is demoted to the end of the user info, over restarts, until the day is over"
    )
    func budget() throws {
        sender.submit(payloadItem(0), to: .userInfo)
        #expect(remaining == 50)
        for number in 1...50 {
            #expect(sender.submit(payloadItem(number, kind: "main"), to: .urgent) == .success(SubmitReceipt()))
            #expect(remaining == 50 - number)
            if number == 30 { try sender.restart() }
        }
        let demoted = payloadItem(51, kind: "main")
        #expect(sender.submit(demoted, to: .urgent) == .success(SubmitReceipt(.demoted)))
        #expect(
            sender.submit(demoted, to: .urgent) == .success(SubmitReceipt(.demoted, isDuplicate: true)),
            "the same item again")
        #expect(sender.outstanding(.userInfo).map(\.isCurrent) == [false, true])
        #expect(sender.outstanding(.urgent).allSatisfy { !$0.isCurrent })
        let reset = sender.delivery.submissions.urgentBudget(of: sender.app, in: sender.pairing).resets
        #expect(reset == .seconds(24 * 3600))
        sender.link()
        #expect(pair.receiver.received.count == 52, "demoted ones arrive too")
        #expect(pair.receiver.received.filter { $0.queue.channel == .userInfo }.map(\.number) == [0, 51])
        pair.advance(24 * 3600 - 1)
        #expect(remaining == 0)
        pair.advance(1)
        #expect(remaining == 50)
        #expect(sender.submit(payloadItem(52), to: .urgent) == .success(SubmitReceipt()))
    }

    @Test("DEL-23: a newer item of a kind untags the older, which still arrives; another kind has its own")
    func current() throws {
        let items = [payloadItem(1, kind: "a"), payloadItem(2, kind: "b"), payloadItem(3, kind: "a")]
        for item in items { sender.submit(item, to: .urgent) }
        try sender.restart()
        let waiting = sender.outstanding(.urgent)
        #expect(waiting.map(\.isCurrent) == [false, true, true] && waiting.map(\.kind) == ["a", "b", "a"])
        sender.link()
        #expect(pair.receiver.received.map(\.number) == [1, 2, 3])
    }

    @Test("DEL-23: an item that is submitted again does not untag a newer one that was demoted")
    func repeated() throws {
        for number in 1..<50 { sender.submit(payloadItem(number), to: .urgent) }
        let older = payloadItem(50, kind: "main")
        #expect(sender.submit(older, to: .urgent) == .success(SubmitReceipt()))
        #expect(sender.submit(payloadItem(51, kind: "main"), to: .urgent) == .success(SubmitReceipt(.demoted)))
        #expect(sender.submit(older, to: .urgent) == .success(SubmitReceipt(isDuplicate: true)))
        #expect(sender.outstanding(.userInfo).map(\.isCurrent) == [true])
        #expect(sender.outstanding(.urgent).allSatisfy { !$0.isCurrent })
    }

    @Test("DEL-23: a demoted item that is submitted again does not untag a newer one")
    func demotedRepeated() throws {
        for number in 1...50 { sender.submit(payloadItem(number), to: .urgent) }
        let older = payloadItem(51, kind: "main")
        #expect(sender.submit(older, to: .urgent) == .success(SubmitReceipt(.demoted)))
        pair.advance(24 * 3600)
        #expect(sender.submit(payloadItem(52, kind: "main"), to: .urgent) == .success(SubmitReceipt()))
        #expect(sender.submit(older, to: .urgent) == .success(SubmitReceipt(.demoted, isDuplicate: true)))
        #expect(sender.outstanding(.urgent).last?.isCurrent == true)
        #expect(sender.outstanding(.userInfo).map(\.isCurrent) == [false])
    }

    @Test("DEL-23: a demoted item is cancelled and heard by the channel that it was submitted to")
    func demotedIsFound() throws {
        for number in 0..<50 { sender.submit(payloadItem(number), to: .urgent) }
        let demoted = payloadItem(50)
        sender.submit(demoted, to: .urgent)
        var answer: Cancellation?
        sender.delivery.submissions.cancel(demoted.id, in: sender.key(.urgent)) { answer = $0 }
        pair.scheduler.run()
        #expect(answer == .cancelled && sender.endings[demoted.id] == [.withdrawn(.cancelled)])
        sender.link()
        #expect(pair.receiver.received.count == 50)
    }

    @Test("SES-84, DEL-23: an item that is taken back on its way to the user info is not unknown")
    func takenBackWhileDemoted() throws {
        for number in 0..<50 { sender.submit(payloadItem(number), to: .urgent) }
        let demoted = payloadItem(50)
        var answers: [Cancellation] = []
        sender.delivery.submissions.submit(demoted, to: sender.key(.urgent)) { _ in }
        sender.delivery.submissions.cancel(demoted.id, in: sender.key(.urgent)) { answers.append($0) }
        pair.scheduler.run()
        #expect(answers == [.cancelled] && sender.endings[demoted.id] == [.withdrawn(.cancelled)])
        sender.link()
        #expect(pair.receiver.received.count == 50)
    }

    @Test("DEL-22, DEL-23: a demoted item does not wait for one that ended while it was on its way to the user info")
    func demotedBehindAnEnd() {
        for number in 0..<50 { sender.submit(payloadItem(number), to: .urgent) }
        let ended = payloadItem(50)
        sender.submit(ended, to: .userInfo)
        sender.delivery.submissions.cancel(ended.id, in: sender.key(.userInfo)) { _ in }
        #expect(sender.submit(payloadItem(51, after: ended.id), to: .urgent) == .success(SubmitReceipt(.demoted)))
        sender.link()
        #expect(pair.receiver.received.map(\.number).contains(51))
    }
}
