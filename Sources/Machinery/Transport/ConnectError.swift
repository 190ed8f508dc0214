// Why a connection could not be made, for logs, status and the person who typed the address.

package import TandemReactor

/// Why nobody was reached at an address.
package enum ConnectError: Error, Hashable, Sendable {
    case unresolved(ResolverError)
    case timedOut(SocketAddress)
    /// The error of the last address tried.
    case failed(SocketAddress, SystemError)
}

extension ConnectError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unresolved(let error): "\(error)"
        case .timedOut(let address): "no answer from \(address) in time"
        case .failed(let address, let error): "cannot connect to \(address): \(error)"
        }
    }
}
