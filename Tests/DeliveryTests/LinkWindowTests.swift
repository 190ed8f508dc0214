// The window of a link: what may be under way, and what the peer's answers release.

import TandemBase
import TandemDelivery
import TandemWire
import Testing

struct LinkWindowTests {
    /// Which of these frames found room, one after the other.
    private func reserve(_ sizes: Int..., in window: inout LinkWindow) -> [Bool] {
        sizes.map { window.reserve($0, hasBody: true) }
    }

    /// The marker behind each of these frames, by its number.
    private func send(_ sizes: Int..., in window: inout LinkWindow) -> [UInt64?] {
        var number: UInt64 = 0
        return sizes.map { size in
            window.sent(
                size,
                marker: {
                    number += 1
                    return Self.marker(number)
                }(),
                at: MonotonicTime(nanoseconds: 0)
            )?.low
        }
    }

    private static func marker(_ number: UInt64) -> UniqueIdentifier { UniqueIdentifier(high: 7, low: number) }

    @Test func `DEL-27: no more is under way than the window, and the peer's answer makes room`() {
        var window = LinkWindow(least: 100, most: 100, distance: 40, kept: 0)
        #expect(reserve(40, 40, 40, 20, in: &window) == [true, true, false, true], "LIM-46")
        #expect(send(40, 20, 40, in: &window) == [1, nil, 2])
        window.answered(Self.marker(1), at: MonotonicTime(nanoseconds: 0))
        #expect(reserve(40, 1, in: &window) == [true, false])
    }

    @Test func `DEL-27: a frame that is larger than the window goes alone`() {
        var window = LinkWindow(least: 100, most: 100, distance: 40, kept: 0)
        #expect(reserve(1, 200, in: &window) == [true, false])
        window.giveBack(1)
        #expect(reserve(200, in: &window) == [true])
        #expect(send(200, in: &window) == [1])
        #expect(reserve(1, in: &window) == [false])
        window.answered(Self.marker(1), at: MonotonicTime(nanoseconds: 0))
        #expect(reserve(1, in: &window) == [true])
    }

    @Test func `DEL-27: an answer to what was never asked releases nothing, and a later one answers those before`() {
        var window = LinkWindow(least: 100, most: 100, distance: 40, kept: 0)
        #expect(reserve(50, 50, in: &window) == [true, true])
        #expect(send(50, 50, in: &window) == [1, 2])
        for marker in [0, 3, UInt64.max] {
            window.answered(Self.marker(marker), at: MonotonicTime(nanoseconds: 0))
            #expect(reserve(1, in: &window) == [false])
        }
        window.answered(Self.marker(2), at: MonotonicTime(nanoseconds: 0))
        window.answered(Self.marker(1), at: MonotonicTime(nanoseconds: 0))
        #expect(reserve(100, 1, in: &window) == [true, false])
    }

    @Test func `LIM-46: beyond the window there is room for frames without bodies`() {
        var window = LinkWindow(least: 100, most: 100, distance: 40, kept: 20)
        #expect(reserve(80, 20, 1, in: &window) == [true, true, false])
        let small = (0..<3).map { _ in window.reserve(10, hasBody: false) }
        #expect(small == [true, true, false])
    }

    // MARK: lines

    /// A line on which everything that finds room leaves at once and is answered in order.
    private struct Line: ~Copyable {
        var window = LinkWindow()
        var rate: UInt64
        private let delay: Duration
        private var now = MonotonicTime(nanoseconds: 1)
        private var isFreeAt = MonotonicTime(nanoseconds: 1)
        private var answers: [(id: UniqueIdentifier, time: MonotonicTime)] = []
        var mostUnderWay = 0

        /// - Parameters:
        ///   - rate: bytes in a second.
        ///   - delay: until an answer is here.
        init(rate: UInt64, delay: Duration) {
            self.rate = rate
            self.delay = delay
        }

        /// Sends so many frames, each as soon as it finds room.
        /// - Returns: the time until the last answer.
        mutating func send(_ count: Int, of size: Int) -> Duration {
            let begin = now
            var (sent, underWay) = (0, 0)
            while sent < count || !answers.isEmpty {
                while sent < count, window.reserve(size, hasBody: true) {
                    isFreeAt = max(isFreeAt, now) + .nanoseconds(Int64(UInt64(size) * 1_000_000_000 / rate))
                    sent += 1
                    underWay += size
                    mostUnderWay = max(mostUnderWay, underWay)
                    let id = UniqueIdentifier.random()
                    if window.sent(size, marker: id, at: now) != nil { answers.append((id, isFreeAt + delay)) }
                }
                guard let answer = answers.first else { break }
                answers.removeFirst()
                now = answer.time
                underWay -= size
                window.answered(answer.id, at: now)
            }
            return now.since(begin)
        }
    }

    @Test func `DEL-45: a long fast line is filled, with frames of the largest bodies too`() {
        for (count, size) in [(40, 250_512), (38, 262_656), (160, 66_048)] {
            var line = Line(rate: 5_000_000, delay: .milliseconds(400))
            // 2 s of it are the line's.
            #expect(line.send(count, of: size) < .milliseconds(4000))
            #expect(line.mostUnderWay > 1_500_000 && line.mostUnderWay <= 2 << 20, "LIM-76")
        }
    }

    @Test func `DEL-45: a slow line is full too, and no more than a second of it stands before a message`() {
        for (count, size) in [(40, 250_512), (38, 262_656), (160, 66_048)] {
            var line = Line(rate: 500_000, delay: .milliseconds(100))
            #expect(line.send(count, of: size) < .milliseconds(22_500))
            #expect(line.mostUnderWay <= 580_000, "its rate in the shortest answer of 0.6 s, and half a second's")
        }
    }

    @Test func `DEL-45: the window of a line that became slow is small again`() {
        var line = Line(rate: 20_000_000, delay: .milliseconds(100))
        _ = line.send(200, of: 66_048)
        #expect(line.mostUnderWay > 1_500_000)
        line.rate = 500_000
        _ = line.send(60, of: 66_048)
        line.mostUnderWay = 0
        _ = line.send(40, of: 66_048)
        #expect(line.mostUnderWay <= Limits.linkWindow)
    }

    @Test func `DEL-45: with little to send a line shows less than it can carry, and its window stays`() {
        var line = Line(rate: 5_000_000, delay: .milliseconds(400))
        _ = line.send(200, of: 66_048)
        for _ in 0..<5 { _ = line.send(1, of: 66_048) }
        line.mostUnderWay = 0
        _ = line.send(40, of: 66_048)
        #expect(line.mostUnderWay > 1_500_000)
    }
}
