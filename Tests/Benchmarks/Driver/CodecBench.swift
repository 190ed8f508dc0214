// Codec benchmarks: reading and writing of property lists, and the check that a daemon makes of each envelope.

import TandemPropertyList
import TandemWire

/// Reading and writing of property lists.
struct CodecBench {
    private let payloads: [[UInt8]]
    private let values: [PropertyListValue]

    /// - Throws: ``PropertyListError`` for a payload that the strict reader refuses.
    init(_ file: PayloadFile) throws {
        payloads = file.payloads
        values = try file.payloads.map { try PropertyListReader.read($0) }
    }

    func report() throws {
        let rounds = Rounds(count: 200)
        try rounds.figure("validate", over: payloads) { Sink.keep(try PropertyListValidation($0).objectCount) }.report()
        try rounds.figure("lazy view", over: payloads) { Sink.keep(try PropertyListView($0)) }.report()
        try rounds.figure("eager read", over: payloads) { Sink.keep(try PropertyListReader.read($0)) }.report()
        try rounds.figure("write", over: values) { Sink.keep(try PropertyListWriter.write($0)) }.report()
    }
}

/// Checking, reading and writing of envelopes.
struct EnvelopeBench {
    private let frames: [Frame]
    private let envelopes: [Envelope]

    /// - Throws: ``WireError`` for a frame that is refused.
    init(_ file: PayloadFile) throws {
        frames = try file.payloads.map { try Frame(payload: $0) }
        envelopes = try frames.map { try Envelope(reading: $0) }
    }

    func report() throws {
        let rounds = Rounds(count: 200)
        try rounds.figure("envelope check", over: frames) { Sink.keep(try Self.routed($0)) }.report()
        try rounds.figure("envelope read", over: frames) { Sink.keep(try Envelope(reading: $0).kind) }.report()
        try rounds.figure("envelope write", over: envelopes) { Sink.keep(try $0.frame()) }.report()
    }

    /// A daemon reads the head in place and, only if the frame has another shape, the whole envelope.
    private static func routed(_ frame: Frame) throws -> FrameKind {
        if let head = EnvelopeHead(plain: frame) { return head.kind }
        return try Envelope(reading: frame).kind
    }
}
