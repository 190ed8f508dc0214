// Preferences that survive the process, and stores: assignment, restart, defaults, complex values, edits from outside.

import Glibc
import PairedConfiguration
import Synchronization
import TandemTestSupport
import Testing

/// The preferences of the example that these rules come from, and some with rules.
///
/// `@unchecked`: every property is a wrapper around state behind a mutex.
private class Preferences: Configuration, @unchecked Sendable {
    @Preference var nameSetting: String?
    @Toggle("Enabled") var enabledSetting = false
    @Slider("Slider", in: 0...1) var sliderSetting = 0.5
    @Preference var rectPref = Rectangle(x: 0, y: 0, width: 1, height: 1)

    struct Rectangle: Codable, Equatable {
        var x: Double
        var y: Double
        var width: Double
        var height: Double
    }
}

/// The next release: a subclass with a further preference and a default of the hook.
///
/// `@unchecked`: every property is a wrapper around state behind a mutex.
private final class LaterPreferences: Preferences, @unchecked Sendable {
    @Preference var namePref = "none"
    @Preference var count = 0

    override func setDefaultPreferences() {
        namePref = "from the hook"
        nameSetting = "from the hook"
        count += 1
    }
}

/// One whose `reset` removes a preference.
///
/// `@unchecked`: every property is a wrapper around state behind a mutex.
private final class ResettingPreferences: Preferences, @unchecked Sendable {
    override func reset() { $sliderSetting.remove() }
}

/// A store that fails on request, and says when it was written.
private final class OddStore: PreferenceStore {
    private let memory = MemoryPreferences()
    private let fault = Mutex<PreferenceStoreError?>(nil)
    private let written: @Sendable () -> Void

    init(written: @escaping @Sendable () -> Void = {}) { self.written = written }

    var entries: PropertyListDictionary { memory.entries }

    func fail(_ error: PreferenceStoreError?) { fault.withLock { $0 = error } }

    /// Another's edit, also while the store fails for the app.
    func edit(_ values: PropertyListDictionary) throws { try memory.update { _ in PreferenceEdit(values: values) } }

    func update(_ change: (PropertyListDictionary?) -> PreferenceEdit) throws(PreferenceStoreError) {
        if let error = fault.withLock(\.self) { throw error }
        var isWrite = false
        try memory.update { entries in
            let edit = change(entries)
            isWrite = !edit.isEmpty
            return edit
        }
        if isWrite { written() }
    }
}

/// A store that another process uses when it is first read.
private final class BusyStore: PreferenceStore {
    private let memory = MemoryPreferences()
    private let isFirst = Mutex(true)

    init(_ values: PropertyListDictionary) { try? memory.update { _ in PreferenceEdit(values: values) } }

    func update(_ change: (PropertyListDictionary?) -> PreferenceEdit) throws(PreferenceStoreError) {
        let isBusy = isFirst.withLock { isFirst in
            defer { isFirst = false }
            return isFirst
        }
        if isBusy { throw PreferenceStoreError(.inUse, store: "busy", detail: "another process has its turn") }
        try memory.update(change)
    }
}

@Suite struct PreferencesTests {
    private let place = TemporaryDirectory()

    /// Two stores of a test share it, and a sanitizer makes its reading slow.
    private var file: FilePreferences {
        FilePreferences(place.path("app/preferences.plist"), patience: .seconds(60))
    }

    private func edit(_ store: any PreferenceStore, _ values: PropertyListDictionary) throws {
        try store.update { _ in PreferenceEdit(values: values) }
    }

    // MARK: they survive

    @Test("SET-21: what is assigned is there after a restart, in a file in the app's own directory")
    func aRestart() async throws {
        // An orderly end, with nothing but the assignment.
        await #expect(processExitsWith: .success) { [directory = place.path as String] in
            setenv("TANDEM_PREFERENCES", directory, 1)
            Preferences().nameSetting = "Anna"
            exit(0)
        }
        // A sudden one, after the call that makes it durable.
        await #expect(processExitsWith: .signal(SIGKILL)) { [directory = place.path as String] in
            setenv("TANDEM_PREFERENCES", directory, 1)
            let app = Preferences()
            if app.nameSetting == "Anna" { app.sliderSetting = 0.75 }
            try? app.writePreferences()
            kill(getpid(), SIGKILL)
        }
        let app = Preferences(preferences: FilePreferences(place.path("preferences.plist")))
        #expect(app.nameSetting == "Anna" && app.sliderSetting == 0.75)
        #expect(app.$nameSetting.layer == .storedPreference && app.$enabledSetting.layer == .declaredDefault)
    }

    @Test("SET-21: a relative directory stays the one of the start when the process changes its own")
    func anotherDirectory() async throws {
        await #expect(processExitsWith: .success) { [directory = place.path as String] in
            for name in ["one", "two"] { mkdir(directory + "/" + name, 0o700) }
            setenv("TANDEM_PREFERENCES", "kept", 1)
            chdir(directory + "/one")
            let app = Preferences()
            chdir(directory + "/two")
            app.nameSetting = "Anna"
            Preferences().sliderSetting = 0.75
            exit(0)
        }
        let app = Preferences(preferences: FilePreferences(place.path("one/kept/preferences.plist")))
        #expect(app.nameSetting == "Anna" && app.sliderSetting == 0.75)
    }

    @Test("SET-22: an assignment is written by itself, and an equal one is not")
    func byItself() async throws {
        let (writes, continuation) = AsyncStream.makeStream(of: Void.self)
        let store = OddStore { continuation.yield() }
        let app = Preferences(preferences: store)
        app.enabledSetting = true
        var write = writes.makeAsyncIterator()
        await write.next()
        #expect(store.entries["enabledSetting"] == true)
        try app.writePreferences()
        #expect(!app.isDirty)
        app.enabledSetting = true
        #expect(!app.isDirty)
    }

    @Test("SET-22: a change that could not be stored stays in force and pending, and the fault is told once")
    func aFailingStore() async throws {
        let store = OddStore()
        let app = Preferences(preferences: store)
        // The library's thread tries, too, and may be the one that delivers.
        let (events, continuation) = AsyncStream.makeStream(of: ConfigurationEvent.self)
        let observation = app.observeEvents { continuation.yield($0) }
        let full = PreferenceStoreError(.full, store: "odd", detail: "no space left")
        store.fail(full)
        app.sliderSetting = 0.25
        #expect(throws: full) { try app.writePreferences() }
        #expect(throws: full) { try app.writePreferences() }
        #expect(app.isDirty && app.sliderSetting == 0.25)
        store.fail(nil)
        try app.writePreferences()
        #expect(!app.isDirty && store.entries["sliderSetting"] == 0.25)
        var event = events.makeAsyncIterator()
        #expect(await event.next() == .preferences(.failed(full)))
        observation.cancel()
        continuation.finish()
        #expect(await event.next() == nil)
        #expect(full.description == "preferences in odd (full): no space left")
    }

    @Test("SET-22: what was wrong with the store at start is told to the observer that comes first")
    func faultsAtStart() {
        let store = OddStore()
        let fault = PreferenceStoreError(.unavailable, store: "odd", detail: "gone")
        store.fail(fault)
        let app = Preferences(preferences: store)
        let events = app.observedEvents()
        #expect(events.all == [.preferences(.failed(fault))])
        #expect(app.sliderSetting == 0.5)
    }

    @Test(
        "SET-21: the place is the variable's, a service's, the configuration directory, else it is told to be missing")
    func thePlace() throws {
        func path(
            _ variables: [String: String], _ program: String? = "/usr/bin/kiosk", of app: String? = nil
        ) -> String? {
            let manifest = ApplicationManifest(app.map { ["CFBundleIdentifier": .string($0)] } ?? [:])
            let store = ApplicationPreferences.store(of: manifest, variable: { variables[$0] }, program: program)
            return (store as? FilePreferences)?.path
        }
        let home = ["HOME": "/h"]
        #expect(path(home) == "/h/.config/kiosk/preferences.plist")
        #expect(path(home.merging(["XDG_CONFIG_HOME": "/x"]) { $1 }) == "/x/kiosk/preferences.plist")
        #expect(path(home, of: "com.example.a") == "/h/.config/com.example.a/preferences.plist")
        let woken = home.merging(["TANDEM_APPLICATION": "com.example.a"]) { $1 }
        #expect(path(woken) == path(home), "an app that its daemon has started has the same file")
        #expect(path(home.merging(["STATE_DIRECTORY": "/var/lib/a"]) { $1 }) == "/var/lib/a/kiosk/preferences.plist")
        #expect(
            path(home.merging(["TANDEM_PREFERENCES": "/p", "STATE_DIRECTORY": "/s"]) { $1 }) == "/p/preferences.plist")
        #expect(path(["TANDEM_PREFERENCES": "memory"]) == nil)
        #expect(path([:]) == nil && path(home, "/usr/bin/a b") == nil && path(["HOME": "h"]) == nil)
        #expect(path(["HOME": "/h", "XDG_CONFIG_HOME": "x"]) == "/h/.config/kiosk/preferences.plist")
        #expect(path(["STATE_DIRECTORY": "/a:/b"]) == "/a/kiosk/preferences.plist")
        let none = ApplicationPreferences.store(variable: { _ in nil }, program: "kiosk")
        #expect(throws: PreferenceStoreError.self) { try none.update { _ in PreferenceEdit() } }
    }

    @Test("SET-23: only declared properties are stored, inherited ones included, by their names without the class's")
    func theKeys() throws {
        let store = MemoryPreferences()
        let app = LaterPreferences(preferences: store)
        app.enabledSetting = true
        try app.writePreferences()
        #expect(
            store.entries.keys == ["count", "enabledSetting", "namePref", "nameSetting", "tandem.synced"])
        // Another class of these names reads them.
        #expect(Preferences(preferences: store).enabledSetting)
    }

    // MARK: defaults

    @Test("SET-27: a preference of a later release has its default, and stored ones keep their values")
    func aLaterRelease() throws {
        let store = MemoryPreferences()
        let first = Preferences(preferences: store)
        first.nameSetting = "Anna"
        first.sliderSetting = 0.75
        try first.writePreferences()
        let second = LaterPreferences(preferences: store)
        #expect(second.namePref == "from the hook" && second.nameSetting == "Anna" && second.sliderSetting == 0.75)
        #expect(second.$namePref.layer == .storedPreference && second.count == 1)
        try second.writePreferences()
        let third = LaterPreferences(preferences: store)
        #expect(third.count == 1 && third.namePref == "from the hook")
    }

    // MARK: values

    @Test("SET-28: a value that was set and removed reads as absent, the default shows, and observers hear of it")
    func removal() async throws {
        let store = OddStore()
        let app = Preferences(preferences: store)
        // The library's thread writes, too, and may be the one that delivers.
        var changes = app.updates.makeAsyncIterator()
        app.sliderSetting = 0.75
        try app.writePreferences()
        app.$sliderSetting.remove()
        try app.writePreferences()
        #expect(app.sliderSetting == 0.5 && app.$sliderSetting.layer == .declaredDefault)
        #expect(store.entries.isEmpty)
        #expect(
            await changes.next()?.changes == [
                SettingChange(name: "sliderSetting", old: .double(0.5), new: .double(0.75))
            ])
        #expect(
            await changes.next()?.changes == [
                SettingChange(name: "sliderSetting", old: .double(0.75), new: .double(0.5))
            ])
    }

    @Test("SET-25, SET-28: a value that others have removed is stored by an equal assignment, and an invalid one goes")
    func equalAssignmentAndRemoval() async throws {
        let store = OddStore()
        let app = Preferences(preferences: store)
        app.sliderSetting = 0.75
        try app.writePreferences()
        let stored = Set(store.entries.keys)
        try store.update { _ in PreferenceEdit(values: ["enabledSetting": "loud"], removed: stored) }
        try app.readPreferences()
        #expect(app.sliderSetting == 0.75 && store.entries == ["enabledSetting": "loud"])
        app.sliderSetting = 0.75
        app.$enabledSetting.remove()
        try app.writePreferences()
        #expect(store.entries == ["sliderSetting": 0.75, "tandem.synced": ["sliderSetting": [0.75]]])
        #expect(!app.isDirty)
    }

    @Test("SET-28: a removal by the app's reset is none of what is stored")
    func removalInReset() throws {
        let store = MemoryPreferences(["sliderSetting": 0.75])
        let app = ResettingPreferences(preferences: store)
        try app.writePreferences()
        #expect(app.sliderSetting == 0.75 && store.entries["sliderSetting"] == 0.75)
    }

    @Test("SET-26: a complex value of one release is equal in the next; damaged bytes are the default and an event")
    func complexValues() throws {
        let store = file
        let first = Preferences(preferences: store)
        first.rectPref = Preferences.Rectangle(x: 1, y: 2, width: 3, height: 4)
        try first.writePreferences()
        let second = LaterPreferences(preferences: store)
        #expect(second.rectPref == first.rectPref)
        let coded: PropertyListValue = ["tag": "Rectangle", "version": 1, "data": .data([1, 2, 3])]
        try edit(store, ["rectPref": coded, "tandem.synced": ["rectPref": [coded]]])
        let third = Preferences(preferences: store)
        let events = third.observedEvents()
        #expect(third.rectPref == Preferences.Rectangle(x: 0, y: 0, width: 1, height: 1))
        #expect(events.all.count == 1)
        #expect(
            "\(events.all)".contains(
                "'rectPref' is skipped: rectPref: 'Rectangle' in 3 bytes cannot be read"))
        try third.writePreferences()
        #expect(try store.read()?["rectPref"] == coded)
    }

    // MARK: edits

    @Test("SET-24: an edit made while the app was stopped is there when it starts, and its shadow follows")
    func anEditWhileStopped() throws {
        let store = file
        let first = Preferences(preferences: store)
        first.sliderSetting = 0.25
        try first.writePreferences()
        try edit(store, ["sliderSetting": 0.75])
        let second = Preferences(preferences: store)
        #expect(second.sliderSetting == 0.75)
        let stored = try #require(try store.read())
        #expect(stored["sliderSetting"] == 0.75)
        #expect(stored["tandem.synced"]?.dictionaryValue?["sliderSetting"] == [0.75])
    }

    @Test("SET-24: a change of the app's is in entry and shadow, where an editor finds it")
    func aChangeForTheEditor() throws {
        let store = file
        let app = Preferences(preferences: store)
        app.nameSetting = "Bert"
        try app.writePreferences()
        let text = String(decoding: try #require(TemporaryDirectory.read(store.path)), as: UTF8.self)
        #expect(text.contains("\t<key>nameSetting</key>\n\t<string>Bert</string>\n"))
        #expect(try store.read()?["tandem.synced"]?.dictionaryValue?["nameSetting"] == ["Bert"])
    }

    @Test("SET-31: an edit of the file is read while the app runs, as one notification of the origin user")
    func anEditWhileRunning() async throws {
        let store = file
        let app = Preferences(preferences: store)
        app.sliderSetting = 0.25
        try app.writePreferences()
        await ConfigurationThread.rest()
        var changes = app.updates.makeAsyncIterator()
        try edit(store, ["sliderSetting": 0.75, "nameSetting": "Carl"])
        let found = await changes.next()
        #expect(found?.origin == .user && found?.changes.map(\.name) == ["nameSetting", "sliderSetting"])
        #expect(app.sliderSetting == 0.75 && app.nameSetting == "Carl")
    }

    @Test("SET-31: an explicit reading takes edits and writes nothing")
    func anExplicitReading() throws {
        let store = OddStore()
        let app = Preferences(preferences: store)
        try edit(store, ["sliderSetting": 0.75])
        try app.readPreferences()
        #expect(app.sliderSetting == 0.75 && store.entries.keys == ["sliderSetting"])
    }

    @Test("SET-22: a store that another process uses at start is read once more, without any edit")
    func inUseAtStart() async throws {
        let app = Preferences(preferences: BusyStore(["sliderSetting": 0.75]))
        await ConfigurationThread.rest()
        #expect(app.sliderSetting == 0.75)
    }

    @Test("SET-25: an edit wins over a change that was not written, and the conflict is an event")
    func aConflict() async throws {
        let store = OddStore()
        let app = Preferences(preferences: store)
        // The library's thread tries, too, and may be the one that merges and delivers.
        let (events, continuation) = AsyncStream.makeStream(of: ConfigurationEvent.self)
        let observation = app.observeEvents { continuation.yield($0) }
        app.sliderSetting = 0.25
        try app.writePreferences()
        // The write that this change made due has ended: under way, it could still write the next change.
        await ConfigurationThread.rest()
        let fault = PreferenceStoreError(.inUse, store: "odd", detail: "busy")
        store.fail(fault)
        app.sliderSetting = 0.5
        #expect(throws: fault) { try app.writePreferences() }
        try store.edit(["sliderSetting": 0.75])
        store.fail(nil)
        try app.writePreferences()
        #expect(app.sliderSetting == 0.75 && !app.isDirty)
        let conflict = PreferenceConflict(name: "sliderSetting", edited: .double(0.75), replaced: .double(0.5))
        var event = events.makeAsyncIterator()
        #expect(await event.next() == .preferences(.failed(fault)))
        #expect(await event.next() == .preferences(.conflict(conflict)))
        withExtendedLifetime(observation) {}
    }

    @Test("SET-7: a stored preference hides environment and files, and the signed layer hides it")
    func layers() throws {
        let store = MemoryPreferences(["sliderSetting": 0.75])
        let app = Preferences(preferences: store)
        _ = try app.load(environment: ["APP_SLIDER_SETTING": "0.1", "APP_ENABLED_SETTING": "yes"], prefix: "APP")
        #expect(app.sliderSetting == 0.75 && app.enabledSetting)
        app.$sliderSetting.remove()
        #expect(app.sliderSetting == 0.1)
    }

    @Test("SET-32: two configurations share a store: each takes the other's changes")
    func sharing() async throws {
        let store = MemoryPreferences()
        let one = Preferences(preferences: store)
        let other = LaterPreferences(preferences: store)
        var changes = other.updates.makeAsyncIterator()
        one.sliderSetting = 0.75
        while let found = await changes.next(), found["sliderSetting"] == nil {}
        #expect(other.sliderSetting == 0.75)
    }

    @Test("SET-48: a Codable type may read the configuration while its stored bytes are decoded")
    func decodingReads() throws {
        let store = MemoryPreferences()
        let app = ReadingPreferences(preferences: store)
        ReadingPreferences.current.withLock { $0 = app }
        defer { ReadingPreferences.current.withLock { $0 = nil } }
        app.curious = ReadingPreferences.Curious(seen: 1)
        try app.writePreferences()
        try edit(store, ["other": 1])
        try app.readPreferences()
        #expect(app.curious.seen == 5)
    }
}

/// A type that reads the configuration from its own decoding.
///
/// `@unchecked`: every property is a wrapper around state behind a mutex.
private final class ReadingPreferences: Configuration, @unchecked Sendable {
    static let current = Mutex<ReadingPreferences?>(nil)

    struct Curious: Codable {
        var seen: Int

        init(seen: Int) { self.seen = seen }

        init(from decoder: any Decoder) throws {
            _ = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .seen)
            let app = ReadingPreferences.current.withLock(\.self)
            seen = app?.volume ?? 0
        }

        private enum CodingKeys: CodingKey { case seen }
    }

    @Preference var volume = 5
    @Preference var curious = Curious(seen: 0)
}
