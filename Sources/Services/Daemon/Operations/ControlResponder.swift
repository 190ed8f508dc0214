// Control requests (Protocol/Control.md) as values. HostApps checks who asks and that the frame is whole; what a
// command does is the responder's.

package import TandemPropertyList
package import TandemReactor

/// One control request.
package struct ControlRequest: Sendable {
    package let command: String
    package let body: PropertyListDictionary
    package let caller: PeerCredentials
    /// The caller is the daemon's own user or root. Without it only `status` gets here, and the answer must be held to
    /// what concerns the caller's own apps (CTL-2).
    package let isPrivileged: Bool

    package init(command: String, body: PropertyListDictionary, caller: PeerCredentials, isPrivileged: Bool) {
        self.command = command
        self.body = body
        self.caller = caller
        self.isPrivileged = isPrivileged
    }
}

/// The names of CTL-4 that belong to no other room.
package enum ControlFailure: String, Sendable, Hashable, CaseIterable {
    case notAllowed = "not-allowed"
    case unknownCommand = "unknown-command"
    case badRequest = "bad-request"
    case wrongRole = "wrong-role"
    case notFound = "not-found"
    case noAddress = "no-address"
    case joinRefused = "join-refused"
    case unreachable
    case anchorConflict = "anchor-conflict"
    case store
    case full
}

/// The answer to a control request.
package struct ControlAnswer: Sendable, Equatable {
    /// 0: done.
    package let code: Int
    /// What failed, for programs; nil when done.
    package let name: String?
    package let body: PropertyListDictionary

    package static func done(_ body: PropertyListDictionary = [:]) -> Self { Self(code: 0, name: nil, body: body) }

    /// - Parameter text: what happened and what to do, for people.
    package static func failed(_ failure: ControlFailure, text: String) -> Self {
        failed(name: failure.rawValue, text: text)
    }

    /// A failure named by another room, such as a rejection of a configuration.
    package static func failed(name: String, text: String) -> Self {
        Self(code: 1, name: name, body: ["text": .string(text)])
    }
}

/// Carries out control requests; on the daemon's loop.
package protocol ControlResponder: AnyObject {
    /// Answers by calling `completion` exactly once, now or later, on the loop.
    func respond(to request: ControlRequest, completion: @escaping (ControlAnswer) -> Void)
}
