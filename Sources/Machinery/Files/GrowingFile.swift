// A file that is written from its beginning to its end, in parts and perhaps over several lives of the process, and
// hashed on the way; what an earlier life wrote is read again first, in parts, because it may be large. Data is
// written out every few megabytes, so that the last synchronisation is short and does not hold up the store's.

internal import CTandemLinux
internal import TandemCrypto
internal import TandemReactor

/// A file that grows at its end.
///
/// `@unchecked`: opened and used by jobs of one file worker, one after another on that worker's thread; the loop holds it, and
/// reads it only while no job of it is under way.
package final class GrowingFile: @unchecked Sendable {
    private static var synchroniseEvery: Int64 { 8 << 20 }
    private static var readingSize: Int { 1 << 18 }
    /// Bytes that are read again in one go: some milliseconds.
    private static var readAtOnce: Int64 { 8 << 20 }

    private let place: FilePlace
    private let directory: OwnedDirectory
    private let descriptor: OwnedDescriptor
    private let digest = SHA256Stream()
    private var unsynchronised: Int64 = 0
    /// The bytes that were there when it was opened.
    package private(set) var found: Int64 = 0
    /// The bytes that are there and hashed; nothing may be written before these are all that were found.
    package private(set) var size: Int64 = 0

    init(named name: String, in directory: OwnedDirectory) throws(FileError) {
        self.directory = directory
        let place = try directory.safePlace(name)
        self.place = place
        let opened = OwnedDescriptor(
            takingOwnership: try place.check(tandem_file_open_partial(place.directory, name), "open"))
        let status = try place.status(of: opened)
        guard status.is_regular != 0 else { throw .notARegularFile(path: place.path) }
        found = Int64(clamping: status.size)
        descriptor = opened
    }

    /// Hashes a part of what was found.
    package func readOn() throws(FileError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readingSize, alignment: 16)
        defer { buffer.deallocate() }
        let end = min(found, size + Self.readAtOnce)
        while size < end {
            let count = tandem_file_read_at(
                descriptor.raw, buffer.baseAddress, min(buffer.count, Int(end - size)), size)
            try place.check(CInt(clamping: count), "pread")
            // It has become shorter since: then this is all that is there.
            guard count > 0 else { return found = size }
            digest.add(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            size += Int64(count)
        }
    }

    /// Writes the bytes at the end.
    package func append(_ bytes: ArraySlice<UInt8>) throws(FileError) {
        precondition(size >= found, "what is there is read before more is written")
        var bytes = bytes
        while !bytes.isEmpty {
            let written = bytes.withUnsafeBytes {
                tandem_file_write_at(descriptor.raw, $0.baseAddress, $0.count, size)
            }
            try place.check(CInt(clamping: written), "pwrite")
            bytes.withUnsafeBytes { digest.add(UnsafeRawBufferPointer(rebasing: $0[..<written])) }
            bytes = bytes.dropFirst(written)
            size += Int64(written)
            unsynchronised += Int64(written)
        }
        guard unsynchronised >= Self.synchroniseEvery else { return }
        try place.check(tandem_file_synchronise_data(descriptor.raw), "fdatasync")
        unsynchronised = 0
    }

    /// Makes the file and its name durable.
    /// - Returns: SHA-256 of all its bytes.
    package func finish() throws(FileError) -> [UInt8] {
        try place.check(tandem_file_synchronise(descriptor.raw), "fsync")
        try directory.synchronise()
        return digest.finish()
    }

    /// Makes it empty again.
    package func startOver() throws(FileError) {
        try place.check(tandem_file_cut(descriptor.raw, 0), "ftruncate")
        _ = digest.finish()
        (found, size) = (0, 0)
        unsynchronised = 0
    }
}

// Reading a large file in parts. It tells whether the file is still the one that was opened: what changes while it is
// read would arrive as a mixture that never existed.

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
