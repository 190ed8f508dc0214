// Why a daemon does not start. Each says what, where and what to do; the command prints it and exits with 1.

package import TandemCrypto
package import TandemFiles
package import TandemReactor
package import TandemStore
package import TandemTransport

/// A daemon could not be started.
package enum NodeError: Error {
    case file(FileError)
    case store(StoreError)
    case key(path: String, KeyError)
    /// The store knows pairings, but the key that they pin is gone.
    case keyMissing(path: String)
    case row(path: String, reason: String)
    case listen(ListenError)
    case system(SystemError)
    /// Listening on every address says nothing about which one a peer should dial.
    case needsAdvertise(SocketAddress)
    /// A line of the file with wake-up commands.
    case wake(path: String, line: Int, reason: String)
}

extension NodeError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .file(let error): error.description
        case .store(let error): error.description
        case .key(let path, let error): "key file \(path): \(error)"
        case .keyMissing(let path):
            "key file \(path) is missing, but the store beside it knows devices that pinned that key; "
                + "restore it from a backup, or start with a new state directory and pair again"
        case .row(let path, let reason):
            "store \(path) holds a row that this version cannot read (\(reason)); restore it from a backup"
        case .listen(let error): error.description
        case .system(let error): error.description
        case .wake(let path, let line, let reason):
            "\(path), line \(line): \(reason); each line is an application identifier and a command with its arguments"
        case .needsAdvertise(let address):
            "listening on \(address) needs --advertise HOST:PORT, the address that other devices dial"
        }
    }
}
