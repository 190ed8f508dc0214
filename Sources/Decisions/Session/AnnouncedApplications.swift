// Apps of a paired device, as it announced them (SES-16): which of them count (LIM-11), which are known before the
// introduction of a link is over (SES-25), and which are gone. A device may replace its apps as often as it likes, but
// no faster than LIM-149 says, and the names that it has withdrawn take no more memory than the ones that it has.

package import TandemBase
import TandemWire

/// The announcements of one paired device.
package struct AnnouncedApplications: Sendable {
    /// The last announcement of each app. They outlive the link, except that none is connected.
    package private(set) var announcements: [ApplicationIdentifier: ApplicationAnnouncement] = [:]
    /// Apps that the other device announced before the start of this daemon; empty once it has announced its apps again
    /// (SES-64).
    private var installedBefore: Set<ApplicationIdentifier> = []
    /// Installed apps that the other device announced before this link, and not over it so far.
    private var unconfirmed: Set<ApplicationIdentifier> = []
    /// Announced apps that are not installed, in the order in which they were withdrawn.
    private var withdrawn: [ApplicationIdentifier] = []
    /// The link is new, and the other device may not have announced its apps yet (SES-25). Nil afterwards, and without
    /// a link.
    private var introduction: Introduction?
    private var names = NewNames()

    package init() {}

    /// Whether silence about an app says nothing: the introduction of the link is not over.
    package var isIntroduction: Bool { introduction != nil }

    /// The last announcement of an app; nil if nothing is known of it.
    package func announcement(of app: ApplicationIdentifier) -> ApplicationAnnouncement? {
        announcements[app] ?? (installedBefore.contains(app) ? Self.former : nil)
    }

    /// Whether the app is connected there, and what it declares, is not known.
    private static let former = ApplicationAnnouncement(isInstalled: true, isConnected: false, trust: .unnamed)

    /// Apps that are installed, as far as this link tells.
    private var count: Int { announcements.count - withdrawn.count - unconfirmed.count }

    /// Takes an announcement; false if the device has more apps than it may have (LIM-11), or names new ones too fast
    /// (LIM-149). Nothing has changed then.
    package mutating func announced(
        _ app: ApplicationIdentifier, _ announcement: ApplicationAnnouncement, at now: MonotonicTime
    ) -> Bool {
        let before = announcements[app]
        let isCounted = before?.isInstalled == true && !unconfirmed.contains(app)
        guard !announcement.isInstalled || isCounted || count < Limits.applications else { return false }
        guard before != nil || installedBefore.contains(app) || names.admit(at: now) else { return false }
        announcements[app] = announcement
        unconfirmed.remove(app)
        if announcement.isInstalled {
            if before?.isInstalled == false { withdrawn.removeAll { $0 == app } }
        } else if before?.isInstalled != false {
            withdraw(app)
        }
        return true
    }

    private mutating func withdraw(_ app: ApplicationIdentifier) {
        installedBefore.remove(app)
        withdrawn.append(app)
        if withdrawn.count > Limits.applications { announcements[withdrawn.removeFirst()] = nil }
    }

    /// The other device announced these apps before the start of this daemon.
    package mutating func restore(installed apps: Set<ApplicationIdentifier>) { installedBefore = apps }

    /// A link is ready; the other device announces its apps over it.
    /// - Returns: apps that count as gone already. The introduction of the former link may not have ended, and a device
    ///   that ends each link early must not be remembered with ever more apps. Only as many as are too many: the others
    ///   may still be there.
    package mutating func linkUp() -> [ApplicationIdentifier] {
        introduction = Introduction()
        let older = unconfirmed
        unconfirmed = Set(announcements.keys).subtracting(withdrawn)
        let gone = older.sorted().prefix(max(0, unconfirmed.count - Limits.applications))
        for app in gone { announcements[app] = nil }
        unconfirmed.subtract(gone)
        installedBefore.subtract(gone)
        return Array(gone)
    }

    /// A condition of the end of the introduction holds. From its end on silence about an app means that the other
    /// device has none.
    /// - Returns: the apps that were installed there before, and are no longer; nil unless the introduction ends now.
    package mutating func completeIntroduction(_ step: Introduction.Step) -> [ApplicationIdentifier]? {
        guard introduction?.complete(step) == true else { return nil }
        let gone = installedBefore.filter { announcements[$0] == nil }.union(unconfirmed)
        for app in unconfirmed { announcements[app] = nil }
        (introduction, installedBefore, unconfirmed) = (nil, [], [])
        return gone.sorted()
    }

    /// The link is gone: the apps connected there are no longer known.
    package mutating func linkDown() {
        introduction = nil
        for app in announcements.keys { announcements[app]?.linkDown() }
    }
}

/// The pace of names that a device has not announced before: each costs the daemon more than a known one.
private struct NewNames: Sendable {
    /// Names in this time (LIM-149): all apps of a device twice over.
    private static let (most, time) = (512, Duration.seconds(10))

    private var since: MonotonicTime?
    private var count = 0

    mutating func admit(at now: MonotonicTime) -> Bool {
        if since.map({ now.since($0) >= Self.time }) ?? true { (since, count) = (now, 0) }
        guard count < Self.most else { return false }
        count += 1
        return true
    }
}
