// Person on whose behalf a daemon asks a running app (Protocol/Pages.md PAG-33): a user of the app's device, or one at
// a paired primary.

package import TandemPropertyList

/// A person who presses a button or edits.
package enum PagePerson: Sendable, Equatable {
    /// A user of the app's device, by the uid.
    case user(UInt32)
    /// A person at a primary, by the primary's name.
    case primary(String)

    private static let (user, primary) = ("tandem.user", "tandem.primary")

    /// Reads the person of a question; nil for one that names none, or more than one.
    package init?(_ message: PropertyListDictionary) {
        switch (message[Self.user], message[Self.primary]) {
        case (let user?, nil):
            guard let uid = user.unsignedValue.flatMap({ UInt32(exactly: $0) }) else { return nil }
            self = .user(uid)
        case (nil, let primary?):
            guard let name = primary.stringValue, (1...64).contains(name.utf8.count) else { return nil }
            self = .primary(name)
        case (nil, nil), (_?, _?): return nil
        }
    }

    func name(in message: inout PropertyListDictionary) {
        switch self {
        case .user(let uid): message[Self.user] = .integer(Int64(uid))
        case .primary(let name): message[Self.primary] = .string(name)
        }
    }
}
