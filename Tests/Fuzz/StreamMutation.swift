// Mutations of a stream of frames: mostly one frame's payload is changed and its length made right again, because a
// wrong length alone ends the stream. Now and then a stream begins again as a well-formed one.

import TandemTestSupport

enum StreamMutation {
    private static let headerCount = 4

    static func mutate(_ start: UnsafeMutablePointer<UInt8>, _ count: Int, _ room: Int, _ seed: CUnsignedInt) -> Int {
        switch seed % 16 {
        case 0: return standardMutation(start, count, room)
        case 1...2: return write(SessionTarget.stream(seed: UInt64(seed)), to: start, room) ?? count
        default: break
        }
        var frames = frames(in: Array(UnsafeBufferPointer(start: start, count: count)))
        guard !frames.isEmpty else { return standardMutation(start, count, room) }
        let index = Int(seed / 16) % frames.count
        if seed % 16 == 3 {
            frames.append(frames[index])
        } else {
            frames[index] = changed(frames[index], seed / 16)
        }
        let bytes = frames.flatMap { payload in
            (0..<headerCount).reversed().map { UInt8(truncatingIfNeeded: payload.count >> (8 * $0)) } + payload
        }
        return write(bytes, to: start, room) ?? standardMutation(start, count, room)
    }

    private static func changed(_ payload: [UInt8], _ seed: CUnsignedInt) -> [UInt8] {
        var room = payload + [UInt8](repeating: 0, count: 64)
        let capacity = room.count
        let length = room.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.map { TableRepair.mutate($0, payload.count, capacity, seed) } ?? 0
        }
        return Array(room.prefix(length))
    }

    /// The payloads of the whole frames.
    private static func frames(in bytes: [UInt8]) -> [[UInt8]] {
        var (frames, rest): ([[UInt8]], ArraySlice<UInt8>) = ([], bytes[...])
        while rest.count > headerCount {
            let length = rest.prefix(headerCount).reduce(0) { $0 << 8 | Int($1) }
            guard length > 0, rest.count >= headerCount + length else { break }
            frames.append(Array(rest.dropFirst(headerCount).prefix(length)))
            rest = rest.dropFirst(headerCount + length)
        }
        return frames
    }

    private static func write(_ bytes: [UInt8], to start: UnsafeMutablePointer<UInt8>, _ room: Int) -> Int? {
        guard bytes.count <= room else { return nil }
        for (index, byte) in bytes.enumerated() { start[index] = byte }
        return bytes.count
    }
}

/// A new session for each input.
enum SessionTarget {
    static func fault(in input: [UInt8]) -> String? {
        let scheduler = ManualScheduler()
        let fault = fault(in: input, on: scheduler)
        // A session that is let go ends in a later turn, and leaves no memory.
        scheduler.advance(by: .seconds(60))
        return fault
    }

    private static func fault(in input: [UInt8], on scheduler: ManualScheduler) -> String? {
        do {
            let oracle = try SessionOracle(on: scheduler)
            try oracle.check(input)
            try oracle.finish()
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// A stream that a daemon might send.
    static func stream(seed: UInt64) -> [UInt8] {
        guard let facts = try? DaemonFrames.Facts() else { return [] }
        var frames = DaemonFrames(facts, seed: seed)
        return frames.stream()
    }
}
