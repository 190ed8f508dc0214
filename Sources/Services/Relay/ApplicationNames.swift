// The apps of a side in the order of their names' bytes, so that a frame's app is found by comparing bytes in the frame:
// no String is made of what a peer sent, and no peer chooses how long the search takes.

import TandemWire

/// Apps by name.
struct ApplicationNames {
    private var applications: [LocalApplication] = []

    /// The app with this name.
    func find(_ name: RawSpan) -> LocalApplication? {
        let place = place(of: name)
        guard place < applications.count, applications[place].isNamed(name) else { return nil }
        return applications[place]
    }

    /// Adds an app that is not there yet.
    mutating func add(_ application: LocalApplication) {
        let place = application.withName { self.place(of: $0) }
        applications.insert(application, at: place)
    }

    /// Where the name is, or would be.
    private func place(of name: RawSpan) -> Int {
        var (low, high) = (0, applications.count)
        while low < high {
            let middle = (low + high) / 2
            if applications[middle].withName({ $0.precedes(name) }) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
