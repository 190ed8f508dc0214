// The parts of a path by bytes, as the kernel reads it: to Swift, a slash and a combining mark behind it are one
// Character.

extension String {
    /// The directory of the entry that a path names: the text before its last slash, `/` in the root, `.` without a
    /// slash.
    package var parentPath: String {
        guard let slash = utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == startIndex ? "/" : String(self[..<slash])
    }

    /// The name in `parentPath` of the entry that a path names: the text behind its last slash, the whole path
    /// without a slash. Empty behind a slash at the end, where a file can have no name.
    package var nameInParent: String {
        guard let slash = utf8.lastIndex(of: UInt8(ascii: "/")) else { return self }
        return String(Substring(utf8[slash...].dropFirst()))
    }

    /// The last part of a path, without the slashes at its end, for people; nil if there is none. With slashes at the
    /// end it is no name in `parentPath`.
    package var lastPathPart: String? { utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } }
}
