// A host app that speaks frames without the public library. The library would hide some faults of a daemon: it drops a
// second reply, never sends an unknown word, and connects again after a refusal.

import TandemBase
import TandemPropertyList
import TandemTestSupport
import TandemTransport
import TandemWire

/// One connection to a daemon's local socket. It answers each `ping`, because a daemon may close an end that stays
/// silent (SES-17), a `configuration` as its rule says, and nothing else.
final class RawApp {
    private let stream: any ByteStream
    private let place: Place
    private let frames = Frames()

    init(_ stream: any ByteStream, at place: Place) {
        (self.stream, self.place) = (stream, place)
        stream.delegate = frames
        stream.start()
    }

    /// Makes the answer to a `configuration`; nil: none.
    var configurationRule: (Envelope) throws -> Envelope? {
        get { frames.configurationRule }
        set { frames.configurationRule = newValue }
    }

    var isClosed: Bool { frames.end != nil }

    /// The end of the connection, or the fault of a frame, for the report of a violation; nil while it is open, and if
    /// the case has closed it.
    var end: String? {
        if let fault = frames.fault { return "\(place)'s connection has had a fault: \(fault)" }
        guard let reason = frames.end, reason != .closedHere else { return nil }
        let refusal = frames.all.last { $0.kind == .refusal }.map { ", refused as '\($0.name ?? "")'" }
        return "\(place)'s connection has ended: \(reason)\(refusal ?? "")"
    }

    /// All that has come; a violation if something was no frame.
    var envelopes: [Envelope] {
        get throws {
            try demand(frames.fault == nil, "frames: \(frames.fault ?? "")")
            return frames.all
        }
    }

    func received(_ kind: FrameKind) throws -> [Envelope] { try envelopes.filter { $0.kind == kind } }

    func only(_ kind: FrameKind) throws -> Envelope {
        let found = try received(kind)
        let kinds = try envelopes.map(\.kind.rawValue)
        try demand(found.count == 1, "one \(kind.rawValue): \(kinds)")
        return found[0]
    }

    /// Whether a `state` or `registered` has said that the counterpart of the only pairing takes messages now.
    var isReachable: Bool {
        get throws { try entry["level"] == .string("immediate") }
    }

    /// How a pairing is, one entry for each, by the last `state` or `registered`.
    var entries: [PropertyListDictionary] {
        get throws { try (situation["pairings"]?.arrayValue ?? []).compactMap(\.dictionaryValue) }
    }

    /// The first of them; empty if there is none.
    var entry: PropertyListDictionary {
        get throws { try entries.first ?? [:] }
    }

    /// How often the level or the reason of the only pairing has changed (SES-7).
    var changes: Int64 {
        get throws { try entry["changes"]?.integerValue ?? 0 }
    }

    /// The active pairing, by the last `state` or `registered`; nil if there is none.
    var activePairing: UniqueIdentifier? {
        get throws { try situation["active"]?.dataValue.flatMap { UniqueIdentifier(bytes: $0) } }
    }

    /// The body of the last `state` or `registered`.
    private var situation: PropertyListDictionary {
        get throws {
            let told = try envelopes.last { $0.kind == .registered || $0.kind == .state }
            return try told?.dictionaryBody() ?? [:]
        }
    }

    func send(_ envelope: Envelope) throws { stream.send(try envelope.frame().bytes) }

    /// Sends a frame whose envelope need not be valid.
    func send(_ envelope: PropertyListDictionary) throws {
        stream.send(Bytes.frame(try PropertyListWriter.write(envelope)))
    }

    /// Sends bytes that need not be a frame.
    func send(bytes: [UInt8]) { stream.send(bytes) }

    func close() { stream.close(.closedHere) }

    /// Ends in order (SES-18).
    func leave() throws {
        try send(Envelope(.bye))
        stream.closeAfterFlush(.closedHere)
    }
}

extension RawApp {
    /// The frames of a stream, in order.
    private final class Frames: ByteStreamDelegate {
        private(set) var all: [Envelope] = []
        private(set) var fault: String?
        private(set) var end: CloseReason?
        var configurationRule: (Envelope) throws -> Envelope? = { _ in nil }
        private var decoder = FrameDecoder(limit: Limits.frame)

        func stream(_ stream: any ByteStream, didReceive bytes: ByteSlice) {
            // The block is the stream's.
            decoder.append(ByteSlice(copying: bytes.copied()))
            do {
                while let frame = try decoder.next() {
                    let envelope = try Envelope(reading: frame)
                    all.append(envelope)
                    if envelope.kind == .ping { stream.send(try PingFrame(envelope).answer.frame().bytes) }
                    if envelope.kind == .configuration, let answer = try configurationRule(envelope) {
                        stream.send(try answer.frame().bytes)
                    }
                }
            } catch { fault = "\(error)" }
        }

        func streamDidDrain(_ stream: any ByteStream) {}

        func stream(_ stream: any ByteStream, didCloseWith reason: CloseReason) { end = reason }
    }
}
