// A name in an open directory, and the calls on it: each result becomes a value or an error that names the path. The C
// doors never follow a symbolic link in the last place; when one refuses, this file finds out what stood there.

internal import CTandemLinux
internal import Glibc
internal import TandemReactor

/// A name in a directory that the holder keeps open.
struct FilePlace {
    /// The directory's descriptor.
    let directory: CInt
    let name: String
    /// How people know the place.
    let path: String
    /// Keeps the directory open, for a place that outlives the call that it was made for.
    private let holder: OwnedDirectory?

    /// A place named by a path of its own.
    init(path: String) {
        directory = TANDEM_WORKING_DIRECTORY
        name = path
        self.path = path
        holder = nil
    }

    init(directory: CInt, name: String, in parent: String, holder: OwnedDirectory? = nil) {
        self.holder = holder
        self.directory = directory
        self.name = name
        path = parent + "/" + name
    }

    /// The result of a C door, or an error that says what is wrong at this place.
    @discardableResult
    func check(_ result: CInt, _ call: StaticString) throws(FileError) -> CInt {
        guard result < 0 else { return result }
        switch -result {
        case ENOENT: throw .missing(path: path)
        case ENOSPC, EDQUOT: throw .full(path: path)
        case ELOOP, ENOTDIR: throw whatStandsHere() ?? .system(path: path, SystemError(call: call, errno: -result))
        case let number: throw .system(path: path, SystemError(call: call, errno: number))
        }
    }

    private func whatStandsHere() -> FileError? {
        var status = tandem_status()
        guard tandem_file_status_named(directory, name, &status) >= 0 else { return nil }
        if status.is_symbolic_link != 0 { return .symbolicLink(path: path) }
        return status.is_directory == 0 ? .notADirectory(path: path) : nil
    }

    func openDirectory() throws(FileError) -> OwnedDescriptor {
        OwnedDescriptor(takingOwnership: try check(tandem_directory_open(directory, name), "open"))
    }

    func openFile() throws(FileError) -> OwnedDescriptor {
        OwnedDescriptor(takingOwnership: try check(tandem_file_open(directory, name), "open"))
    }

    func create(mode: UInt32) throws(FileError) -> OwnedDescriptor {
        OwnedDescriptor(takingOwnership: try check(tandem_file_create(directory, name, mode), "open"))
    }

    /// Removes the file; false if there was none.
    @discardableResult
    func remove() throws(FileError) -> Bool {
        let result = tandem_file_remove(directory, name)
        if result == -ENOENT { return false }
        try check(result, "unlink")
        return true
    }

    /// Makes a directory; false if something stands there already.
    func makeDirectory(mode: UInt32) throws(FileError) -> Bool {
        let result = tandem_directory_make(directory, name, mode)
        if result == -EEXIST { return false }
        try check(result, "mkdir")
        return true
    }

    func status(of descriptor: borrowing OwnedDescriptor) throws(FileError) -> tandem_status {
        var status = tandem_status()
        try check(tandem_file_status(descriptor.raw, &status), "fstat")
        return status
    }
}
