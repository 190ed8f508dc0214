// One request to a running daemon on a loop of the caller's: connect, hello, request, result. It calls back once, at
// the latest at its deadline.

import TandemBase
package import TandemOperations
package import TandemPropertyList
package import TandemReactor
package import TandemTransport
package import TandemWire

/// A request under way; confined to its loop's thread. It stays alive until it has called back or is cancelled.
package final class ControlExchange {
    package typealias Answer = Result<PropertyListDictionary, ControlError>

    /// Beyond what the request itself may take: for connecting, hello, and the daemon's own turn.
    package static var patience: Duration { .seconds(15) }

    private let loop: EventLoop
    private let path: String
    private let software: String
    private let request: ControlFrame
    private var completion: ((Answer) -> Void)?
    private var connector: StreamConnector?
    private var channel: FrameChannel?
    private var deadline: TimerToken?
    private var isGreeted = false

    /// Begins at once.
    /// - Parameters:
    ///   - time: how long the command itself may take in the daemon.
    ///   - patience: how long all the rest may take.
    ///   - path: the daemon's local socket.
    ///   - software: the name and version of the program, for the daemon's log.
    ///   - completion: takes the result's body or the failure, never from inside this call.
    package init(
        _ command: ControlName, _ body: PropertyListDictionary, time: Duration = .zero,
        patience: Duration = ControlExchange.patience, path: String, software: String, loop: EventLoop,
        completion: @escaping (Answer) -> Void
    ) {
        self.loop = loop
        self.path = path
        self.software = software
        self.completion = completion
        request = ControlFrame(command, id: .random(), body: body)
        deadline = loop.schedule(after: patience + time) { [self] in
            finish(.failure(.silent("\(path): the daemon does not answer", at: [path])))
        }
        do throws(SocketAddressError) { connect(to: try SocketAddress.unix(checking: path)) } catch {
            let failure = ControlError.unusable("\(error)")
            loop.atEndOfTurn { [self] in finish(.failure(failure)) }
        }
    }

    /// Ends the request; it calls back no more.
    package func cancel() {
        completion = nil
        end()
    }

    private func connect(to address: SocketAddress) {
        connector = StreamConnector(to: address, loop: loop) { [self] outcome in
            connector = nil
            switch outcome {
            case .success(let stream): begin(FrameChannel(stream: stream))
            case .failure(let error): finish(.failure(Self.failure(error, at: path)))
            }
        }
    }

    /// Starting a daemon helps only where none listens.
    private static func failure(_ error: ConnectError, at path: String) -> ControlError {
        if case .failed(_, let cause) = error, let obstacle = LocalSockets.obstacle(at: path, cause) { return obstacle }
        return .unanswered("no daemon answers: \(error)", at: [path])
    }

    private func begin(_ channel: FrameChannel) {
        self.channel = channel
        channel.delegate = self
        channel.start()
    }

    private func fail(_ text: String) { finish(.failure(.failed("\(path): \(text)"))) }

    private func finish(_ answer: Answer) {
        guard let completion else { return }
        self.completion = nil
        end()
        completion(answer)
    }

    private func end() {
        if let deadline { loop.cancel(deadline) }
        deadline = nil
        connector?.cancel()
        connector = nil
        channel?.close()
        channel = nil
    }

    private func received(_ envelope: Envelope) throws {
        switch envelope.kind {
        case .hello where !isGreeted:
            isGreeted = true
            channel?.send(try request.frame())
        case .result:
            let frame = try ResultFrame(envelope)
            if frame.id == request.id { finish(Self.answer(frame)) }
        case .ping: channel?.send(try PingFrame(envelope).answer.frame())
        case .refusal:
            let refusal = try Refusal(envelope)
            fail("the daemon refused the connection: \(ControlError.refused(name: refusal.word, text: refusal.text))")
        case .bye: fail("the daemon is stopping")
        default: break
        }
    }

    private static func answer(_ frame: ResultFrame) -> Answer {
        let body = frame.body ?? [:]
        guard frame.code == 0 else {
            let (name, text) = (frame.name ?? "unnamed", body[BodyKey.text]?.stringValue ?? "")
            if let checks = body["checks"]?.dictionaryValue { return .failure(.unfit(text: text, checks: checks)) }
            return .failure(body["sent"] == false ? .unsent(name: name, text: text) : .refused(name: name, text: text))
        }
        return .success(body)
    }
}

extension ControlExchange: FrameChannelDelegate {
    package func channelDidOpen(_ channel: FrameChannel) {
        do { channel.send(try HelloFrame(Hello.offer(software: software)).frame()) } catch { fail("\(error)") }
    }

    package func channel(_ channel: FrameChannel, didReceive frame: Frame) {
        do { try received(Envelope(reading: frame)) } catch {
            fail("the process that listens there is not a Tandem daemon: \(error)")
        }
    }

    package func channelDidDrain(_ channel: FrameChannel) {}

    package func channel(_ channel: FrameChannel, didCloseWith reason: CloseReason) {
        fail("the daemon closed the connection (\(reason))")
    }
}
