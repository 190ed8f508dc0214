// Files that are sent: a source whose status is recorded while it waits, and the open file that is read in parts.

import Glibc
internal import TandemReactor

/// A file that is read later, with its status recorded now. It stays closed until then: thousands may wait, and each
/// open file takes a descriptor.
package struct FileSource: Sendable {
    private let entry: DirectoryEntry
    private let status: FileStatus
    package let size: Int64

    /// The regular file at the path.
    /// - Parameter followsLinks: a symbolic link there is no fault: the file is what it leads to.
    package init(path: String, followsLinks: Bool = false) throws(FileError) {
        let named = try DirectoryEntry(path: path)
        entry = followsLinks ? try named.resolved() : named
        let parts = try FileParts(entry)
        (status, size) = (parts.status, parts.size)
        guard size == 0 else { return }
        // A file of /proc has bytes all the same. Its copy would be empty, and nobody would notice.
        guard try parts.read(at: 0, count: 1).isEmpty else { throw .sizeUnknown(path: entry.path) }
    }

    /// Opens the file; nil if it is gone, or its status has changed.
    package func open() throws(FileError) -> FileParts? {
        let parts = try FileError.unlessMissing(try FileParts(entry))
        return parts?.status == status ? parts : nil
    }
}

/// An open file that is read in parts; any thread may use it. It reports whether the file is still the one that was
/// opened: a file that changes meanwhile would arrive as a mixture that never existed.
package final class FileParts: Sendable {
    private let entry: DirectoryEntry
    private let descriptor: OwnedDescriptor
    /// As the file was opened.
    fileprivate let status: FileStatus
    package let size: Int64

    init(_ entry: DirectoryEntry) throws(FileError) {
        self.entry = entry
        descriptor = try entry.openFile()
        status = try entry.status(of: descriptor)
        guard status.isRegular else { throw .notARegularFile(path: entry.path) }
        size = Int64(clamping: status.size)
    }

    /// The bytes from an offset on; fewer than asked for only at the end of the file.
    package func read(at offset: Int64, count: Int) throws(FileError) -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled throws(FileError) in
            while filled < count {
                let rest = UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: buffer[filled...]))
                let read = try entry.read(descriptor.raw, at: offset + Int64(filled), into: rest)
                guard read > 0 else { return }
                filled += read
            }
        }
    }

    /// Whether the file has not been written since it was opened, and no other has taken its name.
    package func isUnchanged() throws(FileError) -> Bool {
        // The change time covers owner and mode, too.
        guard try entry.status(of: descriptor) == status, let named = try? entry.status() else { return false }
        return named.isOfSameFile(as: status)
    }
}
