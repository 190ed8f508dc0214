// All that a device is in one role: its pairings of that kind and the host apps whose socket serves it. A daemon has
// one side for each role; the simulator, which is several devices at once, has one for each of its devices.

package import TandemBase
import TandemReactor
import TandemSession
import TandemWire

/// A value for each of the two roles. A daemon may have pairings of both kinds, so the relay looks up by role whatever
/// it knows of "this device".
package struct PerRole<Value> {
    package private(set) var primary: Value
    package private(set) var secondary: Value

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

/// One role's pairings and host apps on one device; confined to its relay's loop. Moved eagerly, as
/// ``LocalApplication``; its relay holds it longer than anything refers to it.
@_eagerMove
package final class RoleContext {
    package let role: DeviceRole
    /// The device's vendor identifier.
    package let device: UniqueIdentifier
    private(set) var pairings: [UniqueIdentifier: PairingEnd] = [:]
    private(set) var applications: [ApplicationIdentifier: LocalApplication] = [:]
    // Unchecked, because no method of it calls out.
    @exclusivity(unchecked) private var names = ApplicationIndex()
    /// The pairing that the default session is bound to.
    private(set) var active: UniqueIdentifier?
    /// Called with a pairing that has become the active one.
    var whenChosen: (UniqueIdentifier) -> Void = { _ in }

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

    func setActive(_ pairing: UniqueIdentifier?) {
        active = pairing
        if let pairing { whenChosen(pairing) }
    }
}

/// Apps by the bytes of their names. A frame's app is found by comparing bytes in the frame: the search makes no String
/// of a peer's bytes, and no peer chooses how long it takes.
private struct ApplicationIndex: ~Copyable {
    private var applications: [LocalApplication?] = []
    /// Indices of apps that were removed; the next apps get them.
    private var free: [Int] = []
    private var table = HashTable()
    private let seed: HashSeed

    init() {
        var generator = SystemRandomNumberGenerator()
        seed = HashSeed(using: &generator)
    }

    func find(_ name: RawSpan) -> LocalApplication? { index(of: name).flatMap { applications[$0] } }

    /// Adds an app that is not there yet.
    mutating func add(_ application: LocalApplication) {
        let index = free.popLast() ?? applications.count
        if index == applications.count { applications.append(application) } else { applications[index] = application }
        table.insert(index, application.withName(seed.hash))
    }

    mutating func remove(_ application: LocalApplication) {
        guard let number = application.withName({ index(of: $0) }), applications[number] === application else { return }
        table.remove(number, application.withName(seed.hash))
        applications[number] = nil
        free.append(number)
    }

    private func index(of name: RawSpan) -> Int? {
        table.find(seed.hash(name)) { applications[$0]?.isNamed(name) == true }
    }
}
