// All that a device is in one role: its pairings of that kind and the host apps whose socket serves it. A daemon has
// one side for each role; the simulator, which is several devices at once, has one for each of its devices.

package import TandemBase
import TandemReactor
import TandemSession
import TandemWire

/// A value for each of the two roles. A daemon may have pairings of both kinds, so the relay looks up by role whatever
/// it knows of "this device".
package struct PerRole<Value> {
    package var primary: Value
    package var secondary: Value

    package init(primary: Value, secondary: Value) {
        self.primary = primary
        self.secondary = secondary
    }

    /// The same value for both roles.
    package init(_ both: Value) { self.init(primary: both, secondary: both) }

    package subscript(role: DeviceRole) -> Value {
        get { role == .primary ? primary : secondary }
        set { if role == .primary { primary = newValue } else { secondary = newValue } }
    }
}

extension PerRole: Sendable where Value: Sendable {}

/// One role's pairings and host apps on one device; confined to its relay's loop.
package final class RoleContext {
    package let role: DeviceRole
    /// The device's vendor identifier.
    package let device: UniqueIdentifier
    private(set) var pairings: [UniqueIdentifier: PairingEnd] = [:]
    private(set) var applications: [ApplicationIdentifier: LocalApplication] = [:]
    private var names = ApplicationIndex()
    /// The pairing that the default session is bound to.
    private(set) var active: UniqueIdentifier?

    init(role: DeviceRole, device: UniqueIdentifier) {
        self.role = role
        self.device = device
    }

    /// Adds an app that is not there yet.
    func add(_ application: LocalApplication) {
        applications[application.app] = application
        names.add(application)
    }

    /// Removes an app that nothing needs any longer.
    func remove(_ application: LocalApplication) {
        applications[application.app] = nil
        names.remove(application)
    }

    /// The app with this name, by the bytes in a frame.
    func application(named name: RawSpan) -> LocalApplication? { names.find(name) }

    /// Adds an end whose pairing is not there yet, and the way of each app through it.
    func add(_ end: PairingEnd, now: MonotonicTime) {
        pairings[end.known.pairing] = end
        for application in applications.values { application.addRoute(through: end, now: now) }
    }

    func removePairing(_ pairing: UniqueIdentifier) -> PairingEnd? {
        guard let end = pairings.removeValue(forKey: pairing) else { return nil }
        for application in applications.values { application.removeRoute(through: pairing) }
        if active == pairing { active = nil }
        return end
    }

    func setActive(_ pairing: UniqueIdentifier?) { active = pairing }
}

/// Apps in the order of their names' bytes. A frame's app is found by comparing bytes in the frame: the search makes no
/// String of a peer's bytes, and no peer chooses how long it takes.
private struct ApplicationIndex {
    /// In the order of their names.
    private var applications: [LocalApplication] = []
    /// The names, one behind the other, and the end of each: a search touches no app but the one that it finds.
    private var bytes: [UInt8] = []
    private var ends: [Int] = []

    /// The app with this name.
    func find(_ name: RawSpan) -> LocalApplication? {
        let names = bytes.span.bytes
        let place = place(of: name, in: names)
        guard place < ends.count, names.extracting(range(place)).isEqual(to: name) else { return nil }
        return applications[place]
    }

    /// Adds an app that is not there yet.
    mutating func add(_ application: LocalApplication) {
        let name = Array(application.app.description.utf8)
        let place = place(of: name.span.bytes, in: bytes.span.bytes)
        let start = place > 0 ? ends[place - 1] : 0
        applications.insert(application, at: place)
        bytes.insert(contentsOf: name, at: start)
        ends.insert(start, at: place)
        for index in place..<ends.count { ends[index] += name.count }
    }

    mutating func remove(_ application: LocalApplication) {
        let name = Array(application.app.description.utf8)
        let place = place(of: name.span.bytes, in: bytes.span.bytes)
        guard place < applications.count, applications[place] === application else { return }
        bytes.removeSubrange(range(place))
        applications.remove(at: place)
        ends.remove(at: place)
        for index in place..<ends.count { ends[index] -= name.count }
    }

    /// Where the name is, or would be.
    private func place(of name: RawSpan, in names: RawSpan) -> Int {
        var (low, high) = (0, ends.count)
        while low < high {
            let middle = (low + high) / 2
            if names.extracting(range(middle)).precedes(name) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func range(_ place: Int) -> Range<Int> { (place > 0 ? ends[place - 1] : 0)..<ends[place] }
}
