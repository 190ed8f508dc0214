// Notes of a daemon's start for its log (CTL-70 and other misfits of options and stored state). None of them keeps the
// daemon from starting.

import TandemBase
import TandemCrypto
import TandemFiles
import TandemPairing

/// The state and the options of a daemon that has started.
struct StartNotes {
    let options: NodeOptions
    let device: DeviceState
    let installed: InstalledApplications
    let pairings: [PairingRecord]
    /// The pin by which paired devices know this device, if it is not its own.
    let otherPin: KeyIdentifier?

    /// The lines of the log, in a stable order.
    var lines: [LogEvent] {
        let warnings = [otherKey, otherApplications, unreachable, listable, invalidSignatures].compactMap(\.self)
        return opened + warnings + otherOwners
    }

    private var opened: [LogEvent] {
        device.opened.map { path in
            let message: StaticString = "other users can now pass through this directory, because localGroup is set"
            return LogEvent(.info, message, .text("path", path))
        }
    }

    private var otherKey: LogEvent? {
        guard let otherPin, !pairings.isEmpty else { return nil }
        let message: StaticString = "the key file is not the one that paired devices know: they refuse this device"
        let path = "\(options.state)/\(DeviceKeys.deviceFile)"
        return LogEvent(
            .warning, message, .text("path", path),
            .text("fingerprint", device.keys.device.publicKey.identifier.fingerprint),
            .text("expected", otherPin.fingerprint),
            .text("remedy", "stop the daemon and put the expected key back from a backup, or unpair and pair again"))
    }

    private var otherApplications: LogEvent? {
        let others = installed.records.values.count { $0.role != options.role }
        guard options.localOther == nil, others > 0 else { return nil }
        let message: StaticString =
            "installed apps of the other role are refused: start a daemon of that role, or serve both"
        return LogEvent(.warning, message, .text("apps", "\(others)"))
    }

    /// The secondaries dial. A primary's state that was started as a secondary listens nowhere by default.
    private var unreachable: LogEvent? {
        let secondaries = pairings.count { $0.role == .primary }
        guard options.listen.isEmpty, secondaries > 0 else { return nil }
        let message: StaticString =
            "paired secondaries cannot reach this device, which listens nowhere: start a primary, or name --listen"
        return LogEvent(.warning, message, .integer("secondaries", secondaries))
    }

    private var listable: LogEvent? {
        guard (try? device.directory.isListableByOthers()) == true else { return nil }
        let message: StaticString = "other users can list the state directory: 'chmod go-r' ends that"
        return LogEvent(.warning, message, .text("state", options.state))
    }

    private var invalidSignatures: LogEvent? {
        guard options.allowsInvalidSignatures else { return nil }
        return LogEvent(.warning, "invalid signatures are allowed to apps that allow them, too")
    }

    private var otherOwners: [LogEvent] {
        installed.records.values.sorted { $0.app < $1.app }.compactMap { otherOwner(of: $0) }
    }

    /// A copy of the state that has lost its owners keeps each app from its files. The directory of an app that has
    /// another user now is removed without help.
    private func otherOwner(of record: ApplicationRecord) -> LogEvent? {
        guard installed.leaving[record.app] == nil else { return nil }
        do throws(FileError) {
            _ = try device.applications.existing(record.app.description, owner: record.user)
            return nil
        } catch .otherOwner(let path, let owner, let expected) {
            let message: StaticString = "an app's directory belongs to another user, and is not used"
            return LogEvent(
                .error, message, .text("app", "\(record.app)"), .integer("owner", owner),
                .text("remedy", "stop the daemon, then run: chown -R \(expected) \(ShellWord.quoted(path))"))
        } catch {
            // The first use of the directory logs it.
            return nil
        }
    }
}
