// Why a listener cannot start, in words an operator can act on.

package import TandemReactor

/// Why nothing listens at an address.
package enum ListenError: Error, Hashable, Sendable {
    case inUse(SocketAddress)
    case notASocket(path: String)
    case unresolved(ResolverError)
    case noSuchGroup(String)
    case failed(SocketAddress, SystemError)
}

extension ListenError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .inUse(let address): "\(address) is in use by another process; stop it or choose another address"
        case .notASocket(let path): "\(path) exists and is not a socket; nothing was changed, choose another path"
        case .unresolved(let error): "\(error)"
        case .noSuchGroup(let name): "there is no group \"\(name)\" on this machine"
        case .failed(let address, let error): "cannot listen at \(address): \(error)"
        }
    }
}
