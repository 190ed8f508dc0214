// Payloads for measuring, in the framing of the wire (FRM-1), so that a file of frames is one too.

import TandemFiles

/// The payloads of a file.
struct PayloadFile {
    /// More than a hundred of the largest frames.
    private static let largest = 64 << 20

    let payloads: [[UInt8]]

    /// - Throws: ``FileError``, or a refusal for a file that is empty or ends within a payload.
    init(path: String) throws {
        var rest = try FileReading.read(path: path, limit: Self.largest)[...]
        var payloads: [[UInt8]] = []
        while !rest.isEmpty {
            let size = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            guard rest.count >= 4, size <= rest.count - 4 else {
                throw CommandFailure.refused("\(path) ends within a payload; each comes after 4 bytes of its length")
            }
            payloads.append(Array(rest.dropFirst(4).prefix(size)))
            rest = rest.dropFirst(4 + size)
        }
        guard !payloads.isEmpty else { throw CommandFailure.refused("\(path) holds no payloads") }
        self.payloads = payloads
    }
}
