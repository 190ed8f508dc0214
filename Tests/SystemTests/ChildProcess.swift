// A program that a system test runs: started without a shell, its output in files, waited for with a deadline, and
// ended when the test lets go of it. Real time passes here; that is what system tests are for.

import Glibc
import TandemTestSupport

final class ChildProcess {
    private let directory = TemporaryDirectory()
    private let identifier: pid_t
    private var status: Int32?

    /// Starts a program found by its path.
    init(_ program: String, _ arguments: [String], environment: [String] = []) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        for (descriptor, name) in [(Int32(1), "out"), (2, "err")] {
            posix_spawn_file_actions_addopen(
                &actions, descriptor, directory.path(name), O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        }
        var child: pid_t = 0
        let own = ["PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1"]
        let words = ([program] + arguments).map { strdup($0) } + [nil]
        let variables = (own + environment).map { strdup($0) } + [nil]
        defer { (words + variables).forEach { free($0) } }
        let result = posix_spawn(&child, program, &actions, nil, words, variables)
        precondition(result == 0, "cannot start \(program): errno \(result)")
        identifier = child
    }

    deinit {
        if status == nil {
            kill(identifier, SIGKILL)
            waitpid(identifier, nil, 0)
        }
    }

    /// What it has written to standard output so far.
    var output: String { contents("out") }

    /// What it has written to standard error so far.
    var errors: String { contents("err") }

    /// Asks it to stop.
    func terminate() { if status == nil { kill(identifier, SIGTERM) } }

    /// Its exit code, or minus its signal; nil if it still runs after that many seconds.
    func exitCode(within seconds: Int = 20) -> Int32? {
        _ = Self.holds(within: seconds) { self.reap() }
        guard let status else { return nil }
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
    }

    /// Whether a condition comes to hold within that many seconds.
    static func holds(within seconds: Int, _ condition: () -> Bool) -> Bool {
        for _ in 0..<seconds * 100 {
            if condition() { return true }
            usleep(10_000)
        }
        return condition()
    }

    private func reap() -> Bool {
        var result: Int32 = 0
        if status == nil, waitpid(identifier, &result, WNOHANG) == identifier { status = result }
        return status != nil
    }

    private func contents(_ name: String) -> String {
        guard let file = fopen(directory.path(name), "r") else { return "" }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Programs that the tests start.
enum Program {
    static let python = "/usr/bin/python3"

    /// The command that was built with these tests.
    static var tandem: String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        let count = readlink("/proc/self/exe", &buffer, Int(PATH_MAX))
        let path = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return path.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/tandem"
    }
}
