// Presence of the app that a configuration is for: whether it is connected, takes offers and loads what is applied
// (CFG-42), how long it has lived with the configuration on trial (CFG-61), and the library's account of its starts
// (CFG-65).

/// The app of a slot, as far as the slot knows it.
struct ApplicationPresence: Sendable, Equatable {
    private(set) var isConnected = false
    /// The app is connected and has answered that it takes no offers: the next one waits for its next registration.
    private var refusesOffers = false
    /// The app may have taken an offer that another one replaced before its verdict came.
    private(set) var hasReplacedOffer = false
    /// The deliveries whose senders know that the app could not judge the configuration.
    private var unjudged: ConfigurationDeliveries?
    /// The time that the app has lived with the configuration on trial, counted from the first tick on.
    private var lived: Duration?
    /// The fault of what is applied, as the app has named it since it registered (CFG-42).
    private(set) var loadFault: LoadFault?
    /// Whether the app has said since it registered what it does not load; nothing said is no fault then.
    private var hasReloaded = false
    /// The time until the next report about loading (LIM-141).
    private var pause = Duration.zero
    /// The library's account, as it was read last.
    private(set) var library = LoadAttempts()

    var takesOffers: Bool { isConnected && !refusesOffers }

    mutating func note(_ attempts: LoadAttempts) { library = attempts }

    mutating func note(_ fault: LoadFault?) { loadFault = fault }

    /// The fault of a configuration, as far as the app has named it.
    func fault(of shown: ActiveConfiguration) -> LoadFault? {
        loadFault.flatMap { $0.digest == shown.record.digest ? $0 : nil }
    }

    mutating func registered() {
        isConnected = true
        refusesOffers = false
        hasReloaded = false
        lived = nil
    }

    mutating func left() {
        isConnected = false
        hasReloaded = false
    }

    /// The app has answered a reload.
    mutating func reloaded() { hasReloaded = true }

    /// The news for the senders about the loading of a configuration; nil if there is nothing new, or not yet.
    mutating func loading(of shown: ActiveConfiguration, to reports: LoadReports?) -> LoadReports? {
        guard hasReloaded, pause == .zero, var told = reports, told.digest == shown.record.digest else { return nil }
        guard told.tell(fault(of: shown)) else { return nil }
        pause = ConfigurationLimits.loadReports
        return told
    }

    mutating func refusedOffer() { refusesOffers = true }

    /// Another configuration took the place of one that the app may have taken.
    mutating func missedOffer() { hasReplacedOffer = true }

    /// The verdict on the last offer has come.
    mutating func judged() { hasReplacedOffer = false }

    /// The app could not judge the configuration that these deliveries brought; returns whether that is new to their
    /// senders. It is offered at each tick, and a report for each would fill the queue.
    mutating func couldNotJudge(_ deliveries: ConfigurationDeliveries) -> Bool {
        defer { unjudged = deliveries }
        return unjudged != deliveries
    }

    /// Another configuration is on trial.
    mutating func trialBegan() { lived = nil }

    /// Running time since the last call: the next report about loading comes nearer.
    mutating func pass(_ running: Duration) { pause = max(.zero, pause - running) }

    /// Running time of a trial since the last call.
    mutating func live(_ running: Duration) {
        if isConnected { lived = lived.map { $0 + running } ?? .zero }
    }

    /// Whether the app has lived long enough with the configuration on trial.
    func hasLived(with digest: [UInt8]) -> Bool {
        library.isHealthy(digest) || lived.map { $0 >= ConfigurationLimits.trial } == true
    }
}
