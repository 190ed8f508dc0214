// Moving a file that a program was given: by its name where both places are on one file system, else by copying it
// whole before the old one goes. Nothing is overwritten and no symbolic link is followed in the last place.

internal import CTandemLinux
internal import Glibc
internal import TandemReactor

/// Moves files by path.
package enum FileMove {
    /// - Throws: ``FileError`` also where something stands already.
    package static func move(from path: String, to other: String) throws(FileError) {
        let (source, target) = (FilePlace(path: path), FilePlace(path: other))
        let result = tandem_file_move(source.directory, source.name, target.directory, target.name)
        guard result == -EXDEV else {
            try (result == -ENOENT ? source : target).check(result, "renameat2")
            return
        }
        try copy(source, target)
        try source.remove()
    }

    private static func copy(_ source: FilePlace, _ target: FilePlace) throws(FileError) {
        let parts = try FileParts(source)
        let file = try target.create(mode: 0o600)
        do throws(FileError) {
            var offset: Int64 = 0
            while offset < parts.size {
                let bytes = try parts.read(at: offset, count: 1 << 20)
                guard !bytes.isEmpty else { break }
                try write(bytes, to: file, at: offset, target)
                offset += Int64(bytes.count)
            }
            try target.check(tandem_file_synchronise(file.raw), "fsync")
        } catch {
            _ = try? target.remove()
            throw error
        }
    }

    private static func write(
        _ bytes: [UInt8], to file: borrowing OwnedDescriptor, at offset: Int64, _ target: FilePlace
    ) throws(FileError) {
        var done = 0
        while done < bytes.count {
            let written = bytes.withUnsafeBytes {
                tandem_file_write_at(file.raw, $0.baseAddress.map { $0 + done }, $0.count - done, offset + Int64(done))
            }
            try target.check(CInt(clamping: written), "pwrite")
            done += written
        }
    }
}
