// Faults below TLS: whole frames, as a device sends them, are lost, repeated or overtaken. A network never does this
// under TLS; an implementation with a bug does, and the rules of durable items hold against it all the same.

import TandemBase
import TandemTestSupport
import TandemTransport
import TandemWire

enum FrameFate: Sendable {
    case passes
    case lost
    /// It leaves this often.
    case repeated(Int)
    /// The next frame passes it.
    case overtaken

    /// Judges the frames of all devices, in the order in which they are sent.
    typealias Rule = (Envelope) -> FrameFate
}

/// A filter around a connection's TLS that does to its frames what the rule says.
final class FrameFaultFilter: StreamFilter {
    private let tls: any StreamFilter
    private let rule: () -> FrameFate.Rule?
    private var decoder = FrameDecoder(limit: Limits.frame)
    private var late: [ByteSlice] = []

    init(_ tls: any StreamFilter, rule: @escaping () -> FrameFate.Rule?) { (self.tls, self.rule) = (tls, rule) }

    var isEstablished: Bool { tls.isEstablished }
    func start() throws(StreamFilterError) { try tls.start() }
    func withInput(_ bytes: ByteSlice, _ body: () -> Void) { tls.withInput(bytes, body) }
    func read(_ place: (ByteBlock) -> ByteSlice?) throws(StreamFilterError) -> StreamFilterProgress {
        try tls.read(place)
    }
    func receiveEnd() throws(StreamFilterError) { try tls.receiveEnd() }
    func takeOutput(_ body: (ByteSlice) -> Void) { tls.takeOutput(body) }
    func finish() { tls.finish() }

    func write(_ frames: [ByteSlice]) throws(StreamFilterError) {
        guard let rule = rule() else { return try tls.write(takeLate() + frames) }
        var leaving: [ByteSlice] = []
        for bytes in frames { decoder.append(ByteSlice(copying: bytes.copied())) }
        do {
            while let frame = try decoder.next() {
                let fate = rule(try Envelope(reading: frame))
                let copy = ByteSlice(copying: frame.bytes.copied())
                if case .overtaken = fate { late.append(copy) } else { leaving += fate.copies(of: copy) + takeLate() }
            }
        } catch { throw StreamFilterError("a device wrote no frame: \(error)") }
        try tls.write(leaving)
    }

    private func takeLate() -> [ByteSlice] {
        defer { late = [] }
        return late
    }
}

extension FaultPlan {
    /// Of each kind of fault a little, and all bytes late.
    static func storm(seed: UInt64) -> FaultPlan {
        var faults = FaultPlan(seed: seed)
        faults.delay = .zero ... .milliseconds(40)
        (faults.corrupt, faults.cut, faults.stall) = (15, 15, 10)
        return faults
    }
}

extension FrameFate {
    fileprivate func copies(of frame: ByteSlice) -> [ByteSlice] {
        switch self {
        case .passes, .overtaken: [frame]
        case .lost: []
        case .repeated(let count): Array(repeating: frame, count: count)
        }
    }
}
