// Which frames a local connection takes in which phase (SES-1, SES-5, CTL-1). The switch names every kind, so that a
// new one cannot be let in by forgetting it.

import TandemBase
import TandemPropertyList
import TandemSession
import TandemWire

extension HostAppConnection {
    func receive(_ frame: Frame, _ envelope: Envelope) throws(WireError) {
        switch phase {
        case .opening: try greet(envelope)
        case .greeted(let capabilities): try begin(envelope, capabilities)
        case .registered, .receiving: if let port { take(frame, envelope, port) }
        case .controlling(let open): control(envelope, open)
        case .registering, .closing: break
        }
    }

    /// One array for all who have them all, as most do.
    private static let allCapabilities = Capability.allCases

    /// The client's hello: the highest common version and the common capabilities (SES-2, SES-3).
    private func greet(_ envelope: Envelope) throws(WireError) {
        guard envelope.kind == .hello, envelope.pairing == nil else {
            return refuse(.helloExpected, "the first frame must be hello, without a pairing")
        }
        let hello = try Hello(body: envelope.dictionaryBody())
        guard case .offered(let versions) = hello.versions, let version = ProtocolVersion.chosen(from: versions) else {
            return refuse(.version, "this daemon speaks version \(ProtocolVersion.first)")
        }
        let common = Capability.allCases.filter(hello.capabilities.contains)
        let capabilities = common.count == Self.allCapabilities.count ? Self.allCapabilities : common
        let answer = Hello(
            .chosen(version), capabilities: capabilities, software: endpoint.options.software,
            role: endpoint.options.role, device: endpoint.options.device)
        phase = .greeted(capabilities)
        send(try Envelope(.hello).with(body: answer.body))
    }

    private func begin(_ envelope: Envelope, _ capabilities: [Capability]) throws(WireError) {
        switch envelope.kind {
        case .register: try register(envelope, capabilities)
        case .control:
            let open = OpenControls()
            phase = .controlling(open)
            control(envelope, open)
        case .ping: pong(envelope)
        case .pong: break
        case .bye: finish()
        case .hello, .refusal, .registered, .state, .message, .messageData, .reply, .failure, .configuration, .result,
            .application, .item, .gap, .stored, .outcome, .settled, .chunk, .want, .submit, .accepted, .progress,
            .delivery,
            .verdict, .finished, .heard, .context, .query, .answer, .join, .joined:
            unexpected(envelope, "before register")
        }
    }

    private func take(_ frame: Frame, _ envelope: Envelope, _ port: RelayPort) {
        switch envelope.kind {
        case .message, .messageData: pass(frame, envelope, port)
        case .reply, .failure:
            if !endpoint.handOvers.answered(envelope, by: number) { pass(frame, envelope, port) }
        case .submit, .chunk, .verdict, .heard, .query:
            guard let items = endpoint.items else { return unexpected(envelope, "after register") }
            if let refusal = items.receive(envelope, from: self) { refuse(refusal) }
        case .ping: pong(envelope)
        case .pong: break
        case .bye: finish()
        case .hello, .refusal, .register, .registered, .state, .configuration, .control, .result, .application, .item,
            .gap, .stored, .outcome, .settled, .want, .accepted, .progress, .delivery, .finished, .context,
            .answer, .join, .joined:
            unexpected(envelope, "after register")
        }
    }

    private func pass(_ frame: Frame, _ envelope: Envelope, _ port: RelayPort) {
        if let name = port.receive(frame, envelope) { refuse(name, "in \(envelope.kind.rawValue)") }
    }

    /// What the relay takes of a registered connection without a look at the rest of the envelope.
    func isForRelay(_ head: EnvelopeHead) -> Bool {
        switch head.kind {
        case .message, .messageData: true
        case .reply, .failure: !endpoint.handOvers.isOpen(head.id, to: number)
        default: false
        }
    }

    func pass(_ frame: Frame, _ head: EnvelopeHead, _ port: RelayPort) {
        if let name = port.receive(frame, head) { refuse(name, "in \(head.kind.rawValue)") }
    }

    func pong(_ envelope: Envelope) { send(Envelope(.pong, id: envelope.id)) }

    func unexpected(_ envelope: Envelope, _ place: String) {
        refuse(.unexpected, "\(envelope.kind.rawValue) is not taken \(place)")
    }
}
