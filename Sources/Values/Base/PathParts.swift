// The parts of a path by bytes, as the kernel reads it: to Swift, a slash and a combining mark behind it are one Character.

extension String {
    /// The directory of the entry that a path names: the text before its last slash, `/` in the root, `.` without a
    /// slash.
    package var parentPath: String {
        guard let slash = utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == startIndex ? "/" : String(self[..<slash])
    }

    /// The last part of a path, without the slashes at its end; nil if there is none.
    package var lastPathPart: String? { utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } }
}
