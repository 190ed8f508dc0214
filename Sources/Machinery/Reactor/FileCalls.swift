// The few calls on paths and other descriptors that sockets need. The protected store has its own in its room.

internal import CTandemLinux
internal import Glibc

extension Linux {
    /// What is at a path; a symbolic link is itself.
    package struct FileInformation: Hashable, Sendable {
        package let device: UInt64
        package let inode: UInt64
        package let owner: UInt32
        /// The permission bits.
        package let mode: UInt32
        package let isSocket: Bool
    }

    /// What is at the path; nil if nothing is.
    package static func lookAt(path: String) throws(SystemError) -> FileInformation? {
        var found = tandem_file()
        let result = tandem_file_look(path, &found)
        if result == -ENOENT { return nil }
        try check(result, "lstat")
        return FileInformation(
            device: found.device, inode: found.inode, owner: found.owner, mode: found.mode,
            isSocket: found.is_socket != 0)
    }

    package static func unlink(path: String) throws(SystemError) { try check(tandem_unlink(path), "unlink") }

    package static func setMode(path: String, _ mode: UInt32) throws(SystemError) {
        try check(tandem_set_mode(path, mode), "chmod")
    }

    package static func setGroup(path: String, _ group: UInt32) throws(SystemError) {
        try check(tandem_set_group(path, group), "lchown")
    }

    /// Opens a file only for its lock; made with mode 0600 if missing, never through a symbolic link.
    package static func openLock(path: String) throws(SystemError) -> OwnedDescriptor {
        try OwnedDescriptor(tandem_open_lock(path), "open")
    }

    /// Takes the lock of an open file until the descriptor closes; false if another has it.
    package static func tryLock(_ descriptor: CInt) throws(SystemError) -> Bool {
        let result = tandem_lock(descriptor)
        if result == -EWOULDBLOCK { return false }
        try check(result, "flock")
        return true
    }

    /// Gives the lock back, also if a forked child still holds a copy of the descriptor.
    package static func unlock(_ descriptor: CInt) { _ = tandem_unlock(descriptor) }

    /// A descriptor that is only there to be given up when no other is left.
    package static func openReserve() throws(SystemError) -> OwnedDescriptor {
        try OwnedDescriptor(tandem_open_null(), "open")
    }

    /// The reading (first) and the writing (second) end of a pipe; both non-blocking.
    package static func pipe() throws(SystemError) -> DescriptorPair {
        var pair: [CInt] = [-1, -1]
        try check(tandem_pipe(&pair), "pipe2")
        return DescriptorPair(
            first: OwnedDescriptor(takingOwnership: pair[0]), second: OwnedDescriptor(takingOwnership: pair[1]))
    }
}
