// SET-43: a preference without room in the store is refused where it is set, and keeps no other from the store.

import PairedConfiguration
import PairedConfigurationSQLite
import TandemTestSupport
import Testing

/// `@unchecked`: every property is a wrapper around state behind a mutex.
private final class Preferences: Configuration, @unchecked Sendable {
    @Preference var pdata: [UInt8] = []
    @Preference var other: [UInt8] = []
    @Preference var text = ""
    @Preference var si = 0
}

/// A store of an app's own, which refuses what has more than so many bytes only when it is written.
private final class SmallStore: PreferenceStore {
    private let memory = MemoryPreferences()

    var entries: PropertyListDictionary { memory.entries }

    func update(_ change: (PropertyListDictionary?) -> PreferenceEdit) throws(PreferenceStoreError) {
        let edit = change(memory.entries)
        let after = edit.applied(to: memory.entries)
        let bytes = after.reduce(0) { $0 + ($1.value.dataValue?.count ?? 0) }
        guard bytes <= 1000 else { throw PreferenceStoreError(.notStorable, store: "small", detail: "too large") }
        try memory.update { _ in edit }
    }
}

@Suite struct PreferenceRoomTests {
    private let place = TemporaryDirectory()

    /// Two stores of a test share a file, and a sanitizer makes its reading slow.
    private var patience: Duration { .seconds(60) }

    private var file: FilePreferences { FilePreferences(place.path("app/preferences.plist"), patience: patience) }
    private var protected: ProtectedPreferences {
        ProtectedPreferences(
            place.path("app/protected.plist"), accessibility: .always, machine: place.path("machine-id"),
            patience: patience)
    }

    private func isRefused(_ body: () throws(SettingError) -> Void) -> Bool {
        do throws(SettingError) {
            try body()
            return false
        } catch {
            if case .notStorable(let reason) = error.rule { return reason.contains("bytes") }
            return false
        }
    }

    private func check(scale: Int = 1, _ make: () -> any PreferenceStore) throws {
        let app = Preferences(preferences: make())
        #expect(
            isRefused { () throws(SettingError) in try app.$pdata.set([UInt8](repeating: 7, count: 600_000 * scale)) })
        #expect(app.pdata.isEmpty && app.$pdata.layer == .declaredDefault, "nothing is changed")
        app.si = 9
        try app.$pdata.set([UInt8](repeating: 7, count: 200_000 * scale))
        #expect(
            isRefused { () throws(SettingError) in try app.$other.set([UInt8](repeating: 8, count: 400_000 * scale)) })
        #expect(
            isRefused { () throws(SettingError) in try app.$text.set(String(repeating: "&", count: 400_000 * scale)) })
        try app.writePreferences()
        let next = Preferences(preferences: make())
        #expect(next.si == 9 && next.pdata.count == 200_000 * scale && next.other.isEmpty && next.text.isEmpty)
        // Values in the file count from its reading on, and removed ones count no longer.
        #expect(
            isRefused { () throws(SettingError) in try next.$other.set([UInt8](repeating: 8, count: 400_000 * scale)) })
        next.$pdata.remove()
        try next.$other.set([UInt8](repeating: 8, count: 300_000 * scale))
        try next.writePreferences()
        #expect(!next.isDirty)
    }

    @Test("SET-43: a file refuses a preference without room where it is set, alone and beside the others")
    func ofFiles() throws { try check { file } }

    @Test("SET-43: a protected file refuses a preference without room where it is set")
    func ofProtectedFiles() throws {
        place.write(Array("0123456789abcdef0123456789abcdef\n".utf8), to: "machine-id")
        try check { protected }
    }

    @Test("SET-43, LIM-114: a SQLite file refuses a preference without room where it is set")
    func ofSQLite() throws {
        try check(scale: 8) { SQLitePreferences(place.path("app/preferences.sqlite"), patience: patience) }
    }

    @Test("SET-43: all that is accepted is stored, to the last byte of the file")
    func exact() throws {
        let app = Preferences(preferences: file)
        var (count, refused) = (380_000, 400_000)
        while refused - count > 1 {
            let middle = (count + refused) / 2
            let bytes = [UInt8](repeating: 7, count: middle)
            if isRefused({ () throws(SettingError) in try app.$pdata.set(bytes) }) {
                refused = middle
            } else {
                count = middle
            }
        }
        try app.writePreferences()
        #expect(app.pdata.count == count && Preferences(preferences: file).pdata.count == count)
        #expect(!app.isDirty)
    }

    @Test("SET-22, SET-43: a plain assignment without room is in force and told, and keeps no other from the file")
    func assigned() throws {
        let app = Preferences(preferences: file)
        app.pdata = [UInt8](repeating: 7, count: 600_000)
        app.si = 9
        let error = #expect(throws: PreferenceStoreError.self) { try app.writePreferences() }
        #expect(error?.reason == .notStorable && error?.detail.hasPrefix("pdata: ") == true && app.isDirty)
        let next = Preferences(preferences: file)
        #expect(app.pdata.count == 600_000 && next.si == 9 && next.pdata.isEmpty)
        app.pdata = [1]
        try app.writePreferences()
        #expect(Preferences(preferences: file).pdata == [1] && !app.isDirty)
    }

    @Test("SET-43: a value that a store refuses only when it is written keeps no other from it")
    func lateRefusal() async throws {
        let store = SmallStore()
        let app = Preferences(preferences: store)
        let (events, continuation) = AsyncStream.makeStream(of: String.self)
        let observation = app.observeEvents { continuation.yield("\($0)") }
        defer { observation.cancel() }
        try app.$pdata.set([UInt8](repeating: 7, count: 2000))
        app.si = 9
        let error = #expect(throws: PreferenceStoreError.self) { try app.writePreferences() }
        #expect(error?.detail == "pdata: too large")
        #expect(store.entries["si"] == 9 && store.entries["pdata"] == nil && app.isDirty)
        app.si = 10
        app.text = "new"
        #expect(throws: PreferenceStoreError.self) { try app.writePreferences() }
        #expect(store.entries["si"] == 10 && store.entries["text"] == "new")
        var told = events.makeAsyncIterator()
        while let event = await told.next(), !event.contains("too large") {}
        try app.$pdata.set([1])
        try app.writePreferences()
        #expect(store.entries["pdata"] == .data([1]) && !app.isDirty)
    }
}
