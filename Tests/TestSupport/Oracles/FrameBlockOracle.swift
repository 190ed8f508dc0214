// Frames are slices of the memory that a loop reads into, and connections share that memory. Here two connections read
// the same stream in turns into the same small blocks, as a loop does; no frame that either has given out may ever
// change.

import TandemBase
import TandemWire

/// Two decoders over shared blocks.
struct FrameBlockOracle {
    private struct Connection {
        var decoder: FrameDecoder
        var offset = 0
        var frames: [Frame] = []
        var fault: WireError?
    }

    private let stream: [UInt8]
    private var connections: [Connection]
    private var generator: SeededGenerator
    private let readSize: Int
    private var block: ByteBlock

    /// The violated invariant; nil if none is.
    static func fault(in stream: [UInt8], limit: Int, _ expected: FrameOracle.Outcome, seed: UInt64) -> String? {
        var oracle = FrameBlockOracle(stream, limit: limit, seed: seed)
        oracle.run()
        for connection in oracle.connections {
            let payloads = connection.frames.map { $0.payload.copied() }
            let rest = connection.fault == nil ? connection.decoder.bufferedCount : -1
            let found = FrameOracle.Outcome(payloads: payloads, fault: connection.fault, rest: rest)
            if found != expected { return "in shared blocks: \(found), not \(expected)" }
        }
        return nil
    }

    private init(_ stream: [UInt8], limit: Int, seed: UInt64) {
        self.stream = stream
        generator = SeededGenerator(seed: seed &+ 1)
        connections = Array(repeating: Connection(decoder: FrameDecoder(limit: limit)), count: 2)
        // Larger than what a decoder moves at once (8 KiB), or a block could be full of that alone.
        readSize = [12_288, 16_384, 20_000, 40_000][Int(seed & 3)]
        block = ByteBlock(capacity: readSize + readSize / 4)
    }

    private mutating func run() {
        let most = max(stream.count / 20, 40)
        while let index = connections.indices.filter({ isOpen($0) }).randomElement(using: &generator) {
            takeBlock()
            read(Int.random(in: 1...most, using: &generator), index)
        }
    }

    private func isOpen(_ index: Int) -> Bool {
        connections[index].fault == nil && connections[index].offset < stream.count
    }

    /// The block to read into: again from its beginning if nobody holds it, another one if it is full.
    private mutating func takeBlock() {
        if isKnownUniquelyReferenced(&block) {
            block.rewind()
        } else if block.filled > readSize - readSize / 4 {
            let old = block
            block = ByteBlock(capacity: readSize + readSize / 4)
            guard Bool.random(using: &generator) else { return }
            for index in connections.indices { connections[index].decoder.leave(old) }
        }
    }

    /// One read: first to where the decoder wants it, the rest to the block.
    private mutating func read(_ wanted: Int, _ index: Int) {
        let destination = connections[index].decoder.room(before: block)
        let room = max(0, min(readSize, block.capacity) - block.filled)
        let count = min(wanted, stream.count - connections[index].offset, (destination?.count ?? 0) + room)
        let placed = min(count, destination?.count ?? 0)
        let behind = block.take(count - placed)
        if let destination { accept(destination.prefix(placed), index) }
        accept(behind, index)
        if Int.random(in: 0...9, using: &generator) > 0 { connections[index].decoder.reserve() }
    }

    private mutating func accept(_ bytes: ByteSlice, _ index: Int) {
        guard !bytes.isEmpty, connections[index].fault == nil else { return }
        let start = connections[index].offset
        bytes.block.copy(ByteSlice(copying: Array(stream[start..<start + bytes.count])), to: bytes.start)
        connections[index].offset += bytes.count
        connections[index].decoder.append(bytes)
        do throws(WireError) {
            while let frame = try connections[index].decoder.next() { connections[index].frames.append(frame) }
        } catch { connections[index].fault = error }
    }
}
