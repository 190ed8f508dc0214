// The codec's times on given payloads: what reading, writing and the envelope's check cost in this very executable. It
// compares with nothing; Scripts/lib/bench runs the codecs of others on the same files.

import TandemPropertyList
import TandemWire

extension Subcommand {
    static let benchCodec = Subcommand(
        path: ["bench", "codec"], summary: "measure the codec on given payloads",
        options: [
            .valued("payloads", "FILE", "binary property lists, each after its length (4 bytes, big-endian)"),
            .valued("frames", "FILE", "frames whose envelopes are checked"),
            .valued("rounds", "N", "passes over all payloads (default 200)"), .json,
        ],
        notes:
            "Times are CPU nanoseconds per operation: the median of the rounds, and the middle half's width over it.",
        examples: ["bench codec --payloads small.payloads --rounds 500"]
    ) { arguments, console in
        let rounds = Rounds(count: try arguments.integer("rounds", in: 1...1_000_000) ?? 200)
        guard arguments.has("payloads") || arguments.has("frames") else {
            throw CommandFailure.usage("--payloads FILE or --frames FILE is missing")
        }
        if let path = arguments.value("payloads") {
            try CodecBench(PayloadFile(path: path), rounds).figures { $0.print(on: console, as: arguments) }
        }
        if let path = arguments.value("frames") {
            try EnvelopeBench(PayloadFile(path: path), rounds).figures { $0.print(on: console, as: arguments) }
        }
    }
}

/// Reading and writing of property lists.
private struct CodecBench {
    let payloads: [[UInt8]]
    let values: [PropertyListValue]
    let rounds: Rounds

    /// - Throws: ``PropertyListError`` for a payload that the strict reader refuses.
    init(_ file: PayloadFile, _ rounds: Rounds) throws {
        payloads = file.payloads
        values = try file.payloads.map { try PropertyListReader.read($0) }
        self.rounds = rounds
    }

    func figures(_ report: (Figure) -> Void) throws {
        report(
            try rounds.figure("validate", over: payloads) { Sink.keep(try PropertyListValidation($0).objectCount) })
        report(try rounds.figure("lazy view", over: payloads) { Sink.keep(try PropertyListView($0)) })
        report(try rounds.figure("eager read", over: payloads) { Sink.keep(try PropertyListReader.read($0)) })
        report(try rounds.figure("write", over: values) { Sink.keep(try PropertyListWriter.write($0)) })
    }
}

/// Checking and writing of envelopes.
private struct EnvelopeBench {
    let frames: [Frame]
    let envelopes: [Envelope]
    let rounds: Rounds

    /// - Throws: ``WireError`` for a frame that is refused.
    init(_ file: PayloadFile, _ rounds: Rounds) throws {
        frames = try file.payloads.map { try Frame(payload: $0) }
        envelopes = try frames.map { try Envelope(reading: $0) }
        self.rounds = rounds
    }

    func figures(_ report: (Figure) -> Void) throws {
        report(try rounds.figure("envelope check", over: frames) { Sink.keep(try Self.routed($0)) })
        report(try rounds.figure("envelope read", over: frames) { Sink.keep(try Envelope(reading: $0).kind) })
        report(try rounds.figure("envelope write", over: envelopes) { Sink.keep(try $0.frame()) })
    }

    /// What a daemon does with a frame that it forwards: the head in place and, if the frame has another shape, all of
    /// it.
    private static func routed(_ frame: Frame) throws -> FrameKind {
        if let head = EnvelopeHead(plain: frame) { return head.kind }
        return try Envelope(reading: frame).kind
    }
}
