// Preferences encrypted at rest. The accessibility classes are those of Appfigurate's keychain option, and each is what
// Linux can keep of it: a process has a key or it has none, and nobody locks the screen of a service. The table in
// Protocol/Settings.md (SET-36) says which class means what.

internal import Synchronization
import TandemBase
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

    /// Whether others could read or write a store of this class that they could not in the other one (SET-58).
    fileprivate func isWeaker(than other: ProtectedAccessibility) -> Bool {
        isAlways && !other.isAlways || !isOfThisDevice && other.isOfThisDevice
    }
}

/// Preferences in an encrypted file (AES-256-GCM) with a binary property list of at most 512 KiB (524,288 bytes).
///
/// Until the key is there each use throws ``PreferenceStoreError/Reason/locked``. The app has its defaults then, and
/// the values that it sets are stored after ``unlock(passphrase:)``.
public final class ProtectedPreferences: PreferenceStore, BoundedPreferenceStore {
    /// A passphrase that is only being tried must seal nothing.
    private let turn = Mutex(())
    private let file: FilePreferences
    private let keys: ProtectionKeys
    private let observers = Observers<Void>()

    /// The path of the file.
    public var path: String { file.path }

    /// - Parameters:
    ///   - path: as of ``FilePreferences``. The key file of the two classes of `Always` is beside it, as `NAME.key`.
    ///   - accessibility: the times and machines at which the values can be read.
    ///   - keyring: the description of a `user` key in the kernel's keyring, whose content is the passphrase: it
    ///     outlives this process and ends with the machine, or when somebody removes it.
    public convenience init(_ path: String, accessibility: ProtectedAccessibility = .always, keyring: String? = nil) {
        self.init(path, accessibility: accessibility, keyring: keyring, machine: Self.machineIdentifier)
    }

    /// As the public one, for a test of other machines or another wait.
    package convenience init(
        _ path: String, accessibility: ProtectedAccessibility, keyring: String? = nil, machine: String,
        patience: Duration = FilePreferences.patience
    ) {
        let path = AbsolutePath.of(path)
        let keys = ProtectionKeys(accessibility, path: path, keyring: keyring, machine: machine)
        self.init(FilePreferences(path, .sealed(keys), patience: patience), keys)
    }

    private init(_ file: FilePreferences, _ keys: ProtectionKeys) { (self.file, self.keys) = (file, keys) }

    /// The protected store that several apps of one user share, as `APLKeychainAccessGroup` names it in a manifest.
    /// With `TANDEM_PREFERENCES=memory` nothing is stored, and no key is asked for.
    /// - Parameters:
    ///   - accessGroup: the name of the group.
    ///   - accessibility: as of ``init(_:accessibility:keyring:)``; all apps of the group state the same.
    ///   - keyring: as there.
    /// - Throws: the name is no application identifier, or there is no configuration directory.
    public convenience init(
        accessGroup: String, accessibility: ProtectedAccessibility = .always, keyring: String? = nil
    ) throws(PreferenceStoreError) {
        try self.init(
            accessGroup: accessGroup, accessibility: accessibility, keyring: keyring, variable: Linux.environment)
    }

    package convenience init(
        accessGroup: String, accessibility: ProtectedAccessibility = .always, keyring: String? = nil,
        variable: (String) -> String?
    ) throws(PreferenceStoreError) {
        let path = try ApplicationPreferences.path(
            ofGroup: accessGroup, ApplicationPreferences.protectedName, variable)
        let keys = ProtectionKeys(
            accessibility, path: path ?? accessGroup, keyring: keyring, machine: Self.machineIdentifier)
        self.init(FilePreferences(path ?? accessGroup, .sealed(keys), isStored: path != nil), keys)
    }

    private static var machineIdentifier: String { "/etc/machine-id" }

    /// Supplies the key. Configurations on this store read it then.
    /// - Throws: it is another one than the file's, or the store cannot be read now; the store is as it was.
    public func unlock(passphrase: String) throws(PreferenceStoreError) {
        try turn.withLock { _ throws(PreferenceStoreError) in
            let old = keys.replacePassphrase(SecretBytes(copying: passphrase.utf8))
            var isRead = false
            do throws(PreferenceStoreError) {
                try use { _ in
                    isRead = true
                    return PreferenceEdit()
                }
            } catch {
                // The key is right if only the writing failed.
                if !isRead { _ = keys.replacePassphrase(old) }
                throw error
            }
        }
        observers.notify(())
    }

    /// Forgets the key. Values that were read stay in force in this process. Nothing happens with the classes that are
    /// readable from the first unlocking on.
    public func lock() { keys.lock() }

    public func update(_ change: (PropertyListDictionary?) -> PreferenceEdit) throws(PreferenceStoreError) {
        try turn.withLock { _ throws(PreferenceStoreError) in
            if file.isStored { try keys.check() }
            try use(change)
        }
    }

    /// A file of another class is written again at once, under this one.
    private func use(_ change: (PropertyListDictionary?) -> PreferenceEdit) throws(PreferenceStoreError) {
        try file.update { entries in
            let edit = change(entries)
            guard edit.isEmpty, keys.wasOfAnotherClass, let first = entries?.first(where: { _ in true }) else {
                return edit
            }
            return PreferenceEdit(values: [first.key: first.value])
        }
    }

    package var byteLimit: Int { file.byteLimit }

    package func fault(of entries: PropertyListDictionary) -> String? { file.fault(of: entries) }

    /// The weaker class in which the store was found, once.
    func takeWeakerClass() -> ProtectedAccessibility? { keys.takeWeakerClass() }

    public func observe(_ changed: @escaping @Sendable () -> Void) -> ConfigurationObservation? {
        let ofFile = file.observe(changed)
        let ofKey = observers.add { changed() }
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
        /// The last keys, since making some takes a tenth of a second.
        var made: (secret: SecretBytes, accessibility: ProtectedAccessibility, salt: [UInt8], keys: StoreKeys)?
        /// The class of the file that was read last.
        var found: ProtectedAccessibility?
        /// The weaker class of a file that was read; nobody has been told yet.
        var weaker: ProtectedAccessibility?
    }

    /// The class of what is written.
    let accessibility: ProtectedAccessibility
    private let path: String
    private let keyring: String?
    private let machine: String
    private let state = Mutex(State())

    init(_ accessibility: ProtectedAccessibility, path: String, keyring: String?, machine: String) {
        self.accessibility = accessibility
        self.path = path
        self.machine = machine
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
        state.withLock { $0 = State(weaker: $0.weaker) }
    }

    /// Whether the file that was read last had another class.
    var wasOfAnotherClass: Bool { state.withLock { $0.found.map { $0 != accessibility } ?? false } }

    func read(_ accessibility: ProtectedAccessibility) {
        state.withLock { state in
            state.found = accessibility
            if accessibility.isWeaker(than: self.accessibility) { state.weaker = accessibility }
        }
    }

    func takeWeakerClass() -> ProtectedAccessibility? {
        state.withLock { state in
            defer { state.weaker = nil }
            return state.weaker
        }
    }

    /// Whether there is a key at all; a key file is made when there is something to store.
    func check() throws(PreferenceStoreError) {
        guard !accessibility.isAlways else { return }
        do throws(PreferenceFault) {
            _ = try secret(of: accessibility, making: false)
        } catch {
            throw PreferenceStoreError(error.reason, store: path, detail: error.detail)
        }
    }

    static var saltCount: Int { 16 }

    /// The salt of the last keys: a text has a nonce of its own anyway.
    var salt: [UInt8] { state.withLock(\.made)?.salt ?? SecureRandom.bytes(Self.saltCount) }

    /// The keys of a class for a salt.
    /// - Parameter making: whether a key file is made if there is none.
    func keys(
        of accessibility: ProtectedAccessibility, salt: [UInt8], making: Bool
    ) throws(PreferenceFault) -> StoreKeys {
        let secret = try secret(of: accessibility, making: making)
        if let made = state.withLock(\.made), made.secret == secret, made.salt == salt,
            made.accessibility == accessibility
        {
            return made.keys
        }
        let bare = accessibility.isAlways ? secret : PassphraseKey.key(passphrase: secret, salt: salt)
        guard let bare else {
            throw PreferenceFault(reason: .unavailable, detail: "OpenSSL has no scrypt here, or no memory for it")
        }
        let keys = StoreKeys(accessibility.isOfThisDevice ? try ofThisDevice(bare) : bare)
        state.withLock { $0.made = (secret, accessibility, salt, keys) }
        return keys
    }

    private func secret(of accessibility: ProtectedAccessibility, making: Bool) throws(PreferenceFault) -> SecretBytes {
        if accessibility.isAlways { return try keyFile(making: making) }
        if let passphrase = state.withLock(\.passphrase) { return passphrase }
        if let keyring, var found = Linux.keyringContent(keyring) { return SecretBytes(taking: &found) }
        throw PreferenceFault(reason: .locked, detail: lockedDetail)
    }

    /// The missing key, and the ways to supply it. Nothing watches the keyring: each use of the store reads it.
    private var lockedDetail: String {
        let unlocks = "until the app calls unlockPreferences(passphrase:)"
        guard let keyring else { return "there is no passphrase yet: preferences wait \(unlocks)" }
        return "the keyring has no user key '\(keyring)': preferences wait until it is there and the app changes one "
            + "or calls readPreferences(), or \(unlocks)"
    }

    /// The key in the file beside the store; the writer of the store has the turn at their directory.
    private func keyFile(making: Bool) throws(PreferenceFault) -> SecretBytes {
        let place = PreferencePlace(path)
        let name = place.name + ".key"
        var bytes: [UInt8]
        do throws(FileError) {
            let directory = try OwnedDirectory(existing: place.directory)
            guard let found = try directory.read(name, limit: SealedBytes.keyCount, trust: .ownAndPrivate) else {
                guard making else { throw .missing(path: directory.path + "/" + name) }
                let key = SecretBytes(randomCount: SealedBytes.keyCount)
                try directory.replace(name, with: key.exposed)
                return key
            }
            bytes = found
        } catch {
            throw PreferenceFault(reason: .locked, detail: error.description)
        }
        guard bytes.count == SealedBytes.keyCount else {
            let detail = "\(path).key has \(bytes.count) bytes; a key file has \(SealedBytes.keyCount)"
            throw PreferenceFault(reason: .locked, detail: detail)
        }
        return SecretBytes(taking: &bytes)
    }

    /// Binds a key to the machine: a copy of the file, with passphrase or key file, is not opened by another one.
    private func ofThisDevice(_ key: SecretBytes) throws(PreferenceFault) -> SecretBytes {
        var digits: [UInt8]
        do throws(FileError) {
            digits = try FileReading.read(path: machine, limit: 64, followsLinks: true)
        } catch {
            throw PreferenceFault(reason: .unavailable, detail: error.description)
        }
        if digits.last == UInt8(ascii: "\n") { digits.removeLast() }
        // Before a system's first start is over the file is empty, or says `uninitialized`.
        guard digits.count == 32, digits.allSatisfy("0123456789abcdef".utf8.contains) else {
            throw PreferenceFault(reason: .unavailable, detail: "\(machine) has no machine identifier")
        }
        var bound = HMACSHA256.code(for: Array("tandem preferences".utf8) + digits, key: key)
        return SecretBytes(taking: &bound)
    }
}

/// The keys of a store under one secret: one seals, the other shows that the secret is the right one.
private struct StoreKeys: Sendable {
    let sealing: SecretBytes
    let checking: SecretBytes

    init(_ key: SecretBytes) {
        sealing = Self.derived("tandem preferences sealing", key)
        checking = Self.derived("tandem preferences checking", key)
    }

    private static func derived(_ label: String, _ key: SecretBytes) -> SecretBytes {
        var code = HMACSHA256.code(for: Array(label.utf8), key: key)
        return SecretBytes(taking: &code)
    }
}

extension PreferenceForm {
    /// A property list of exactly these keys: `protected` (2), `accessibility`, `salt`, `check`, `sealed`.
    fileprivate static func sealed(_ keys: ProtectionKeys) -> PreferenceForm {
        PreferenceForm(
            limit: propertyList.limit + 1024, margin: 1024,
            read: { bytes throws(PreferenceFault) in
                guard let file = SealedFile(bytes) else {
                    throw PreferenceFault(reason: .damaged, detail: "it is no protected store of version 2")
                }
                // Another class than the store's: the app has changed it.
                let found = try keys.keys(of: file.accessibility, salt: file.salt, making: false)
                guard HMACSHA256.isValid(file.check, for: file.salt, key: found.checking) else {
                    throw PreferenceFault(reason: .locked, detail: "the key is another one")
                }
                guard let content = SealedBytes.open(file.sealed, key: found.sealing, with: file.facts),
                    let entries = try? PropertyListReader.readDictionary(content)
                else { throw PreferenceFault(reason: .damaged, detail: "its content was changed") }
                keys.read(file.accessibility)
                return entries
            },
            content: binary,
            write: { entries throws(PreferenceFault) in
                let content = try binary(entries)
                let salt = keys.salt
                let made = try keys.keys(of: keys.accessibility, salt: salt, making: true)
                return try binary(
                    SealedFile(content, accessibility: keys.accessibility, salt: salt, keys: made).dictionary)
            })
    }
}

private struct SealedFile {
    let accessibility: ProtectedAccessibility
    let salt: [UInt8]
    let check: [UInt8]
    let sealed: [UInt8]

    /// nil for another form, or parts of other lengths.
    init?(_ bytes: [UInt8]) {
        guard let file = try? PropertyListReader.readDictionary(bytes), file["protected"] == 2, file.count == 5,
            let accessibility = file["accessibility"]?.stringValue.flatMap(ProtectedAccessibility.init(word:)),
            let salt = file["salt"]?.dataValue, salt.count == ProtectionKeys.saltCount,
            let check = file["check"]?.dataValue, check.count == SHA256.count, let sealed = file["sealed"]?.dataValue
        else { return nil }
        self.accessibility = accessibility
        self.salt = salt
        self.check = check
        self.sealed = sealed
    }

    init(_ content: [UInt8], accessibility: ProtectedAccessibility, salt: [UInt8], keys: StoreKeys) {
        self.accessibility = accessibility
        self.salt = salt
        check = HMACSHA256.code(for: salt, key: keys.checking)
        sealed = SealedBytes.seal(content, key: keys.sealing, with: Self.facts(accessibility, salt))
    }

    var facts: [UInt8] { Self.facts(accessibility, salt) }

    var dictionary: PropertyListDictionary {
        [
            "protected": 2, "accessibility": .string(accessibility.rawValue), "salt": .data(salt),
            "check": .data(check),
            "sealed": .data(sealed),
        ]
    }

    private static func facts(_ accessibility: ProtectedAccessibility, _ salt: [UInt8]) -> [UInt8] {
        Array("tandem preferences 2 \(accessibility.rawValue) ".utf8) + salt
    }
}
