// Presence of the app that a configuration is for: whether it is connected, takes offers and loads what is applied
// (CFG-42), how long it has lived with the configuration on trial (CFG-61), and the library's account of its starts
// (CFG-65). It also paces offers that the app cannot judge (CFG-113), or for which it finds the clock unset (CFG-33),
// and reports about loading (CFG-114).

/// The app of a slot, as far as the slot knows it.
struct ApplicationPresence: Sendable, Equatable {
    private(set) var isConnected = false
    /// The app is connected and has answered that it takes no offers: the next one waits for its next registration.
    private var refusesOffers = false
    /// The app may have taken an offer that another one replaced before its verdict came.
    private(set) var hasReplacedOffer = false
    /// The deliveries whose senders know that the app could not judge the configuration, or had no room for it.
    private var unjudged: ConfigurationDeliveries?
    /// Those whose senders know that the app finds the clock unset.
    private var clockless: ConfigurationDeliveries?
    /// Those whose senders know that the app's verdict could not be stored.
    private var unstored: ConfigurationDeliveries?
    /// The offers in a row that the app could not judge, had no room for or answered by `clock-unset`, and the time
    /// until the next one (LIM-142).
    private var unjudgedOffers = 0
    private var offerPause = Duration.zero
    /// The configurations that were applied since the last tick: a waived one may have come on top of another one.
    private var appliedLast: Set<[UInt8]> = []
    /// At a tick, those that were applied after the tick before.
    private(set) var appliedSinceTick: Set<[UInt8]> = []
    /// The time that the app has lived with the configuration on trial, counted from the first tick on.
    private var lived: Duration?
    /// The fault of what is applied, as the app has named it since it registered (CFG-42).
    private(set) var loadFault: LoadFault?
    /// Whether the app has answered a reload since it registered: without a fault it loads what is applied then.
    private var hasAnsweredReload = false
    /// The app has answered a reload that it cannot judge what is applied (CFG-113): its life proves nothing.
    private(set) var cannotJudge = false
    /// The app's last registration counts as an attempt of the trial.
    private var hasCountedStart = false
    /// The time until the next report about the loading of each configuration (LIM-141).
    private var loadReportPauses: [[UInt8]: Duration] = [:]
    /// The library's account, as it was read last.
    private(set) var library = LoadAttempts()
    /// The configurations with which the app may still run since before the daemon began.
    private var unfinished: Set<[UInt8]>

    /// - Parameter unfinished: the configurations of the stored rows.
    init(unfinished: [[UInt8]?]) { self.unfinished = Set(unfinished.compactMap { $0 }) }

    var pausesOffers: Bool { offerPause > .zero }

    var takesOffers: Bool { isConnected && !refusesOffers && !pausesOffers }

    mutating func note(_ attempts: LoadAttempts) { library = attempts }

    /// - Parameter hasAnswered: whether the app has answered a reload since it registered.
    mutating func note(_ fault: LoadFault?, hasAnswered: Bool, cannotJudge: Bool) {
        (loadFault, hasAnsweredReload, self.cannotJudge) = (fault, hasAnswered, cannotJudge)
    }

    func fault(of shown: ActiveConfiguration) -> LoadFault? { loadFault?.of(shown) }

    /// The app sees the slot's configuration from now on.
    mutating func arrived(_ arrival: ConfigurationSlot.Arrival) {
        isConnected = true
        refusesOffers = false
        lived = nil
        if arrival == .registered { hasCountedStart = false }
        offersAnother()
    }

    /// The attempts with the configuration on trial, now that the app sees it (CFG-62). An app that has only seen
    /// another target meanwhile makes no further one.
    /// - Parameter known: the attempts before.
    mutating func attempts(
        with digest: [UInt8], after known: UInt64, _ arrival: ConfigurationSlot.Arrival
    ) -> UInt64 {
        guard arrival == .registered else { return max(known, library.starts(of: digest)) }
        let attempts = attempts(with: digest, after: known)
        if attempts != known { hasCountedStart = true }
        return attempts
    }

    /// The attempts with a configuration that the app sees again now (CFG-62). That is no further one if the app may
    /// not have ended since before the daemon began, and the library's account shows none.
    /// - Parameter known: the attempts before.
    mutating func attempts(with digest: [UInt8], after known: UInt64) -> UInt64 {
        let starts = library.starts(of: digest)
        let isFurther = unfinished.remove(digest) == nil || starts == 0
        return max(isFurther ? known + 1 : known, starts)
    }

    /// Clears the note that the last registration counts as an attempt; returns whether there was one.
    mutating func takeCountedStart() -> Bool {
        defer { hasCountedStart = false }
        return hasCountedStart
    }

    /// The app sees the slot's configuration no longer, or has ended where it saw another target's; returns whether it
    /// did see it. A start that ended by itself stays counted, whatever a later process answers.
    mutating func left(_ ending: ConfigurationSlot.Ending) -> Bool {
        defer { isConnected = false }
        if ending != .switched { hasCountedStart = false }
        return isConnected
    }

    /// The reports with the news for the senders about the loading of a configuration; nil if there is nothing new, or
    /// not yet.
    mutating func takeLoadReports(_ reports: LoadReports?, of shown: ActiveConfiguration) -> LoadReports? {
        let fault = fault(of: shown)
        let digest = shown.record.digest
        guard hasAnsweredReload || fault != nil, loadReportPauses[digest] == nil, var next = reports,
            next.note(fault, of: digest)
        else { return nil }
        loadReportPauses[digest] = ConfigurationLimits.loadReports
        return next
    }

    /// The next report about the loading of any configuration but these is the first one.
    mutating func forgetLoadReports(except digests: [[UInt8]]) {
        loadReportPauses = loadReportPauses.filter { digests.contains($0.key) }
    }

    mutating func refusedOffer() { refusesOffers = true }

    /// Another configuration took the place of one that the app may have taken.
    mutating func offerReplaced() { hasReplacedOffer = true }

    /// The next offer is of other bytes than the last one, or to another process.
    mutating func offersAnother() { (unjudgedOffers, offerPause) = (0, .zero) }

    mutating func offerJudged() {
        hasReplacedOffer = false
        offersAnother()
    }

    /// An offer of the configuration that these deliveries brought has ended without a verdict in force; returns
    /// whether its senders learn that. A report for each of many offers would fill the queue.
    mutating func offerLapsed(_ lapse: ConfigurationSlot.Lapse, _ deliveries: ConfigurationDeliveries) -> Bool {
        switch lapse {
        case .unanswered, .notTaken, .takenBack: return true
        case .notStored:
            defer { unstored = deliveries }
            return unstored != deliveries
        case .notJudged, .noRoom: return couldNotJudge(deliveries)
        }
    }

    private mutating func couldNotJudge(_ deliveries: ConfigurationDeliveries) -> Bool {
        defer { unjudged = deliveries }
        countUnjudgedOffer()
        return unjudged != deliveries
    }

    /// The app finds the clock unset for what these deliveries brought, although it is set for the daemon: its library
    /// has a later floor (CFG-33).
    /// - Returns: the deliveries to report: all of them if they are not the ones reported last, else none.
    mutating func foundClockUnset(_ deliveries: ConfigurationDeliveries) -> ConfigurationDeliveries {
        defer { clockless = deliveries }
        countUnjudgedOffer()
        return clockless == deliveries ? ConfigurationDeliveries() : deliveries
    }

    private mutating func countUnjudgedOffer() {
        unjudgedOffers += 1
        if unjudgedOffers > ConfigurationLimits.unjudgedOffers { offerPause = ConfigurationLimits.unjudgedPause }
    }

    mutating func applied(_ digest: [UInt8]) {
        offerJudged()
        appliedLast.insert(digest)
    }

    mutating func trialBegan() { (lived, hasCountedStart) = (nil, false) }

    /// Running time since the last tick: the next report about loading and the next offer come nearer.
    mutating func tick(_ running: Duration) {
        (appliedSinceTick, appliedLast) = (appliedLast, [])
        loadReportPauses = loadReportPauses.compactMapValues { $0 > running ? $0 - running : nil }
        offerPause = max(.zero, offerPause - running)
    }

    /// Running time of a trial since the last call.
    mutating func live(_ running: Duration) {
        if isConnected, !cannotJudge { lived = lived.map { $0 + running } ?? .zero }
    }

    /// Whether the app has lived long enough with the configuration on trial.
    func hasLived(with digest: [UInt8]) -> Bool {
        library.isHealthy(digest) || lived.map { $0 >= ConfigurationLimits.trial } == true
    }
}
