// Preferences encrypted at rest: what is readable when, with which key, and on which machine.

import Glibc
import PairedConfiguration
import TandemTestSupport
import Testing

/// `@unchecked`: every property is a wrapper around state behind a mutex.
private final class Preferences: Configuration, @unchecked Sendable {
    @Edit("Token", secret: true) var token = ""
}

@Suite struct ProtectedPreferencesTests {
    private let place = TemporaryDirectory()

    private func store(_ accessibility: ProtectedAccessibility, keyring: String? = nil) -> ProtectedPreferences {
        ProtectedPreferences(
            place.path("secret.plist"), accessibility: accessibility, keyring: keyring, machine: "/etc/machine-id",
            patience: .seconds(60))
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

    @Test("SET-36: a key file of another length is locked, and the fault says its length")
    func wrongKeyFile() throws {
        let app = Preferences(preferences: store(.always))
        app.token = "swordfish"
        try app.writePreferences()
        let path = place.path("secret.plist.key")
        for count in [0, 31] {
            try #require(truncate(path, off_t(count)) == 0)
            let error = #expect(throws: PreferenceStoreError.self) {
                try store(.always).update { _ in PreferenceEdit() }
            }
            #expect(error?.reason == .locked)
            #expect(error?.detail == "\(path) has \(count) bytes; a key file has 32")
        }
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
        let events = other.observedEvents()
        #expect(other.token.isEmpty && "\(events.all)".contains("locked"))
        #expect("\(events.all)".contains("unlockPreferences(passphrase:)"), "the way out")
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
    }

    @Test("SET-36: from the first unlocking on, locking changes nothing")
    func afterFirstUnlock() throws {
        let store = store(.afterFirstUnlock)
        #expect(fault { try store.update { _ in PreferenceEdit() } } == .locked)
        try store.unlock(passphrase: "a")
        store.lock()
        try store.update { _ in PreferenceEdit(values: ["a": 1]) }
    }

    @Test("SET-58: a store of another class opens with what that class needs, and is written under the new one at once")
    func anotherClass() throws {
        try store(.always).update { _ in PreferenceEdit(values: ["a": 1]) }
        let steps: [(ProtectedAccessibility, String)] = [
            (.whenUnlocked, "correct"), (.afterFirstUnlock, "correct"), (.always, "correct"),
        ]
        for (accessibility, passphrase) in steps {
            let next = store(accessibility)
            #expect(fault { try next.update { _ in PreferenceEdit() } } == .locked)
            #expect(String(decoding: bytes, as: UTF8.self).contains(accessibility.rawValue) == false)
            if accessibility != .whenUnlocked { #expect(fault { try next.unlock(passphrase: "wrong") } == .locked) }
            try next.unlock(passphrase: passphrase)
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(text.contains(accessibility.rawValue))
            #expect(try next.read() == ["a": 1])
        }
        #expect(try store(.always).read() == ["a": 1])
    }

    @Test("SET-58: a store of a weaker class than the app's is one event; one of a stronger class is none")
    func weakerClass() async throws {
        let steps: [(from: ProtectedAccessibility, to: ProtectedAccessibility, isWeaker: Bool)] = [
            (.always, .whenUnlocked, true), (.whenUnlocked, .whenUnlocked, false), (.whenUnlocked, .always, false),
            (.always, .alwaysThisDeviceOnly, true), (.alwaysThisDeviceOnly, .always, false),
            (.afterFirstUnlock, .whenUnlockedThisDeviceOnly, true),
        ]
        place.write(Array("0123456789abcdef0123456789abcdef\n".utf8), to: "machine-id")
        func store(_ accessibility: ProtectedAccessibility) -> ProtectedPreferences {
            ProtectedPreferences(
                place.path("secret.plist"), accessibility: accessibility, machine: place.path("machine-id"),
                patience: .seconds(60))
        }
        for step in steps {
            unlink(place.path("secret.plist"))
            let former = store(step.from)
            try former.unlock(passphrase: "correct")
            try former.update { _ in PreferenceEdit(values: ["token": "swordfish"]) }
            let present = store(step.to)
            if step.to != .always && step.to != .alwaysThisDeviceOnly { try present.unlock(passphrase: "correct") }
            let app = Preferences(preferences: present)
            let events = app.observedEvents()
            if app.token.isEmpty { try present.unlock(passphrase: "correct") }
            for _ in 0..<2 { try app.readPreferences() }
            #expect(app.token == "swordfish")
            // The library's thread may be the one that delivers.
            await ConfigurationThread.rest()
            let told = ConfigurationEvent.preferences(
                .weakerClass(step.from, store: place.path("secret.plist")))
            #expect(events.all.count { $0 == told } == (step.isWeaker ? 1 : 0), "\(step)")
        }
    }

    @Test(
        "SET-36: the machine's identifier is 32 digits, a link leads to it, and another machine does not open the store"
    )
    func machines() throws {
        let machine = place.path("machine-id")
        func store() -> ProtectedPreferences {
            ProtectedPreferences(place.path("secret.plist"), accessibility: .alwaysThisDeviceOnly, machine: machine)
        }
        for text in ["", "uninitialized\n", "0123456789ABCDEF0123456789abcdef\n"] {
            place.write(Array(text.utf8), to: "machine-id")
            #expect(fault { try store().update { _ in PreferenceEdit(values: ["a": 1]) } } == .unavailable)
        }
        place.write(Array("0123456789abcdef0123456789abcdef\n".utf8), to: "real")
        unlink(machine)
        symlink(place.path("real"), machine)
        try store().update { _ in PreferenceEdit(values: ["a": 1]) }
        #expect(try store().read() == ["a": 1])
        place.write(Array("1123456789abcdef0123456789abcdef\n".utf8), to: "real")
        #expect(fault { try store().update { _ in PreferenceEdit() } } == .locked)
    }

    @Test("SET-37: a salt or check of another length is damage, and never a key")
    func lengths() throws {
        try store(.always).update { _ in PreferenceEdit(values: ["a": 1]) }
        let sound = try PropertyListReader.readDictionary(bytes)
        for (key, count) in [("salt", 15), ("salt", 0), ("check", 31), ("check", 33), ("sealed", 27)] {
            var file = sound
            file[key] = .data([UInt8](repeating: 0, count: count))
            place.write(try PropertyListWriter.write(file), to: "secret.plist")
            #expect(fault { try store(.always).update { _ in PreferenceEdit() } } == .damaged)
        }
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
            #expect(try again.read() == ["a": 1])
        }
    }

    @Test("SET-36: a passphrase in the kernel's keyring opens the store; without one it is locked")
    func keyring() throws {
        let missing = store(.afterFirstUnlock, keyring: "tandem:test:none")
        let error = #expect(throws: PreferenceStoreError.self) { try missing.update { _ in PreferenceEdit() } }
        #expect(error?.reason == .locked)
        let ways = ["the keyring has no user key 'tandem:test:none'", "until it is there", "unlockPreferences("]
        for way in ways { #expect(error?.detail.contains(way) == true, "\(way)") }
        // A container may forbid keyrings.
        let description = "tandem:test:\(getpid())"
        guard ProcessKeyring.add(description, "correct horse") else { return }
        let opened = store(.afterFirstUnlock, keyring: description)
        try opened.update { _ in PreferenceEdit(values: ["a": 1]) }
        try store(.afterFirstUnlock).unlock(passphrase: "correct horse")
        let unasked = ProtectedPreferences(
            place.path("other"), accessibility: .whenPasscodeSetThisDeviceOnly, keyring: description)
        let passcode = #expect(throws: PreferenceStoreError.self) { try unasked.update { _ in PreferenceEdit() } }
        #expect(passcode?.reason == .locked && passcode?.detail.contains("keyring") == false)
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

    @Test("SET-59: the manifest protects the app's own store or its group's, without code; with a mistake none is used")
    func ofTheManifest() throws {
        func store(_ entries: PropertyListDictionary, _ variables: [String: String] = ["HOME": "/h"])
            -> any PreferenceStore
        {
            ApplicationPreferences.store(
                of: ApplicationManifest(entries), variable: { variables[$0] }, program: "/usr/bin/kiosk")
        }
        func path(_ store: any PreferenceStore) -> String? { (store as? ProtectedPreferences)?.path }
        #expect((store([:]) as? FilePreferences)?.path == "/h/.config/kiosk/preferences.plist")
        let always: PropertyListDictionary = ["APLKeychainAccessibility": "Always"]
        #expect(path(store(always)) == "/h/.config/kiosk/protected.plist")
        #expect(path(store(always, ["TANDEM_PREFERENCES": "/p"])) == "/p/protected.plist")
        #expect(store(always, ["TANDEM_PREFERENCES": "memory"]) is MemoryPreferences)
        let group: PropertyListDictionary = ["APLKeychainAccessGroup": "com.example.family"]
        let variables = ["HOME": "/h", "TANDEM_PREFERENCES": "/p", "STATE_DIRECTORY": "/var/lib/a"]
        #expect(path(store(group, variables)) == "/h/.config/com.example.family/protected.plist")
        for wrong: PropertyListDictionary in [
            ["APLKeychainAccessibility": "Sometimes"], ["APLKeychainAccessGroup": 1],
            ["APLKeychainAccessGroup": "../other"],
        ] {
            #expect(fault { try store(wrong).update { _ in PreferenceEdit() } } == .unavailable)
        }
    }

    @Test("SET-36, SET-59: a configuration unlocks its store, and has then what is stored and stores what it has set")
    func unlockingAConfiguration() throws {
        let app = Preferences(preferences: store(.whenUnlocked))
        app.token = "swordfish"
        try app.unlockPreferences(passphrase: "correct horse")
        #expect(!app.isDirty)
        let next = Preferences(preferences: store(.whenUnlocked))
        #expect(next.token.isEmpty)
        #expect(fault { try next.unlockPreferences(passphrase: "wrong horse") } == .locked)
        try next.unlockPreferences(passphrase: "correct horse")
        #expect(next.token == "swordfish")
        next.lockPreferences()
        #expect(fault { try next.readPreferences() } == .locked)
    }

    @Test("SET-35: an access group is a store of several apps; an empty or invalid name is an error")
    func groups() throws {
        let lookup = { (name: String) -> String? in name == "HOME" ? "/h" : nil }
        let store = try FilePreferences(accessGroup: "com.example.family", variable: lookup)
        #expect(store.path == "/h/.config/com.example.family/preferences.plist")
        let service = { (name: String) -> String? in name == "STATE_DIRECTORY" ? "/var/lib/a" : lookup(name) }
        let shared = try FilePreferences(accessGroup: "com.example.family", variable: service)
        #expect(shared.path == store.path, "the services of a group share one store")
        let protected = try ProtectedPreferences(accessGroup: "com.example.family", variable: service)
        let manifest = ApplicationManifest(["APLKeychainAccessGroup": "com.example.family"])
        let ofManifest = ApplicationPreferences.store(of: manifest, variable: service) as? ProtectedPreferences
        #expect(protected.path == "/h/.config/com.example.family/protected.plist")
        #expect(ofManifest?.path == protected.path, "code and manifest open one store")
        for name in ["", "../other", "a b", ".hidden"] {
            #expect(throws: PreferenceStoreError.self) { try FilePreferences(accessGroup: name, variable: lookup) }
            #expect(throws: PreferenceStoreError.self) { try ProtectedPreferences(accessGroup: name, variable: lookup) }
        }
        let lost = #expect(throws: PreferenceStoreError.self) {
            try ProtectedPreferences(accessGroup: "com.example.family") { $0 == "STATE_DIRECTORY" ? "/s" : nil }
        }
        #expect(lost?.detail == "neither XDG_CONFIG_HOME nor HOME is set", "a group takes no other variable")
    }

    @Test("SET-21, SET-35: with TANDEM_PREFERENCES=memory a group's store needs no key and writes no file")
    func groupsInMemory() throws {
        let home = place.path("home")
        let lookup = { (name: String) -> String? in ["HOME": home, "TANDEM_PREFERENCES": "memory"][name] }
        let group = "com.example.family"
        let stores: [any PreferenceStore] = [
            try FilePreferences(accessGroup: group, variable: lookup),
            try ProtectedPreferences(accessGroup: group, variable: lookup),
            try ProtectedPreferences(accessGroup: group, accessibility: .whenUnlocked, variable: lookup),
        ]
        for store in stores {
            try store.update { _ in PreferenceEdit(values: ["token": "swordfish"]) }
            #expect(try store.read()?["token"] == "swordfish")
        }
        #expect(!place.names.contains("home"))
        #expect(throws: PreferenceStoreError.self) { try ProtectedPreferences(accessGroup: "..", variable: lookup) }
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
