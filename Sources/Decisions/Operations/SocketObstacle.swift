// Local socket through which no daemon can be asked, in words: which faults stay however long a command waits, and what
// the user can do about each.

package enum SocketPathEntry: Sendable, Equatable {
    /// A socket, or a link to one.
    case socket(owner: String)
    case file
    case directory
    /// Nothing, or nothing that this user may see.
    case unseen
}

/// The faults of a local socket that waiting does not heal (CTL-73).
package enum SocketObstacle {
    /// The fault with its way out; nil if a daemon may still begin to serve there: with no file, or with one that a
    /// crash left behind.
    /// - Parameters:
    ///   - error: the name of the error with which the socket was not opened, such as `EACCES`; nil for none.
    ///   - place: the entry at the path.
    package static func text(path: String, error: String?, place: SocketPathEntry) -> String? {
        switch place {
        case .file: return "\(path) is a file, not a socket; name a daemon's socket"
        case .directory: return "\(path) is a directory, not a socket; name a daemon's socket"
        case .socket, .unseen: break
        }
        switch error {
        case "EACCES"?, "EPERM"?: return "\(path): no permission: \(barrier(place))"
        case "ENOTDIR"?, "ELOOP"?:
            return "\(path): a part of the path is not a directory, or its symbolic links form a loop; name a daemon's "
                + "socket"
        case "EPROTOTYPE"?: return "\(path) is a socket of another type; name a daemon's socket"
        default: return nil
        }
    }

    private static func barrier(_ place: SocketPathEntry) -> String {
        guard case .socket(let owner) = place else {
            return "a directory on the way is closed to this user; name a daemon's socket, or run this as its user"
        }
        return "the socket belongs to \(owner); run this as that user or as a member of the daemon's group "
            + "(its option --local-group), and log in again if you were just added to the group"
    }
}
