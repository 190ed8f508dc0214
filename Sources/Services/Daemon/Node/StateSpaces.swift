// The spaces of a daemon's store: which small number means what. A number is never used again for another meaning; a
// store with a space that is not here was written by a newer version and is refused by its user_version.

import TandemStore

extension RowSpace {
    /// Pairings, tokens, trusted devices, choices and claims (Pairing room).
    static let pairing = RowSpace(rawValue: 1)
    /// Applications: owner, own identifier, anchor (HostApps and Carrier).
    static let application = RowSpace(rawValue: 2)
}
