// Passphrases of private keys: asked for at the terminal without echo, or read from a descriptor or a private file.
// Never from an argument or the environment, which other processes of the machine can see.

import Glibc
import TandemControl
import TandemCrypto

extension Option {
    static let passphraseDescriptor = Option.valued(
        "passphrase-fd", "N", "read passphrases from descriptor N, one line for each encrypted key or one for all")
    static let passphraseFile = Option.valued(
        "passphrase-file", "FILE", "read them from a file of mode 0600 (default: ask at the terminal)")
}

/// The passphrases for the keys that one command reads or makes.
final class Passphrases {
    /// The given lines; nil to ask.
    private let given: [SecretBytes]?
    private var used = 0

    init(_ arguments: Arguments) throws {
        let descriptor: Int32? = try arguments.integer("passphrase-fd", in: 0...1023)
        switch (descriptor, arguments.value("passphrase-file")) {
        case (nil, nil): given = nil
        case (let descriptor?, nil): given = try Self.lines(try Self.read(descriptor))
        case (nil, let path?):
            var bytes = try LocalFile(path: path).readPrivate()
            given = try Self.lines(SecretBytes(taking: &bytes))
        default: throw CommandFailure.usage("--passphrase-fd and --passphrase-file exclude each other")
        }
    }

    /// The passphrase of an encrypted key.
    func passphrase(of path: String) throws(CommandFailure) -> SecretBytes {
        guard let given else { return try SecretPrompt.ask("passphrase of \(path): ") }
        if given.count == 1 { return given[0] }
        guard used < given.count else {
            throw .refused("\(given.count) passphrases were given, and there are more encrypted keys")
        }
        used += 1
        return given[used - 1]
    }

    /// The passphrase for a new key; at the terminal it is asked for twice.
    func newPassphrase(for path: String) throws(CommandFailure) -> SecretBytes {
        let passphrase = try passphrase(of: path)
        guard passphrase.count > 0 else { throw .refused("an empty passphrase protects nothing") }
        if given == nil, try SecretPrompt.ask("the same again: ") != passphrase {
            throw .refused("the two passphrases differ")
        }
        return passphrase
    }

    /// Far above any passphrase.
    private static let longest = 65_536

    private static func read(_ descriptor: Int32) throws(CommandFailure) -> SecretBytes {
        // Never grows, so that no copy of it stays behind in freed memory.
        var bytes = [UInt8](repeating: 0, count: longest + 1)
        var used = 0
        defer { _ = SecretBytes(taking: &bytes) }
        while used <= longest {
            let count = bytes.withUnsafeMutableBytes {
                Glibc.read(descriptor, $0.baseAddress?.advanced(by: used), $0.count - used)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw .refused("--passphrase-fd \(descriptor): \(String(cString: strerror(errno)))")
            }
            if count == 0 { return SecretBytes(copying: bytes[..<used]) }
            used += count
        }
        throw .refused("--passphrase-fd \(descriptor): more than \(longest) bytes")
    }

    /// The lines, without the ends that Windows gives them.
    private static func lines(_ text: SecretBytes) throws(CommandFailure) -> [SecretBytes] {
        let lines = text.withBytes { bytes in
            bytes.split { $0 == UInt8(ascii: "\n") }
                .map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }
                .filter { !$0.isEmpty }.map { SecretBytes(copying: $0) }
        }
        guard !lines.isEmpty else { throw .refused("the passphrase that was given is empty") }
        return lines
    }
}

/// A question at the terminal whose answer is not shown.
private enum SecretPrompt {
    private static let longest = 1024

    static func ask(_ question: String) throws(CommandFailure) -> SecretBytes {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else {
            throw .refused("there is no terminal to ask for a passphrase at; use --passphrase-file or --passphrase-fd")
        }
        defer { close(terminal) }
        var usual = termios()
        guard tcgetattr(terminal, &usual) == 0 else { throw .refused("the terminal cannot hide a passphrase") }
        var silent = usual
        // Signals off, too: Ctrl-C arrives as a byte, and other signals wait for the answer, so that no end of the
        // program leaves the terminal silent.
        silent.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        withUnsafeMutableBytes(of: &silent.c_cc) { settings in
            settings[Int(VMIN)] = 1
            settings[Int(VTIME)] = 0
        }
        var (ends, before) = (sigset_t(), sigset_t())
        sigemptyset(&ends)
        for signal in [SIGTERM, SIGHUP, SIGINT, SIGQUIT] { sigaddset(&ends, signal) }
        pthread_sigmask(SIG_BLOCK, &ends, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        guard tcsetattr(terminal, TCSAFLUSH, &silent) == 0 else {
            throw .refused("the terminal cannot hide a passphrase")
        }
        defer { tcsetattr(terminal, TCSAFLUSH, &usual) }
        _ = LocalFile.write(Array(question.utf8), to: terminal)
        defer { _ = LocalFile.write([UInt8(ascii: "\n")], to: terminal) }
        guard let answer = line(from: terminal) else { throw .refused("no passphrase was entered") }
        return answer
    }

    /// One line without its end; nil if it was broken off.
    private static func line(from terminal: Int32) -> SecretBytes? {
        // Never grows, so that no copy of it stays behind in freed memory; cleansed whole, whichever way it ends.
        var bytes = [UInt8](repeating: 0, count: longest)
        var used = 0
        defer { _ = SecretBytes(taking: &bytes) }
        while used < longest {
            var byte: UInt8 = 0
            let count = Glibc.read(terminal, &byte, 1)
            if count < 0, errno == EINTR { continue }
            switch byte {
            case _ where count != 1: return nil
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return SecretBytes(copying: bytes[..<used])
            case 0x03, 0x04, 0x1C: return nil
            // One character less, which can be several bytes of UTF-8.
            case 0x08, 0x7F: used = bytes[..<used].lastIndex { $0 & 0xC0 != 0x80 } ?? 0
            default:
                bytes[used] = byte
                used += 1
            }
        }
        return nil
    }
}
