// The apps of a side in the order of their names' bytes, so that a frame's app is found by comparing bytes in the
// frame: no String is made of what a peer sent, and no peer chooses how long the search takes.

import TandemBase
import TandemWire

/// Apps by name.
struct ApplicationNames {
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
