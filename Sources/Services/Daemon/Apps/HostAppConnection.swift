// One connection on a local socket, from hello to its end. It decides which frames may come when, and hands them to
// whom they concern: messages and answers to the relay, answers to configurations to the hand-overs, control requests
// to the responder. What is wrong earns one refusal, and then the connection closes.

import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTransport
import TandemWire

/// A host app's or a command's connection to its daemon.
final class HostAppConnection {
    enum Phase {
        /// Nothing but `hello`.
        case opening
        /// `register` or `control` decides what the connection is. What the client said that it can do matters until
        /// then.
        case greeted([Capability])
        /// Its app's ownership is being stored; it is not read meanwhile.
        case registering
        /// It sends, and does not take its app's messages.
        case registered
        /// It takes its app's messages. Boxed: the others need no room for it.
        indirect case receiving(ConnectedApplication)
        case controlling(OpenControls)
        /// Refused or told to go; nothing more is read.
        case closing
    }

    /// The control requests that wait for their answer.
    final class OpenControls {
        var identifiers: Set<UniqueIdentifier> = []
    }

    // Nothing weak may refer to this, nor anything be added lightly: thousands are idle, and each is to be small.
    let number: ConnectionNumber
    let channel: FrameChannel
    let endpoint: LocalEndpoint
    var phase = Phase.opening
    /// The relay's port while the connection is registered: frames are passed on from here without asking the phase.
    var port: RelayPort?
    let credentials: PeerCredentials

    init(_ number: ConnectionNumber, channel: FrameChannel, credentials: PeerCredentials, endpoint: LocalEndpoint) {
        self.number = number
        self.channel = channel
        self.credentials = credentials
        self.endpoint = endpoint
    }

    func start() {
        channel.delegate = self
        channel.start()
    }

    /// Sends the frame of an envelope that we made.
    func send(_ envelope: @autoclosure () throws(WireError) -> Envelope) {
        do throws(WireError) { send(try envelope().frame()) } catch {
            endpoint.log(LogEvent(.error, "frame not written", .text("error", "\(error)")))
            channel.close()
        }
    }

    /// Tells why, and ends the connection.
    func refuse(_ refusal: Refusal) {
        endpoint.log(
            LogEvent(
                .warning, "local connection refused", .text("name", refusal.word), .outside("text", refusal.text),
                .integer("uid", credentials.user), .integer("pid", credentials.process)))
        end(with: Envelope(.refusal, name: refusal.word), refusal.text)
    }

    func refuse(_ name: RefusalName, _ text: String = "") { refuse(Refusal(name, text)) }

    private func end(with envelope: Envelope, _ text: String) {
        if case .closing = phase { return }
        send(try envelope.with(body: text.isEmpty ? [:] : ["text": .string(text)]))
        leave()
        channel.closeAfterFlush()
    }

    /// Flushes and closes, after `bye` has been sent.
    func finish() {
        leave()
        channel.closeAfterFlush()
    }

    /// Leaves the relay; what it owes others is settled.
    func leave() {
        let (last, port) = (phase, port)
        phase = .closing
        self.port = nil
        port?.closed()
        if let app = port?.app { endpoint.items?.left(self, app, receives: port?.receives ?? false) }
        if case .receiving(let application) = last { endpoint.left(self, application) }
    }
}

extension HostAppConnection: RelayEndpoint {
    var queuedBytes: Int { channel.queuedBytes }
    var isCongested: Bool { channel.isCongested }
    // Nobody asks for a host app's: its open requests fail as 7011 whether sent or not (SES-11).
    var acceptedBytes: UInt64 { 0 }
    var departedBytes: UInt64 { 0 }

    func send(_ frame: Frame) { channel.send(frame) }

    func write(_ frames: RawSpan) { channel.write(frames) }

    /// It does not read: a refusal would only wait behind all the rest.
    func overflowed() { channel.close(.slowConsumer) }

    func pauseReading() { channel.pauseReading() }

    func resumeReading() { channel.resumeReading() }
}

extension HostAppConnection: FrameChannelDelegate {
    func channelDidOpen(_ channel: FrameChannel) {}

    func channel(_ channel: FrameChannel, didReceive frame: Frame) {
        if let port, let head = EnvelopeHead(plain: frame), isForRelay(head) { return pass(frame, head, port) }
        // What is no broadcast may be answered, or end the connection: those before it go first (SES-30).
        port?.sendBroadcasts()
        do throws(WireError) {
            try receive(frame, Envelope(reading: frame))
        } catch {
            refuse(refusal(for: error))
        }
    }

    func channelDidDrain(_ channel: FrameChannel) {
        port?.drained()
    }

    func channel(_ channel: FrameChannel, didCloseWith reason: CloseReason) {
        leave()
        endpoint.closed(self, reason)
    }

    /// A malformed identifier has a name of its own where it is the first thing said (SES-6).
    private func refusal(for error: WireError) -> Refusal {
        guard case .greeted = phase, case .invalidValue(EnvelopeKey.app.rawValue, _) = error else {
            return Refusal(error)
        }
        return Refusal(.application, error.description)
    }
}
