// A file descriptor with exactly one owner, closed once when the owner is done. Numbers are reused at once by the
// kernel, so a second close would close somebody else's file: the type has no copy.

internal import CTandemLinux

/// An open file descriptor; closed when its owner goes away.
package struct OwnedDescriptor: ~Copyable, Sendable {
    /// The number, lent for calls while the owner lives.
    package let raw: CInt

    /// Takes over a descriptor that nobody else will close.
    package init(takingOwnership raw: CInt) {
        precondition(raw >= 0, "a descriptor is never negative")
        self.raw = raw
    }

    /// Takes over the result of a door that opens something.
    init(_ result: CInt, _ call: StaticString) throws(SystemError) {
        self.raw = try Linux.check(result, call)
    }

    deinit { _ = tandem_close(raw) }

    /// Gives the number up without closing it.
    package consuming func release() -> CInt {
        let raw = raw
        discard self
        return raw
    }
}
