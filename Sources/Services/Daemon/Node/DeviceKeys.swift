// A device's two keys: the one its TLS certificate is made from, which peers pin, and the one that signs its reports.
// Made once, at the first start, each in a file of mode 0600 in the state directory; a file that others can read is
// refused, and a lost one is never replaced silently: that would make it another device.

import TandemBase
import TandemCrypto
import TandemFiles

/// The keys of one device.
struct DeviceKeys {
    static let deviceFile = "device.pem"
    static let reportFile = "report.pem"
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

    /// Loads the keys of the directory.
    /// - Parameter mayMake: nothing depends on them yet, so missing ones are made.
    static func load(from directory: OwnedDirectory, mayMake: Bool) throws(NodeError) -> DeviceKeys {
        let device = try key(deviceFile, in: directory, mayMake: mayMake)
        let report = try key(reportFile, in: directory, mayMake: mayMake)
        return DeviceKeys(device: DevicePrivateKey(device), report: ReportPrivateKey(report))
    }

    private static func key(_ name: String, in directory: OwnedDirectory, mayMake: Bool) throws(NodeError) -> PrivateKey
    {
        let path = "\(directory.path)/\(name)"
        guard let text = try read(name, in: directory) else {
            guard mayMake else { throw .keyMissing(path: path) }
            return try make(name, in: directory)
        }
        do throws(KeyError) { return try PrivateKey(pem: text) } catch { throw .key(path: path, error) }
    }

    private static func read(_ name: String, in directory: OwnedDirectory) throws(NodeError) -> SecretBytes? {
        do throws(FileError) {
            guard var bytes = try directory.read(name, limit: longestFile, trust: .ownAndPrivate) else { return nil }
            return SecretBytes(taking: &bytes)
        } catch {
            throw .file(error)
        }
    }

    private static func make(_ name: String, in directory: OwnedDirectory) throws(NodeError) -> PrivateKey {
        let key = PrivateKey.generate(.ed25519)
        do throws(FileError) { try directory.replace(name, with: key.pem.exposed) } catch { throw .file(error) }
        return key
    }
}
