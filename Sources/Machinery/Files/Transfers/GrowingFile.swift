// A file that is written from its beginning to its end, in parts and perhaps over several lives of the process, and
// hashed on the way. Data is written out every few megabytes, so that the last synchronisation is short and does not
// hold up the store's.

internal import CTandemLinux
internal import TandemCrypto
internal import TandemReactor

/// A file that grows at its end.
///
/// `@unchecked`: opened, used and dropped by jobs of one file worker, which run one after another on one thread.
package final class GrowingFile: @unchecked Sendable {
    private static var synchroniseEvery: Int64 { 8 << 20 }
    private static var readingSize: Int { 1 << 18 }

    private let place: FilePlace
    private let directory: OwnedDirectory
    private let descriptor: OwnedDescriptor
    private let digest = SHA256Stream()
    private var unsynchronised: Int64 = 0
    /// The bytes that are there.
    package private(set) var size: Int64 = 0

    init(named name: String, in directory: OwnedDirectory) throws(FileError) {
        self.directory = directory
        let place = try directory.safePlace(name)
        self.place = place
        let opened = OwnedDescriptor(
            takingOwnership: try place.check(tandem_file_open_partial(place.directory, name), "open"))
        guard try place.status(of: opened).is_regular != 0 else { throw .notARegularFile(path: place.path) }
        descriptor = opened
        try readThrough()
    }

    /// Hashes what is there.
    private func readThrough() throws(FileError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readingSize, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let count = tandem_file_read_at(descriptor.raw, buffer.baseAddress, buffer.count, size)
            try place.check(CInt(clamping: count), "pread")
            guard count > 0 else { return }
            digest.add(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            size += Int64(count)
        }
    }

    /// Writes the bytes at the end.
    package func append(_ bytes: ArraySlice<UInt8>) throws(FileError) {
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
        size = 0
        unsynchronised = 0
    }
}
