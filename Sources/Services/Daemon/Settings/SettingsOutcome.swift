// Outcome of a request about an app's settings: what an edit has become, and why one is not carried out.

import TandemBase
import TandemFiles
import TandemPages
import TandemPropertyList
import TandemSettings

struct SettingsOutcome {
    /// The keys whose values were converted.
    let converted: [String]
    /// The keys whose values the app has replaced.
    let replaced: [String]
    /// The app has checks of its own, and has not answered: the declared rules alone have decided.
    let isUnchecked: Bool

    /// The key of what the app's own checks do not take, in the body of a failure (CTL-60).
    static let checks = "checks"
    /// The key that says of a change for an app on another device that it was not sent (CTL-42).
    static let sent = "sent"

    /// The body of the answer (CTL-40, CTL-60).
    var body: PropertyListDictionary {
        PropertyListDictionary(present: [
            "converted": .array(converted.map { .string($0) }), "unchecked": isUnchecked ? true : nil,
            "replaced": replaced.isEmpty ? nil : .array(replaced.map { .string($0) }),
        ])
    }
}

/// Why a request about an app's settings is not carried out.
enum SettingsFailure: Error {
    /// No app with this identifier is installed.
    case unknownApp
    /// The app has no schema here: none was sent, or none was taken. For a primary also: the app opens nothing to it.
    case noSchema
    /// The asker may no longer edit: the app is another user's (CTL-2), or the pairing has ended.
    case notAllowed
    /// The file is missing, or not what the app has sent.
    case otherSchema
    /// The app has sent another schema than the one that it has named.
    case unnamedSchema
    /// The document that the app has sent is none.
    case document(SchemaError)
    /// The schema does not take the values.
    case refused(SettingsPayloadError)
    /// The app's own checks do not take them.
    case unfit([PageRefusal])
    /// The app runs, and its answer about its own checks is none.
    case wrongAnswer
    /// The app runs, and has failed to make its own checks, with these words.
    case failedCheck(String)
    /// The edits of the person would not have their room.
    case tooLarge
    /// The asker has as many changes under way as one may have.
    case busy
    case file(FileError)
    /// The app's file of edits is none; it is kept aside before anybody is told so.
    case damagedEdits
    /// The app's file of edits is that of a later version of the daemon.
    case laterEdits
    /// The daemon's store takes nothing.
    case notStored
}

extension SettingsFailure {
    /// The reason in the log. Not cut if the daemon itself wrote all of it, such as a path with the command to run.
    var logField: LogField {
        if case .file = self { .text("reason", description) } else { .outside("reason", description) }
    }
}

extension SettingsFailure {
    /// The failure of an edit about which the app was asked. Where the schema refuses what the app has made of a typed
    /// value (PAG-26), or a picked date of which it has made none (PAG-32), the reason stands beside the field, as one
    /// of the app's own does.
    /// - Parameters:
    ///   - replacements: the app's values in the places of typed ones.
    ///   - values: the typed ones.
    func ofApp(replacing replacements: PropertyListDictionary, of values: PropertyListDictionary) -> SettingsFailure {
        guard case .refused(let refused) = self else { return self }
        let refusals = refused.errors.compactMap { error -> PageRefusal? in
            let key = error.property
            switch error.rule {
            // The property or its list was changed meanwhile: the form is judged once more.
            case .unknownProperty, .signedOnly, .notForCounterpart, .notStorable: return nil
            case _ where replacements[key] != nil:
                return PageRefusal(key: key, text: "The app's own value in its place is refused: \(error.reason).")
            case .type where values[key]?.dateValue != nil:
                return PageRefusal(key: key, text: "The app has not said which value stands for this date.")
            default: return nil
            }
        }
        return refusals.count == refused.errors.count ? .unfit(refusals) : self
    }
}

extension SettingsFailure: CustomStringConvertible {
    var description: String {
        switch self {
        case .otherSchema:
            "the app's schema was changed or removed in its directory; the app sends it again at its next registration"
        case .unnamedSchema: "the schema is not the one that the app has named when it registered"
        case .notStored: "the daemon's store takes nothing now"
        case .notAllowed: "the app has another user now"
        case .unknownApp: "no app with this identifier is installed on this device; 'tandem apps list' shows all"
        case .noSchema:
            "this daemon has taken no schema of the app; an app sends one when it registers with its configuration "
                + "installed, and the daemon's log says if it was refused"
        case .document(let error): "the app's schema: \(error)"
        case .refused(let error): error.description
        case .unfit(let refusals): refusals.prefix(8).map { "\($0.key): \($0.text)" }.joined(separator: "; ")
        case .wrongAnswer: "the app's answer about its own checks does not read; nothing was stored"
        case .failedCheck(let text): "the app has failed to make its own checks: \(text); nothing was stored"
        case .tooLarge:
            "one person's edits of an app have \(SettingEdits.userRoom) bytes, those of a primary "
                + "\(SettingEdits.primaryRoom), of \(SettingEdits.primaryLimit) primaries"
        case .busy: "as many requests about settings are under way as one user or device may have"
        case .file(let error): error.textOfFixedPath
        case .damagedEdits: "the file of the app's edits is damaged"
        case .laterEdits:
            "the app's edits are of a later version of the daemon, which this one neither reads nor changes; update it, "
                + "or remove \(SettingEdits.fileName) from the app's directory"
        }
    }
}
