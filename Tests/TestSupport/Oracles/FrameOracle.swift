// What must hold for any stream of bytes that is cut into frames (FRM-1 to FRM-3): however it is split, the same frames
// come out, the same fault is told, and nothing is kept that was not received.

import TandemBytes
import TandemWire

/// One stream, decoded in pieces of several patterns.
package enum FrameOracle {
    private struct Outcome: Equatable {
        var payloads: [[UInt8]] = []
        var fault: WireError?
        /// Bytes of an unfinished frame, or all from the wrong length on.
        var rest: Int
    }

    /// What does not hold; nil if all is well. The first two bytes choose the limit and a pattern of pieces.
    package static func fault(in input: [UInt8]) -> String? {
        guard input.count >= 2 else { return nil }
        let limit = [1, 2, 16, 255, 256, 4096, 65_536, Limits.frame][Int(input[0] & 7)]
        let stream = Array(input[2...])
        let expected = plain(stream, limit: limit)
        var generator = SeededGenerator(seed: UInt64(input[1]))
        let patterns: [(String, (Int) -> Int)] = [
            ("whole", { $0 }), ("bytes", { _ in 1 }), ("threes", { _ in 3 }),
            ("random", { _ in Int.random(in: 0...17, using: &generator) }),
            ("large", { _ in Int.random(in: 1...5000, using: &generator) }),
        ]
        for (name, next) in patterns {
            let found = decoded(stream, limit: limit, next)
            if found != expected { return "in \(name) pieces: \(found), not \(expected)" }
        }
        return nil
    }

    /// The text of FRM-1 and FRM-2.
    private static func plain(_ stream: [UInt8], limit: Int) -> Outcome {
        var outcome = Outcome(rest: 0)
        var place = 0
        while stream.count - place >= 4 {
            let length = stream[place..<place + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            guard length > 0, length <= limit else {
                outcome.fault = .frameLength(length, limit: limit)
                break
            }
            guard stream.count - place - 4 >= Int(length) else { break }
            outcome.payloads.append(Array(stream[place + 4..<place + 4 + Int(length)]))
            place += 4 + Int(length)
        }
        outcome.rest = outcome.fault == nil ? stream.count - place : -1
        return outcome
    }

    private static func decoded(_ stream: [UInt8], limit: Int, _ next: (Int) -> Int) -> Outcome {
        var outcome = Outcome(rest: 0)
        var decoder = FrameDecoder(limit: limit)
        var place = 0
        while place < stream.count, outcome.fault == nil {
            let end = min(stream.count, place + next(stream.count))
            decoder.append(stream[place..<end])
            place = end
            do throws(WireError) {
                while let frame = try decoder.next() { outcome.payloads.append(frame.payload.copied()) }
            } catch {
                outcome.fault = error
            }
        }
        outcome.rest = outcome.fault == nil ? decoder.bufferedCount : -1
        return outcome
    }
}
