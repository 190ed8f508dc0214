// The in-process pair behaves like a socket, and its faults are the same again for the same seed.

import Glibc
import TandemBase
import TandemReactor
import TandemTestSupport
import TandemTransport
import Testing

@Suite struct InProcessStreamTests {
    private func run(_ plan: FaultPlan, pieces: Int = 200) -> (trace: [String], recorder: StreamRecorder) {
        let scheduler = ManualScheduler()
        let (near, far) = InProcessStream.pair(on: scheduler, faults: plan)
        let recorder = StreamRecorder()
        var trace: [String] = []
        recorder.onBytes = { _ in trace.append("\(scheduler.now.nanoseconds) \(recorder.bytes.suffix(2))") }
        far.delegate = recorder
        near.start()
        far.start()
        for number in 0..<pieces { near.send([UInt8(number % 250), UInt8(number % 250)]) }
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
        let scheduler = ManualScheduler()
        let (near, far) = InProcessStream.pair(on: scheduler, faults: plan { $0.cut = 1000 })
        let (first, second) = (StreamRecorder(), StreamRecorder())
        near.delegate = first
        far.delegate = second
        near.start()
        far.start()
        near.send(Bytes.text("a piece that will be cut"))
        scheduler.run()
        #expect(first.closeReasons == [.failed(SystemError(call: "recv", errno: ECONNRESET))])
        #expect(second.closeReasons == [.closedByPeer])
        #expect(Bytes.text("a piece that will be cut").starts(with: second.bytes))
        #expect(second.bytes.count < 24)
    }

    @Test func aStallHoldsBackAllThatFollows() {
        let scheduler = ManualScheduler()
        let (near, far) = InProcessStream.pair(
            on: scheduler,
            faults: plan {
                $0.stall = 1000
                $0.stallTime = .seconds(5)
            })
        let recorder = StreamRecorder()
        far.delegate = recorder
        near.start()
        far.start()
        near.send([1])
        scheduler.advance(by: .milliseconds(4999))
        #expect(recorder.bytes.isEmpty)
        scheduler.advance(by: .milliseconds(1))
        #expect(recorder.bytes == [1])
    }

    @Test func aPausedReaderFillsTheSendersQueue() {
        let scheduler = ManualScheduler()
        let marks = WaterMarks(low: 1000, high: 10_000)
        let (near, far) = InProcessStream.pair(on: scheduler, marks: marks)
        let (sender, reader) = (StreamRecorder(), StreamRecorder())
        near.delegate = sender
        far.delegate = reader
        near.start()
        far.start()
        far.pauseReading()
        for _ in 0..<100 { near.send([UInt8](repeating: 1, count: 4096)) }
        scheduler.run()
        #expect(reader.bytes.isEmpty)
        #expect(near.queuedBytes > 10_000)
        #expect(near.isCongested)
        far.resumeReading()
        scheduler.run()
        #expect(reader.bytes.count == 100 * 4096)
        #expect(near.queuedBytes == 0)
        #expect(sender.drains == 1)
    }

    @Test func closingAfterFlushDeliversEverythingFirst() {
        let scheduler = ManualScheduler()
        let (near, far) = InProcessStream.pair(on: scheduler, faults: plan { $0.delay = .seconds(1) ... .seconds(2) })
        let (sender, reader) = (StreamRecorder(), StreamRecorder())
        near.delegate = sender
        far.delegate = reader
        near.start()
        far.start()
        near.send([1, 2, 3])
        near.closeAfterFlush(.closedHere)
        scheduler.advance(by: .seconds(10))
        #expect(reader.bytes == [1, 2, 3])
        #expect(reader.closeReasons == [.closedByPeer])
        #expect(sender.closeReasons == [.closedHere])
    }
}
