// Configuration files of an app, one for each environment that it runs in, as CRUConfig has them. The first file found
// counts, whole; the others are not opened. They are the owner's: read without following links, within a budget, as XML
// or binary by their content. A missing file is no fault; one that cannot be read is reported by its name.

import TandemCrypto
import TandemFiles
import TandemPropertyList
import TandemPropertyListXML
import TandemReactor
public import TandemSettings

/// The result of loading configuration files.
public struct ConfigurationFileLoad: Sendable, Equatable {
    /// The environment, in lower case: ``Configuration/configurationName``.
    public let configurationName: String
    /// The name of the file that counts; nil if there is none.
    public let file: String?
    /// The entries that were taken and skipped.
    public let report: LoadReport
    /// Why the file was not read; the values are then those of the last good one.
    public let failure: ConfigurationFileFailure?
}

/// The candidates of one environment in one directory.
struct EnvironmentFile: Sendable, Equatable {
    /// The directory that holds the files.
    let directory: String
    /// In lower case.
    let environment: String

    /// The environment: the argument, else the variable `TANDEM_ENVIRONMENT`, else that of the build.
    static func environment(_ argument: String?) -> String {
        // Lower case without a locale: Swift has no other.
        (argument ?? Linux.environment("TANDEM_ENVIRONMENT") ?? (Build.isDebug ? "debug" : "release"))
            .lowercased()
    }

    /// The names of the files, the first of which counts.
    var names: [String] { ["config.\(environment).plist", "config.default.plist", "config.plist"] }

    /// The outcome of a reading; equal for equal bytes of the same file.
    enum Content: Equatable {
        case none
        case file(String, digest: [UInt8], PropertyListDictionary)
        case failure(ConfigurationFileFailure)
    }

    /// Reads the file that counts.
    func read() -> Content {
        let directory: OwnedDirectory
        do throws(FileError) {
            directory = try Self.opened(self.directory)
        } catch .missing {
            return .none
        } catch {
            return .failure(ConfigurationFileFailure(self.directory, error.description))
        }
        for name in names {
            do {
                guard let bytes = try directory.read(named: name, limit: Self.limit, trust: .ownOrRootsAndUnwritable)
                else {
                    continue
                }
                return .file(name, digest: SHA256.digest(bytes), try PropertyListXMLReader.readAny(bytes))
            } catch {
                return .failure(ConfigurationFileFailure(name, "\(error)"))
            }
        }
        return .none
    }

    /// The largest file in bytes; an XML reader takes no more.
    static var limit: Int { PropertyListXMLReader.maximumLength }

    /// The directory, which belongs to the user of this process, or to root as those in `/etc` do.
    static func opened(_ directory: String) throws(FileError) -> OwnedDirectory {
        do throws(FileError) {
            return try OwnedDirectory(existing: directory)
        } catch .otherOwner(_, 0, _) {
            return try OwnedDirectory(existing: directory, owner: 0)
        } catch {
            throw error
        }
    }
}
