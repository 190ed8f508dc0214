// Trial of an applied configuration (CFG-61): a value that passes every check can still make its app crash. Until the
// app has lived with the configuration, the last good one is kept beside it, and the attempts are counted: by the
// daemon, which offers and sees connections, and by the library, which sees starts without a daemon. Each writes a file
// of its own, and the higher count is true.

package import TandemPropertyList
import TandemWire

/// An applied configuration that has not proved to be good (CFG-61): a row, and `trial.plist` in the app's directory.
package struct ConfigurationTrial: Sendable, Equatable {
    /// Of the configuration on trial.
    package let digest: [UInt8]
    /// Of the one that it replaced during that one's trial: it is on disk until the file of the new one is written.
    package let replaced: [UInt8]?
    /// The attempts that the daemon knows of: offers, registrations of the app, and starts that the library counted.
    package internal(set) var attempts: UInt64
    /// The deliveries whose last verdict is outstanding.
    package internal(set) var deliveries: ConfigurationDeliveries
    /// The last configuration that proved to be good; nil if there is none.
    package internal(set) var previous: ActiveConfiguration?

    package init(
        digest: [UInt8], replaced: [UInt8]? = nil, attempts: UInt64, deliveries: ConfigurationDeliveries,
        previous: ActiveConfiguration?
    ) {
        self.digest = digest
        self.replaced = replaced
        self.attempts = attempts
        self.deliveries = deliveries
        self.previous = previous
    }

    /// Whether a configuration with this digest has not proved to be good.
    package func covers(_ digest: [UInt8]) -> Bool { digest == self.digest || digest == replaced }

    /// Says no more than was seen: the daemon's own end may have cut an attempt short.
    static var failureText: String {
        let seconds = ConfigurationLimits.trial.components.seconds
        return "the app was not seen to run with it for \(seconds) s in any of \(ConfigurationLimits.attempts) attempts"
    }

    /// The trial of a configuration that the app has applied. The last good one is kept: that of a trial that has not
    /// passed yet, if there is one.
    /// - Parameters:
    ///   - running: the trial that this one takes over, with its configuration; nil if none runs.
    ///   - active: the one that was active before.
    init(
        of staged: StagedConfiguration, after running: (trial: Self, tried: ActiveConfiguration)?,
        active: ActiveConfiguration?
    ) {
        let digest = staged.record.digest
        var previous = active?.record.digest == digest ? nil : active
        var (replaced, deliveries): ([UInt8]?, ConfigurationDeliveries) = (nil, staged.deliveries)
        if let (trial, tried) = running {
            if !tried.isWaived { (previous, replaced) = (trial.previous, trial.digest) }
            // The surplus gets no report of the end: any would finish its nonce (CFG-61).
            if trial.digest == digest { deliveries = deliveries.joined(to: trial.deliveries).deliveries }
        }
        self.init(
            digest: digest, replaced: staged.isWaived ? nil : replaced, attempts: staged.attempts,
            deliveries: deliveries, previous: staged.isWaived ? nil : previous)
    }

    /// Whether there was an attempt more than the configuration may have (LIM-88).
    var isUsedUp: Bool { attempts > ConfigurationLimits.attempts }

    /// The app has not run with it after all.
    mutating func uncount() { if attempts > 0 { attempts -= 1 } }
}

extension ConfigurationTrial {
    /// The row's fields: the file's, and of the deliveries what is the daemon's alone.
    package var row: PropertyListDictionary { dictionary.merging(deliveries.rowFields) }

    /// The file's fields (CFG-64).
    package var dictionary: PropertyListDictionary {
        PropertyListDictionary(present: [
            "v": 1, "digest": .data(digest), "attempts": PropertyListValue(attempts),
            "replaced": replaced.map { .data($0) }, "previous": previous.map { .dictionary($0.dictionary) },
        ]).merging(deliveries.fields)
    }

    package init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = try FieldReader(record: dictionary)
        digest = try fields.required("digest", "32 bytes of data") { $0.digestValue }
        replaced = try fields.optional("replaced", "32 bytes of data") { $0.digestValue }
        attempts = try fields.required("attempts", "an integer from 0") { $0.countValue }
        deliveries = try ConfigurationDeliveries(&fields)
        let previous = try fields.optional("previous", "a dictionary") { $0.dictionaryValue }
        try fields.refuseUnknownFields()
        if let previous { self.previous = try ActiveConfiguration(previous) } else { self.previous = nil }
    }
}

/// The library's own account of the configurations that it loads: `attempts.plist` in the app's directory (CFG-65),
/// written by the library and only read by the daemon.
package struct LoadAttempts: Sendable, Equatable {
    package struct Entry: Sendable, Equatable {
        package let digest: [UInt8]
        /// Starts of the app that were about to apply it before it had proved to be good.
        package fileprivate(set) var starts: UInt64 = 0
        /// The app has lived with it, or has said so.
        package fileprivate(set) var isHealthy = false
        /// Milliseconds of its lifetime that the library knows to be used.
        package fileprivate(set) var elapsed: Int64 = 0
    }

    package private(set) var entries: [Entry] = []

    package init() {}

    package func starts(of digest: [UInt8]) -> UInt64 { self[digest].starts }

    package func isHealthy(_ digest: [UInt8]) -> Bool { self[digest].isHealthy }

    package func elapsed(of digest: [UInt8]) -> Int64 { self[digest].elapsed }

    private subscript(digest: [UInt8]) -> Entry {
        get { entries.first { $0.digest == digest } ?? Entry(digest: digest) }
        set {
            entries.removeAll { $0.digest == digest }
            entries.append(newValue)
        }
    }

    /// A start is about to apply the configuration.
    /// - Parameter known: the attempts that the daemon's file tells of.
    package mutating func count(_ digest: [UInt8], known: UInt64) {
        // One more than the limit says that the configuration was refused; more would tell nothing.
        self[digest].starts = min(max(starts(of: digest), known), ConfigurationLimits.attempts) + 1
    }

    /// The configuration has proved to be good.
    package mutating func confirm(_ digest: [UInt8]) { self[digest].isHealthy = true }

    /// So much of the lifetime is used; never decreases.
    package mutating func use(_ digest: [UInt8], elapsed: Int64) {
        self[digest].elapsed = max(self[digest].elapsed, elapsed)
    }

    package mutating func keep(_ digests: [[UInt8]]) { entries.removeAll { !digests.contains($0.digest) } }
}

extension LoadAttempts {
    /// The file's fields (CFG-65).
    package var dictionary: PropertyListDictionary {
        [
            "v": 1,
            "attempts": .array(
                entries.map { entry in
                    .dictionary([
                        "digest": .data(entry.digest), "starts": PropertyListValue(entry.starts),
                        "healthy": .boolean(entry.isHealthy), "elapsed": .integer(entry.elapsed),
                    ])
                }),
        ]
    }

    package init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = try FieldReader(record: dictionary)
        let list = try fields.required("attempts", "a list of at most 64 dictionaries") { value in
            value.list(atMost: ConfigurationLimits.list) { $0.dictionaryValue }
        }
        try fields.refuseUnknownFields()
        for dictionary in list { entries.append(try Entry(dictionary)) }
    }
}

extension LoadAttempts.Entry {
    fileprivate init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = FieldReader(dictionary)
        digest = try fields.required("digest", "32 bytes of data") { $0.digestValue }
        starts = try fields.required("starts", "an integer from 0") { $0.countValue }
        isHealthy = try fields.required("healthy", "a boolean") { $0.booleanValue }
        elapsed = try fields.required("elapsed", "an integer from 0") { $0.elapsedValue }
        try fields.refuseUnknownFields()
    }
}

extension PropertyListValue {
    /// A number of things that were counted one by one.
    var countValue: UInt64? { unsignedValue.flatMap { $0 <= UInt64(UInt32.max) ? $0 : nil } }
}
