// FRM-12 over all sizes and all cuts: the bytes that leave are the bytes that came, however the stream was cut.

import TandemBase
import TandemDaemonTestSupport
import TandemReactor
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@Suite struct ForwardedBytesTests {
    private let simulation = Simulation()

    /// A `messageData` of this size; nobody answers it.
    private func message(_ count: Int, _ generator: inout SeededGenerator) throws -> Frame {
        try Envelope(
            .messageData, app: ApplicationIdentifier("com.example.app"), pairing: simulation.pairing,
            id: .random(using: &generator), reply: .random(using: &generator) ? true : nil,
            body: generator.bytes(count)
        ).frame()
    }

    private func check(_ frames: [Frame], arrivedAt counterpart: Client) {
        let arrived = counterpart.frames.suffix(frames.count)
        #expect(arrived.count == frames.count)
        for (sent, came) in zip(frames, arrived) { #expect(sent == came, "a frame of \(sent.count) bytes changed") }
    }

    @Test("FRM-3 FRM-12: a message cut at each of its bytes is forwarded as it was sent")
    func everyCut() throws {
        var generator = SeededGenerator(seed: 12)
        let (caller, counterpart) = (try simulation.app(.primary), try simulation.app(.secondary))
        let count = try message(20, &generator).count
        var frames: [Frame] = []
        for cut in 1..<count {
            let frame = try message(20, &generator)
            for piece in [frame.bytes.prefix(cut), frame.bytes.dropFirst(cut)] {
                caller.stream.send(piece)
                simulation.scheduler.run()
            }
            frames.append(frame)
        }
        check(frames, arrivedAt: counterpart)
    }

    @Test("FRM-12: messages of all sizes in pieces of all sizes are forwarded as they were sent", arguments: 0..<4)
    func allSizes(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let (caller, counterpart) = (try simulation.app(.secondary), try simulation.app(.primary))
        var sizes = [0, 1, Limits.messageBody - 1, Limits.messageBody]
        for most in [600, Limits.messageBody] {
            for _ in 0..<6 { sizes.append(.random(in: 0...most, using: &generator)) }
        }
        let frames = try sizes.shuffled(using: &generator).map { try message($0, &generator) }
        var rest = ByteSlice(copying: frames.flatMap { $0.bytes.copied() })
        while !rest.isEmpty {
            let most = Bool.random(using: &generator) ? 40 : 20_000
            let count = min(rest.count, .random(in: 1...most, using: &generator))
            caller.stream.send(rest.prefix(count))
            rest = rest.dropFirst(count)
            // Sometimes two pieces leave in one turn.
            if Bool.random(using: &generator) { simulation.scheduler.run() }
        }
        simulation.scheduler.run()
        check(frames, arrivedAt: counterpart)
    }
}
