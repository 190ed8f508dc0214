// Room for the ledgers that a peer makes by naming applications (DEL-46). A watermark is never forgotten within an
// epoch, because it says what the peer may not send again. Each has a row in every hello, so their bound is the room
// that a hello has.

package import TandemBase

/// The remainder of a ledger (DEL-46).
package enum LedgerOccupancy: Sendable {
    /// Nothing, not even a watermark.
    case unused
    /// Only the watermark, or perhaps the beginning of a file.
    case watermark
    /// Records of items, or the context that came last.
    case occupied
}

/// The bytes that the ledgers of one pairing take in a hello.
package struct LedgerRoom: Sendable {
    /// The most of them (LIM-150), which leaves 4 KiB of a hello for everything else.
    private static let most = 124 * 1024
    /// A row without its application's name, and what a name takes beside its bytes (LIM-150): in a property list of
    /// this size, with the largest numbers.
    private static let (row, name) = (32, 8)

    /// How many ledgers each application has.
    private var ledgers: [ApplicationIdentifier: Int] = [:]
    private var bytes = 0

    package init() {}

    /// Whether a further ledger of this application still fits.
    package func hasRoom(for app: ApplicationIdentifier) -> Bool { bytes + size(of: app) <= Self.most }

    /// Counts a further ledger of this application.
    package mutating func add(_ app: ApplicationIdentifier) {
        bytes += size(of: app)
        ledgers[app, default: 0] += 1
    }

    /// Counts a ledger of this application no longer.
    package mutating func remove(_ app: ApplicationIdentifier) {
        guard let count = ledgers[app] else { return }
        ledgers[app] = count > 1 ? count - 1 : nil
        bytes -= size(of: app)
    }

    /// A property list has the name of an application once, however many channels it uses.
    private func size(of app: ApplicationIdentifier) -> Int {
        Self.row + (ledgers[app] != nil ? 0 : app.description.utf8.count + Self.name)
    }
}
