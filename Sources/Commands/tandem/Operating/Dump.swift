// `dump`: a captured stream of frames, one line for each envelope. It shows a body's size and the beginning of its
// digest, never its content.

import Glibc
import TandemBase
import TandemControl
import TandemCrypto
import TandemOperations
import TandemWire

extension Subcommand {
    static let dump = Subcommand(
        path: ["dump"], summary: "show the frames of a captured stream, one line each, without what they carry",
        operands: [.optional("FILE|-")],
        notes: """
            The stream is one direction of a connection, as a capture of a socket gives it; device links are enciphered,
            so this is for local sockets. Of a body only its size and the first 8 digits of its SHA-256 are shown. The
            first frame that breaks the protocol ends the dump with exit code 1, its place and its name.
            """,
        examples: ["dump capture.bin", "dump - < capture.bin"]
    ) { arguments, console in
        let input = try DumpInput(arguments.operands.first ?? "-")
        var dump = FrameDump()
        while let bytes = try input.next() {
            try dump.add(bytes) { console.print($0) }
        }
        try dump.end()
    }
}

/// Turns bytes of a stream into lines.
struct FrameDump {
    private var decoder = FrameDecoder(limit: Limits.frame)
    /// Where the next frame begins.
    private var offset = 0
    /// Of frames that were shown.
    private var number = 0

    /// Shows a line for each frame that the bytes complete, up to the first fault.
    /// - Throws: the first fault, with its place and its name.
    mutating func add(_ bytes: [UInt8], _ show: (String) -> Void) throws(CommandFailure) {
        decoder.append(bytes)
        do throws(WireError) {
            while let frame = try decoder.next() {
                let envelope = try Envelope(reading: frame)
                show("\(offset) \(Self.line(envelope, bytes: frame.count))")
                number += 1
                offset += frame.count
            }
        } catch {
            let text = Printable.text("\(error)")
            throw .refused("byte \(offset), frame \(number + 1): \(error.refusalName.rawValue): \(text)")
        }
    }

    /// The stream is over.
    func end() throws(CommandFailure) {
        guard decoder.bufferedCount > 0 else { return }
        throw .refused("byte \(offset): the stream ends within a frame; \(decoder.bufferedCount) bytes of it are here")
    }

    /// The keys that a reader looks for first; all others follow in their order.
    private static let first: [EnvelopeKey] = [
        .app, .pairing, .id, .channel, .sequence, .reply, .deadline, .age, .remaining, .attempt, .code, .name, .command,
        .topic, .key, .after, .revision, .offset,
    ]
    private static let durations: Set<EnvelopeKey> = [.deadline, .age, .remaining]

    private static func line(_ envelope: Envelope, bytes: Int) -> String {
        var words = [envelope.kind.rawValue, "bytes=\(bytes)"]
        let add = { (key: EnvelopeKey, value: EnvelopeValue) in
            let text =
                switch value {
                case .boolean: "yes"
                case .integer(let number): durations.contains(key) ? "\(number)ms" : "\(number)"
                case .identifier(let identifier): "\(identifier)"
                case .application(let app): "\(app)"
                case .channel(let channel): channel.rawValue
                case .text(let text): text
                }
            words.append("\(key.rawValue)=\(Printable.text(text, limit: 128))")
        }
        let values = envelope.values.filter { $0.value != .boolean(false) }
        for key in first { if let value = values.first(where: { $0.key == key })?.value { add(key, value) } }
        for (key, value) in values where !first.contains(key) { add(key, value) }
        if let body = envelope.body { words.append("body=\(redacted(Array(body)))") }
        return words.joined(separator: " ")
    }

    private static func redacted(_ body: [UInt8]) -> String {
        "\(body.count)/\(Hexadecimal.encode(SHA256.digest(body).prefix(4)))"
    }
}

/// A file or standard input, in pieces.
private struct DumpInput {
    private let descriptor: Int32
    private let name: String

    init(_ name: String) throws(CommandFailure) {
        self.name = name == "-" ? "standard input" : name
        descriptor = name == "-" ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure }
    }

    /// The next bytes; nil at the end.
    func next() throws(CommandFailure) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &bytes, bytes.count)
            if count > 0 { return Array(bytes.prefix(count)) }
            if count == 0 { return nil }
            if errno != EINTR { throw failure }
        }
    }

    private var failure: CommandFailure { .refused("cannot read \(name): \(String(cString: strerror(errno)))") }
}
