// The worker's thread: jobs in order, results on the loop, and an end that loses nothing.

import Synchronization
import TandemFiles
import TandemReactor
import TandemTestSupport
import Testing

@Suite struct FileWorkerTests {
    @Test func jobsRunInOrderAndTheirResultsComeBackOnTheLoop() throws {
        let loop = try EventLoop()
        let worker = FileWorker(for: loop)
        var results: [Int] = []
        for number in 0..<100 {
            worker.perform({ number * 2 }) { value in
                #expect(loop.isCurrent)
                results.append(value)
                if value == 198 { loop.stop() }
            }
        }
        loop.run()
        #expect(results == (0..<100).map { $0 * 2 })
        worker.close()
    }

    @Test func aFailureIsAResult() throws {
        let loop = try EventLoop()
        let worker = FileWorker(for: loop)
        var failure: FileError?
        worker.attempt({ () throws(FileError) -> Int in throw .full(path: "x") }) { result in
            if case .failure(let error) = result { failure = error }
            loop.stop()
        }
        loop.run()
        #expect(failure == .full(path: "x"))
        worker.close()
    }

    @Test func closingWaitsForWhatWasGiven() throws {
        let loop = try EventLoop()
        let worker = FileWorker(for: loop)
        let count = Mutex(0)
        for _ in 0..<50 { worker.perform({ count.withLock { $0 += 1 } }) {} }
        worker.close()
        worker.close()
        loop.stop()
        loop.run()
        #expect(count.withLock { $0 } == 50)
    }
}
