// The calls about sockets. Addresses are values here; how people write them is Transport's business.

internal import CTandemLinux
internal import Glibc

/// Two descriptors that belong together; each can be taken out.
package struct DescriptorPair: ~Copyable {
    package let first: OwnedDescriptor
    package let second: OwnedDescriptor
}

extension Linux {
    /// Two connected Unix stream sockets.
    package static func socketPair() throws(SystemError) -> DescriptorPair {
        var pair: [CInt] = [-1, -1]
        try check(tandem_socket_pair(&pair), "socketpair")
        return DescriptorPair(
            first: OwnedDescriptor(takingOwnership: pair[0]), second: OwnedDescriptor(takingOwnership: pair[1]))
    }

    /// The reading and the writing end of a pipe; both non-blocking.
    package static func pipe() throws(SystemError) -> DescriptorPair {
        var pair: [CInt] = [-1, -1]
        try check(tandem_pipe(&pair), "pipe2")
        return DescriptorPair(
            first: OwnedDescriptor(takingOwnership: pair[0]), second: OwnedDescriptor(takingOwnership: pair[1]))
    }

    /// Tells the peer that nothing more will come.
    package static func shutdownWriting(_ descriptor: CInt) throws(SystemError) {
        try check(tandem_shutdown_writing(descriptor), "shutdown")
    }

    /// Sets the kernel's send and receive buffers; the kernel doubles and bounds the number.
    package static func setSocketBuffers(_ descriptor: CInt, bytes: Int) throws(SystemError) {
        try check(tandem_socket_buffers(descriptor, CInt(clamping: bytes)), "setsockopt")
    }
}
