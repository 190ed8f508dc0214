// The files in the apps' own directories (CFG-36): copies of the slots' rows that the library reads without the daemon.
// Written on the loop's thread: a few milliseconds, once for each configuration that a verified signature lets through.

import TandemBase
import TandemFiles
import TandemPropertyList
import TandemSignedConfiguration

/// Writes the files of the apps' configuration slots.
struct ConfigurationSlotFiles {
    static let activeFile = "configuration.plist"
    static let stagedFile = "staged.plist"
    static let waivedFile = "waived.plist"

    /// Holds one directory for each app.
    let applications: OwnedDirectory

    /// The app's own directory, made if it is missing.
    func directory(of app: ApplicationIdentifier, owner: UInt32?) throws(FileError) -> OwnedDirectory {
        try applications.directory(named: app.description, mode: 0o750, owner: owner)
    }

    /// Writes the files that must exist before the commit that rests on them: a new active configuration.
    func writeBeforeCommit(_ change: ApplyChange, in directory: OwnedDirectory, owner: UInt32?) throws(FileError) {
        switch change {
        case .active(let active?): try write(active.dictionary, Self.activeFile, directory, owner)
        case .waived(let waived?): try write(waived.dictionary, Self.waivedFile, directory, owner)
        case .active, .waived, .mark, .staged, .clockFloor, .report: break
        }
    }

    /// Makes the changes that may only follow the commit: a staged configuration, and removals.
    func writeAfterCommit(_ change: ApplyChange, in directory: OwnedDirectory, owner: UInt32?) throws(FileError) {
        switch change {
        case .staged(let staged?): try write(staged.dictionary, Self.stagedFile, directory, owner)
        case .staged(nil): try directory.remove(Self.stagedFile)
        case .active(nil): try directory.remove(Self.activeFile)
        case .waived(nil): try directory.remove(Self.waivedFile)
        case .active, .waived, .mark, .clockFloor, .report: break
        }
    }

    /// Makes the files what the slot says, after a start or a switch; nil for an app without state.
    func reconcile(_ slot: ConfigurationSlot?, in directory: OwnedDirectory, owner: UInt32?) throws(FileError) {
        try reconcile(slot?.active?.dictionary, Self.activeFile, directory, owner)
        try reconcile(slot?.waived?.dictionary, Self.waivedFile, directory, owner)
        try reconcile(slot?.staged?.dictionary, Self.stagedFile, directory, owner)
    }

    private func reconcile(
        _ content: PropertyListDictionary?, _ name: String, _ directory: OwnedDirectory, _ owner: UInt32?
    ) throws(FileError) {
        guard let content else {
            try directory.remove(name)
            return
        }
        let isSame = try directory.read(name, limit: ConfigurationLimits.envelope * 2) == Self.bytes(content)
        if !isSame { try write(content, name, directory, owner) }
    }

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
