// HTTP server on our own loop: libmicrohttpd reads and writes bytes, and knows nothing of the console. It runs only
// when its descriptor or its timer says so, on the loop's thread; a request that waits for the daemon is suspended, and
// keeps nobody else waiting. No type of the C library leaves this file.

internal import CTandemMicroHTTPD
import Glibc
import TandemBase
import TandemConsole
import TandemControl
import TandemReactor
import TandemTransport

/// A server with its connections; confined to its loop's thread.
final class WebServer {
    /// Connections at once (LIM-127).
    private static let connectionLimit: UInt32 = 64
    /// Bytes of memory of a connection, which bound its request's head (LIM-127). The library keeps each cookie twice.
    private static let connectionBytes = 131_072
    /// Time for a whole request, and for reading its answer (LIM-127).
    private static let patience = Duration.seconds(30)
    private static let patienceInSeconds: UInt32 = 30

    private let loop: EventLoop
    fileprivate let user: UInt32
    fileprivate let refusal: (WebRequest) -> WebAnswer?
    fileprivate let handler: (WebExchange) -> Void
    fileprivate let hangsUp: (UInt32) -> Void
    private let socket: BoundSocket
    private var server: OpaquePointer?
    private var registration: Registration?
    private var timer: TimerToken?
    private var sweep: TimerToken?
    private var isDue = false
    private var connections: [ObjectIdentifier: WebConnection] = [:]
    /// A request that comes now is refused: it could not be suspended.
    fileprivate var isStopping = false
    /// Each with the watch for the end of its browser: the library does not look at a suspended connection.
    private var suspended: [ObjectIdentifier: (exchange: WebExchange, watch: Registration?)] = [:]

    /// Serves at once.
    /// - Parameters:
    ///   - socket: bound, and not listening yet.
    ///   - identity: PEM texts of a certificate and its key; nil for no TLS.
    ///   - refusal: judges a request by its head.
    ///   - handler: takes a whole request, and answers it now or later.
    ///   - hangsUp: takes another user of this machine whose connection was hung up.
    init(
        on socket: consuming BoundSocket, identity: (certificate: [UInt8], key: [UInt8])?, loop: EventLoop,
        refusal: @escaping (WebRequest) -> WebAnswer?, handler: @escaping (WebExchange) -> Void,
        hangsUp: @escaping (UInt32) -> Void
    ) throws {
        self.loop = loop
        self.refusal = refusal
        self.handler = handler
        self.hangsUp = hangsUp
        user = Linux.user
        try Linux.listen(socket.descriptor.raw, backlog: 64)
        let listener = socket.descriptor.raw
        self.socket = socket
        var options = tandem_web_options()
        options.listener = listener
        options.connections = Self.connectionLimit
        options.seconds_idle = Self.patienceInSeconds
        options.connection_bytes = Self.connectionBytes
        options.context = Unmanaged.passUnretained(self).toOpaque()
        (options.begin, options.handle, options.finish, options.notify) = (webBegin, webHandle, webFinish, webNotify)
        server = Self.start(&options, identity)
        guard let server else {
            let question = identity == nil ? "" : "; are certificate and key PEM, and a pair?"
            throw CommandFailure.refused("the web server cannot start\(question)")
        }
        registration = try loop.register(tandem_web_descriptor(server), for: .readable, target: self)
    }

    private static func start(
        _ options: inout tandem_web_options, _ identity: (certificate: [UInt8], key: [UInt8])?
    ) -> OpaquePointer? {
        guard let identity else { return tandem_web_start(&options) }
        let (certificate, key) = (identity.certificate + [0], identity.key + [0])
        return certificate.withUnsafeBytes { certificate in
            key.withUnsafeBytes { key in
                options.certificate = certificate.bindMemory(to: CChar.self).baseAddress
                options.key = key.bindMemory(to: CChar.self).baseAddress
                return tandem_web_start(&options)
            }
        }
    }

    func stop() {
        guard let server else { return }
        // The library must not be stopped with a suspended connection; it forgets the listener, which is ours.
        isStopping = true
        _ = MHD_quiesce_daemon(server)
        for exchange in suspended.values.map(\.exchange) { exchange.abandon() }
        _ = MHD_run(server)
        if let registration { loop.deregister(registration) }
        for token in [timer, sweep].compactMap(\.self) { loop.cancel(token) }
        self.server = nil
        MHD_stop_daemon(server)
    }

    // MARK: turns

    private func run() {
        guard let server else { return }
        _ = MHD_run(server)
        if let timer { loop.cancel(timer) }
        timer = nil
        var milliseconds: UInt64 = 0
        guard MHD_get_timeout(server, &milliseconds) == .YES else { return }
        timer = loop.schedule(after: .milliseconds(Int64(clamping: milliseconds))) { [unowned self] in
            timer = nil
            run()
        }
    }

    /// Runs at the end of the turn: a resumed connection is seen by the next run only.
    private func runSoon() {
        guard !isDue else { return }
        isDue = true
        loop.atEndOfTurn { [weak self] in
            self?.isDue = false
            self?.run()
        }
    }

    fileprivate func suspend(_ exchange: WebExchange) {
        let watch = exchange.socket.flatMap { try? loop.register($0, for: .peerEnded, target: exchange) }
        suspended[ObjectIdentifier(exchange)] = (exchange, watch)
        MHD_suspend_connection(exchange.connection)
    }

    fileprivate func resume(_ exchange: WebExchange) {
        guard let known = suspended.removeValue(forKey: ObjectIdentifier(exchange)) else { return }
        // The library may close the socket from here on.
        if let watch = known.watch { loop.deregister(watch) }
        MHD_resume_connection(exchange.connection)
        runSoon()
    }

    // MARK: connections

    fileprivate func opened(_ connection: WebConnection) {
        connection.began = loop.now
        connections[ObjectIdentifier(connection)] = connection
        if sweep == nil { sweepLater() }
    }

    /// The library frees places at the end of a run, and listens again at the beginning of one. After a run that has
    /// ended all connections it asks for no time: without this run nothing would call it again, and it would stay deaf.
    fileprivate func closed(_ connection: WebConnection) {
        connections[ObjectIdentifier(connection)] = nil
        if server != nil { runSoon() }
    }

    /// A new phase of a connection, for which its browser has some time; nil while it waits for us.
    fileprivate func enters(_ connection: WebConnection?, isWaiting: Bool) {
        connection?.began = isWaiting ? nil : loop.now
    }

    private func sweepLater() {
        sweep = loop.schedule(after: .seconds(5)) { [unowned self] in
            sweep = nil
            let now = loop.now
            for connection in connections.values {
                if let began = connection.began, now.since(began) >= Self.patience { Linux.hangUp(connection.socket) }
            }
            if !connections.isEmpty { sweepLater() }
        }
    }
}

extension WebServer: ReadinessTarget {
    func isReady(_ readiness: Readiness) { run() }
}

/// A browser's connection.
private final class WebConnection {
    let socket: Int32
    /// Whether another user of this machine has opened it.
    let isForeign: Bool
    /// The beginning of the phase for which the browser has some time.
    var began: MonotonicTime?

    init(socket: Int32, isForeign: Bool) { (self.socket, self.isForeign) = (socket, isForeign) }
}

/// One request and its answer; confined to its loop's thread.
final class WebExchange {
    private enum Phase {
        case head, body, asked, waiting
        case ready(WebAnswer)
        case streaming(EventStream)
        /// The browser has left before the answer.
        case left
        case over
    }

    fileprivate let connection: OpaquePointer
    private unowned let server: WebServer
    private let target: String
    private let targetBytes: Int
    private var phase = Phase.head
    /// The request, once its head has come.
    private(set) var request = WebRequest("", "", fields: [])

    fileprivate init(_ server: WebServer, _ connection: OpaquePointer, target: UnsafePointer<CChar>) {
        self.server = server
        self.connection = connection
        self.target = String(cString: target)
        targetBytes = strlen(target)
    }

    // MARK: answers

    /// Answers the request; nothing if its browser is gone.
    func answer(_ answer: WebAnswer) {
        switch phase {
        case .asked: phase = .ready(answer)
        case .waiting:
            phase = .ready(answer)
            server.resume(self)
        case .head, .body, .ready, .streaming, .left, .over: break
        }
    }

    /// Answers the request with a stream, within the call that has handed the request over.
    func answer(with stream: EventStream) {
        guard case .asked = phase else { return stream.close() }
        phase = .streaming(stream)
    }

    /// The server stops.
    fileprivate func abandon() {
        switch phase {
        case .waiting: answer(.stopping(request))
        case .streaming(let stream):
            stream.end()
            server.resume(self)
        case .head, .body, .asked, .ready, .left, .over: break
        }
    }

    /// The browser has closed its side while the connection was suspended: its place is for the next one. A form is
    /// carried out all the same.
    fileprivate func leave() {
        switch phase {
        case .waiting:
            phase = .left
            server.resume(self)
        case .streaming(let stream): stream.end()
        case .head, .body, .asked, .ready, .left, .over: break
        }
    }

    fileprivate var socket: Int32? { place?.socket }

    // MARK: the library's calls

    /// - Parameter targetRoom: the bytes that the target has in the request, which the library hands over as text up to
    ///   the first byte 0.
    fileprivate func handle(method: String, targetRoom: Int, _ data: UnsafeRawBufferPointer) -> MHD_Result {
        switch phase {
        case .head:
            request = WebRequest(method, target, fields: fields())
            if place?.isForeign ?? true { return .NO }
            guard targetRoom == targetBytes else {
                return queue(WebAnswer(400, "the request line does not read\n", closes: true))
            }
            if let refusal = server.refusal(request) { return queue(refusal) }
            phase = .body
            return .YES
        case .body where !data.isEmpty:
            guard request.body.count + data.count <= RequestGate.bodyLimit else { return .NO }
            request.body += data
            return .YES
        case .body where server.isStopping:
            return queue(WebAnswer(503, "the console is stopping\n", closes: true))
        case .body:
            phase = .asked
            server.enters(place, isWaiting: true)
            server.handler(self)
            return proceed()
        case .ready, .streaming: return proceed()
        case .left: return .NO
        case .asked, .waiting, .over: return .YES
        }
    }

    private func proceed() -> MHD_Result {
        switch phase {
        case .ready(let answer): return queue(answer)
        case .streaming(let stream): return queue(stream)
        case .asked:
            phase = .waiting
            server.suspend(self)
            return .YES
        case .head, .body, .waiting, .left, .over: return .YES
        }
    }

    /// The browser has the answer, or is gone.
    fileprivate func finish() {
        if case .streaming(let stream) = phase { stream.close() }
        phase = .over
        server.enters(place, isWaiting: false)
    }

    private func fields() -> [(name: String, value: String)] {
        let list = FieldList()
        let context = Unmanaged.passUnretained(list).toOpaque()
        _ = MHD_get_connection_values_n(connection, .HEADER_KIND, webField, context)
        return list.fields
    }

    private var place: WebConnection? {
        tandem_web_context(connection).map { Unmanaged<WebConnection>.fromOpaque($0).takeUnretainedValue() }
    }

    // MARK: responses

    private func queue(_ answer: WebAnswer) -> MHD_Result {
        phase = .over
        let response = answer.body.withUnsafeBytes { bytes in
            MHD_create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
        }
        var fields = [("Content-Type", answer.type)]
        if let location = answer.location {
            fields.append(
                (
                    "Location",
                    location.path + (answer.query.map { "?\($0)" } ?? "") + (answer.fragment.map { "#\($0)" } ?? "")
                ))
        }
        if let cookie = answer.cookie { fields.append(("Set-Cookie", cookie)) }
        if let methods = answer.methods { fields.append(("Allow", methods)) }
        if answer.closes { fields.append(("Connection", "close")) }
        return queue(response, answer.status, fields)
    }

    private func queue(_ stream: EventStream) -> MHD_Result {
        let context = Unmanaged.passRetained(WebStream(exchange: self, stream: stream))
        let response = MHD_create_response_from_callback(.max, 4096, webRead, context.toOpaque(), webRelease)
        if response == nil { context.release() }
        stream.onReady = { [weak self] in self.map { $0.server.resume($0) } }
        return queue(response, 200, [("Content-Type", "text/event-stream; charset=utf-8")])
    }

    private func queue(_ response: OpaquePointer?, _ status: Int, _ fields: [(String, String)]) -> MHD_Result {
        guard let response else { return .NO }
        defer { MHD_destroy_response(response) }
        for (name, value) in WebAnswer.safety.map({ ($0.name, $0.value) }) + fields {
            guard MHD_add_response_header(response, name, value) == .YES else { return .NO }
        }
        if case .streaming = phase {} else { server.enters(place, isWaiting: false) }
        return MHD_queue_response(connection, UInt32(status), response)
    }

    /// The next bytes of a stream; the connection sleeps until there are some.
    fileprivate func read(_ stream: EventStream, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = stream.read(into: buffer)
        if count > 0 { return count }
        if stream.isEnded { return -1 }
        server.suspend(self)
        return 0
    }
}

extension WebExchange: ReadinessTarget {
    func isReady(_ readiness: Readiness) { leave() }
}

/// The context of a stream's response.
private final class WebStream {
    let exchange: WebExchange
    let stream: EventStream

    init(exchange: WebExchange, stream: EventStream) {
        self.exchange = exchange
        self.stream = stream
    }
}

/// The header fields of a request as they are read.
private final class FieldList {
    var fields: [(name: String, value: String)] = []
}

// MARK: - doors of the library: all are called within `MHD_run`, on the loop's thread

private func server(_ context: UnsafeMutableRawPointer?) -> WebServer? {
    context.map { Unmanaged<WebServer>.fromOpaque($0).takeUnretainedValue() }
}

private func text(_ bytes: UnsafePointer<CChar>?, _ count: Int) -> String {
    bytes.map { String(decoding: UnsafeRawBufferPointer(start: $0, count: count), as: UTF8.self) } ?? ""
}

private func webBegin(
    _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>?, _ connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    guard let server = server(context), let connection, let target else { return nil }
    return Unmanaged.passRetained(WebExchange(server, connection, target: target)).toOpaque()
}

private func webHandle(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ url: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ data: UnsafePointer<CChar>?,
    _ count: UnsafeMutablePointer<Int>?, _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let exchange = request?.pointee, let url, let method, let version, let count else { return .NO }
    let bytes = UnsafeRawBufferPointer(start: data, count: count.pointee)
    count.pointee = 0
    return Unmanaged<WebExchange>.fromOpaque(exchange).takeUnretainedValue().handle(
        method: String(cString: method),
        // The version follows the target in the library's memory of the request, after one byte. Without a version it
        // is elsewhere, and such a request names no host anyway.
        targetRoom: Int(bitPattern: version) &- Int(bitPattern: url) &- 1, bytes)
}

private func webFinish(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ reason: MHD_RequestTerminationCode
) {
    guard let exchange = request?.pointee else { return }
    request?.pointee = nil
    Unmanaged<WebExchange>.fromOpaque(exchange).takeRetainedValue().finish()
}

private func webNotify(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ place: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ event: MHD_ConnectionNotificationCode
) {
    guard let server = server(context), let connection, let place else { return }
    if event == .CONNECTION_NOTIFY_STARTED {
        let socket = tandem_web_socket(connection)
        let other = PeerUser.other(socket, user: server.user)
        let opened = WebConnection(socket: socket, isForeign: !other.isAllowed)
        // At once, before it has sent anything: connections of other users take no seats.
        if opened.isForeign {
            Linux.hangUp(socket)
            if let owner = other.owner { server.hangsUp(owner) }
        }
        place.pointee = Unmanaged.passRetained(opened).toOpaque()
        server.opened(opened)
    } else if let known = place.pointee {
        place.pointee = nil
        server.closed(Unmanaged<WebConnection>.fromOpaque(known).takeRetainedValue())
    }
}

private func webField(
    _ context: UnsafeMutableRawPointer?, _ kind: MHD_ValueKind, _ name: UnsafePointer<CChar>?, _ nameCount: Int,
    _ value: UnsafePointer<CChar>?, _ valueCount: Int
) -> MHD_Result {
    guard let context else { return .NO }
    Unmanaged<FieldList>.fromOpaque(context).takeUnretainedValue().fields.append(
        (text(name, nameCount), text(value, valueCount)))
    return .YES
}

private func webRead(
    _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ buffer: UnsafeMutablePointer<CChar>?, _ limit: Int
) -> Int {
    guard let context, let buffer else { return -2 }
    let source = Unmanaged<WebStream>.fromOpaque(context).takeUnretainedValue()
    return source.exchange.read(source.stream, UnsafeMutableRawBufferPointer(start: buffer, count: limit))
}

private func webRelease(_ context: UnsafeMutableRawPointer?) {
    if let context { Unmanaged<WebStream>.fromOpaque(context).release() }
}
