// The names in an open directory, read as they are asked for: what an app put in its directory may be a million files, and
// the memory for their names would be the daemon's. A name is bytes: one that is no text must be removable too.

internal import CTandemLinux
internal import Glibc

/// A name as the file system has it.
package struct EntryName: Sendable {
    /// With the NUL that ends it.
    let bytes: [CChar]

    /// For people; what is no UTF-8 in it is replaced.
    var text: String { String(decoding: bytes.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self) }
    var isHidden: Bool { bytes.first == CChar(bitPattern: UInt8(ascii: ".")) }

    init(_ text: String) { bytes = Array(text.utf8CString) }

    fileprivate init(_ name: UnsafePointer<CChar>) {
        bytes = Array(UnsafeBufferPointer(start: name, count: strlen(name) + 1))
    }
}

/// Names in no order, but `.` and `..`; belongs to whoever reads it.
final class DirectoryNames {
    private let stream: OpaquePointer
    private let place: FilePlace

    /// - Parameter directory: an open one; it may be closed before this is.
    init(in directory: CInt, at path: String) throws(FileError) {
        place = FilePlace(path: path)
        var opened: OpaquePointer?
        try place.check(tandem_names_open(directory, &opened), "open")
        guard let opened else { throw .missing(path: path) }
        stream = opened
    }

    deinit { tandem_names_close(stream) }

    /// The next name; nil at the end.
    func next() throws(FileError) -> EntryName? {
        var name: UnsafePointer<CChar>?
        let result = tandem_names_next(stream, &name)
        try place.check(result, "readdir")
        return result > 0 ? name.map { EntryName($0) } : nil
    }

    /// Begins once more, with what is there then.
    func startOver() { tandem_names_start_over(stream) }
}
