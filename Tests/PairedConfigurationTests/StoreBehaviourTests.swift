// The behaviour of each store of preferences in files, whatever its form: values survive, nothing is lost between
// processes or by a crash, strangers' files are not used, and damage is told and kept.

import Glibc
import PairedConfiguration
import PairedConfigurationSQLite
import Synchronization
import TandemTestSupport
import Testing

/// `@unchecked`: every property is a wrapper around state behind a mutex.
private final class Preferences: Configuration, @unchecked Sendable {
    @Preference var name = ""
    @Preference var volume = 50
}

/// A kind of store, whose writers wait as long as a busy machine takes.
private enum Form: String, CaseIterable, Codable, CustomTestStringConvertible {
    case propertyList, sqlite, protected

    var testDescription: String { rawValue }
    private var patience: Duration { .seconds(60) }

    func store(_ path: String) -> any PreferenceStore {
        switch self {
        case .propertyList: FilePreferences(path, patience: patience)
        case .sqlite: SQLitePreferences(path, patience: patience)
        case .protected:
            ProtectedPreferences(path, accessibility: .always, machine: "/etc/machine-id", patience: patience)
        }
    }
}

/// Writes of a process that is killed.
private let writes = Atomic<Int>(0)

@Suite struct StoreBehaviourTests {
    private let place = TemporaryDirectory()

    private var path: String { place.path("preferences") }

    private func entries(_ form: Form) throws -> PropertyListDictionary? { try form.store(path).read() }

    private func edit(_ form: Form, _ values: PropertyListDictionary, removing removed: Set<String> = []) throws {
        try form.store(path).update { _ in PreferenceEdit(values: values, removed: removed) }
    }

    @Test(
        "SET-54: each change is one transaction, other entries stay, and the file is for its owner alone",
        arguments: Form.allCases)
    fileprivate func entriesOfAFile(_ form: Form) throws {
        #expect(try entries(form) == [:] && place.names.isEmpty)
        try edit(form, ["mine": ["a": [1, .data([0, 255])]], "other": "text"])
        let app = Preferences(preferences: form.store(path))
        app.name = "Anna"
        try app.writePreferences()
        #expect(try entries(form)?["mine"] == ["a": [1, .data([0, 255])]])
        try edit(form, ["mine": 2], removing: ["other"])
        #expect(try entries(form)?.keys == ["mine", "name", "tandem.synced"])
        for name in place.names {
            var status = stat()
            #expect(stat(place.path(name), &status) == 0 && status.st_mode & 0o777 == 0o600)
        }
        #expect(Preferences(preferences: form.store(path)).name == "Anna")
    }

    @Test("SET-29, SET-55: several writers take turns, and no change is lost", arguments: Form.allCases)
    fileprivate func turns(_ form: Form) async throws {
        let path = path
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    let store = form.store(path)
                    for number in 0..<10 {
                        try? store.update { _ in PreferenceEdit(values: ["w\(writer).\(number)": 1]) }
                    }
                }
            }
        }
        #expect(try entries(form)?.count == 40)
    }

    @Test(
        "SET-29, SET-55: a process that is killed while it writes leaves the old values or the new ones",
        arguments: Form.allCases)
    fileprivate func aKilledWriter(_ form: Form) async throws {
        for _ in 0..<3 {
            await #expect(processExitsWith: .signal(SIGKILL)) { [form, path = path as String] in
                let store = form.store(path)
                await withTaskGroup(of: Void.self) { group in
                    group.addTask {
                        while true {
                            let number = writes.add(1, ordering: .relaxed).newValue
                            let value: PropertyListValue = .integer(Int64(number))
                            try? store.update { _ in PreferenceEdit(values: ["one": value, "other": value]) }
                        }
                    }
                    group.addTask {
                        while writes.load(ordering: .relaxed) < 30 { sched_yield() }
                        kill(getpid(), SIGKILL)
                    }
                }
            }
            let found = try #require(try entries(form))
            let one = try #require(found["one"]?.integerValue)
            #expect(found["other"]?.integerValue == one && one >= 28)
        }
        try edit(form, ["one": 1])
        #expect(place.names.allSatisfy { ["preferences", "preferences.key"].contains($0) })
    }

    @Test("SET-29, SET-55: a file or directory that others may write, or a link, is not used", arguments: Form.allCases)
    fileprivate func trust(_ form: Form) throws {
        try edit(form, ["a": 1])
        func fault() -> String {
            let error = #expect(throws: PreferenceStoreError.self) { try edit(form, ["a": 2]) }
            #expect(error?.reason == .unavailable)
            return error?.description ?? ""
        }
        chmod(path, 0o666)
        #expect(fault().contains("run: chmod go-w"))
        chmod(path, 0o600)
        chmod(place.path, 0o777)
        #expect(fault().contains("run: chmod go-w"))
        chmod(place.path, 0o700)
        rename(path, place.path("real"))
        symlink(place.path("real"), path)
        #expect(fault().contains("symbolic link"))
    }

    @Test(
        "SET-30, SET-55: a damaged file is told and stays; the next change keeps it aside and stores all values",
        arguments: Form.allCases)
    fileprivate func damage(_ form: Form) throws {
        let app = Preferences(preferences: form.store(path))
        app.volume = 60
        app.name = "Anna"
        try app.writePreferences()
        let broken = Array("no store".utf8)
        place.write(broken, to: "preferences")
        let told = #expect(throws: PreferenceStoreError.self) { try app.readPreferences() }
        #expect(told?.reason == .damaged && told?.aside == nil)
        #expect(app.volume == 60 && TemporaryDirectory.read(path) == broken)
        app.volume = 61
        // The library's own thread may be first; then this has nothing left to write.
        try? app.writePreferences()
        #expect(TemporaryDirectory.read(path + ".damaged") == broken)
        #expect(!app.isDirty)
        let next = Preferences(preferences: form.store(path))
        #expect(next.volume == 61 && next.name == "Anna")
    }

    @Test(
        "SET-30, SET-55, LIM-114: values that no reader would take are not stored, and the old ones stay",
        arguments: Form.allCases)
    fileprivate func tooMuch(_ form: Form) throws {
        try edit(form, ["a": 1])
        let error = #expect(throws: PreferenceStoreError.self) {
            try edit(form, ["b": .data([UInt8](repeating: 1, count: 4 << 20))])
        }
        #expect(try error?.reason == .notStorable && entries(form) == ["a": 1])
    }

    @Test("SET-22: on a full disk a change stays pending; with room again it is stored", arguments: Form.allCases)
    fileprivate func aFullDisk(_ form: Form) throws {
        guard let disk = SmallDisk() else { return }
        chmod(disk.path, 0o700)
        let store = form.store("\(disk.path)/preferences")
        let app = Preferences(preferences: store)
        app.name = "Anna"
        try app.writePreferences()
        disk.fill()
        app.name = String(repeating: "a", count: 10_000)
        let error = #expect(throws: PreferenceStoreError.self) { try app.writePreferences() }
        #expect(error?.reason == .full && app.isDirty)
        #expect(Preferences(preferences: form.store("\(disk.path)/preferences")).name == "Anna")
        try disk.free()
        try app.writePreferences()
        #expect(Preferences(preferences: form.store("\(disk.path)/preferences")).name == app.name)
    }

    @Test(
        "SET-31, SET-55: an edit by another process is seen, as one notification of the origin user",
        arguments: Form.allCases)
    fileprivate func watching(_ form: Form) async throws {
        try edit(form, ["volume": 10])
        let app = Preferences(preferences: form.store(path))
        var updates = app.updates.makeAsyncIterator()
        try edit(form, ["volume": 11, "name": "Bert"])
        let changes = try #require(await updates.next())
        #expect(changes.origin == .user && changes.changes.count == 2)
        #expect(app.volume == 11 && app.name == "Bert")
    }
}
