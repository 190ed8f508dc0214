// The role and the directory that a daemon named to an app at its last activation, remembered by the library: at its
// next start the app has its signed values and its user's edits before any daemon answers, or without one
// (Protocol/SignedConfiguration.md CFG-110). The file names a directory and has no authority: what lies there is
// verified from the compiled anchor.

import TandemBase
import TandemCrypto
import TandemFiles
import TandemPropertyList

/// The memory of one app beside one daemon.
struct RememberedHome: Sendable {
    /// The directory that a daemon has named.
    struct Home: Equatable {
        let role: DeviceRole
        let directory: String
    }

    private static var byteLimit: Int { 8192 }

    private let application: ApplicationIdentifier
    private let daemon: String
    /// The app's own directory.
    private let folder: String

    /// - Parameters:
    ///   - daemon: the addresses by which the app finds its daemon. Two daemons of one machine are two devices.
    ///   - folder: the directory of the app's preferences.
    init(application: ApplicationIdentifier, daemon: String, in folder: String) {
        self.application = application
        self.daemon = daemon
        self.folder = folder
    }

    private var name: String {
        "daemon-" + Hexadecimal.encode(SHA256.digest(Array((daemon + "\n" + application.description).utf8)).prefix(8))
            + ".plist"
    }

    /// The home of the last activation. A file that does not read, and a directory that is gone, are as none: the next
    /// activation says it again.
    func read() -> Home? {
        guard let bytes = try? OwnedDirectory(existing: folder).read(name, limit: Self.byteLimit),
            let fields = try? PropertyListReader.readDictionary(bytes),
            fields["app"]?.stringValue == application.description, fields["daemon"]?.stringValue == daemon,
            let role = fields["role"]?.stringValue.flatMap(DeviceRole.init(word:)),
            let directory = fields["directory"]?.stringValue, (try? OwnedDirectory(existing: directory)) != nil
        else { return nil }
        return Home(role: role, directory: directory)
    }

    /// Remembers the home, if it is another one. Without a place to write, the next start waits for its daemon.
    func write(_ home: Home) {
        guard home != read() else { return }
        let fields: PropertyListDictionary = [
            "app": .string(application.description), "daemon": .string(daemon), "role": .string(home.role.rawValue),
            "directory": .string(home.directory),
        ]
        guard let bytes = try? PropertyListWriter.write(fields) else { return }
        try? OwnedDirectory(path: folder).replace(name, with: bytes)
    }
}
