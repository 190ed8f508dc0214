// Preferences encrypted at rest. The accessibility classes are those of Appfigurate's keychain option, and each is what
// Linux can keep of it: a process has a key or it has none, and nobody locks the screen of a service. The table in
// Protocol/Settings.md (SET-36) says which class means what.

internal import Synchronization
import TandemCrypto
import TandemFiles
public import TandemPropertyList
import TandemReactor
public import TandemSettings

extension ProtectedAccessibility {
    fileprivate var isAlways: Bool { self == .always || self == .alwaysThisDeviceOnly }

    fileprivate var staysUnlocked: Bool { self == .afterFirstUnlock || self == .afterFirstUnlockThisDeviceOnly }

    fileprivate var isOfThisDevice: Bool {
        switch self {
        case .whenUnlockedThisDeviceOnly, .afterFirstUnlockThisDeviceOnly, .alwaysThisDeviceOnly,
            .whenPasscodeSetThisDeviceOnly:
            true
        case .whenUnlocked, .afterFirstUnlock, .always: false
        }
    }
}

/// Preferences in an encrypted file (AES-256-GCM).
///
/// Until the key is there each use throws ``PreferenceStoreError/Reason/locked``. The app has its defaults then, and
/// the values that it sets are stored after ``unlock(passphrase:)``.
public final class ProtectedPreferences: PreferenceStore {
    /// A passphrase that is only being tried must seal nothing.
    private let turn = Mutex(())
    private let file: FilePreferences
    private let keys: ProtectionKeys
    private let observers = PreferenceObservers()

    /// The path of the file.
    public var path: String { file.path }

    /// - Parameters:
    ///   - path: as of ``FilePreferences``. The key file of the two classes of `Always` is beside it, as `NAME.key`.
    ///   - accessibility: the times and machines at which the values can be read.
    ///   - keyring: the description of a `user` key in the kernel's keyring, whose content is the passphrase: it
    ///     outlives this process and ends with the machine, or when somebody removes it.
    public init(_ path: String, accessibility: ProtectedAccessibility = .always, keyring: String? = nil) {
        let keys = ProtectionKeys(accessibility, path: path, keyring: keyring)
        self.keys = keys
        file = FilePreferences(path, .sealed(keys))
    }

    /// Supplies the key. Configurations on this store read it then.
    /// - Throws: it is another one than the file's; the store is as it was.
    public func unlock(passphrase: String) throws(PreferenceStoreError) {
        try turn.withLock { _ throws(PreferenceStoreError) in
            let old = keys.replacePassphrase(SecretBytes(copying: passphrase.utf8))
            do throws(PreferenceStoreError) {
                try file.update { _ in PreferenceEdit() }
            } catch {
                if error.reason == .locked { _ = keys.replacePassphrase(old) }
                throw error
            }
        }
        observers.notify()
    }

    /// Forgets the key. Values that were read stay in force in this process. Nothing happens with the classes that are
    /// readable from the first unlocking on.
    public func lock() { keys.lock() }

    public func update(_ change: (PropertyListDictionary?) -> PreferenceEdit) throws(PreferenceStoreError) {
        try turn.withLock { _ throws(PreferenceStoreError) in
            try keys.check()
            try file.update(change)
        }
    }

    public func observe(_ changed: @escaping @Sendable () -> Void) -> ConfigurationObservation? {
        let ofFile = file.observe(changed)
        let ofKey = observers.add(changed)
        return ConfigurationObservation {
            ofFile?.cancel()
            ofKey.cancel()
        }
    }
}

/// The keys of one protected file.
private final class ProtectionKeys: Sendable {
    private struct State {
        var passphrase: SecretBytes?
        /// The last key, since making one takes a tenth of a second.
        var made: (secret: SecretBytes, salt: [UInt8], key: SecretBytes)?
    }

    let accessibility: ProtectedAccessibility
    private let path: String
    private let keyring: String?
    private let state = Mutex(State())

    init(_ accessibility: ProtectedAccessibility, path: String, keyring: String?) {
        self.accessibility = accessibility
        self.path = path
        self.keyring = accessibility == .whenPasscodeSetThisDeviceOnly ? nil : keyring
    }

    /// - Returns: the one before.
    func replacePassphrase(_ new: SecretBytes?) -> SecretBytes? {
        state.withLock { state in
            defer { state.passphrase = new }
            return state.passphrase
        }
    }

    func lock() {
        guard !accessibility.staysUnlocked else { return }
        state.withLock { $0 = State() }
    }

    /// Whether there is a key at all; a key file is made when there is something to store.
    func check() throws(PreferenceStoreError) {
        guard !accessibility.isAlways else { return }
        do throws(PreferenceFault) {
            _ = try secret(making: false)
        } catch {
            throw PreferenceStoreError(error.reason, store: path, detail: error.detail)
        }
    }

    /// The salt of the last key: a text has a nonce of its own anyway.
    var salt: [UInt8] { state.withLock(\.made)?.salt ?? SecureRandom.bytes(16) }

    /// The key for a salt.
    /// - Parameter making: whether a key file is made if there is none.
    func key(salt: [UInt8], making: Bool) throws(PreferenceFault) -> SecretBytes {
        let secret = try secret(making: making)
        if let made = state.withLock(\.made), made.secret == secret, made.salt == salt { return made.key }
        let bare = accessibility.isAlways ? secret : PassphraseKey.key(passphrase: secret, salt: salt)
        let key = accessibility.isOfThisDevice ? try ofThisDevice(bare) : bare
        state.withLock { $0.made = (secret, salt, key) }
        return key
    }

    private func secret(making: Bool) throws(PreferenceFault) -> SecretBytes {
        if accessibility.isAlways { return try keyFile(making: making) }
        if let passphrase = state.withLock(\.passphrase) { return passphrase }
        if let keyring, var found = Linux.keyringContent(keyring) { return SecretBytes(taking: &found) }
        let detail = keyring.map { "the keyring has no user key '\($0)'" } ?? "there is no passphrase yet"
        throw PreferenceFault(reason: .locked, detail: detail)
    }

    /// The key in the file beside the store; the writer of the store has the turn at their directory.
    private func keyFile(making: Bool) throws(PreferenceFault) -> SecretBytes {
        let (place, file) = FilePreferences.parts(of: path)
        let name = file + ".key"
        do throws(FileError) {
            let directory = try OwnedDirectory(existing: place)
            if var bytes = try directory.read(name, limit: SealedBytes.keyCount, trust: .ownAndPrivate) {
                guard bytes.count == SealedBytes.keyCount else {
                    throw .tooLarge(path: directory.path + "/" + name, limit: SealedBytes.keyCount)
                }
                return SecretBytes(taking: &bytes)
            }
            guard making else { throw .missing(path: directory.path + "/" + name) }
            let key = SecretBytes(randomCount: SealedBytes.keyCount)
            try directory.replace(name, with: key.exposed)
            return key
        } catch {
            throw PreferenceFault(reason: .locked, detail: error.description)
        }
    }

    /// Binds a key to the machine: a copy of the file, with passphrase or key file, is not opened by another one.
    private func ofThisDevice(_ key: SecretBytes) throws(PreferenceFault) -> SecretBytes {
        do throws(FileError) {
            let machine = try FileReading.read(path: "/etc/machine-id", limit: 64)
            guard !machine.isEmpty else { throw .missing(path: "/etc/machine-id") }
            var bound = HMACSHA256.code(for: Array("tandem preferences".utf8) + machine, key: key)
            return SecretBytes(taking: &bound)
        } catch {
            throw PreferenceFault(reason: .unavailable, detail: error.description)
        }
    }
}

extension PreferenceForm {
    /// A property list of exactly these keys: `protected` (1), `accessibility`, `salt`, `check`, `sealed`.
    fileprivate static func sealed(_ keys: ProtectionKeys) -> PreferenceForm {
        PreferenceForm(
            limit: propertyList.limit + 1024,
            read: { bytes throws(PreferenceFault) in
                guard let file = try? PropertyListReader.readDictionary(bytes), file["protected"] == 1, file.count == 5,
                    let salt = file["salt"]?.dataValue, let check = file["check"]?.dataValue,
                    let sealed = file["sealed"]?.dataValue
                else { throw PreferenceFault(reason: .damaged, detail: "it is no protected store of version 1") }
                guard file["accessibility"]?.stringValue == keys.accessibility.rawValue else {
                    throw PreferenceFault(reason: .locked, detail: "it has another accessibility")
                }
                let key = try keys.key(salt: salt, making: false)
                guard HMACSHA256.isValid(check, for: salt, key: key) else {
                    throw PreferenceFault(reason: .locked, detail: "the key is another one")
                }
                guard let content = SealedBytes.open(sealed, key: key, with: facts(keys.accessibility, salt)),
                    let entries = try? PropertyListReader.readDictionary(content)
                else { throw PreferenceFault(reason: .damaged, detail: "its content was changed") }
                return entries
            },
            write: { entries throws(PreferenceFault) in
                let salt = keys.salt
                let key = try keys.key(salt: salt, making: true)
                do {
                    let content = try PropertyListWriter.write(entries)
                    return try PropertyListWriter.write(
                        [
                            "protected": 1, "accessibility": .string(keys.accessibility.rawValue), "salt": .data(salt),
                            "check": .data(HMACSHA256.code(for: salt, key: key)),
                            "sealed": .data(SealedBytes.seal(content, key: key, with: facts(keys.accessibility, salt))),
                        ] as PropertyListDictionary)
                } catch {
                    throw PreferenceFault(reason: .notStorable, detail: "\(error)")
                }
            })
    }

    private static func facts(_ accessibility: ProtectedAccessibility, _ salt: [UInt8]) -> [UInt8] {
        Array("tandem preferences 1 \(accessibility.rawValue) ".utf8) + salt
    }
}
