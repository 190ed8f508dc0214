// Interface of a world with sockets to its daemons, which run in its own process or in separate ones.

import TandemBase

/// The daemons of one world; confined to its loop's thread.
protocol Daemons: AnyObject {
    var notes: [String] { get }
    var frameFate: FrameFate.Rule? { get set }

    /// Starts a device's daemon over its state; it serves its socket when this returns.
    func start(_ place: Place) throws
    /// Ends it; it is gone when this returns.
    func end(_ place: Place, _ ending: Ending) throws
    /// Pairs the primary with a secondary.
    func pair(_ number: Int) throws -> UniqueIdentifier
    func endAll()
}

extension Daemons {
    var frameFate: FrameFate.Rule? {
        get { nil }
        set {}
    }
}
