// Interface of a case to a transport: apps on both sides, time, and the faults that can happen there. The cases are the
// same code everywhere; a world claims only the abilities that it has.

import TandemBase
import TandemTestSupport
import TandemTransport

/// Abilities of a world besides carrying messages.
package enum Ability: String, Sendable, CaseIterable {
    /// Items are durable, as far as what else can be done there puts them to the test.
    case durable
    /// Device links can be cut, and kept down.
    case cut
    /// Daemons can be stopped and started over their state.
    case restart
    /// Daemons can be killed: nothing is finished.
    case kill
    /// Apps can be killed.
    case killApps
    /// Daemons take all the commands of their operators (Control); a simulator takes a few of them.
    case control
    /// The clock is the test's: hours cost nothing, and one seed gives one run.
    case manualTime
    /// Bytes on device links are late or wrong, the links end anywhere.
    case streamFaults
    /// Whole frames inside TLS are lost, repeated and overtaken.
    case frameFaults
}

/// A device of a world.
enum Place: Hashable, Sendable, CustomStringConvertible {
    case primary
    /// From 0.
    case secondary(Int)

    var description: String {
        switch self {
        case .primary: "primary"
        case .secondary(let number): "secondary \(number)"
        }
    }
}

/// How a daemon or an app ends.
enum Ending: Sendable {
    case orderly, killed

    var participle: String { self == .orderly ? "stopped" : "killed" }

    /// Of a world in which daemons end like that.
    var needs: Set<Ability> { self == .orderly ? [.restart] : [.restart, .kill] }
}

/// Paired devices and the way between them; confined to the thread that made it.
protocol World: AnyObject {
    var abilities: Set<Ability> { get }
    /// The pairings with the secondaries, in their order.
    var pairings: [UniqueIdentifier] { get }
    /// Time as it is in the world.
    var now: MonotonicTime { get }

    /// A host app, not activated yet.
    func app(at place: Place) throws -> App
    func end(_ app: App, _ ending: Ending)
    /// A connection to a device's local socket that nobody has started yet.
    func connect(to place: Place) throws -> any ByteStream

    /// Lets time pass until the condition holds, but no longer than that; whether it holds.
    func wait(within limit: Duration, until condition: () throws -> Bool) rethrows -> Bool

    /// Ends the daemon and starts it over its state.
    /// - Parameter meanwhile: runs while it is away, with the path of its state directory.
    func restart(_ place: Place, _ ending: Ending, meanwhile: (String) throws -> Void) throws
    /// Breaks all device links; they come back by themselves while ``isLinkAllowed``.
    func cutLinks()
    var isLinkAllowed: Bool { get set }
    /// The faults of device connections that are made from now on.
    var streamFaults: FaultPlan? { get set }
    /// The fate of each frame that a device sends inside TLS.
    var frameFate: FrameFate.Rule? { get set }

    /// The daemons' log, for the report of a violation.
    var notes: [String] { get }

    /// Ends everything.
    func stop()
}

extension World {
    var notes: [String] { [] }
    func restart(_ place: Place, _ ending: Ending, meanwhile: (String) throws -> Void) throws {
        throw Violation("this world restarts nothing")
    }
    func cutLinks() {}
    var isLinkAllowed: Bool {
        get { true }
        set {}
    }
    var streamFaults: FaultPlan? {
        get { nil }
        set {}
    }
    var frameFate: FrameFate.Rule? {
        get { nil }
        set {}
    }
}

/// A case did not hold.
struct Violation: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Throws a violation unless the condition holds.
func demand(_ condition: Bool, _ text: @autoclosure () -> String) throws {
    if !condition { throw Violation(text()) }
}
