// Invariants of any stream of bytes that is cut into frames (FRM-1 to FRM-3): however it is split and wherever it is
// read to, the same frames and the same fault come out, and no memory is kept for bytes that were not received.

import TandemBase
import TandemWire

/// One stream, decoded in pieces of several patterns.
package enum FrameOracle {
    struct Outcome: Equatable {
        var payloads: [[UInt8]] = []
        var fault: WireError?
        /// Bytes of an unfinished frame; -1 after a fault.
        var rest = 0
    }

    /// The violated invariant; nil if none is. The first two bytes choose the limit, the form of the input and
    /// patterns.
    package static func fault(in input: [UInt8]) -> String? {
        guard input.count >= 2 else { return nil }
        let limit = [1, 2, 16, 255, 256, 4096, 65_536, Limits.frame][Int(input[0] & 7)]
        let stream = input[0] & 8 == 0 ? Array(input[2...]) : long(input[2...])
        let expected = plain(stream, limit: limit)
        var generator = SeededGenerator(seed: UInt64(input[1]))
        let patterns: [(String, () -> Int)] = [
            ("whole", { stream.count }), ("single", { stream.count > 5000 ? 61 : 1 }), ("three", { 3 }),
            ("small", { Int.random(in: 0...17, using: &generator) }),
            ("large", { Int.random(in: 1...5000, using: &generator) }),
        ]
        for (name, next) in patterns where name != "three" || stream.count < 5000 {
            let found = decoded(stream, limit: limit, next)
            if found != expected { return "in \(name) pieces: \(found), not \(expected)" }
        }
        return FrameBlockOracle.fault(in: stream, limit: limit, expected, seed: UInt64(input[1]))
    }

    /// Frames longer than a fuzzer makes: each two bytes are a length, of which the highest bit makes it a wrong one.
    private static func long(_ input: ArraySlice<UInt8>) -> [UInt8] {
        var stream: [UInt8] = []
        var rest = input
        while rest.count >= 2, stream.count < 100_000 {
            let (high, low) = (rest.removeFirst(), rest.removeFirst())
            let length = Int(high & 0x3F) << 8 | Int(low)
            stream += [high & 0x80, 0, UInt8(length >> 8), low]
            stream += (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ length) }
        }
        return stream + rest
    }

    /// The text of FRM-1 and FRM-2.
    private static func plain(_ stream: [UInt8], limit: Int) -> Outcome {
        var outcome = Outcome()
        var offset = 0
        while stream.count - offset >= 4 {
            let length = stream[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            guard length > 0, length <= limit else {
                (outcome.fault, outcome.rest) = (.frameLength(length, limit: limit), -1)
                return outcome
            }
            guard stream.count - offset - 4 >= Int(length) else { break }
            outcome.payloads.append(Array(stream[offset + 4..<offset + 4 + Int(length)]))
            offset += 4 + Int(length)
        }
        outcome.rest = stream.count - offset
        return outcome
    }

    private static func decoded(_ stream: [UInt8], limit: Int, _ next: () -> Int) -> Outcome {
        var decoder = FrameDecoder(limit: limit)
        var (frames, fault, offset): ([Frame], WireError?, Int) = ([], nil, 0)
        while offset < stream.count, fault == nil {
            let end = min(stream.count, offset + next())
            decoder.append(stream[offset..<end])
            offset = end
            do throws(WireError) {
                while let frame = try decoder.next() { frames.append(frame) }
            } catch { fault = error }
        }
        // Only now: what was given out must not have changed since.
        let payloads = frames.map { $0.payload.copied() }
        return Outcome(payloads: payloads, fault: fault, rest: fault == nil ? decoder.bufferedCount : -1)
    }
}
