// Files of a Settings.bundle: `Root.plist` and the pages that it leads to, XML or binary, under the rules of
// configuration files.

import TandemFiles
import TandemPropertyList
import TandemSettings

enum SettingsBundleFiles {
    /// The pages in a directory.
    static func read(_ path: String) -> SettingsBundle {
        let directory: OwnedDirectory
        do throws(FileError) {
            directory = try EnvironmentFile.opened(path)
        } catch {
            let fault = SettingsBundleProblem.unreadablePage(SettingsBundle.root, reason: error.description)
            return SettingsBundle { _ throws(SettingsBundleProblem) in throw fault }
        }
        return SettingsBundle { name throws(SettingsBundleProblem) in
            do {
                let bytes = try directory.read(
                    name + ".plist", limit: EnvironmentFile.limit, trust: .ownOrRootsAndUnwritable)
                return try bytes.map { try EnvironmentFile.dictionary($0) }
            } catch {
                throw .unreadablePage(name, reason: "\(error)")
            }
        }
    }
}
