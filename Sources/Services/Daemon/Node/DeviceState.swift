// Everything that a device keeps: its directory under lock, its keys, its store, and what the store's rows mean.
// Opening either gives all of it or says what is wrong; a damaged or foreign part is never replaced by an empty one.

import TandemBase
import TandemFiles
import TandemPairing
import TandemPropertyList
import TandemStore
import TandemWire

/// The opened state directory of one device.
struct DeviceState {
    static let storeFile = "tandem.sqlite"
    static let applicationsDirectory = "apps"

    let directory: OwnedDirectory
    let applications: OwnedDirectory
    let keys: DeviceKeys
    let store: Store
    private let lock: DirectoryLock

    /// - Parameter isShared: other users' host apps must reach their own directories below this one.
    static func open(path: String, isShared: Bool) throws(NodeError) -> DeviceState {
        let opened = try lockedDirectory(path, isShared: isShared)
        let store = try openStore(opened.directory)
        let isNew = try rows(in: .pairing, of: store, limit: 1).isEmpty
        let keys = try DeviceKeys.load(from: opened.directory, mayMake: isNew)
        return DeviceState(
            directory: opened.directory, applications: opened.applications, keys: keys, store: store, lock: opened.lock)
    }

    /// Closes the store and gives the directory back; nothing of the state may be used after it.
    func close() {
        store.close()
        lock.release()
    }

    /// All rows of a space, in the order of their keys.
    func rows(in space: RowSpace) throws(NodeError) -> [Row] { try Self.rows(in: space, of: store, limit: nil) }

    /// The pairings, tokens and claims as they were committed.
    func registry() throws(NodeError) -> PairingRegistry {
        let rows = try rows(in: .pairing)
        do {
            return try PairingRegistry(
                rows: rows.map { PairingRow(key: $0.key, value: try PropertyListReader.readDictionary($0.value)) })
        } catch {
            throw .row(path: store.path, reason: String(describing: error))
        }
    }

    private static func lockedDirectory(
        _ path: String, isShared: Bool
    ) throws(NodeError) -> (directory: OwnedDirectory, applications: OwnedDirectory, lock: DirectoryLock) {
        // Search permission alone: who knows an app's directory can go there, nobody can list.
        let mode: UInt32 = isShared ? 0o711 : 0o700
        do throws(FileError) {
            let directory = try OwnedDirectory(path: path, mode: mode)
            let lock = try directory.lock()
            return (directory, try directory.directory(named: applicationsDirectory, mode: mode), lock)
        } catch {
            throw .file(error)
        }
    }

    private static func openStore(_ directory: OwnedDirectory) throws(NodeError) -> Store {
        let hadKey: Bool
        do throws(FileError) { hadKey = try directory.names().contains(DeviceKeys.deviceFile) } catch {
            throw .file(error)
        }
        do throws(StoreError) {
            return try Store(path: "\(directory.path)/\(storeFile)", opening: hadKey ? .mustExist : .createIfMissing)
        } catch {
            throw .store(error)
        }
    }

    private static func rows(in space: RowSpace, of store: Store, limit: Int?) throws(NodeError) -> [Row] {
        do throws(StoreError) {
            return try store.read(RowRange(space: space, limit: limit))
        } catch {
            throw .store(error)
        }
    }
}
