// The machine's kind of failure: a Linux call and the error number it gave. Whoever knows the file or the address adds
// it in an error of its own; this type only says what the kernel said.

internal import CTandemLinux
internal import Glibc

/// A Linux call that failed.
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
