// The router of one device without a network: what it sends over a path, what it takes from one, and which frames end
// it.

import TandemBase
import TandemDaemonTestSupport
import TandemFiles
import TandemPropertyList
import TandemSession
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite struct DeviceRouterTests {
    private final class Path: PeerPath {
        var sent: [Envelope] = []
        var refusals: [RefusalName] = []

        var queuedBytes: Int { 0 }

        func send(_ envelope: Envelope) { sent.append(envelope) }
        func refuse(_ name: RefusalName, _ text: String) { refusals.append(name) }
    }

    private final class Surroundings {
        var epochs: [UniqueIdentifier] = []
        var moved: [(kind: FrameKind, isSent: Bool)] = []
        var wakeUps = 0
        var handled: [ApplicationIdentifier] = []
    }

    /// An empty dictionary.
    private static let body = (try? PropertyListWriter.write(PropertyListDictionary())) ?? []
    private let device = TestDevice(.secondary)
    private let delivery: DurableDelivery
    private let router: DeviceRouter
    private let path = Path()
    private let surroundings = Surroundings()
    private let key: QueueKey

    init() throws {
        key = QueueKey(pairing: .random(), app: try ApplicationIdentifier("com.example.app"), channel: .userInfo)
        delivery = DurableDelivery(store: LoopStore(MemoryStore(), on: device.scheduler), scheduler: device.scheduler)
        router = DeviceRouter(endpoint: device.endpoint, delivery: delivery, configuration: nil)
        router.connect(
            DeviceRouter.Outlets(
                needsEpoch: { [surroundings] in surroundings.epochs.append($0) },
                frameMoved: { [surroundings] in surroundings.moved.append(($0.kind, $1)) },
                itemsMayWait: { [surroundings] _ in surroundings.wakeUps += 1 },
                appHasHandled: { [surroundings] in surroundings.handled.append($0) }))
        delivery.setPairing(key.pairing, epoch: 1)
    }

    private func open(received: UInt64? = nil) {
        let mark = received.map { SequenceMark(app: key.app, channel: key.channel, sequence: $0) }
        router.open(
            key.pairing, over: path, received: mark.map { [$0] } ?? [], capabilities: Set(Capability.allCases))
        device.scheduler.run()
    }

    private func item(_ sequence: UInt64) -> Envelope {
        Envelope(
            .item, app: key.app, pairing: key.pairing, id: .random(), channel: key.channel, sequence: sequence,
            body: Self.body)
    }

    private func submit(_ number: Int) {
        delivery.submissions.submit(payloadItem(number), to: key) { _ in }
        device.scheduler.run()
    }

    @Test func `DEL-9: an item leaves over the path that is open, and again over the next one`() {
        submit(1)
        #expect(path.sent.isEmpty)
        open()
        #expect(path.sent.map(\.kind) == [.item])
        router.close(key.pairing, .noLink)
        submit(2)
        #expect(path.sent.count == 1, "a closed path gets nothing")
        open()
        #expect(path.sent.map(\.sequence) == [1, 1, 2])
        #expect(surroundings.moved.allSatisfy { $0.kind == .item && $0.isSent } && surroundings.moved.count == 3)
    }

    @Test func `CTL-20, CTL-22: an item that arrives is traced, stored, acknowledged, and may wake its app`() {
        open()
        #expect(router.receive(item(1), from: key.pairing) == nil)
        #expect(surroundings.wakeUps == 1)
        device.scheduler.run()
        #expect(path.sent.map(\.kind) == [.stored])
        #expect(surroundings.moved.map(\.kind) == [.item, .stored])
        #expect(surroundings.moved.map(\.isSent) == [false, true])
    }

    @Test func `DEL-17: an item for an app that was never registered here is stored, and waits for it`() throws {
        open()
        let item = item(1)
        #expect(router.receive(item, from: key.pairing) == nil)
        device.scheduler.run()
        #expect(path.sent.map(\.kind) == [.stored])
        let app = try device.app("com.example.app")
        device.scheduler.run()
        #expect(app.received(.delivery).map(\.id) == [item.id])
    }

    @Test func `CTL-22: an app that has handled an item is told of, one that has failed is not`() throws {
        let app = try device.app("com.example.app")
        open()
        for (number, name) in ["handled", "failed"].enumerated() {
            #expect(router.receive(item(UInt64(number + 1)), from: key.pairing) == nil)
            device.scheduler.run()
            let delivery = try #require(app.received(.delivery).last)
            var verdict = Envelope(
                .verdict, app: key.app, pairing: key.pairing, id: delivery.id, channel: key.channel,
                body: name == "failed" ? Self.body : nil)
            verdict.name = name
            try app.deliver(verdict)
            #expect(surroundings.handled == [key.app])
        }
    }

    @Test func `FIL-1: a chunk or fetch of a channel without files is refused as envelope`() {
        open()
        for kind in [FrameKind.chunk, .fetch] {
            let envelope = Envelope(
                kind, app: key.app, pairing: key.pairing, id: .random(), channel: key.channel, offset: 0,
                body: kind == .chunk ? [1] : nil)
            #expect(router.receive(envelope, from: key.pairing)?.name == .envelope, "\(kind)")
        }
    }

    @Test func `DEL-14, FRM-10: frames that do not read, or that have no place on the path, are breaches by name`() {
        open()
        var context = item(1)
        context.channel = .context
        #expect(router.receive(context, from: key.pairing)?.name == .envelope, "no revision")
        let failure = Envelope(.failure, pairing: key.pairing, channel: .userInfo)
        #expect(router.receive(failure, from: key.pairing)?.name == .malformed)
        for (envelope, fault) in [
            (Envelope(.gap, app: key.app, pairing: key.pairing, channel: key.channel), "in gap: "),
            (Envelope(.fetch, app: key.app, pairing: key.pairing, id: .random(), channel: .file), "in fetch: "),
            (failure, "in failure: "),
        ] {
            let text = router.receive(envelope, from: key.pairing)?.text ?? ""
            #expect(text.hasPrefix(fault) && text.contains("key '"), "\(text)")
        }
        for kind in [FrameKind.message, .submit, .register] {
            let envelope = Envelope(kind, app: key.app, pairing: key.pairing, id: .random())
            #expect(router.receive(envelope, from: key.pairing)?.name == .unexpected, "\(kind)")
        }
        #expect(path.refusals.isEmpty, "the path's owner refuses")
    }

    /// Requests about settings of a secondary without apps.
    private func requests(in directory: TemporaryDirectory) throws -> RemoteSettings {
        let questions = PageQuestions(
            to: PageQuestions.Surroundings(connected: { _ in nil }, offer: { _, _, _, _ in }),
            scheduler: device.scheduler)
        let settings = ApplicationSettings(
            in: try OwnedDirectory(existing: directory.path),
            device: ApplicationSettings.Surroundings(
                owners: { [:] }, schema: { _ in nil }, describe: { _, _, _ in true }, lost: { _, _ in },
                signed: { _ in SignedValues() }, reload: { _, done in done() }, questions: questions,
                log: { _, _ in }), scheduler: device.scheduler)
        return RemoteSettings(
            settings,
            device: RemoteSettings.Surroundings(
                role: { _ in .secondary }, name: { _ in "peer" }, schema: { _, _ in nil }),
            scheduler: device.scheduler)
    }

    @Test func `SES-21, SES-72: a request about settings that does not read is refused with kind and fault`() throws {
        let directory = TemporaryDirectory()
        router.settings = try requests(in: directory)
        open()
        for kind in [FrameKind.query, .answer] {
            var envelope = Envelope(kind, app: key.app, pairing: key.pairing, id: .random())
            let nameless = router.receive(envelope, from: key.pairing)
            #expect(nameless?.name == .envelope && nameless?.text.hasPrefix("in \(kind.rawValue): ") == true)
            #expect(nameless?.text.contains("'command'") == true)
            envelope[.command] = "settings-get"
            envelope.body = [1, 2, 3]
            let damaged = router.receive(envelope, from: key.pairing)
            #expect(damaged?.name == .malformed && damaged?.text.hasPrefix("in \(kind.rawValue): ") == true)
        }
        router.close(key.pairing, .noLink)
        router.open(key.pairing, over: path, capabilities: [])
        #expect(router.receive(Envelope(.query), from: key.pairing)?.name == .unexpected, "not a link with `edits`")
    }

    @Test func `DEL-13: an acknowledgement of what was never sent ends the path`() {
        open()
        submit(1)
        let stored = Envelope(.stored, app: key.app, pairing: key.pairing, channel: key.channel, sequence: 9)
        #expect(router.receive(stored, from: key.pairing) == nil)
        device.scheduler.run()
        #expect(path.refusals == [.unexpected])
    }

    @Test func `DEL-10: a peer that has more than this device ever sent needs a new epoch of their pairing`() {
        open(received: 7)
        #expect(surroundings.epochs == [key.pairing])
    }
}
