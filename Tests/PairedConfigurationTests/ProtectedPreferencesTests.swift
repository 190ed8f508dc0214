// Preferences encrypted at rest: what is readable when, with which key, and on which machine.

import Glibc
import PairedConfiguration
import Synchronization
import TandemTestSupport
import Testing

/// `@unchecked`: every property is a wrapper around state behind a mutex.
private final class Preferences: Configuration, @unchecked Sendable {
    @Edit("Token", secret: true) var token = ""
}

@Suite struct ProtectedPreferencesTests {
    private let place = TemporaryDirectory()

    private func store(_ accessibility: ProtectedAccessibility, keyring: String? = nil) -> ProtectedPreferences {
        ProtectedPreferences(place.path("secret.plist"), accessibility: accessibility, keyring: keyring)
    }

    private func fault(_ body: () throws -> Void) -> PreferenceStoreError.Reason? {
        do {
            try body()
            return nil
        } catch {
            return (error as? PreferenceStoreError)?.reason
        }
    }

    private var bytes: [UInt8] { TemporaryDirectory.read(place.path("secret.plist")) ?? [] }

    @Test("SET-36: with Always the key is a file beside the store, and no value is in clear")
    func always() throws {
        let app = Preferences(preferences: store(.always))
        #expect(place.names.isEmpty)
        app.token = "swordfish"
        try app.writePreferences()
        #expect(place.names == ["secret.plist", "secret.plist.key"])
        #expect(!String(decoding: bytes, as: UTF8.self).contains("swordfish"))
        var status = stat()
        #expect(stat(place.path("secret.plist.key"), &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(Preferences(preferences: store(.always)).token == "swordfish")
        unlink(place.path("secret.plist.key"))
        #expect(fault { try store(.always).update { _ in PreferenceEdit() } } == .locked)
        // Another key is not made over a store that it cannot open.
        #expect(fault { try store(.always).update { _ in PreferenceEdit(values: ["a": 1]) } } == .locked)
        #expect(place.names == ["secret.plist"])
    }

    @Test("SET-36: locked, an app has its defaults; unlocked, the stored values, and what it set meanwhile is stored")
    func unlocking() throws {
        let first = store(.whenUnlocked)
        try first.unlock(passphrase: "correct horse")
        let one = Preferences(preferences: first)
        one.token = "swordfish"
        try one.writePreferences()
        let second = store(.whenUnlocked)
        let other = Preferences(preferences: second)
        let events = Mutex<[ConfigurationEvent]>([])
        let observation = other.observeEvents { event in events.withLock { $0.append(event) } }
        #expect(other.token.isEmpty && "\(events.withLock(\.self))".contains("locked"))
        #expect(fault { try second.unlock(passphrase: "wrong horse") } == .locked)
        #expect(fault { try other.readPreferences() } == .locked)
        try second.unlock(passphrase: "correct horse")
        try other.readPreferences()
        #expect(other.token == "swordfish")
        second.lock()
        #expect(fault { try other.readPreferences() } == .locked)
        other.token = "marlin"
        #expect(other.isDirty)
        try second.unlock(passphrase: "correct horse")
        try other.writePreferences()
        try one.readPreferences()
        #expect(one.token == "marlin")
        withExtendedLifetime(observation) {}
    }

    @Test("SET-36: from the first unlocking on, locking changes nothing")
    func afterFirstUnlock() throws {
        let store = store(.afterFirstUnlock)
        #expect(fault { try store.update { _ in PreferenceEdit() } } == .locked)
        try store.unlock(passphrase: "a")
        store.lock()
        try store.update { _ in PreferenceEdit(values: ["a": 1]) }
        // Another class does not open it.
        let other = self.store(.whenUnlocked)
        #expect(fault { try other.unlock(passphrase: "a") } == .locked)
    }

    @Test("SET-36: a class of this device only makes another key than the same class without")
    func thisDevice() throws {
        guard access("/etc/machine-id", R_OK) == 0 else { return }
        for accessibility in [ProtectedAccessibility.alwaysThisDeviceOnly, .whenPasscodeSetThisDeviceOnly] {
            let directory = TemporaryDirectory()
            let store = ProtectedPreferences(directory.path("a"), accessibility: accessibility, keyring: "unused")
            try store.unlock(passphrase: "a")
            try store.update { _ in PreferenceEdit(values: ["a": 1]) }
            let again = ProtectedPreferences(directory.path("a"), accessibility: accessibility)
            try again.unlock(passphrase: "a")
            var found: PropertyListDictionary?
            try again.update { entries in
                found = entries
                return PreferenceEdit()
            }
            #expect(found == ["a": 1])
        }
    }

    @Test("SET-36: a passphrase in the kernel's keyring opens the store; without one it is locked")
    func keyring() throws {
        let missing = store(.afterFirstUnlock, keyring: "tandem:test:none")
        #expect(fault { try missing.update { _ in PreferenceEdit() } } == .locked)
        // A container may forbid keyrings.
        let description = "tandem:test:\(getpid())"
        guard ProcessKeyring.add(description, "correct horse") else { return }
        let opened = store(.afterFirstUnlock, keyring: description)
        try opened.update { _ in PreferenceEdit(values: ["a": 1]) }
        try store(.afterFirstUnlock).unlock(passphrase: "correct horse")
        let unasked = ProtectedPreferences(
            place.path("other"), accessibility: .whenPasscodeSetThisDeviceOnly, keyring: description)
        #expect(fault { try unasked.update { _ in PreferenceEdit() } } == .locked)
    }

    @Test("SET-37: a store that was changed or cut is damaged and is kept aside, like any other")
    func damage() throws {
        let app = Preferences(preferences: store(.always))
        app.token = "swordfish"
        try app.writePreferences()
        var changed = bytes
        let last = try #require(changed.lastIndex(where: { $0 != 0 }))
        changed.removeSubrange((last - 4)...)
        place.write(changed, to: "secret.plist")
        let error = #expect(throws: PreferenceStoreError.self) { try app.readPreferences() }
        #expect(error?.reason == .damaged && app.token == "swordfish")
        app.token = "marlin"
        // The library's own thread may be first; then this has nothing left to write.
        try? app.writePreferences()
        #expect(place.names.contains("secret.plist.damaged"))
        #expect(Preferences(preferences: store(.always)).token == "marlin")
    }

    @Test("SET-35: an access group is a store of several apps; an empty or invalid name is an error")
    func groups() throws {
        let lookup = { (name: String) -> String? in name == "HOME" ? "/h" : nil }
        let store = try FilePreferences(accessGroup: "com.example.family", variable: lookup)
        #expect(store.path == "/h/.config/com.example.family/preferences.plist")
        let service = { (name: String) -> String? in name == "STATE_DIRECTORY" ? "/var/lib/a" : lookup(name) }
        let shared = try FilePreferences(accessGroup: "com.example.family", variable: service)
        #expect(shared.path == store.path, "the services of a group share one store")
        for name in ["", "../other", "a b", ".hidden"] {
            #expect(throws: PreferenceStoreError.self) { try FilePreferences(accessGroup: name, variable: lookup) }
        }
    }
}

/// The process's own keyring, which ends with it.
private enum ProcessKeyring {
    private typealias AddKey =
        @convention(c) (Int, UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafePointer<CChar>, Int, CInt) -> Int

    static func add(_ description: String, _ content: String) -> Bool {
        #if arch(x86_64)
            let number = 248
        #else
            let number = 217
        #endif
        guard let symbol = dlsym(nil, "syscall") else { return false }
        // KEY_SPEC_PROCESS_KEYRING is -2.
        return unsafeBitCast(symbol, to: AddKey.self)(number, "user", description, content, content.utf8.count, -2) >= 0
    }
}
