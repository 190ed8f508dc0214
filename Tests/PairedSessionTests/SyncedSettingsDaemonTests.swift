// Synced settings of one app beside a daemon that the test plays: frames, files, and what goes wrong.

import Foundation
import PairedConfiguration
import PairedSession
import Synchronization
import TandemFiles
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

@Suite struct SyncedSettingsDaemonTests {
    private let fixture: SessionFixture
    private let directory = TemporaryDirectory()
    private let pairing: UniqueIdentifier
    private let configuration = PanelConfiguration()
    private let events = Collector<SyncEvent>()
    private let observation: ConfigurationObservation

    init() throws {
        fixture = try SessionFixture()
        pairing = fixture.daemon.pair()
        fixture.daemon.situation.pairings[0].directory = directory.path
        observation = configuration.observeEvents { [events] event in
            if case .sync(let event) = event { events.add(event) }
        }
        fixture.daemon.onFrame = { [daemon = fixture.daemon] frame in
            guard frame.kind == .submit else { return }
            daemon.send(
                Envelope(
                    .accepted, app: daemon.app, pairing: frame.pairing, id: frame.id, channel: frame.channel,
                    revision: 1))
        }
    }

    private func start() throws {
        try configuration.install(on: fixture.session)
        fixture.activate()
        fixture.scheduler.settle()
    }

    private var submitted: [Envelope] { fixture.daemon.received.filter { $0.kind == .submit } }

    private var verdicts: [String?] { fixture.daemon.received.filter { $0.kind == .verdict }.map(\.name) }

    private func deliver(_ body: PropertyListDictionary) throws {
        var envelope = Envelope(
            .delivery, app: fixture.daemon.app, pairing: pairing, id: .random(), channel: .settings, revision: 1)
        envelope.attempt = 1
        fixture.daemon.send(try envelope.with(body: body))
        fixture.scheduler.settle()
    }

    private let body: PropertyListDictionary = [
        "clock": 1, "seen": 0, "values": ["volume": ["revision": 1, "side": "secondary", "value": 70]],
    ]

    @Test("SES-76, SET-71: a body is submitted on the channel as a context is, always as a new one") func submission()
        throws
    {
        configuration.volume = 60
        try start()
        let first = try #require(submitted.first)
        #expect(first.channel == .settings && first.name == "always" && submitted.count == 1)
        #expect(try first.dictionaryBody() == [:], "a side that knows nothing asks")
        try deliver([:])
        #expect(submitted.count == 2)
        #expect(
            try submitted.last?.dictionaryBody() == [
                "clock": 1, "seen": 0, "values": ["volume": ["revision": 1, "side": "primary", "value": 60]],
            ])
        fixture.daemon.tellSituation()
        fixture.scheduler.settle()
        #expect(submitted.count == 2, "an accepted body is not sent again")
    }

    @Test("SES-3: nothing is sent through a daemon that does not know synced settings") func olderDaemon() throws {
        fixture.daemon.capabilities.removeAll { $0 == .settings }
        configuration.volume = 60
        try start()
        configuration.volume = 70
        fixture.scheduler.settle()
        #expect(submitted.isEmpty && fixture.session.activationState == .activated)
    }

    @Test("SET-78: the entries are in the pairing's directory before the item is handled; the next process has them")
    func stored() throws {
        try start()
        try deliver(body)
        #expect(verdicts == ["handled"] && configuration.volume == 70)
        let next = try SessionFixture()
        _ = next.daemon.pair()
        next.daemon.situation = fixture.daemon.situation
        let restarted = PanelConfiguration()
        try restarted.install(on: next.session)
        next.activate()
        next.scheduler.settle()
        #expect(restarted.volume == 70, "a preference that is missing at start was not removed")
        let sent = try #require(next.daemon.received.first { $0.kind == .submit })
        #expect(try sent.dictionaryBody() == ["clock": 0, "seen": 1, "values": try #require(body["values"])])
    }

    /// A store that has no key until it is told.
    private final class LockedPreferences: PreferenceStore {
        let memory: MemoryPreferences
        let isLocked = Mutex(true)

        init(_ entries: PropertyListDictionary) { memory = MemoryPreferences(entries) }

        func update(_ change: (PropertyListDictionary?) -> PreferenceEdit) throws(PreferenceStoreError) {
            guard !isLocked.withLock(\.self) else { throw PreferenceStoreError(.locked, store: "test", detail: "") }
            try memory.update(change)
        }
    }

    @Test("SET-77, SET-78: before the store can be read nothing counts as lost, and an item is put off")
    func locked() throws {
        let names: PropertyListDictionary = [
            "volume": ["revision": 1, "side": "secondary", "value": 70],
            "colour": ["revision": 1, "side": "secondary", "value": "#ff0000"],
        ]
        try start()
        try deliver(["clock": 1, "seen": 0, "values": .dictionary(names)])
        #expect(configuration.volume == 70)
        let next = try SessionFixture()
        _ = next.daemon.pair()
        next.daemon.situation = fixture.daemon.situation
        next.daemon.onFrame = fixture.daemon.onFrame
        // Set and removed before its mirror looked.
        let store = LockedPreferences(["volume": 60, "tandem.synced": ["volume": [60], "colour": "removed"]])
        let late = PanelConfiguration(preferences: store)
        try late.install(on: next.session)
        next.activate()
        next.scheduler.settle()
        var envelope = Envelope(
            .delivery, app: next.daemon.app, pairing: pairing, id: .random(), channel: .settings, revision: 1)
        envelope.attempt = 1
        next.daemon.send(
            try envelope.with(body: ["clock": 1, "seen": 0, "values": .dictionary(names)] as PropertyListDictionary))
        next.scheduler.settle()
        #expect(next.daemon.received.filter { $0.kind == .verdict }.map(\.name) == ["later"])
        #expect(!next.daemon.received.contains { $0.kind == .submit } && !late.isDirty && late.volume == 50)
        store.isLocked.withLock { $0 = false }
        try late.readPreferences()
        next.scheduler.settle()
        #expect(late.volume == 60 && late.$colour.layer == .declaredDefault)
        let sent = try #require(next.daemon.received.last { $0.kind == .submit }).dictionaryBody()
        #expect(sent["values"] == ["volume": ["revision": 1, "side": "primary", "value": 60]])
    }

    @Test("SET-78, SES-88: an item that waits for the unlocking is put off, and has failed only for an earlier daemon")
    func lockedAgain() throws {
        let store = LockedPreferences([:])
        store.isLocked.withLock { $0 = false }
        let late = PanelConfiguration(preferences: store)
        try late.install(on: fixture.session)
        fixture.activate()
        fixture.scheduler.settle()
        store.isLocked.withLock { $0 = true }
        // More often than an item has attempts.
        for _ in 0..<6 { try deliver(body) }
        #expect(verdicts == Array(repeating: "later", count: 6) && late.volume == 70)
        store.isLocked.withLock { $0 = false }
        try deliver(body)
        #expect(verdicts.last == "handled" && store.memory.entries["volume"] == 70)
        store.isLocked.withLock { $0 = true }
        fixture.daemon.capabilities.removeAll { $0 == .later }
        fixture.cut(waiting: .seconds(60))
        fixture.scheduler.settle()
        try deliver(["clock": 2, "seen": 0, "values": ["volume": ["revision": 2, "side": "secondary", "value": 80]]])
        #expect(verdicts.last == "failed")
    }

    @Test("SET-78: a file that cannot be read is told and counts as none") func damaged() throws {
        try OwnedDirectory(existing: directory.path).replace("synced-settings.plist", with: Array("no".utf8))
        try start()
        guard case .notStored(let failure)? = events.all.first else { throw Unexpected("nothing was told") }
        #expect(failure.file == "synced-settings.plist")
        try deliver(body)
        #expect(verdicts == ["handled"] && configuration.volume == 70)
    }

    @Test("SET-78: an item whose entries cannot be stored has failed, and comes again") func notStored() throws {
        fixture.daemon.situation.pairings[0].directory = directory.path("gone")
        try start()
        try deliver(body)
        #expect(verdicts == ["failed"])
        guard case .notStored? = events.all.last else { throw Unexpected("nothing was told") }
    }

    @Test("SES-89, LIM-8: each edit that cannot be stored counts until a later look has stored it, or for 30 s")
    func editNotStored() throws {
        fixture.daemon.onFrame = { [daemon = fixture.daemon, accept = fixture.daemon.onFrame] frame in
            if frame.kind == .ping { daemon.send(Envelope(.pong, id: frame.id)) } else { accept(frame) }
        }
        fixture.daemon.situation.pairings[0].directory = directory.path("later")
        try start()
        let ends = Collector<Result<Void, SessionError>>()
        func edit(_ volume: Int) {
            configuration.volume = volume
            fixture.scheduler.settle()
            fixture.core.run { core in core.drained(within: nil) { ends.add($0) } }
            fixture.scheduler.run()
        }
        edit(60)
        fixture.scheduler.advance(by: .milliseconds(29_999))
        #expect(ends.all.isEmpty && submitted.isEmpty)
        edit(61)
        fixture.scheduler.advance(by: .milliseconds(1))
        #expect(ends.all.map { $0.error } == [nil], "the time of the first edit is over")
        fixture.scheduler.advance(by: .milliseconds(29_998))
        #expect(ends.all.count == 1, "the second one has a time of its own")
        fixture.scheduler.advance(by: .milliseconds(1))
        #expect(ends.all.map { $0.error } == [nil, nil])
        edit(62)
        #expect(ends.all.count == 2, "the time of the others is over, and this one counts by itself")
        try FileManager.default.createDirectory(
            atPath: directory.path("later"), withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        edit(63)
        #expect(ends.all.map { $0.error } == [nil, nil, nil, nil] && !submitted.isEmpty)
    }

    @Test("SES-89, SET-77: beside a locked store drained waits for edits of the app's, and not without any")
    func drainedBesideALockedStore() throws {
        fixture.daemon.onFrame = { [daemon = fixture.daemon, accept = fixture.daemon.onFrame] frame in
            if frame.kind == .ping { daemon.send(Envelope(.pong, id: frame.id)) } else { accept(frame) }
        }
        let store = LockedPreferences([:])
        let late = PanelConfiguration(preferences: store)
        try late.install(on: fixture.session)
        fixture.activate()
        fixture.scheduler.settle()
        let ends = Collector<Result<Void, SessionError>>()
        func drain() {
            fixture.scheduler.settle()
            fixture.core.run { core in core.drained(within: nil) { ends.add($0) } }
            fixture.scheduler.run()
        }
        drain()
        #expect(ends.all.map { $0.error } == [nil], "there is nothing to send, whatever the store has")
        late.volume = 60
        drain()
        #expect(ends.all.count == 1 && submitted.isEmpty, "the edit waits for the store")
        store.isLocked.withLock { $0 = false }
        try late.readPreferences()
        fixture.scheduler.settle()
        #expect(ends.all.map { $0.error } == [nil, nil] && !submitted.isEmpty)
    }

    @Test("SET-76: a body that cannot be is rejected and told, and the next one comes as ever") func refused() throws {
        try start()
        try deliver(["clock": 1])
        #expect(verdicts == ["rejected"])
        guard case .refused? = events.all.last else { throw Unexpected("nothing was told") }
        try deliver(body)
        #expect(verdicts == ["rejected", "handled"] && configuration.volume == 70)
    }

    @Test("SET-78: another pairing starts with nothing, and its items do not mix") func otherPairing() throws {
        try start()
        try deliver(body)
        let second = TemporaryDirectory()
        let other = fixture.daemon.pair()
        fixture.daemon.situation.pairings[1].directory = second.path
        fixture.daemon.situation.active = other
        fixture.daemon.tellSituation()
        fixture.scheduler.settle()
        #expect(submitted.last?.pairing == other)
        #expect(try submitted.last?.dictionaryBody() == [:])
        let count = submitted.count
        try deliver(["clock": 2, "seen": 0, "values": ["volume": ["revision": 2, "side": "secondary", "value": 80]]])
        #expect(verdicts == ["handled", "handled"], "of the pairing that is not active it is let go")
        #expect(configuration.volume == 70 && submitted.count == count)
    }
}
