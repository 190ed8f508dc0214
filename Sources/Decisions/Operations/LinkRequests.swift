// Requests about settings on a link (LIM-118), as either end counts them: a few of each group at a time, and of prompt
// ones one about each app, so that an app that keeps its own waiting keeps no other. The asking end lets prompt ones
// wait for their turn, in order.

package import TandemBase

/// The requests of one direction of a link.
package struct LinkRequests: Sendable {
    /// The kind that a request counts as.
    package struct Kind: Sendable, Equatable {
        /// Requests of one group are counted together.
        package enum Group: Sendable {
            case prompt
            /// Waits for a change.
            case waiting
            /// Asks the running app.
            case question
        }

        package let app: ApplicationIdentifier
        package let group: Group

        package init(_ app: ApplicationIdentifier, _ group: Group) { (self.app, self.group) = (app, group) }
    }

    /// The state of a new request.
    package enum Admission: Sendable, Equatable {
        case open
        /// It is open when ``end(_:)`` returns it.
        case waits
        case full
    }

    private struct Request {
        let id: UniqueIdentifier
        let kind: Kind
    }

    /// Open requests of one group (LIM-118).
    package static let groupLimit = 4
    /// Requests that wait for their turn (LIM-118).
    package static let queueLimit = 64
    /// Longest wait for a turn (LIM-118).
    package static let turnLimit = Duration.seconds(5)

    private var open: [Request] = []
    private var queue: [Request] = []

    package init() {}

    package func isOpen(_ id: UniqueIdentifier) -> Bool { open.contains { $0.id == id } }

    /// Opens a request; false if there is no room beside the open ones, or if it is open.
    package mutating func open(_ id: UniqueIdentifier, _ kind: Kind) -> Bool {
        guard !isOpen(id), hasRoom(for: kind) else { return false }
        open.append(Request(id: id, kind: kind))
        return true
    }

    /// Opens a request of this end, or lets a prompt one wait for its turn. A wait or a question may last 20 s, so the
    /// asker learns at once that there is no room.
    package mutating func ask(_ id: UniqueIdentifier, _ kind: Kind) -> Admission {
        if open(id, kind) { return .open }
        guard kind.group == .prompt, queue.count < Self.queueLimit else { return .full }
        queue.append(Request(id: id, kind: kind))
        return .waits
    }

    /// A request has ended, or waits for its turn no longer.
    /// - Returns: those whose turn it is; they are open now.
    package mutating func end(_ id: UniqueIdentifier) -> [UniqueIdentifier] {
        open.removeAll { $0.id == id }
        queue.removeAll { $0.id == id }
        var next: [UniqueIdentifier] = []
        for request in queue where open(request.id, request.kind) { next.append(request.id) }
        queue.removeAll { next.contains($0.id) }
        return next
    }

    private func hasRoom(for kind: Kind) -> Bool {
        let alike = open.filter { $0.kind.group == kind.group }
        return alike.count < Self.groupLimit && (kind.group != .prompt || !alike.contains { $0.kind.app == kind.app })
    }
}
