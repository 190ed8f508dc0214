// Place of a file with preferences: its directory and its name, and the faults of the file system in the words of a
// store.

import TandemBase
package import TandemFiles

/// The directory and the name of a store's file. The directory is absolute: a store is opened at every use, and the
/// working directory may be another one by then.
package struct PreferencePlace: Sendable {
    package let directory: String
    package let name: String

    package init(_ path: String) {
        let path = AbsolutePath.of(path)
        directory = path.parentPath
        name = path.nameInParent
    }

    package var path: String { directory == "/" ? "/" + name : directory + "/" + name }

    /// The directory; nil if there is none.
    package func opened() throws(PreferenceStoreError) -> OwnedDirectory? {
        try trying { () throws(FileError) in try FileError.unlessMissing(try OwnedDirectory(existing: directory)) }
    }

    /// Throws a fault of the file system as one of the store.
    package func trying<Result>(_ body: () throws(FileError) -> Result) throws(PreferenceStoreError) -> Result {
        do throws(FileError) { return try body() } catch { throw PreferenceStoreError(error, store: path) }
    }
}
