// Reading a large file in parts. It tells whether the file is still the one that was opened: what changes while it is
// read would arrive as a mixture that never existed.

internal import CTandemLinux
internal import TandemReactor

/// An open file that is read in parts; any thread may use it.
package final class FileParts: Sendable {
    /// What is another after every change of the file.
    fileprivate struct Version: Sendable, Equatable {
        let device: UInt64
        let inode: UInt64
        let size: UInt64
        let modified: Int64
        let changed: Int64
    }

    private let place: FilePlace
    private let descriptor: OwnedDescriptor
    private let version: Version
    package let size: Int64

    /// The regular file at the path.
    package convenience init(path: String) throws(FileError) { try self.init(FilePlace(path: path)) }

    init(_ place: FilePlace) throws(FileError) {
        self.place = place
        descriptor = try place.openFile()
        var found = tandem_version()
        try place.check(tandem_file_version(descriptor.raw, &found), "fstat")
        guard found.is_regular != 0 else { throw .notARegularFile(path: place.path) }
        version = Version(found)
        size = Int64(clamping: found.size)
    }

    /// The bytes from an offset on; fewer than asked for only at the end of the file.
    package func read(at offset: Int64, count: Int) throws(FileError) -> [UInt8] {
        var failure: Int = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let start = buffer.baseAddress.map { UnsafeMutableRawPointer($0 + filled) }
                let read = tandem_file_read_at(descriptor.raw, start, count - filled, offset + Int64(filled))
                guard read > 0 else { return failure = read }
                filled += read
            }
        }
        try place.check(CInt(clamping: failure), "pread")
        return bytes
    }

    /// Whether nobody has written to the file since it was opened, and no other has taken its name.
    package func isUnchanged() throws(FileError) -> Bool {
        var found = tandem_version()
        try place.check(tandem_file_version(descriptor.raw, &found), "fstat")
        var named = tandem_status()
        guard tandem_file_status_named(place.directory, place.name, &named) >= 0 else { return false }
        return Version(found) == version && named.inode == version.inode && named.device == version.device
    }
}

extension FileParts.Version {
    fileprivate init(_ found: tandem_version) {
        self.init(
            device: found.device, inode: found.inode, size: found.size, modified: found.modified,
            changed: found.changed)
    }
}
