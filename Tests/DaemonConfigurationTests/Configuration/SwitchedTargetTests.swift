// Claims and switches that reach the configuration of an app which stays connected (CFG-31).

import Glibc
import TandemBase
import TandemDaemonTestSupport
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite struct SwitchedTargetTests {
    private let secondary: LoneSecondary

    init() throws {
        secondary = try LoneSecondary()
        secondary.host.takesOffers = true
        secondary.connect()
    }

    /// A primary claims an identifier for the app, or the operator chooses another primary or none.
    private func change() {
        secondary.service.targetChanged(of: secondary.queue.app, as: .secondary, isConnected: true)
        secondary.scheduler.run()
    }

    @Test("CFG-31, CFG-62: claims that leave the app's target as it was fail no trial, and tell the app nothing")
    func claimsDuringATrial() throws {
        secondary.receive(try secondary.envelope(1))
        try secondary.answer(0)
        for _ in 0..<5 { change() }
        #expect(secondary.host.offers.count == 1 && secondary.status?["trial"] == true)
        secondary.scheduler.advance(by: .seconds(60))
        #expect(secondary.status?["state"] == "applied" && secondary.status?["trial"] != true)
    }

    @Test("CFG-31, CFG-62: claims that leave the app's target as it was end no offer")
    func claimsDuringAnOffer() throws {
        secondary.receive(try secondary.envelope(1))
        for _ in 0..<5 { change() }
        try #require(secondary.host.offers.count == 1)
        try secondary.answer(0)
        #expect(secondary.status?["state"] == "applied")
    }

    /// The app has been offered something, and not only been told to read its files.
    private func isOffered(after count: Int) throws -> Bool {
        try messages(after: count).contains { $0["tandem.configuration"] != nil }
    }

    /// The messages of the daemon to the app that follow so many.
    private func messages(after count: Int) throws -> [PropertyListDictionary] {
        try secondary.host.offers.dropFirst(count).map { try PropertyListReader.readDictionary($0.body) }
    }

    @Test("CFG-31, CFG-62: an offer whose target ends while its commit is under way is made after the return only")
    func switchDuringTheCommitOfAnOffer() throws {
        let (host, store) = (secondary.host, secondary.store)
        let target = try #require(host.target)
        host.inactiveTargets = [target]
        store.hold(commits: true)
        secondary.receive(try secondary.envelope(1))
        try #require(store.heldCount > 0)
        host.target = .vendor(.random())
        change()
        store.goOn()
        secondary.scheduler.run()
        #expect(try !isOffered(after: 0))
        let before = host.offers.count
        host.target = target
        change()
        #expect(try isOffered(after: before))
        try secondary.answer(host.offers.count - 1)
        #expect(secondary.status?["state"] == "applied")
    }

    @Test("CFG-31, CFG-62: switches back to a target for which the disk has no room are no attempts once it has")
    func returnsOnAFullDisk() throws {
        let (host, store) = (secondary.host, secondary.store)
        let target = try #require(host.target)
        host.inactiveTargets = [target]
        secondary.receive(try secondary.envelope(1))
        try secondary.answer(0)
        for _ in 0..<5 {
            host.target = .vendor(.random())
            change()
            store.isFull = true
            host.target = target
            change()
            store.isFull = false
            secondary.scheduler.advance(by: .seconds(11))
        }
        #expect(secondary.status?["trial"] == true)
    }

    @Test("CFG-31, CFG-42: an app whose chosen primary is gone, and no other one is chosen, is told to read its files")
    func noneIsChosen() throws {
        try secondary.apply(try secondary.envelope(1))
        let before = secondary.host.offers.count
        secondary.host.target = nil
        change()
        #expect(try messages(after: before) == [["tandem.reload": true]])
        #expect(access(secondary.file("configuration.plist"), F_OK) != 0)
    }

    @Test("CFG-31, CFG-116: an app that registers without a target, and whose old files go then, is told to read them")
    func noneIsChosenBeforeARegistration() throws {
        try secondary.apply(try secondary.envelope(1))
        secondary.disconnect()
        secondary.scheduler.advance(by: .seconds(11))
        // The daemon ended before the files were removed.
        secondary.host.target = nil
        try #require(access(secondary.file("configuration.plist"), F_OK) == 0)
        let before = secondary.host.offers.count
        secondary.connect()
        #expect(try messages(after: before) == [["tandem.reload": true]])
        #expect(access(secondary.file("configuration.plist"), F_OK) != 0)
    }
}
