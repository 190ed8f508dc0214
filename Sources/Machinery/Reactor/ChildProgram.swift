// Another program that this process has started, until it ends. There is no shell in between and nothing to inherit: no
// descriptor, no variable that is not named here, no blocked signal; and it has a session and a process group of its
// own.

internal import CTandemLinux
internal import Glibc

/// A program to start, and the user to start it as.
package struct ProgramCall: Sendable, Equatable {
    /// The program's absolute path, then its arguments; nothing is expanded in them.
    package let arguments: [String]
    /// `NAME=value` each; the program gets no other variable.
    package let environment: [String]
    /// The user to become, with its groups; nil to stay this process's. Only root can become another.
    package let user: ProgramUser?

    package init(arguments: [String], environment: [String], user: ProgramUser?) {
        self.arguments = arguments
        self.environment = environment
        self.user = user
    }
}

/// A user that programs can run as.
package struct ProgramUser: Sendable, Equatable {
    package let user: UInt32
    package let group: UInt32
    package let home: String

    /// The user with this number.
    package init(_ user: UInt32) throws(SystemError) {
        self.user = user
        (group, home) = try Linux.entry("getpwuid", passwd(), { getpwuid_r(user, $0, $1, $2, $3) }) { entry in
            (entry.pw_gid, String(cString: entry.pw_dir))
        }
    }
}

/// A running program; confined to its loop, which keeps it alive until it has ended.
package final class ChildProgram: ReadinessTarget {
    package let process: Int32
    private let descriptor: OwnedDescriptor
    private let loop: EventLoop
    private let onEnd: (Int32) -> Void
    private var registration: Registration?

    /// Starts the program.
    /// - Parameter onEnd: called with its exit code, or 128 and the number of the signal that ended it.
    /// - Throws: why the system does not start it, also if exec itself fails.
    @discardableResult
    package init(_ call: ProgramCall, loop: EventLoop, onEnd: @escaping (Int32) -> Void) throws(SystemError) {
        self.loop = loop
        self.onEnd = onEnd
        var process: CInt = 0
        let result = Self.start(call, &process)
        descriptor = try OwnedDescriptor(result, "exec")
        self.process = process
        do {
            registration = try loop.register(descriptor.raw, for: .readable, target: self)
        } catch {
            // Nothing would report its end.
            tandem_program_kill(descriptor.raw)
            throw error
        }
    }

    /// The reported exit status of a program that other code of this process has reaped, so that the system reports
    /// none.
    package static var unknownEnd: Int32 { 255 }

    package func isReady(_ readiness: Readiness) {
        var status: CInt = 0
        guard let registration else { return }
        let outcome = tandem_program_reap(descriptor.raw, &status)
        guard outcome != 0 else { return }
        if outcome < 0 { status = Self.unknownEnd }
        loop.deregister(registration)
        self.registration = nil
        onEnd(status)
    }

    private static func start(_ call: ProgramCall, _ process: inout CInt) -> CInt {
        // Copies that live for this call: nothing may be allocated between fork and exec.
        let arguments = call.arguments.map { strdup($0) }
        let environment = call.environment.map { strdup($0) }
        defer { for text in arguments + environment { free(text) } }
        // A missing one would end the list before its end, and start something else.
        guard !(arguments + environment).contains(where: { $0 == nil }) else { return -ENOMEM }
        return (arguments + [nil]).withUnsafeBufferPointer { arguments in
            (environment + [nil]).withUnsafeBufferPointer { environment in
                guard let arguments = arguments.baseAddress, let environment = environment.baseAddress else {
                    return -EINVAL
                }
                var program = tandem_program(
                    arguments: arguments, environment: environment, user: call.user?.user ?? 0,
                    group: call.user?.group ?? 0, changes_user: call.user == nil ? 0 : 1)
                return tandem_program_start(&program, &process)
            }
        }
    }
}
