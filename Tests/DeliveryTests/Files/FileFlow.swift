// One file between the two machines, with a manual clock and a seeded wire that delays, loses, repeats and reorders
// frames, and is cut.

import TandemBase
import TandemDelivery
import TandemTestSupport
import TandemWire
import Testing

struct FileFlow {
    enum Frame { case fetch(Int64, isRestart: Bool), chunk(Int64, count: Int) }
    struct Faults { var loss = 0, repetition = 0, reordering = false }

    let size: Int64
    let key: FileKey
    var faults = Faults()
    var generator: SeededGenerator
    /// How far the receiver's file is written: what survives a crash.
    private(set) var file: Int64 = 0
    private(set) var sentBytes: Int64 = 0
    private(set) var isVerified = false
    private var sender = FileSender()
    private var receiver: FileReceiver?
    private var wire: [Frame] = []
    private var reads: [FileSender.Part] = []
    private var writes: [Int] = []
    private var now = MonotonicTime(nanoseconds: 1)

    init(size: Int64, seed: UInt64) throws {
        self.size = size
        generator = SeededGenerator(seed: seed)
        key = FileKey(try queueKey(), identifier(1))
    }

    /// The link is there, and the sender tells of the item.
    mutating func open() {
        guard !isVerified else { return }
        if receiver != nil { return take(receiver?.announcedAgain(at: now) ?? .nothing) }
        let begun = FileReceiver(size: size, written: file, at: now)
        receiver = begun
        take(begun.first)
    }

    mutating func cut() {
        wire = []
        reads = []
        sender = FileSender()
        receiver?.linkClosed()
    }

    /// The receiver's process ends; what was written stays.
    mutating func crash() {
        cut()
        writes = []
        receiver = nil
    }

    private mutating func take(_ step: FileReceiver.Step) {
        switch step {
        case .nothing, .write: break
        case .fetch(let offset, let isRestart): send(.fetch(offset, isRestart: isRestart))
        case .verify: isVerified = true
        }
    }

    private mutating func send(_ frame: Frame) {
        if case .chunk(_, let count) = frame { sentBytes += Int64(count) }
        if Int.random(in: 0..<100, using: &generator) < faults.loss { return }
        wire.append(frame)
        if Int.random(in: 0..<100, using: &generator) < faults.repetition { wire.append(frame) }
    }

    /// One thing happens; false if nothing can.
    mutating func step() -> Bool {
        let choices = [wire.isEmpty ? nil : 0, reads.isEmpty ? nil : 1, writes.isEmpty ? nil : 2].compactMap { $0 }
        guard let choice = choices.randomElement(using: &generator) else { return false }
        now = now + .milliseconds(1)
        switch choice {
        case 0:
            arrive(wire.remove(at: faults.reordering ? Int.random(in: 0..<min(3, wire.count), using: &generator) : 0))
        case 1: finishRead()
        default: finishWrite()
        }
        return true
    }

    private mutating func finishRead() {
        let part = reads.removeFirst()
        if sender.read(part) { send(.chunk(part.offset, count: part.count)) }
        pull()
    }

    private mutating func finishWrite() {
        let count = writes.removeFirst()
        file += Int64(count)
        take(receiver?.wrote(count, at: now) ?? .nothing)
    }

    private mutating func arrive(_ frame: Frame) {
        switch frame {
        case .fetch(let offset, let isRestart):
            let isTaken = sender.requested(key, size: size, from: offset, isRestart: isRestart)
            #expect(isTaken)
            pull()
        case .chunk(let offset, let count):
            let step = receiver?.chunk(at: offset, count: count, at: now) ?? .nothing
            if step == .write { writes.append(count) } else { take(step) }
        }
    }

    private mutating func pull() { while let part = sender.nextPart() { reads.append(part) } }

    /// Nothing moves any more: time passes until the receiver asks again.
    mutating func wait() {
        guard let deadline = receiver?.deadline else { return }
        now = max(now, deadline)
        take(receiver?.timeAdvanced(at: now) ?? .nothing)
    }
}
