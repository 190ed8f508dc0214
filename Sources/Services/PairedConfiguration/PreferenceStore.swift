// Seam between a configuration and what keeps its preferences: one call that reads all entries, lets the configuration
// choose the changes, and makes them. It is one call because editors and other processes write the same store, and
// nothing of theirs may come between the reading and the writing.

internal import Synchronization
public import TandemPropertyList
public import TandemSettings

/// A store of preferences, which an app may replace by its own:
///
///     final class TableStore: PreferenceStore {
///         func update(
///             _ change: (PropertyListDictionary?) -> PreferenceEdit
///         ) throws(PreferenceStoreError) {
///             let edit = change(table.entries)
///             for key in edit.removed { table.remove(key) }
///             for (key, value) in edit.values { table.set(key, value) }
///         }
///     }
public protocol PreferenceStore: Sendable {
    /// Reads all entries, calls `change` once or more often with them, and makes the changes that its last call asks
    /// for: all or none, durable when this returns.
    /// - Parameter change: receives nil if what is stored cannot be read. Changes then begin a new store, and what was
    ///   there is kept aside.
    /// - Throws: nothing was changed; or ``PreferenceStoreError/Reason/damaged`` with what was kept aside. After
    ///   ``PreferenceStoreError/Reason/notStorable`` this is called again: first for the app's own changes without the
    ///   shadows of edits, and if that fails, too, once for each changed property, so that one value that cannot be
    ///   stored keeps no other from the store.
    func update(_ change: (PropertyListDictionary?) -> PreferenceEdit) throws(PreferenceStoreError)

    /// Calls the action when others may have changed the store, as long as the result lives. nil, the default, for
    /// a store that no other process writes.
    func observe(_ changed: @escaping @Sendable () -> Void) -> ConfigurationObservation?
}

extension PreferenceStore {
    public func observe(_ changed: @escaping @Sendable () -> Void) -> ConfigurationObservation? { nil }
}

/// A store that knows before it writes whether it has room: a value without it is refused where it is set (SET-43).
package protocol BoundedPreferenceStore: PreferenceStore {
    /// The bytes of a property list, XML or binary, that it can hold for sure.
    var byteLimit: Int { get }

    /// Why it cannot hold these entries together; nil if it can.
    func fault(of entries: PropertyListDictionary) -> String?
}

/// A store of preferences that could not be used.
public struct PreferenceStoreError: Error, Sendable, Hashable {
    /// The kind of fault.
    public enum Reason: String, Sendable, Hashable {
        /// The content cannot be read. The values in force stay; the next change begins a new store.
        case damaged
        /// There is no store, or it must not be used as it is.
        case unavailable
        /// Another process has had it for too long.
        case inUse = "in-use"
        /// There is no room for the change.
        case full
        /// A value, or all of them together, cannot be stored.
        case notStorable = "not-storable"
        /// It is encrypted, and the key is missing or another one.
        case locked
    }

    /// The kind of fault.
    public let reason: Reason
    /// The store: a path, or another name for people.
    public let store: String
    /// The fault, for people.
    public let detail: String
    /// Where the damaged content was put when a new one was written; nil if it is where it was.
    public let aside: String?

    /// A fault.
    public init(_ reason: Reason, store: String, detail: String, aside: String? = nil) {
        self.reason = reason
        self.store = store
        self.detail = detail
        self.aside = aside
    }

    /// The detail of ``Reason/notStorable`` for entries that are too large.
    package static func tooLarge(_ count: Int, limit: Int) -> String {
        "all values together have \(count) bytes, of at most \(limit)"
    }
}

extension PreferenceStoreError: CustomStringConvertible {
    public var description: String {
        let kept = aside.map { "; what was there is kept as \($0)" } ?? ""
        return "preferences in \(store) (\(reason.rawValue)): \(detail)\(kept)"
    }
}

/// Preferences that end with this object: for tests, and for values that must not survive the process.
public final class MemoryPreferences: PreferenceStore {
    private let stored: Mutex<PropertyListDictionary>
    private let observers = Observers<Void>()

    /// A store with these entries.
    public init(_ entries: PropertyListDictionary = [:]) { stored = Mutex(entries) }

    /// All entries.
    public var entries: PropertyListDictionary { stored.withLock(\.self) }

    public func update(_ change: (PropertyListDictionary?) -> PreferenceEdit) throws(PreferenceStoreError) {
        let isChanged = stored.withLock { stored in
            let edit = change(stored)
            if !edit.isEmpty { stored = edit.applied(to: stored) }
            return !edit.isEmpty
        }
        if isChanged { observers.notify(()) }
    }

    public func observe(_ changed: @escaping @Sendable () -> Void) -> ConfigurationObservation? {
        observers.add { changed() }
    }
}
