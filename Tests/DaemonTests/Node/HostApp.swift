// A host app without any of the library's code: it registers over the local socket, judges what it is handed as the
// library would, and answers.

import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemSignedConfiguration
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

final class HostApp: ByteStreamDelegate {
    private var stream: (any ByteStream)?
    private(set) var envelopes: [Envelope] = []
    private(set) var handed: [ConfigurationOffer] = []
    private(set) var reloads = 0
    private var decoder = FrameDecoder(limit: Limits.frame)
    /// What the app answers; nil: nothing.
    var answer: (ConfigurationOffer) -> OfferReply?

    init(answer: @escaping (ConfigurationOffer) -> OfferReply?) { self.answer = answer }

    func received(_ kind: FrameKind) -> [Envelope] { envelopes.filter { $0.kind == kind } }

    /// Registers over a stream that has not started.
    func connect(
        over stream: any ByteStream, as app: ApplicationIdentifier, _ registration: TandemSession.Registration,
        waiting: (() -> Bool) -> Void
    ) throws {
        self.stream = stream
        stream.delegate = self
        stream.start()
        try send(Envelope(.hello).with(body: Hello.offer(software: "an app of a test").body))
        waiting { !received(.hello).isEmpty }
        try send(Envelope(.register, app: app).with(body: registration.body))
        waiting { !received(.registered).isEmpty || !received(.refusal).isEmpty }
    }

    func disconnect() { stream?.close(.closedHere) }

    func send(_ envelope: Envelope) throws { stream?.send(try envelope.frame().bytes) }

    func stream(_ stream: any ByteStream, didReceive bytes: ByteSlice) {
        decoder.append(bytes)
        do {
            while let frame = try decoder.next() { try take(try Envelope(reading: frame)) }
        } catch {
            Issue.record("the daemon sent \(error)")
        }
    }

    private func take(_ envelope: Envelope) throws {
        envelopes.append(envelope)
        guard envelope.kind == .configuration else { return }
        let message = try envelope.dictionaryBody()
        if ConfigurationOffer.isReload(message) {
            reloads += 1
            return try reply(to: envelope, with: ["tandem.verdict": "applied"])
        }
        let offer = try ConfigurationOffer(message)
        handed.append(offer)
        if let answer = answer(offer) { try reply(to: envelope, with: answer.message) }
    }

    private func reply(to envelope: Envelope, with body: PropertyListDictionary) throws {
        try send(Envelope(.reply, app: envelope.app, pairing: envelope.pairing, id: envelope.id).with(body: body))
    }

    func streamDidDrain(_ stream: any ByteStream) {}

    func stream(_ stream: any ByteStream, didCloseWith reason: CloseReason) {}
}
