// Links that another process might put in a file's place.

import Glibc

func makeLink(_ path: String, to target: String) throws {
    guard symlink(target, path) == 0 else { throw LinkError.failed }
}

/// Puts a symbolic link in the place of a file or of a directory with what is in it.
func replaceWithLink(_ path: String, to target: String) throws {
    try rename(path, path + ".away")
    try makeLink(path, to: target)
}

func rename(_ path: String, _ other: String) throws {
    guard Glibc.rename(path, other) == 0 else { throw LinkError.failed }
}

enum LinkError: Error { case failed }
