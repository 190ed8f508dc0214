// Control commands (CTL-3): each reads its body strictly, asks the part that owns the matter, and answers once. Who may
// ask was settled by the local endpoint.

import TandemBase
import TandemPropertyList
import TandemWire

/// A command's completion.
typealias Answering = (ControlAnswer) -> Void

extension Node: ControlResponder {
    package func respond(to request: ControlRequest, completion: @escaping (ControlAnswer) -> Void) {
        do throws(WireError) {
            try respond(request.command, BodyFields(request.body), request, completion)
        } catch {
            completion(.failed(.badRequest, text: "\(request.command): \(error)"))
        }
    }

    private func respond(
        _ command: String, _ body: BodyFields, _ request: ControlRequest, _ completion: @escaping Answering
    ) throws(WireError) {
        switch command {
        case "health": completion(.done(healthReport))
        case "drain": try drain(body, completion)
        case "dead-letters": try deadLetters(body, completion)
        case "dead-letter-retry": try settle(body, .retry, completion)
        case "dead-letter-drop": try settle(body, .drop, completion)
        case "trace": try trace(body, completion)
        case "status": completion(.done(status(for: request)))
        case "pair": try pair(body, completion)
        case "join": try join(body, completion)
        case "trust-device": try trustDevice(body, completion)
        case "unpair": try unpair(body, completion)
        case "switch": try switchActive(body, completion)
        case "trust-add": try trustAdd(body, completion)
        case "trust-list": completion(.done(["anchors": .array(carrier.anchors.map { .dictionary($0) })]))
        case "apply": try apply(body, completion)
        case "identifier-accept": try acceptIdentifier(body, completion)
        case "allow-version": try allowVersion(body, completion)
        default: completion(.failed(.unknownCommand, text: "this daemon knows no command '\(LogTextCut.cut(command))'"))
        }
    }
}

/// A caller's word in an answer: cut, because it is outside text.
enum LogTextCut {
    static func cut(_ text: String) -> String { String(text.unicodeScalars.prefix(64).map { Character($0) }) }
}

extension BodyFields {
    func role(_ key: String) throws(WireError) -> DeviceRole {
        try required(key, "primary or secondary") { $0.stringValue.flatMap { DeviceRole(rawValue: $0) } }
    }

    /// A duration in milliseconds of at most an hour.
    func milliseconds(_ key: String, absent: Duration) throws(WireError) -> Duration {
        let value = try optional(key, "milliseconds from 0 to 3600000") { value in
            value.integerValue.flatMap { (0...3_600_000).contains($0) ? $0 : nil }
        }
        return value.map { .milliseconds($0) } ?? absent
    }
}
