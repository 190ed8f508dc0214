// Reading the files that the daemon keeps in the app's directory. They are claims: what they hold is verified like
// anything else. A damaged file is reported by its name and ignored.

import TandemBase
import TandemFiles
import TandemPropertyList
import TandemSignedConfiguration

struct ConfigurationFiles {
    /// The largest file: an envelope and the facts beside it.
    static let limit = 2 * ConfigurationLimits.envelope

    private(set) var staged: StagedConfiguration?
    private(set) var waived: ActiveConfiguration?
    private(set) var active: ActiveConfiguration?
    private(set) var failures: [ConfigurationFileFailure] = []

    init(_ home: SignedHome) {
        guard let path = home.directory else { return }
        do {
            let directory = try OwnedDirectory(existing: path)
            staged = read("staged.plist", in: directory, StagedConfiguration.init)
            waived = read("waived.plist", in: directory, ActiveConfiguration.init)
            active = read("configuration.plist", in: directory, ActiveConfiguration.init)
        } catch {
            fail(path, error.description)
        }
        dropForeign(home)
    }

    private mutating func read<Record>(
        _ name: String, in directory: OwnedDirectory,
        _ make: (PropertyListDictionary) throws(ConfigurationRecordError) -> Record
    ) -> Record? {
        do {
            guard let bytes = try directory.read(name, limit: Self.limit) else { return nil }
            return try make(try PropertyListReader.readDictionary(bytes))
        } catch {
            fail(name, "\(error)")
            return nil
        }
    }

    /// A record of another application or side has no business in this directory.
    private mutating func dropForeign(_ home: SignedHome) {
        let isForeign = { (key: ConfigurationSlotKey) in
            key.application != home.application || key.role != home.role
        }
        if let key = staged?.record.key, isForeign(key) { staged = nil }
        if let key = waived?.record.key, isForeign(key) { waived = nil }
        if let key = active?.record.key, isForeign(key) { active = nil }
    }

    mutating func fail(_ file: String, _ detail: String, name: String = "damaged") {
        let rejection = ConfigurationRejection(name: name, detail: detail)
        failures.append(ConfigurationFileFailure(file: file, rejection: rejection))
    }
}

/// A file that was not applied at load.
public struct ConfigurationFileFailure: Error, Sendable, Hashable {
    /// The file's name, or the directory's path if that cannot be read.
    public let file: String
    /// Why it was not applied; `damaged` for a file that cannot be read.
    public let rejection: ConfigurationRejection
}

/// The result of a load.
public struct ConfigurationLoad: Sendable {
    /// The signed configuration that is applied now; nil for none.
    public let applied: AppliedConfiguration?
    /// The files that were not applied.
    public let failures: [ConfigurationFileFailure]
}
