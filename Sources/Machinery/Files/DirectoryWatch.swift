// Watch over the files of one directory, through inotify: editors replace a file by renaming another over it or write
// it in place, and both are seen when the file is whole, that is at the rename or when the writer closes it. A watch
// says only which names changed; reading them again is the caller's, with all checks.

internal import Glibc
package import TandemReactor

/// Reports changes in a directory on a loop, whose thread owns it.
package final class DirectoryWatch: ReadinessTarget {
    /// A change in the directory.
    package enum Event: Equatable, Sendable {
        /// The files of these names were written, replaced, removed, or changed in owner or mode. Names that start
        /// with a dot are drafts of other writers, and never reported.
        case changed(Set<String>)
        /// The directory itself is gone or another one, or changes were lost: look again. No event follows if the
        /// directory is gone.
        case lost
    }

    private let descriptor: OwnedDescriptor
    private let loop: EventLoop
    private let handler: (Event) -> Void
    private var registration: Registration?

    /// Watches until `cancel`, and the loop keeps the watch alive; changes before it are not reported.
    /// - Parameter path: of a directory that exists. A symbolic link is not followed.
    package init(path: String, loop: EventLoop, handler: @escaping (Event) -> Void) throws(FileError) {
        let entry = try DirectoryEntry(path: path)
        let flags = CInt(IN_NONBLOCK) | CInt(IN_CLOEXEC)
        descriptor = OwnedDescriptor(
            takingOwnership: try entry.check(SystemCall.once { inotify_init1(flags) }, "inotify_init1"))
        self.loop = loop
        self.handler = handler
        let raw = descriptor.raw
        let wanted =
            UInt32(IN_CLOSE_WRITE) | UInt32(IN_MOVED_TO) | UInt32(IN_MOVED_FROM) | UInt32(IN_DELETE)
            | UInt32(IN_ATTRIB) | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF) | UInt32(IN_ONLYDIR)
            | UInt32(IN_DONT_FOLLOW)
        let result = path.withCString { path in SystemCall.once { inotify_add_watch(raw, path, wanted) } }
        try entry.check(result, "inotify_add_watch")
        do throws(SystemError) {
            registration = try loop.register(raw, for: .readable, target: self)
        } catch {
            throw .system(path: path, error)
        }
    }

    /// Ends the watch.
    package func cancel() {
        if let registration { loop.deregister(registration) }
        registration = nil
    }

    package func isReady(_ readiness: Readiness) {
        var names: Set<String> = []
        var isLost = false
        withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
            while registration != nil, let count = read(into: buffer), count > 0 {
                Self.collect(UnsafeRawBufferPointer(rebasing: buffer[..<count]), &names, &isLost)
            }
        }
        if !names.isEmpty { handler(.changed(names)) }
        if isLost { handler(.lost) }
    }

    /// The bytes read; nil when there are none for now.
    private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard case .bytes(let count)? = try? Linux.read(descriptor.raw, into: buffer) else { return nil }
        return count
    }

    private static func collect(_ bytes: UnsafeRawBufferPointer, _ names: inout Set<String>, _ isLost: inout Bool) {
        let head = MemoryLayout<inotify_event>.size
        var rest = bytes[...]
        while rest.count >= head {
            let event = UnsafeRawBufferPointer(rebasing: rest).loadUnaligned(as: inotify_event.self)
            rest = rest.dropFirst(head)
            // The name is filled up with NULs.
            let name = rest.prefix(Int(event.len)).prefix { $0 != 0 }
            rest = rest.dropFirst(Int(event.len))
            let ends = UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF) | UInt32(IN_UNMOUNT) | UInt32(IN_Q_OVERFLOW)
            if event.mask & ends != 0 {
                isLost = true
            } else if let first = name.first, first != UInt8(ascii: ".") {
                names.insert(String(decoding: name, as: UTF8.self))
            }
        }
    }
}
