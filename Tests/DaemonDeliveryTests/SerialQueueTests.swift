// The order of effects and frames: one after the other, whenever they are added and however long one takes.

import TandemDaemonTestSupport
import Testing

@testable import TandemDaemon

@Suite struct SerialQueueTests {
    /// A queue of numbers; it finishes each at once, but those that the test finishes itself.
    private final class Numbers {
        private(set) var begun: [Int] = []
        var unfinished: Set<Int> = []
        var whenBegun: [Int: (SerialQueue<Int>) -> Void] = [:]
        private var finish: () -> Void = {}
        private(set) lazy var queue: SerialQueue<Int> = SerialQueue { [unowned self] number, done in
            begun.append(number)
            whenBegun[number]?(queue)
            if unfinished.contains(number) { finish = done } else { done() }
        }

        func finishLast() { finish() }
    }

    private let numbers = Numbers()

    @Test("What is added while one runs comes after all before it") func whileRunning() {
        numbers.whenBegun[1] = { $0.append([4, 5]) }
        numbers.queue.append([1, 2, 3])
        #expect(numbers.begun == [1, 2, 3, 4, 5] && numbers.queue.count == 0)
    }

    @Test("What is added while one takes its time waits for it") func whileWaiting() {
        numbers.unfinished = [2]
        numbers.queue.append([1, 2, 3])
        numbers.queue.append([4])
        #expect(numbers.begun == [1, 2] && numbers.queue.count == 2)
        numbers.finishLast()
        #expect(numbers.begun == [1, 2, 3, 4] && numbers.queue.count == 0)
    }

    @Test("What has not begun can be dropped, also by the one that runs, and others follow") func dropping() {
        numbers.whenBegun[2] = { queue in
            queue.removeAll()
            queue.append([9])
        }
        numbers.queue.append([1, 2, 3])
        #expect(numbers.begun == [1, 2, 9])
        numbers.queue.append([10])
        #expect(numbers.begun == [1, 2, 9, 10])
    }

    @Test("Many that take their time, and more meanwhile, keep their order") func many() {
        numbers.unfinished = Set(0..<300)
        numbers.queue.append(Array(0..<100))
        for number in 0..<300 {
            #expect(numbers.begun == Array(0...number))
            if number % 100 == 80 { numbers.queue.append(Array(number + 20..<number + 120)) }
            if numbers.begun.count == 300 { break }
            numbers.finishLast()
        }
        #expect(numbers.begun == Array(0..<300))
    }
}
