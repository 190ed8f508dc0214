// Two connected descriptors, for tests that need both ends in one process.

internal import Glibc
package import TandemReactor

/// Two descriptors that belong together; non-blocking and closed on exec.
package struct DescriptorPair: ~Copyable {
    package let first: OwnedDescriptor
    package let second: OwnedDescriptor

    private init(_ make: (UnsafeMutablePointer<CInt>?) -> CInt) throws(SystemError) {
        var numbers: [CInt] = [-1, -1]
        let result = numbers.withUnsafeMutableBufferPointer { numbers in
            SystemCall.once { make(numbers.baseAddress) }
        }
        try SystemCall.check(result, "pair")
        first = OwnedDescriptor(takingOwnership: numbers[0])
        second = OwnedDescriptor(takingOwnership: numbers[1])
    }

    /// The reading (first) and the writing (second) end of a pipe.
    package static func pipe() throws(SystemError) -> DescriptorPair {
        let pair = try DescriptorPair { Glibc.pipe($0) }
        for raw in [pair.first.raw, pair.second.raw] {
            _ = fcntl(raw, F_SETFD, FD_CLOEXEC)
            _ = fcntl(raw, F_SETFL, O_NONBLOCK)
        }
        return pair
    }

    /// Two connected Unix stream sockets.
    package static func socketPair() throws(SystemError) -> DescriptorPair {
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        return try DescriptorPair { socketpair(AF_UNIX, type, 0, $0) }
    }

    /// Gives each to an owner of its own.
    package consuming func split<Result, Failure: Error>(
        _ body: (consuming OwnedDescriptor, consuming OwnedDescriptor) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(first, second)
    }
}
