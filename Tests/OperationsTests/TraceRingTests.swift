// The history of what a daemon saw (CTL-20, LIM-35): bounded, and searchable by identifier.

import TandemBase
import TandemOperations
import TandemTestSupport
import TandemWire
import Testing

struct TraceRingTests {
    private let app: ApplicationIdentifier
    private let pairing = UniqueIdentifier(high: 1, low: 1)
    private let item = UniqueIdentifier(high: 2, low: 2)

    init() throws { app = try ApplicationIdentifier("org.example.lamp") }

    private func event(
        _ step: TraceEvent.Step, _ id: UniqueIdentifier?, _ sequence: UInt64? = nil, outbound: Bool = true
    ) -> TraceEvent {
        TraceEvent(
            step, id: id, pairing: pairing, app: app, channel: .userInfo, sequence: sequence, isOutbound: outbound)
    }

    private func append(_ event: TraceEvent, to ring: inout TraceRing) {
        let number = ring.lastOrdinal + 1
        ring.append(
            event, at: MonotonicTime(nanoseconds: number), wall: WallTime(milliseconds: Int64(clamping: number)))
    }

    @Test func `LIM-35: the oldest events give way, and ordinals go on`() {
        var ring = TraceRing(capacity: 4)
        for number in 1...10 { append(event(.sent, item, UInt64(number)), to: &ring) }
        let all = ring.entries(after: 0, limit: 100)
        #expect(all.map(\.ordinal) == [7, 8, 9, 10])
        #expect(all.map(\.event.sequence) == [7, 8, 9, 10])
        #expect(ring.entries(after: 8, limit: 100).map(\.ordinal) == [9, 10])
        #expect(ring.entries(after: 0, limit: 2).map(\.ordinal) == [7, 8])
        #expect(ring.entries(after: 10, limit: 2).isEmpty && ring.entries(after: .max, limit: 2).isEmpty)
    }

    @Test func `steps that name only a sequence are found through the item's place`() {
        var ring = TraceRing()
        append(event(.accepted, item), to: &ring)
        append(event(.stored, nil, 9), to: &ring)
        append(event(.sent, item, 7), to: &ring)
        append(event(.stored, nil, 6), to: &ring)
        append(event(.stored, nil, 8), to: &ring)
        append(event(.stored, nil, 9), to: &ring)
        append(event(.ended, nil, 8), to: &ring)
        append(event(.ended, nil, 7), to: &ring)
        append(event(.ended, nil, 7, outbound: false), to: &ring)
        append(event(.acknowledged, nil, 7), to: &ring)
        #expect(ring.entries(of: item).map(\.ordinal) == [1, 3, 5, 8, 10])
    }

    @Test func `another item's steps are not shown`() {
        var ring = TraceRing()
        append(event(.sent, item, 1), to: &ring)
        append(event(.sent, UniqueIdentifier(high: 3, low: 3), 1, outbound: false), to: &ring)
        #expect(ring.entries(of: item).count == 1)
        #expect(ring.entries(of: UniqueIdentifier(high: 9, low: 9)).isEmpty)
    }

    @Test func `of an identifier that a peer has given to thousands of items the first positions are followed`() {
        var ring = TraceRing()
        for number in 1...2_000 as ClosedRange<UInt64> { append(event(.arrived, item, number), to: &ring) }
        for _ in 1...2_000 { append(event(.handled, nil, 5_000), to: &ring) }
        append(event(.ended, nil, 7), to: &ring)
        let begin = ThreadTime.now
        let found = ring.entries(of: item)
        #expect(ThreadTime.now - begin < .milliseconds(500), "\(ThreadTime.now - begin)")
        #expect(found.count == 2_001 && found.last?.event.step == .ended)
        #expect(ring.entries(of: item, limit: 256).map(\.ordinal) == found.suffix(256).map(\.ordinal), "LIM-35")
    }

    @Test func `a ring of no size holds one event`() {
        var ring = TraceRing(capacity: 0)
        for _ in 0..<3 { append(event(.sent, item), to: &ring) }
        #expect(ring.entries(of: item).map(\.ordinal) == [3])
    }
}
