// Announced apps of a paired device: which of them count, and what is remembered of the others.

import TandemBase
import TandemSession
import TandemWire
import Testing

/// The device whose apps they are.
private final class Device {
    private var apps = AnnouncedApplications()

    var count: Int { apps.announcements.count }

    func linkUp() -> [ApplicationIdentifier] { apps.linkUp() }
    func linkDown() { apps.linkDown() }
    func restore(installed: Set<ApplicationIdentifier>) { apps.restore(installed: installed) }
    func isInstalled(_ app: ApplicationIdentifier) -> Bool? { apps.announcement(of: app)?.isInstalled }

    func announced(_ app: ApplicationIdentifier, isInstalled: Bool = true, at now: MonotonicTime) -> Bool {
        apps.announced(
            app, ApplicationAnnouncement(isInstalled: isInstalled, isConnected: false, trust: .noKey), at: now)
    }

    /// Ends the introduction of a link.
    func introduce() -> [ApplicationIdentifier] {
        Introduction.Step.allCases.compactMap { apps.completeIntroduction($0) }.flatMap { $0 }
    }
}

@Suite struct AnnouncedApplicationsTests {
    private let apps = Device()
    private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)

    private func app(_ number: Int) throws -> ApplicationIdentifier {
        try ApplicationIdentifier("org.example.\(number)")
    }

    @Test("SES-16, LIM-11: a device that replaces one app after the other on a link is never refused, nor remembered")
    func replacedApps() throws {
        _ = apps.linkUp()
        for number in 0..<2_000 {
            let (name, now) = (try app(number), start + .seconds(number))
            #expect(apps.announced(name, at: now))
            #expect(apps.announced(name, isInstalled: false, at: now))
            #expect(apps.isInstalled(name) == false)
        }
        #expect(apps.count == Limits.applications)
        #expect(apps.introduce().isEmpty, "their ends were announced")
    }

    @Test("SES-16, LIM-11: apps of an earlier link do not count on a new one, and go with its introduction")
    func earlierLink() throws {
        _ = apps.linkUp()
        let former = try (0..<Limits.applications).map { try app($0) }
        let others = try (1_000..<1_000 + Limits.applications - 1).map { try app($0) }
        for app in former { #expect(apps.announced(app, at: start)) }
        #expect(!apps.announced(others[0], at: start), "one more than the device may have")
        #expect(apps.introduce().isEmpty)
        apps.linkDown()
        #expect(apps.linkUp().isEmpty)
        for app in others { #expect(apps.announced(app, at: start)) }
        #expect(apps.announced(former[0], at: start), "an earlier one that is still there")
        #expect(!apps.announced(former[1], at: start), "with it they would be too many")
        #expect(apps.isInstalled(former[1]) == true)
        #expect(apps.introduce() == former.dropFirst().sorted())
        #expect(apps.count == Limits.applications)
    }

    @Test("SES-16, LIM-11: a device that ends each link before its introduction is remembered with twice its apps")
    func linksThatEndEarly() throws {
        var gone: Set<ApplicationIdentifier> = []
        for link in 0..<10 {
            gone.formUnion(apps.linkUp())
            for number in 0..<Limits.applications {
                let name = try app(1_000 * link + number)
                #expect(apps.announced(name, at: start + .seconds(10 * link)))
            }
            apps.linkDown()
            #expect(apps.count <= 2 * Limits.applications)
        }
        #expect(gone.count == 8 * Limits.applications, "each is reported as gone")
    }

    @Test("SES-16, LIM-11: a link that breaks after one new app costs the place of one app that it did not announce")
    func linkThatBreaks() throws {
        _ = apps.linkUp()
        let known = try (0..<Limits.applications).map { try app($0) }.sorted()
        let new = try app(1_000)
        for app in known { #expect(apps.announced(app, at: start)) }
        #expect(apps.introduce().isEmpty)
        apps.linkDown()
        #expect(apps.linkUp().isEmpty)
        #expect(apps.announced(new, at: start))
        apps.linkDown()
        #expect(apps.linkUp() == Array(known.prefix(1)))
        #expect(apps.count == Limits.applications && apps.isInstalled(new) == true)
    }

    @Test("SES-16, LIM-149: new names are taken up to a pace, and known ones at any")
    func newNames() throws {
        _ = apps.linkUp()
        let names = try (0...512).map { try app($0) }
        for name in names.dropLast() { #expect(apps.announced(name, isInstalled: false, at: start)) }
        #expect(!apps.announced(names[512], isInstalled: false, at: start + .seconds(9)))
        #expect(apps.announced(names[511], at: start + .seconds(9)), "a known one")
        #expect(apps.announced(names[512], at: start + .seconds(10)))
    }

    @Test("SES-64: an app known from before a restart that is withdrawn is not installed")
    func withdrawnAfterARestart() throws {
        let (first, second) = (try app(1), try app(2))
        apps.restore(installed: [first, second])
        _ = apps.linkUp()
        #expect(apps.isInstalled(first) == true)
        #expect(apps.announced(first, isInstalled: false, at: start))
        #expect(apps.isInstalled(first) == false)
        #expect(apps.introduce() == [second])
    }
}
