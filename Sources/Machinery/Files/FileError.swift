// Errors of files and directories, worded for the operator who repairs them: which path, what is wrong, and what to do.
// A SystemError inside carries the kernel's own failure.

import TandemBase
package import TandemReactor

/// A file or directory that cannot be used as asked; every case names it.
package enum FileError: Error, Sendable, Equatable {
    case missing(path: String)
    case symbolicLink(path: String)
    case notADirectory(path: String)
    case notARegularFile(path: String)
    /// Its size is 0, and it has bytes.
    case sizeUnknown(path: String)
    /// It belongs to another user than the one that must own it.
    case otherOwner(path: String, owner: UInt32, expected: UInt32)
    /// A directory, or a file with commands in it, that others than its owner may write to.
    case writableByOthers(path: String, mode: UInt32)
    /// A private file that others than its owner may read or write.
    case loosePermissions(path: String, mode: UInt32)
    /// Likewise a directory.
    case looseDirectory(path: String, mode: UInt32)
    case tooLarge(path: String, limit: Int)
    /// Another process holds the directory's lock; its number if it left one.
    case inUse(path: String, process: Int32?)
    /// Another writer replaced the file between its reading and its replacement.
    case changedMeanwhile(path: String)
    /// A name that could leave its directory or hide in it.
    case unsafeName(String)
    /// A path that would be cut at its NUL.
    case nulInPath(String)
    case full(path: String)
    /// A file of the daemon's state cannot be moved there in one step.
    case otherFileSystem(path: String)
    /// As many damaged files are kept under further names of this one as may be.
    case tooManyAside(path: String, kept: Int)
    case system(path: String, SystemError)

    /// Whether it may pass by itself: the file may be there a moment later, or the system may give it then. Everything
    /// else is as somebody has made it.
    package var mayPass: Bool {
        switch self {
        case .missing, .inUse, .changedMeanwhile, .full, .system: true
        case .symbolicLink, .notADirectory, .notARegularFile, .sizeUnknown, .otherOwner, .writableByOthers,
            .loosePermissions, .looseDirectory, .tooLarge, .unsafeName, .nulInPath, .otherFileSystem, .tooManyAside:
            false
        }
    }

    /// Whether the process or the machine was out of descriptors or memory: a later attempt may succeed as it is.
    package var isExhaustion: Bool { if case .system(_, let error) = self { error.isExhaustion } else { false } }

    /// The value; nil if a file or directory on the way to it is missing.
    package static func unlessMissing<Value>(
        _ value: @autoclosure () throws(FileError) -> Value?
    ) throws(FileError) -> Value? {
        do throws(FileError) { return try value() } catch .missing { return nil } catch { throw error }
    }
}

extension FileError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .missing(let path): "\(path) does not exist"
        case .symbolicLink(let path): "\(path) is a symbolic link; name the real one"
        case .notADirectory(let path): "\(path) is not a directory"
        case .notARegularFile(let path): "\(path) is not a regular file"
        case .sizeUnknown(let path):
            "\(path) has more bytes than its size of 0, as files of /proc do; name a copy of it"
        case .otherOwner(let path, let owner, let expected):
            "\(path) belongs to user \(owner), not to user \(expected); "
                + "run: chown \(expected) \(ShellWord.quoted(path)), or run as that user or name another"
        case .writableByOthers(let path, let mode):
            "\(path) may be written by others (mode \(Self.octal(mode))); run: chmod go-w \(ShellWord.quoted(path))"
        case .loosePermissions(let path, let mode):
            "\(path) is private but open to others (mode \(Self.octal(mode))); run: chmod 600 \(ShellWord.quoted(path))"
        case .looseDirectory(let path, let mode):
            "\(path) is private but open to others (mode \(Self.octal(mode))); run: chmod 700 \(ShellWord.quoted(path))"
        case .tooLarge(let path, let limit): "\(path) is larger than the \(limit) bytes allowed"
        case .inUse(let path, let process):
            "\(path) is in use by \(process.map { "process \($0)" } ?? "another process"); stop it first, or name another "
                + "directory (--state of a daemon)"
        case .changedMeanwhile(let path): "\(path) was changed by another writer meanwhile; try again"
        case .unsafeName(let name): "'\(name.prefix(64))' is not a file name of A-Z a-z 0-9 . _ - without a leading dot"
        case .nulInPath(let path): "\(OutsideText.quoted(path)) contains a NUL, which no path may; name another"
        case .full(let path): "no space left for \(path); free some space and try again"
        case .otherFileSystem(let path):
            "\(path) is on another file system than the daemon's state; mount that one at the whole state directory"
        case .tooManyAside(let path, let kept):
            "\(path) is damaged, and \(kept) earlier ones are kept beside it already as \(path).damaged and so on; "
                + "remove those that nobody needs and try again"
        case .system(let path, let error) where error.call == "mkdir": "cannot make the directory \(path): \(error)"
        case .system(let path, let error): "\(path): \(error)"
        }
    }

    /// The text for a path that the daemon has chosen. It does not advise naming another path: the operator cannot.
    package var textOfFixedPath: String {
        switch self {
        case .symbolicLink(let path): "\(path) is a symbolic link; remove it"
        case .otherOwner(let path, let owner, let expected):
            "\(path) belongs to user \(owner), not to user \(expected); "
                + "run: chown -R \(expected) \(ShellWord.quoted(path))"
        default: description
        }
    }

    private static func octal(_ mode: UInt32) -> String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
