// A person who edits an app's settings, on the device or at its primary, and the one that a request is counted for.

import TandemBase
import TandemPages
import TandemSettings

/// The one that a request about settings is counted for.
enum SettingsPayer: Hashable, Sendable {
    case user(UInt32)
    case pairing(UniqueIdentifier)
    /// The daemon, for an app.
    case app(ApplicationIdentifier)
}

/// A person who edits.
enum SettingsEditor: Sendable {
    case user(UInt32)
    case primary(UniqueIdentifier, name: String)

    var author: SettingAuthor {
        switch self {
        case .user: .user
        case .primary(let pairing, _): .primary(pairing)
        }
    }

    var payer: SettingsPayer {
        switch self {
        case .user(let user): .user(user)
        case .primary(let pairing, _): .pairing(pairing)
        }
    }

    /// For the app that is asked (PAG-33).
    var person: PagePerson {
        switch self {
        case .user(let user): .user(user)
        case .primary(_, let name): .primary(name)
        }
    }

    /// For the log.
    var fields: [LogField] {
        switch self {
        case .user(let user): [.integer("uid", user)]
        case .primary(let pairing, let name): [.text("pairing", "\(pairing)"), .outside("by", name)]
        }
    }
}
