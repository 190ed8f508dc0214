// The part of a configuration that comes from configuration files: which files, what was last read of them, and the
// watch over their directory. A file that cannot be read changes nothing, so that a broken edit leaves the last good
// values; each load is one batch of changes.

internal import Synchronization
import TandemPropertyList
import TandemSettings

final class FileSettings: Sendable {
    private struct State {
        var source: EnvironmentFile?
        /// The content that counts now; nil before the first load.
        var content: EnvironmentFile.Content?
        var lookout: FileLookout?
        /// Loads that have begun, and the last one whose outcome counts: a later one has read later.
        var begun = 0
        var counted = 0
    }

    private let state = Mutex(State())
    private let store: SettingsStore

    init(_ store: SettingsStore) { self.store = store }

    deinit { state.withLock { $0.lookout }?.stop() }

    /// The environment whose files were loaded; that of the process before.
    var name: String { state.withLock { $0.source?.environment } ?? EnvironmentFile.environment(nil) }

    /// Loads the files of a directory, which replaces those of another one.
    /// - Parameters:
    ///   - changed: called on a thread of the library's when a file may have changed; nil for no watch.
    ///   - fill: hands the entries to the store, through the app's override.
    func load(
        _ source: EnvironmentFile, conversion: SettingConversion, changed: (@Sendable () -> Void)?,
        _ fill: (PropertyListDictionary) -> Void
    ) -> ConfigurationFileLoad {
        let lookout = changed.flatMap { FileLookout(in: source.directory, of: source.names, changed: $0) }
        let old = state.withLock { state in
            defer { (state.source, state.content, state.lookout) = (source, nil, lookout) }
            return state.lookout
        }
        old?.stop()
        defer { lookout?.start() }
        return read(source, conversion, fill)
    }

    /// Reads the files again; nothing before ``load(_:conversion:changed:_:)``, and nothing if they are as they were.
    func reload(conversion: SettingConversion, _ fill: (PropertyListDictionary) -> Void) {
        guard let source = state.withLock({ $0.source }) else { return }
        _ = read(source, conversion, fill)
    }

    private func read(
        _ source: EnvironmentFile, _ conversion: SettingConversion, _ fill: (PropertyListDictionary) -> Void
    ) -> ConfigurationFileLoad {
        let number = state.withLock { state in
            state.begun += 1
            return state.begun
        }
        let content = source.read()
        guard !isKnown(content, of: source, number) else { return ConfigurationFileLoad(source, content, LoadReport()) }
        // Without a lock: the app's override may load, too.
        let reading = store.reading(conversion) {
            if case .file(_, _, let entries) = content { fill(entries) }
        }
        let load = ConfigurationFileLoad(source, content, reading.report)
        let isNews = state.withLock { state in
            // Otherwise another load has read the files after this one did, or other files.
            guard number > state.counted, state.source == source else { return false }
            state.counted = number
            guard state.content != content else { return false }
            state.content = content
            if load.failure == nil { store.apply(reading, to: .file, origin: .file) }
            return true
        }
        if isNews { store.notices.add(.event(load.failure.map { .fileRefused($0) } ?? .fileLoaded(load))) }
        return load
    }

    /// Whether the load found what counts already; an older one that is under way then counts no more.
    private func isKnown(_ content: EnvironmentFile.Content, of source: EnvironmentFile, _ number: Int) -> Bool {
        state.withLock { state in
            guard number > state.counted, state.source == source, state.content == content else { return false }
            state.counted = number
            return true
        }
    }
}

extension ConfigurationFileLoad {
    fileprivate init(_ source: EnvironmentFile, _ content: EnvironmentFile.Content, _ report: LoadReport) {
        configurationName = source.environment
        switch content {
        case .none: (file, failure, self.report) = (nil, nil, report)
        case .file(let name, _, _): (file, failure, self.report) = (name, nil, report)
        case .failure(let found): (file, failure, self.report) = (found.file, found, LoadReport())
        }
    }
}
