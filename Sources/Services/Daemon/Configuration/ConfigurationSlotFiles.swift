// The files in the apps' own directories (CFG-36): copies of the slots' rows that the library reads without the daemon.
// Written on the loop's thread: a few milliseconds, once for each configuration that a verified signature lets through.

import TandemBase
import TandemFiles
import TandemPropertyList
import TandemSignedConfiguration

/// Writes the files of the apps' configuration slots.
struct ConfigurationSlotFiles {
    /// Holds one directory for each app.
    let applications: OwnedDirectory

    /// The app's own directory, made if it is missing.
    func directory(of app: ApplicationIdentifier, owner: UInt32?) throws(FileError) -> OwnedDirectory {
        try applications.directory(named: app.description, mode: 0o750, owner: owner)
    }

    /// Changes a file, if the change asks for it.
    func make(
        _ change: ConfigurationFileChange?, in directory: OwnedDirectory, owner: UInt32?
    ) throws(FileError) {
        guard let change else { return }
        if let content = change.content {
            try write(content, change.file.rawValue, directory, owner)
        } else {
            try directory.remove(change.file.rawValue)
        }
    }

    /// Writes the chain of key sets that the library follows from its own anchor (CFG-93); removes it if there is none.
    func writeChain(_ chain: [[UInt8]], of key: AnchorKey, in directory: OwnedDirectory, owner: UInt32?)
        throws(FileError)
    {
        let name = KeySetChainFile.name
        guard !chain.isEmpty else {
            try directory.remove(name)
            return
        }
        let content = KeySetChainFile(subject: key, chain: chain).dictionary
        let isSame = try directory.read(name, limit: KeySetChainFile.limit) == Self.bytes(content)
        if !isSame { try write(content, name, directory, owner) }
    }

    /// Makes the files what the slot says, after a start or a switch; nil for an app without state.
    func reconcile(_ slot: ConfigurationSlot?, in directory: OwnedDirectory, owner: UInt32?) throws(FileError) {
        for file in ConfigurationFile.allCases {
            let content = slot?.content(of: file)
            let bytes = try directory.read(file.rawValue, limit: Self.limit)
            if bytes != content.map(Self.bytes) { try make((file, content), in: directory, owner: owner) }
        }
    }

    /// The library's account of its starts; empty if it has written none, or none that reads.
    func attempts(in directory: OwnedDirectory) -> LoadAttempts {
        guard let bytes = try? directory.read(ConfigurationFile.attempts, limit: Self.limit),
            let fields = try? PropertyListReader.readDictionary(bytes)
        else { return LoadAttempts() }
        return (try? LoadAttempts(fields)) ?? LoadAttempts()
    }

    /// The largest file: an envelope and the facts beside it.
    private static var limit: Int { 2 * ConfigurationLimits.envelope }

    private func write(
        _ content: PropertyListDictionary, _ name: String, _ directory: OwnedDirectory, _ owner: UInt32?
    ) throws(FileError) {
        try directory.replace(name, with: Self.bytes(content), FileAttributes(mode: 0o600, owner: owner))
    }

    private static func bytes(_ content: PropertyListDictionary) -> [UInt8] {
        do {
            return try PropertyListWriter.write(content)
        } catch {
            preconditionFailure("a configuration record can always be written: \(error)")
        }
    }
}
