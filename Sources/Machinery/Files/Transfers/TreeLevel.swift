// One directory of a removal, held open while what is in it goes: at the top the names that were given, below it all, read
// as their turn comes. Some file systems skip names when others go meanwhile, and an app may add some: what is not empty at
// the end is read again, a few times, because an app that adds without end must not keep the thread.

internal import CTandemLinux
internal import Glibc
internal import TandemReactor

/// An open directory and what is left of its names; belongs to its removal.
final class TreeLevel {
    /// Where the names come from.
    enum Names {
        /// A slice, from which taking one copies nothing.
        case these(ArraySlice<EntryName>)
        case all(DirectoryNames)
    }

    /// Times that one directory is read.
    private static var passes: Int { 3 }

    /// Its own name in the level above; nil for one that stays.
    let name: EntryName?
    private let descriptor: OwnedDescriptor
    private let path: String
    private var names: Names
    private var hasRemoved = false
    private var pass = 1

    init(_ descriptor: consuming OwnedDescriptor, _ path: String, _ names: Names, name: EntryName? = nil) {
        self.descriptor = descriptor
        self.path = path
        self.names = names
        self.name = name
    }

    func place(of entry: EntryName) -> FilePlace {
        FilePlace(directory: descriptor.raw, name: entry.text, in: path)
    }

    /// The next name; nil when all was tried. One that does not read has no more.
    func next() throws(FileError) -> EntryName? {
        switch names {
        case .these(var rest):
            let name = rest.popFirst()
            names = .these(rest)
            return name
        case .all(let stream):
            do throws(FileError) { return try stream.next() } catch {
                names = .these([])
                throw error
            }
        }
    }

    /// Takes what came of removing a name.
    func removed(_ result: CInt, _ place: FilePlace, _ call: StaticString) throws(FileError) {
        if result == 0 { hasRemoved = true }
        if result != -ENOENT { try place.check(result, call) }
    }

    /// Reads its names once more, if the last time has removed some.
    func startsOver() -> Bool {
        guard case .all(let stream) = names, hasRemoved, pass < Self.passes else { return false }
        pass += 1
        hasRemoved = false
        stream.startOver()
        return true
    }
}
