// The window of a link: what may be under way, and what the peer's answers release.

import TandemBase
import TandemDelivery
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
                }()
            )?.low
        }
    }

    private static func marker(_ number: UInt64) -> UniqueIdentifier { UniqueIdentifier(high: 7, low: number) }

    @Test func `DEL-27: no more is under way than the window, and the peer's answer makes room`() {
        var window = LinkWindow(capacity: 100, distance: 40, kept: 0)
        #expect(reserve(40, 40, 40, 20, in: &window) == [true, true, false, true], "LIM-46")
        #expect(send(40, 20, 40, in: &window) == [1, nil, 2])
        window.answered(Self.marker(1))
        #expect(reserve(40, 1, in: &window) == [true, false])
    }

    @Test func `DEL-27: a frame that is larger than the window goes alone`() {
        var window = LinkWindow(capacity: 100, distance: 40, kept: 0)
        #expect(reserve(1, 200, in: &window) == [true, false])
        window.giveBack(1)
        #expect(reserve(200, in: &window) == [true])
        #expect(send(200, in: &window) == [1])
        #expect(reserve(1, in: &window) == [false])
        window.answered(Self.marker(1))
        #expect(reserve(1, in: &window) == [true])
    }

    @Test func `DEL-27: an answer to what was never asked releases nothing, and a later one answers those before`() {
        var window = LinkWindow(capacity: 100, distance: 40, kept: 0)
        #expect(reserve(50, 50, in: &window) == [true, true])
        #expect(send(50, 50, in: &window) == [1, 2])
        for marker in [0, 3, UInt64.max] {
            window.answered(Self.marker(marker))
            #expect(reserve(1, in: &window) == [false])
        }
        window.answered(Self.marker(2))
        window.answered(Self.marker(1))
        #expect(reserve(100, 1, in: &window) == [true, false])
    }

    @Test func `LIM-46: a part of the window is for frames without bodies`() {
        var window = LinkWindow(capacity: 100, distance: 40, kept: 20)
        #expect(reserve(80, 1, in: &window) == [true, false])
        let small = (0..<3).map { _ in window.reserve(10, hasBody: false) }
        #expect(small == [true, true, false])
    }
}
