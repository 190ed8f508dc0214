// System calls from Swift: how one is made, and how its error is read. Calls that need C are in CTandemLinux, whose
// functions return what these do.

internal import CTandemLinux
internal import Glibc

/// A call into the kernel by the C library's function of the same name.
///
/// The result is the function's own or minus the error number. Nothing can overwrite `errno` before it is read here:
/// - The closure is the bare call over numbers and raw pointers. A `String`, array or object in it would be released
///   after the call, and a `deinit` may close a descriptor. Callers take such values apart before the closure.
/// - The function that reads `errno` is never inlined, so that no release of a caller's value can move in between. Its
///   closure never escapes and allocates nothing.
///
/// A call on a file or a path ends with any number: the server of a file system in user space or over the network picks
/// it, and some say `EBADF` of a file that they have forgotten. On a socket the kernel alone answers: there
/// `EBADF` and `EFAULT` are bugs of ours, and ``Linux`` ends the process.
package enum SystemCall {
    /// Makes the call once: for calls that are never interrupted, and for those that must not be repeated. After an
    /// interrupted `close` the number may belong to another thread, after `fsync` or `fdatasync` the kernel may have
    /// dropped the data, and an interrupted `connect` continues by itself.
    @inline(never)
    package static func once(_ call: () -> Int) -> Int {
        let result = call()
        return result >= 0 ? result : -Int(errno)
    }

    /// Repeats the call while signals interrupt it.
    package static func retried(_ call: () -> Int) -> Int {
        while true {
            let result = once(call)
            if result != -Int(EINTR) { return result }
        }
    }

    package static func once(_ call: () -> CInt) -> CInt { CInt(truncatingIfNeeded: once { Int(call()) }) }

    package static func retried(_ call: () -> CInt) -> CInt { CInt(truncatingIfNeeded: retried { Int(call()) }) }

    /// The result, or its error thrown.
    /// - Parameter call: the name of its manual page.
    @discardableResult
    package static func check(_ result: CInt, _ call: StaticString) throws(SystemError) -> CInt {
        guard result >= 0 else { throw SystemError(call: call, errno: -result) }
        return result
    }
}

/// A system call that failed: only what the kernel reported. An error of the caller's adds the file or address.
package struct SystemError: Error, Hashable, Sendable {
    /// The call's name as its manual page has it.
    package let call: String
    /// The positive error number.
    package let errno: CInt

    package init(call: StaticString, errno: CInt) {
        self.call = call.description
        self.errno = errno
    }

    /// The number's name, such as `EADDRINUSE`.
    package var name: String { String(cString: tandem_error_name(errno)) }

    /// Whether the process or the machine is out of descriptors or memory: a reason to pause, not to give up.
    package var isExhaustion: Bool { [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) }
}

extension SystemError: CustomStringConvertible {
    /// `bind: Address already in use (EADDRINUSE)`.
    package var description: String { "\(call): \(String(cString: tandem_error_text(errno))) (\(name))" }
}
