// The in-process pair behaves like a socket, and its faults are the same again for the same seed.

import Glibc
import TandemBase
import TandemReactor
import TandemTestSupport
import TandemTransport
import Testing

@Suite struct InProcessStreamTests {
    /// Two joined ends that have started, and what each has received.
    private struct Line {
        let scheduler = ManualScheduler()
        let near: InProcessStream
        let far: InProcessStream
        let sender = StreamRecorder()
        let reader = StreamRecorder()

        init(faults: FaultPlan = .none, marks: WaterMarks = .standard) {
            (near, far) = InProcessStream.pair(on: scheduler, faults: faults, marks: marks)
            near.delegate = sender
            far.delegate = reader
            near.start()
            far.start()
        }
    }

    private func run(_ plan: FaultPlan, pieces: Int = 200) -> (trace: [String], recorder: StreamRecorder) {
        let line = Line(faults: plan)
        let (scheduler, recorder) = (line.scheduler, line.reader)
        var trace: [String] = []
        recorder.onBytes = { _ in trace.append("\(scheduler.now.nanoseconds) \(recorder.bytes.suffix(2))") }
        for number in 0..<pieces { line.near.send([UInt8(number % 250), UInt8(number % 250)]) }
        scheduler.advance(by: .seconds(100_000))
        return (trace, recorder)
    }

    private func plan(seed: UInt64 = 1, _ change: (inout FaultPlan) -> Void) -> FaultPlan {
        var plan = FaultPlan(seed: seed)
        change(&plan)
        return plan
    }

    private var whole: [UInt8] { (0..<200).flatMap { [UInt8($0), UInt8($0)] } }

    @Test func withoutFaultsEverythingArrivesInOrder() {
        #expect(run(.none).recorder.bytes == whole)
    }

    @Test func theSameSeedMakesTheSameFaults() {
        let faults = { (plan: inout FaultPlan) in
            plan.delay = .milliseconds(1) ... .milliseconds(50)
            plan.drop = 50
            plan.duplicate = 50
            plan.reorder = 100
            plan.corrupt = 50
            plan.stall = 20
        }
        let first = run(plan(seed: 7, faults)).trace
        #expect(first.count > 100)
        #expect(run(plan(seed: 7, faults)).trace == first)
        #expect(run(plan(seed: 8, faults)).trace != first)
    }

    @Test func delaysKeepTheOrder() {
        let outcome = run(plan { $0.delay = .milliseconds(1) ... .seconds(1) })
        #expect(outcome.recorder.bytes == whole)
        #expect(Set(outcome.trace.map { $0.split(separator: " ")[0] }).count > 1)
    }

    @Test func droppedPiecesAreMissingAndDuplicatesAreThere() {
        #expect(run(plan { $0.drop = 1000 }).recorder.bytes.isEmpty)
        #expect(run(plan { $0.duplicate = 1000 }).recorder.bytes.count == 2 * whole.count)
        let some = run(plan { $0.drop = 300 }).recorder.bytes.count
        #expect((200..<400).contains(some))
    }

    @Test func reorderedPiecesAllArriveInAnotherOrder() {
        let bytes = run(
            plan {
                $0.delay = .zero ... .seconds(1)
                $0.reorder = 500
            }
        ).recorder.bytes
        #expect(bytes != whole)
        #expect(bytes.sorted() == whole)
    }

    @Test func aCorruptPieceDiffersInOneBit() {
        let bytes = run(plan { $0.corrupt = 1000 }, pieces: 1).recorder.bytes
        #expect(bytes.reduce(0) { $0 + $1.nonzeroBitCount } == 1)
    }

    @Test func aCutEndsBothSides() {
        let line = Line(faults: plan { $0.cut = 1000 })
        line.near.send(Bytes.text("a piece that will be cut"))
        line.scheduler.run()
        #expect(line.sender.closeReasons == [.failed(SystemError(call: "recv", errno: ECONNRESET))])
        #expect(line.reader.closeReasons == [.closedByPeer])
        #expect(Bytes.text("a piece that will be cut").starts(with: line.reader.bytes))
        #expect(line.reader.bytes.count < 24)
    }

    @Test func aStallHoldsBackAllThatFollows() {
        let line = Line(
            faults: plan {
                $0.stall = 1000
                $0.stallTime = .seconds(5)
            })
        line.near.send([1])
        line.scheduler.advance(by: .milliseconds(4999))
        #expect(line.reader.bytes.isEmpty)
        line.scheduler.advance(by: .milliseconds(1))
        #expect(line.reader.bytes == [1])
    }

    @Test func aPausedReaderFillsTheSendersQueue() {
        let line = Line(marks: WaterMarks(low: 1000, high: 10_000))
        line.far.pauseReading()
        for _ in 0..<100 { line.near.send([UInt8](repeating: 1, count: 4096)) }
        line.scheduler.run()
        #expect(line.reader.bytes.isEmpty)
        #expect(line.near.queuedBytes > 10_000)
        #expect(line.near.isCongested)
        line.far.resumeReading()
        line.scheduler.run()
        #expect(line.reader.bytes.count == 100 * 4096)
        #expect(line.near.queuedBytes == 0)
        #expect(line.sender.drains == 1)
    }

    @Test func closingAfterFlushDeliversEverythingFirst() {
        let line = Line(faults: plan { $0.delay = .seconds(1) ... .seconds(2) })
        line.near.send([1, 2, 3])
        line.near.closeAfterFlush(.closedHere)
        line.scheduler.advance(by: .seconds(10))
        #expect(line.reader.bytes == [1, 2, 3])
        #expect(line.reader.closeReasons == [.closedByPeer])
        #expect(line.sender.closeReasons == [.closedHere])
    }
}
