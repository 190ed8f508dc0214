// A process that is started by posix_spawn and reaped here. Foundation's own reads the list of open descriptors beyond its
// end and crashes once there are more than 1,300 of them, which the tests of many devices have.

import Foundation
import Synchronization
import Testing

/// A child of this process; ended with it if it is still there when nobody refers to it any more.
final class ChildProcess: Sendable {
    /// What a child is to have as its own: paths, not descriptors.
    struct Surroundings {
        var directory: String
        var environment: [String: String]
        var input: String
        var output: String
        var errors: String
    }

    let pid: pid_t
    /// How it ended; nil as long as it has not.
    private let reaped = Mutex<Int32?>(nil)

    init(_ path: String, _ arguments: [String], _ surroundings: Surroundings) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        let setDirectory = try Self.call("posix_spawn_file_actions_addchdir_np", as: SetDirectory.self)
        _ = setDirectory(&actions, surroundings.directory)
        posix_spawn_file_actions_addopen(&actions, 0, surroundings.input, O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, surroundings.output, O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, surroundings.errors, O_WRONLY, 0)
        // A child that held a file or a connection of some test would keep it open.
        let closeFrom = try Self.call("posix_spawn_file_actions_addclosefrom_np", as: CloseFrom.self)
        _ = closeFrom(&actions, 3)
        var attributes = try Self.freshSignals()
        defer { posix_spawnattr_destroy(&attributes) }
        let words = ([path] + arguments).map { strdup($0) } + [nil]
        let settings = surroundings.environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in words + settings { free(text) } }
        var pid = pid_t()
        let code = posix_spawn(&pid, path, &actions, &attributes, words, settings)
        guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EINVAL) }
        self.pid = pid
    }

    deinit {
        guard isRunning else { return }
        kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
    }

    private typealias Actions = UnsafeMutablePointer<posix_spawn_file_actions_t>
    private typealias SetDirectory = @convention(c) (Actions, UnsafePointer<CChar>) -> Int32
    private typealias CloseFrom = @convention(c) (Actions, Int32) -> Int32

    /// Two calls of the C library that Swift does not import.
    private static func call<Call>(_ name: String, as type: Call.Type) throws -> Call {
        unsafeBitCast(try #require(dlsym(nil, name)), to: type)
    }

    /// The threads of a test block signals that a program wants to get.
    private static func freshSignals() throws -> posix_spawnattr_t {
        var attributes = posix_spawnattr_t()
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_init(&attributes)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        return attributes
    }

    var isRunning: Bool { status == nil }

    /// The exit code, or the number of the signal that ended it; nil while it runs.
    var status: Int32? {
        reaped.withLock { reaped in
            var word: Int32 = 0
            if reaped == nil, waitpid(pid, &word, WNOHANG) == pid {
                reaped = word & 0x7F == 0 ? word >> 8 & 0xFF : word & 0x7F
            }
            return reaped
        }
    }
}
