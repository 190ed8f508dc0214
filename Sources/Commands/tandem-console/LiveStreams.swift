// Event streams of open pages: one watch of the daemon for each app, or for the device, however many pages show it. It
// ends with the last of them. All watches share the looks at the device.

import TandemConsole
import TandemControl
import TandemPropertyList
import TandemReactor
import TandemWire

/// All streams of a console; confined to its loop's thread.
final class LiveStreams {
    /// Streams at once (LIM-126).
    private static let countLimit = 32
    /// Time after which a silent stream sends a line, by which one whose browser is gone is found (LIM-126).
    private static let heartbeat = Duration.seconds(15)
    /// Time between two looks at the device.
    private static let pause = Duration.seconds(2)

    private let daemon: DaemonPort
    private let loop: EventLoop
    private var watches: [AppInstance?: Watch] = [:]
    private var beat: TimerToken?
    private var exchange: ControlExchange?
    private var timer: TimerToken?

    init(daemon: DaemonPort, loop: EventLoop) {
        self.daemon = daemon
        self.loop = loop
    }

    /// Whether one more may be opened.
    var hasRoom: Bool { watches.values.reduce(0) { $0 + $1.count } < Self.countLimit }

    /// Opens a stream for a page of an app, or of the device.
    /// - Parameter mark: the mark of the state that the page was made of.
    func open(_ instance: AppInstance?, mark: String) -> EventStream {
        let stream = EventStream(limit: LiveUpdates.byteLimit)
        stream.send(LiveUpdates.heartbeat)
        let watch = watches[instance] ?? Watch(of: instance, daemon: daemon, loop: loop)
        watches[instance] = watch
        watch.add(stream, LiveUpdates(of: instance, mark: mark))
        stream.onEnd = { [unowned self, unowned stream] in
            watch.remove(stream)
            if watch.count == 0, watches[instance] === watch {
                watch.stop()
                watches[instance] = nil
            }
        }
        if beat == nil { beatLater() }
        look()
        return stream
    }

    func stop() {
        for watch in watches.values { watch.end() }
        for token in [beat, timer].compactMap(\.self) { loop.cancel(token) }
        exchange?.cancel()
    }

    private func beatLater() {
        beat = loop.schedule(after: Self.heartbeat) { [unowned self] in
            beat = nil
            for watch in watches.values { watch.send(LiveUpdates.heartbeat) }
            if !watches.isEmpty { beatLater() }
        }
    }

    /// Looks at the device, unless a look is under way.
    private func look() {
        if let timer { loop.cancel(timer) }
        timer = nil
        guard exchange == nil, !watches.isEmpty else { return }
        exchange = daemon.ask(ConsoleQuestion(.status)) { [unowned self] reply in
            exchange = nil
            for watch in watches.values { watch.found(status: reply) }
            timer = loop.schedule(after: Self.pause) { [unowned self] in look() }
        }
    }
}

private final class Watch {
    /// Time that the daemon waits for a change of an app's settings, and until the next look after a failure.
    private static let wait = Duration.seconds(10)
    private static let pause = Duration.seconds(2)

    private let instance: AppInstance?
    private let daemon: DaemonPort
    private let loop: EventLoop
    private var pages: [ObjectIdentifier: (stream: EventStream, updates: LiveUpdates)] = [:]
    private var state: LiveState
    private var exchange: ControlExchange?
    private var timer: TimerToken?
    private var isStopped = false

    init(of instance: AppInstance?, daemon: DaemonPort, loop: EventLoop) {
        self.instance = instance
        self.daemon = daemon
        self.loop = loop
        state = LiveState(of: instance)
        look()
    }

    var count: Int { pages.count }

    func add(_ stream: EventStream, _ updates: LiveUpdates) {
        let key = ObjectIdentifier(stream)
        pages[key] = (stream: stream, updates: updates)
        sendEvent(to: key)
    }

    func remove(_ stream: EventStream) { pages[ObjectIdentifier(stream)] = nil }
    func send(_ text: String) { for page in pages.values { page.stream.send(text) } }
    func end() {
        for page in pages.values { page.stream.end() }
        stop()
    }

    func stop() {
        isStopped = true
        exchange?.cancel()
        exchange = nil
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    /// Takes the answer to a look at the device.
    func found(status reply: ConsoleReply) {
        state.take(status: reply)
        sendEvents()
    }

    private func sendEvents() { for key in Array(pages.keys) { sendEvent(to: key) } }

    private func sendEvent(to key: ObjectIdentifier) {
        if let event = pages[key]?.updates.event(at: state) { pages[key]?.stream.send(event) }
    }

    // MARK: the app's settings

    private func look() {
        timer = nil
        guard let instance else { return }
        state.looks(at: loop.now)
        daemon.ask([Console.state(of: instance)]) { [weak self] replies in
            if let self, !isStopped { found(settings: replies[0]) }
        }
    }

    /// A failure is looked at again after a while: the app or the daemon may come back.
    private func found(settings reply: ConsoleReply) {
        state.take(settings: reply)
        sendEvents()
        guard let instance, case .success(let settings) = reply, let ordinal = settings["ordinal"]?.unsignedValue else {
            return lookLater()
        }
        let question = Console.waiting(instance, after: ordinal, atMost: Self.wait)
        exchange = daemon.ask(question) { [weak self] reply in
            guard let self else { return }
            if case .success = reply { look(after: state.pause(at: loop.now)) } else { lookLater() }
        }
    }

    private func lookLater() { look(after: Self.pause) }

    private func look(after pause: Duration) {
        guard !isStopped else { return }
        timer = loop.schedule(after: pause) { [weak self] in self?.look() }
    }
}
