// Control requests on a local connection (CTL-1, CTL-2): who may ask, and each answered once under its own identifier.

import TandemBase
import TandemPropertyList
import TandemReactor
import TandemWire

extension HostAppConnection {
    /// Requests that one connection may have open (LIM-18): a person's or a script's, never a flood.
    private static var openControlLimit: Int { 64 }

    func control(_ envelope: Envelope, _ open: OpenControls) {
        guard envelope.kind != .ping else { return pong(envelope) }
        guard envelope.kind != .bye else { return finish() }
        guard envelope.kind == .control, let id = envelope.id, let command = envelope.command else {
            return unexpected(envelope, "on a control connection")
        }
        guard !open.identifiers.contains(id) else {
            return refuse(.unexpected, "a control request with this identifier is open")
        }
        let isPrivileged = credentials.user == 0 || credentials.user == endpoint.options.daemonUser
        if let failure = obstacle(command, isPrivileged, open) { return answer(id, command, failure) }
        guard let body = try? envelope.dictionaryBody() else {
            return answer(id, command, .failed(.badRequest, text: "'body' is not a property list"))
        }
        let request = ControlRequest(command: command, body: body, caller: credentials, isPrivileged: isPrivileged)
        ask(request, id, open)
    }

    private func obstacle(_ command: String, _ isPrivileged: Bool, _ open: OpenControls) -> ControlAnswer? {
        if !isPrivileged, command != "status" {
            return .failed(.notAllowed, text: "only the daemon's own user and root may use this command")
        }
        guard open.identifiers.count < Self.openControlLimit else {
            return .failed(.full, text: "\(Self.openControlLimit) requests are open on this connection")
        }
        return nil
    }

    private func ask(_ request: ControlRequest, _ id: UniqueIdentifier, _ open: OpenControls) {
        guard let responder = endpoint.controlResponder else {
            return answer(id, request.command, .failed(.unknownCommand, text: "there are no commands here"))
        }
        open.identifiers.insert(id)
        responder.respond(to: request) { [self] answer in
            guard open.identifiers.remove(id) != nil else { return }
            self.answer(id, request.command, answer)
        }
    }

    private func answer(_ id: UniqueIdentifier, _ command: String, _ answer: ControlAnswer) {
        if case .closing = phase { return }
        let envelope = Envelope(.result, id: id, code: answer.code, name: answer.name, command: command)
        do throws(WireError) {
            send(try envelope.with(body: answer.body).frame())
        } catch {
            send(Envelope(.result, id: id, code: 1, name: ControlFailure.full.rawValue, command: command))
        }
    }
}
