// Event streams of open pages: one watch of the daemon for each app, or for the device, however many pages show it. It
// ends with the last of them.

import TandemBase
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

    private let daemon: DaemonPort
    private let loop: EventLoop
    private var watches: [AppInstance?: Watch] = [:]
    private var beat: TimerToken?

    init(daemon: DaemonPort, loop: EventLoop) {
        self.daemon = daemon
        self.loop = loop
    }

    /// Whether one more may be opened.
    var hasRoom: Bool { watches.values.reduce(0) { $0 + $1.count } < Self.countLimit }

    /// Opens a stream of an app's changes, or of the device's.
    func open(_ instance: AppInstance?) -> EventStream {
        let stream = EventStream(limit: LiveUpdates.byteLimit)
        stream.send(LiveUpdates.heartbeat)
        let watch = watches[instance] ?? Watch(of: instance, daemon: daemon, loop: loop)
        watches[instance] = watch
        watch.add(stream)
        stream.onEnd = { [unowned self, unowned stream] in
            watch.remove(stream)
            if watch.count == 0, watches[instance] === watch {
                watch.stop()
                watches[instance] = nil
            }
        }
        if beat == nil { beatLater() }
        return stream
    }

    /// Ends all.
    func stop() {
        for watch in watches.values { watch.end() }
        if let beat { loop.cancel(beat) }
    }

    private func beatLater() {
        beat = loop.schedule(after: Self.heartbeat) { [unowned self] in
            beat = nil
            for watch in watches.values { watch.send(LiveUpdates.heartbeat) }
            if !watches.isEmpty { beatLater() }
        }
    }
}

/// The watch of one app, or of the device.
private final class Watch {
    /// Time that the daemon waits for a change, and between two looks at the device.
    private static let wait = Duration.seconds(10)
    private static let pause = Duration.seconds(2)

    private let instance: AppInstance?
    private let daemon: DaemonPort
    private let loop: EventLoop
    private var streams: [ObjectIdentifier: EventStream] = [:]
    private var updates = LiveUpdates()
    private var exchange: ControlExchange?
    private var timer: TimerToken?
    private var isStopped = false

    init(of instance: AppInstance?, daemon: DaemonPort, loop: EventLoop) {
        self.instance = instance
        self.daemon = daemon
        self.loop = loop
        look()
    }

    var count: Int { streams.count }

    func add(_ stream: EventStream) { streams[ObjectIdentifier(stream)] = stream }
    func remove(_ stream: EventStream) { streams[ObjectIdentifier(stream)] = nil }
    func send(_ text: String) { for stream in streams.values { stream.send(text) } }
    func end() {
        for stream in streams.values { stream.end() }
        stop()
    }

    func stop() {
        isStopped = true
        exchange?.cancel()
        exchange = nil
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    private func look() {
        timer = nil
        guard let instance else { return lookAtDevice() }
        updates.looks(at: loop.now)
        daemon.ask([Console.state(of: instance)]) { [weak self] replies in
            if let self, !isStopped { found(replies[0]) }
        }
    }

    private func lookAtDevice() {
        exchange = daemon.ask(ConsoleQuestion(.status)) { [weak self] reply in
            guard let self else { return }
            if case .success(let status) = reply, let event = updates.event(ofStatus: status) { send(event) }
            lookLater()
        }
    }

    /// A failure is looked at again after a while: the app or the daemon may come back.
    private func found(_ reply: ConsoleReply) {
        guard let instance, case .success(let state) = reply, let ordinal = state["ordinal"]?.unsignedValue else {
            return lookLater()
        }
        if let event = updates.event(ofSettings: state) { send(event) }
        let question = Console.waiting(instance, after: ordinal, atMost: Self.wait)
        exchange = daemon.ask(question) { [weak self] reply in
            guard let self else { return }
            if case .success = reply { look(after: updates.pause(at: loop.now)) } else { lookLater() }
        }
    }

    private func lookLater() { look(after: Self.pause) }

    private func look(after pause: Duration) {
        guard !isStopped else { return }
        timer = loop.schedule(after: pause) { [weak self] in self?.look() }
    }
}
