// A file that is written from its beginning to its end, in parts and perhaps over several lives of the process, and
// hashed on the way; what an earlier life wrote is read again first, in parts, because it may be large. Data is
// written out every few megabytes, so that the last synchronisation is short and does not delay the store's.

internal import Glibc
internal import TandemReactor

/// A hash of bytes that come in parts. The caller supplies it: `PairedSession` links this room, and no OpenSSL.
package protocol FileDigest: AnyObject {
    func add(_ bytes: UnsafeRawBufferPointer)
    /// The hash of all bytes added so far. Resets the digest.
    func finish() -> [UInt8]
}

/// A file that grows at its end.
///
/// `@unchecked`: needs no lock. Jobs of one file worker open and use it, one after another on the worker's thread. The
/// loop passes it from one job to the next, and reads `found` and `size` only while no job of it is under way.
package final class GrowingFile: @unchecked Sendable {
    private static var synchroniseEvery: Int64 { 8 << 20 }
    private static var readingSize: Int { 1 << 18 }
    /// Bytes that are read again in one go: some milliseconds.
    private static var readAtOnce: Int64 { 8 << 20 }

    private let entry: DirectoryEntry
    private let directory: OwnedDirectory
    private let descriptor: OwnedDescriptor
    private let digest: any FileDigest
    private var unsynchronised: Int64 = 0
    private var fault: FileError?
    /// The bytes that were there when it was opened.
    package private(set) var found: Int64 = 0
    /// The bytes that are there and hashed; nothing may be written before these are all that were found.
    package private(set) var size: Int64 = 0

    init(named name: String, in directory: OwnedDirectory, digest: any FileDigest) throws(FileError) {
        self.directory = directory
        self.digest = digest
        let entry = try directory.safeEntry(name)
        self.entry = entry
        let opened = try entry.open(O_RDWR | O_CREAT | O_NONBLOCK, mode: 0o600)
        let status = try entry.status(of: opened)
        guard status.isRegular else { throw .notARegularFile(path: entry.path) }
        found = Int64(clamping: status.size)
        descriptor = opened
    }

    /// Hashes a part of what was found.
    package func readOn() throws(FileError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readingSize, alignment: 16)
        defer { buffer.deallocate() }
        let end = min(found, size + Self.readAtOnce)
        while size < end {
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, Int(end - size))])
            let count = try entry.read(descriptor.raw, at: size, into: part)
            // It has become shorter since: then this is all that is there.
            guard count > 0 else { return found = size }
            digest.add(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            size += Int64(count)
        }
    }

    /// Writes the bytes at the end. After one that failed all fail: their places would be other ones.
    package func append(_ bytes: ArraySlice<UInt8>) throws(FileError) {
        if let fault { throw fault }
        precondition(size >= found, "what is there is read before more is written")
        do throws(FileError) {
            try write(bytes)
        } catch {
            fault = error
            throw error
        }
        guard unsynchronised >= Self.synchroniseEvery else { return }
        let raw = descriptor.raw
        do throws(FileError) {
            try entry.check(SystemCall.once { fdatasync(raw) }, "fdatasync")
            unsynchronised = 0
        } catch {
            // Bytes that the system could not write are lost: it says so once, and a later attempt succeeds.
            fault = error
            try? startOver()
            throw error
        }
    }

    private func write(_ bytes: ArraySlice<UInt8>) throws(FileError) {
        var bytes = bytes
        while !bytes.isEmpty {
            let written = try entry.write(bytes.span.bytes, to: descriptor.raw, at: size)
            bytes.withUnsafeBytes { digest.add(UnsafeRawBufferPointer(rebasing: $0[..<written])) }
            bytes = bytes.dropFirst(written)
            size += Int64(written)
            unsynchronised += Int64(written)
        }
    }

    /// Makes the file and its name durable. If that fails its bytes may be lost, also if a later attempt succeeds.
    /// - Returns: the hash of all its bytes.
    package func finish() throws(FileError) -> [UInt8] {
        if let fault { throw fault }
        try entry.synchronise(descriptor.raw)
        try directory.synchronise()
        return digest.finish()
    }

    /// Makes it empty again.
    package func startOver() throws(FileError) {
        let raw = descriptor.raw
        try entry.check(SystemCall.retried { ftruncate(raw, 0) }, "ftruncate")
        _ = digest.finish()
        (found, size) = (0, 0)
        unsynchronised = 0
    }
}
