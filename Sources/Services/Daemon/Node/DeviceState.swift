// Stored state of a device: its directory under lock, its keys, its store, and the meaning of the store's rows. Opening
// either succeeds as a whole or names the fault; a damaged or foreign part is never replaced by an empty one.

import TandemBase
import TandemCrypto
import TandemFiles
import TandemPairing
import TandemPropertyList
import TandemReactor
import TandemStore

/// The opened state directory of one device.
struct DeviceState {
    private static let storeFile = "tandem.sqlite"
    /// Parts that no other user may read or write (THR-71): the keys, the store and the files on their way.
    private static let privateNames =
        DeviceKeys.files + StorePart.names(of: storeFile) + [
            FileDelivery.spoolDirectory, FileDelivery.partialDirectory,
        ]
    private static let applicationsDirectory = "apps"

    let directory: OwnedDirectory
    let applications: OwnedDirectory
    let keys: DeviceKeys
    let store: Store
    /// Directories that were closed to other users until this start, and that these pass through now.
    let opened: [String]
    /// The store's file as it was opened.
    private let storeStatus: FileStatus?
    private let lock: DirectoryLock

    /// - Parameter isShared: other users' host apps must reach their own directories below this one, also where an
    ///   earlier start without them has made the directories.
    static func open(path: String, isShared: Bool) throws(NodeError) -> DeviceState {
        let opened = try lockedDirectory(path, isShared: isShared)
        // OpenSSL and SQLite each take milliseconds to start, so they start in parallel.
        var found = Result<DeviceKeys?, NodeError>.success(nil)
        let store = try openStore(opened.directory) {
            found = Result { () throws(NodeError) in try DeviceKeys.find(in: opened.directory) }
        }
        do throws(NodeError) {
            let isNew = !store.spacesAtOpening.contains(.pairing)
            let keys =
                if let found = try found.get() { found } else {
                    try DeviceKeys.load(from: opened.directory, mayMake: isNew)
                }
            return DeviceState(
                directory: opened.directory, applications: opened.applications, keys: keys, store: store,
                opened: try isShared ? letOthersPass(opened.directory, opened.applications) : [],
                storeStatus: try? opened.directory.status(of: storeFile), lock: opened.lock)
        } catch {
            store.close()
            opened.lock.release()
            throw error
        }
    }

    /// Closes the store and releases the directory; nothing of the state may be used after it.
    func close() {
        store.close()
        lock.release()
    }

    /// Whether the next start would find the state that this process writes. A path that cannot be looked at says
    /// nothing of that.
    var isInPlace: Bool {
        do throws(FileError) {
            guard try directory.isInPlace() else { return false }
            guard let storeStatus else { return true }
            return try directory.status(of: Self.storeFile)?.isOfSameFile(as: storeStatus) == true
        } catch { return true }
    }

    /// This device as the other end of a join sees it.
    func ownDevice(named name: String) -> PairingRegistry.OwnDevice {
        let reportKey = keys.report.publicKey.key.subjectPublicKeyInfo
        return PairingRegistry.OwnDevice(
            pin: keys.device.publicKey.identifier, claim: JoinClaim(name: name, reportKey: reportKey))
    }

    /// All rows of a space as it was opened, in the order of their keys: for a start, before anything is committed.
    func rows(in space: RowSpace) throws(NodeError) -> [Row] { try rows(RowRange(space: space)) }

    /// Likewise the rows of a range.
    func rows(_ range: RowRange) throws(NodeError) -> [Row] {
        guard store.spacesAtOpening.contains(range.space) else { return [] }
        do throws(StoreError) { return try store.read(range) } catch { throw .store(error) }
    }

    /// The pairings, tokens and claims as they were committed.
    func registry() throws(NodeError) -> PairingRegistry {
        let rows = try rows(in: .pairing)
        return try reading {
            try PairingRegistry(
                rows: rows.map { PairingRow(key: $0.key, value: try PropertyListReader.readDictionary($0.value)) },
                sealedUnder: .derived(keys.device.key, purpose: "join links"))
        }
    }

    /// Makes a part from its rows. Whatever it cannot read is a fault of the store.
    func reading<Part>(_ make: () throws -> Part) throws(NodeError) -> Part {
        do { return try make() } catch {
            throw (error as? NodeError) ?? .row(path: store.path, reason: String(describing: error))
        }
    }

    private static func lockedDirectory(
        _ path: String, isShared: Bool
    ) throws(NodeError) -> (directory: OwnedDirectory, applications: OwnedDirectory, lock: DirectoryLock) {
        // Search permission alone: an app that knows its directory can open it, and none can list them.
        let mode: UInt32 = isShared ? 0o711 : 0o700
        do throws(FileError) {
            let directory = try OwnedDirectory(path: path, mode: mode)
            let lock = try directory.lock()
            return (directory, try directory.directory(named: applicationsDirectory, mode: mode), lock)
        } catch {
            throw .file(error)
        }
    }

    /// Returns the paths of those whose modes are others now.
    private static func letOthersPass(_ directories: OwnedDirectory...) throws(NodeError) -> [String] {
        do throws(FileError) {
            var paths: [String] = []
            for directory in directories {
                if try directory.letOthersPass() { paths.append(directory.path) }
            }
            return paths
        } catch {
            throw .file(error)
        }
    }

    /// A copy that was made without permissions has all parts open, and the operator learns all commands at once.
    private static func checkPrivate(_ directory: OwnedDirectory) throws(NodeError) {
        var faults: [FileError] = []
        for name in privateNames {
            do throws(FileError) { try directory.checkPrivate(name) } catch { faults.append(error) }
        }
        guard faults.isEmpty else { throw .files(faults) }
    }

    private static func openStore(
        _ directory: OwnedDirectory, meanwhile: () -> Void
    ) throws(NodeError) -> Store {
        try checkPrivate(directory)
        let hadKey: Bool
        do throws(FileError) {
            hadKey = try directory.names().contains(DeviceKeys.deviceFile)
        } catch {
            throw .file(error)
        }
        do throws(StoreError) {
            return try Store(
                path: "\(directory.path)/\(storeFile)", opening: hadKey ? .mustExist : .createIfMissing,
                meanwhile: meanwhile)
        } catch {
            throw .store(error)
        }
    }
}

/// The node's own spaces of the store. The queues have 17 to 31 (`DeliveryRows`), configuration 33 to 59
/// (`ReceiverState`, `DesiredRows`, `CarrierRows`). A number is never used again for another meaning.
extension RowSpace {
    /// Pairings, tokens, trusted devices, choices and claims.
    static let pairing = RowSpace(rawValue: 1)
    /// Applications: owner, own identifier, and what it declared.
    static let application = RowSpace(rawValue: 2)
    /// Apps that are installed on paired devices.
    static let counterpart = RowSpace(rawValue: 3)
    /// Applications that were removed or assigned, as long as something of them is left.
    static let leaving = RowSpace(rawValue: 4)
    /// One row: the pin by which paired devices know this device. An unreleased version had 5 for another mark.
    static let acceptedKey = RowSpace(rawValue: 6)
}

/// A device's two keys: the one that its TLS certificate is made from, which peers pin, and the one that signs its
/// reports. Made once, at the first start, each in a file of mode 0600 in the state directory. A file that others can
/// read is refused, and a lost one is never replaced silently: that would make it another device.
struct DeviceKeys {
    static let deviceFile = "device.pem"
    private static let reportFile = "report.pem"
    fileprivate static let files = [deviceFile, reportFile]
    /// Far above the PEM of the largest key that the policy admits.
    private static let longestFile = 16 * 1024

    let device: DevicePrivateKey
    let report: ReportPrivateKey

    /// The device's name for ever: made from its first public key (PAR-2).
    var vendorIdentifier: UniqueIdentifier {
        guard let identifier = device.publicKey.identifier.derivedIdentifier else {
            preconditionFailure("a digest is long enough for an identifier")
        }
        return identifier
    }

    /// The keys of the directory; nil if one is missing.
    static func find(in directory: OwnedDirectory) throws(NodeError) -> DeviceKeys? {
        guard let device = try found(deviceFile, in: directory), let report = try found(reportFile, in: directory)
        else { return nil }
        return DeviceKeys(device: DevicePrivateKey(device), report: ReportPrivateKey(report))
    }

    /// Loads the keys of the directory.
    /// - Parameter mayMake: nothing depends on them yet, so missing ones are made.
    static func load(from directory: OwnedDirectory, mayMake: Bool) throws(NodeError) -> DeviceKeys {
        let device = try key(deviceFile, in: directory, mayMake: mayMake)
        let report = try key(reportFile, in: directory, mayMake: mayMake)
        return DeviceKeys(device: DevicePrivateKey(device), report: ReportPrivateKey(report))
    }

    private static func key(_ name: String, in directory: OwnedDirectory, mayMake: Bool) throws(NodeError) -> PrivateKey
    {
        if let key = try found(name, in: directory) { return key }
        guard mayMake else { throw .keyMissing(path: "\(directory.path)/\(name)") }
        return try make(name, in: directory)
    }

    private static func found(_ name: String, in directory: OwnedDirectory) throws(NodeError) -> PrivateKey? {
        let text: SecretBytes
        do throws(FileError) {
            guard var bytes = try directory.read(name, limit: longestFile, trust: .ownAndPrivate) else { return nil }
            text = SecretBytes(taking: &bytes)
        } catch { throw .file(error) }
        do throws(KeyError) { return try PrivateKey(pem: text) } catch {
            throw .key(path: "\(directory.path)/\(name)", error)
        }
    }

    private static func make(_ name: String, in directory: OwnedDirectory) throws(NodeError) -> PrivateKey {
        let key = PrivateKey.generate(.ed25519)
        do throws(FileError) { try directory.replace(name, with: key.pem.exposed) } catch { throw .file(error) }
        return key
    }
}
