// Events of a configuration beside changes of values, for an app's log: none needs an answer.

public import TandemBase
public import TandemSettings

/// A signed configuration that is applied.
public struct AppliedConfiguration: Sendable, Hashable {
    /// Grows with each configuration for a target; a lower one is refused.
    public let version: UInt64
    /// SHA-256 of the signed envelope.
    public let digest: [UInt8]
    /// Names the configuration in reports (`txid`).
    public let transaction: UniqueIdentifier
    /// The paired identifier that it was signed for.
    public let target: PairedIdentifier
    /// Applied although its signature is invalid, because both the app and its daemon allow that. Show it wherever a
    /// value of it is shown.
    public let hasInvalidSignature: Bool
    /// Signed by a key that has been revoked since.
    public let isSignerRevoked: Bool
}

extension AppliedConfiguration: CustomStringConvertible {
    /// A line for a log; control characters of the target are escaped.
    public var description: String {
        let shown = OutsideText.line(target.text)
        return "version \(version) for \(shown), txid \(transaction), SHA-256 \(Hexadecimal.encode(digest))"
            + (hasInvalidSignature ? ", with an invalid signature" : "")
            + (isSignerRevoked ? ", signed by a key that is revoked" : "")
    }
}

/// A signed configuration that was not applied.
public struct ConfigurationRejection: Error, Sendable, Hashable, CustomStringConvertible {
    /// The stable name of the reason.
    public let name: String
    /// The fault, for people.
    public let detail: String

    /// A line for a log; control characters of the detail are escaped.
    public var description: String { "\(name): \(OutsideText.line(detail))" }
}

/// Something that happened to a configuration.
public enum ConfigurationEvent: Sendable, Equatable {
    /// A signed configuration took effect.
    case applied(AppliedConfiguration)
    /// This app refused a signed configuration; the applied one stays. The daemon refuses most of them before the app
    /// sees them, also as `schema` while it has the schema of the connected app (CFG-108): its log and the report to
    /// the primary say so, and there is no event here.
    case rejected(ConfigurationRejection)
    /// A file in the app's directory was not applied; what else there is applies.
    case notApplied(ConfigurationFileFailure)
    /// No signed configuration is active any longer: unpaired, switched, or its lifetime is over.
    case deactivated
    /// A configuration file, or none any longer, counts now; its report names the entries that were skipped.
    case fileLoaded(ConfigurationFileLoad)
    /// A configuration file cannot be read; the values of the last good one stay.
    case fileRefused(ConfigurationFileFailure)
    /// Stored preferences were not taken, or not stored, as they are.
    case preferences(PreferenceEvent)
    /// Synced settings were not mirrored as they are.
    case sync(SyncEvent)
    /// A mistake in the declaration: each observer receives those found at start before anything else.
    case declarationProblem(DeclarationProblem)
    /// A user's edit that this app does not take; the layers below show.
    case editIgnored(SettingError)
    /// An invalid value was assigned in code and ignored.
    case assignmentIgnored(SettingError)
}

/// Something that happened to stored preferences.
public enum PreferenceEvent: Sendable, Equatable {
    /// The app and an editor changed one property; the editor's value counts.
    case conflict(PreferenceConflict)
    /// An entry of the store is not valid; the property keeps the value that it has.
    case skipped(LoadReport.Skipped)
    /// A Settings.bundle is not as the app declares it, or not as pages are.
    case pages(SettingsBundleProblem)
    /// The store could not be read or written. Changes stay and are written later.
    case failed(PreferenceStoreError)
    /// A protected store was of this class, weaker than the app's, until now: what it says may be another's.
    case weakerClass(ProtectedAccessibility, store: String)
}

extension PreferenceEvent: CustomStringConvertible {
    /// A line for a log; it shows no value of a secret property.
    public var description: String {
        switch self {
        case .conflict(let conflict): conflict.description
        case .skipped(let skipped): skipped.description
        case .pages(let problem): problem.description
        case .failed(let error): error.description
        case .weakerClass(let found, let store):
            "preferences in \(store) were of the weaker class \(found.rawValue): what they say may be another's"
        }
    }
}

extension ConfigurationEvent {
    /// The event in the log; no value of a secret property is in it.
    var log: LogEvent {
        switch self {
        case .applied(let applied):
            LogEvent(
                applied.hasInvalidSignature ? .warning : .info, "configuration applied",
                .integer("version", applied.version), .boolean("invalidSignature", applied.hasInvalidSignature))
        case .rejected(let rejection):
            LogEvent(.warning, "configuration rejected", fields: Self.fields(rejection))
        case .notApplied(let failure):
            LogEvent(
                .warning, "file not applied", fields: [.outside("file", failure.file)] + Self.fields(failure.rejection))
        case .deactivated: LogEvent(.info, "configuration no longer active")
        case .fileLoaded(let load):
            LogEvent(
                load.report.skipped.isEmpty ? .info : .warning, "configuration file loaded",
                .outside("file", load.file ?? "none"), .integer("loaded", load.report.loaded.count),
                .integer("skipped", load.report.skipped.count))
        case .fileRefused(let failure):
            LogEvent(
                .error, "configuration file refused",
                fields: [.outside("file", failure.file)] + Self.fields(failure.rejection))
        case .preferences(let event):
            switch event {
            case .failed: LogEvent(.error, "preferences failed", .outside("reason", "\(event)"))
            case .weakerClass: LogEvent(.warning, "preferences of a weaker class taken", .outside("reason", "\(event)"))
            case .pages(.unreadablePage(let page, let reason)):
                // Each field is cut by itself: a reason that names a path still says what is wrong with it.
                LogEvent(.error, "settings page not shown", .outside("page", page), .outside("reason", reason))
            case .pages(.missingPage), .pages(.malformedPage):
                LogEvent(.error, "settings page not shown", .outside("reason", "\(event)"))
            case .pages: LogEvent(.warning, "mistake in the settings pages", .outside("reason", "\(event)"))
            case .conflict, .skipped: LogEvent(.warning, "preference not taken", .outside("reason", "\(event)"))
            }
        case .sync(let event): LogEvent(.warning, "setting not synced as it is", .outside("reason", "\(event)"))
        case .declarationProblem(let problem):
            LogEvent(.error, "mistake in the declaration", .outside("problem", "\(problem)"))
        case .editIgnored(let error):
            LogEvent(.warning, "invalid edit ignored", .outside("problem", "\(error)"))
        case .assignmentIgnored(let error):
            LogEvent(.error, "invalid assignment ignored", .outside("problem", "\(error)"))
        }
    }

    private static func fields(_ rejection: ConfigurationRejection) -> [LogField] {
        [.text("name", rejection.name), .outside("reason", rejection.detail)]
    }
}

/// Something that happened to synced settings.
public enum SyncEvent: Sendable, Equatable {
    /// Both sides have changed the property, and neither knew of the other: the primary's value counts.
    case conflict(String)
    /// The counterpart's value breaks a rule of this app, whose own value stays.
    case notTaken(SettingError)
    /// The app's value of the property stays here, because there are too many or too large ones.
    case noRoom(String)
    /// The counterpart's library has sent what it must not.
    case refused(reason: String)
    /// The file of what is mirrored could not be read or written.
    case notStored(ConfigurationFileFailure)
}

extension SyncEvent: CustomStringConvertible {
    /// A line for a log; it shows no value of a secret property.
    public var description: String {
        switch self {
        case .conflict(let name): "\(name) was changed on both devices: the primary's value counts"
        case .notTaken(let error): "the counterpart's value is not taken: \(error)"
        case .noRoom(let name): "\(name) is not mirrored: there are too many settings, or too large ones"
        case .refused(let reason): "the counterpart's settings are refused: \(reason)"
        case .notStored(let failure): "\(failure.file): \(failure.rejection.detail)"
        }
    }
}
