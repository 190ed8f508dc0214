// Events of one open page (server-sent events). An event says that the page is old, that it is not, or that nobody
// answers; it never says what has changed. The page loads itself again.

/// The events of one page's stream.
package struct LiveUpdates: Sendable {
    /// Bytes of events that are kept for a browser that does not read (LIM-126).
    package static let byteLimit = 262_144

    private enum Phase {
        case opened, followed, silent
    }

    private let name: String
    private var mark: String
    private var phase = Phase.opened

    /// - Parameters:
    ///   - instance: the app that the page shows; nil for the device.
    ///   - mark: the mark of the state that it was made of.
    package init(of instance: AppInstance?, mark: String) {
        name = instance == nil ? "device" : "settings"
        self.mark = mark
    }

    /// The event for a page after a look; nil if the page needs none. After a silence a page is loaded again even in
    /// the same state: it may have tried to load itself meanwhile, and failed.
    package mutating func event(at state: LiveState) -> String? {
        if let reason = state.silence {
            let isKnown = phase == .silent
            phase = .silent
            let line = String(reason.map { $0.isNewline ? " " : $0 })
            return isKnown ? nil : "event: silent\ndata: \(line)\n\n"
        }
        guard state.isWhole else { return nil }
        let isOld = phase == .silent || !state.isShown(by: mark)
        let isFirst = phase == .opened
        (phase, mark) = (.followed, state.mark)
        guard isOld || isFirst else { return nil }
        // The browser names the mark when it connects again.
        return "event: \(isOld ? name : "current")\nid: \(mark)\ndata: \(isOld ? "changed" : "same")\n\n"
    }

    /// A line that a browser passes over; one that is gone is found by it.
    package static var heartbeat: String { ":\n\n" }
}
