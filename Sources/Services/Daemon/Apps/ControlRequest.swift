// Control requests (Protocol/Control.md) as values. The local endpoint checks that the frame is whole and knows the
// caller; the responder judges the caller and carries the request out.

import TandemBase
package import TandemOperations
package import TandemPropertyList
package import TandemWire

/// One control request.
package struct ControlRequest: Sendable {
    package let command: String
    package let fields: BodyFields
    package let caller: Caller

    package init(command: String, body: PropertyListDictionary, caller: Caller) {
        self.command = command
        fields = BodyFields(body)
        self.caller = caller
    }
}

/// A request that a daemon does not carry out.
package struct ControlFailure: Error, Sendable, Equatable {
    /// For programs.
    package let name: String
    /// For people: the event and the remedy.
    package let text: String
    /// More for programs, beside the text.
    package private(set) var facts: PropertyListDictionary = [:]

    /// The body of the answer.
    package var body: PropertyListDictionary {
        var body = facts
        body[BodyKey.text] = .string(text)
        return body
    }
}

extension ControlFailure {
    package init(_ name: ControlFailureName, _ text: String, facts: PropertyListDictionary = [:]) {
        self.init(name: name.rawValue, text: text, facts: facts)
    }
}

/// The answer to a control request.
package struct ControlAnswer: Sendable, Equatable {
    /// The name of the failure, for programs; nil when done.
    package let name: String?
    package let body: PropertyListDictionary

    /// 0: done.
    package var code: Int { name == nil ? 0 : 1 }

    package static func done(_ body: PropertyListDictionary = [:]) -> Self { Self(name: nil, body: body) }

    package static func failed(_ failure: ControlFailure) -> Self { Self(name: failure.name, body: failure.body) }

    /// The key with the number of rows that each list lacks.
    static let leftOut = "leftOut"

    /// The answer as a frame. Lists that are too long for one lack their last rows, and `leftOut` says how many,
    /// together with those that the command has not made (CTL-63); nil if it does not fit even without rows.
    func frame(to id: UniqueIdentifier, _ command: String) -> Frame? {
        var body = self.body
        var leftOut = body[Self.leftOut]?.dictionaryValue ?? [:]
        while true {
            if !leftOut.isEmpty { body[Self.leftOut] = .dictionary(leftOut) }
            if let frame = try? ResultFrame(to: id, command, code: code, name: name, body: body).frame() {
                return frame
            }
            let lists = body.compactMap { key, value in
                value.arrayValue.map { (name: key, rows: $0, bytes: $0.reduce(0) { $0 + $1.bytes }) }
            }
            // By bytes: one row may be longer than a thousand of another list, which is then not to blame.
            guard let longest = lists.max(by: { $0.bytes < $1.bytes }), !longest.rows.isEmpty else { return nil }
            let kept = longest.rows.prefix(longest.rows.count / 2)
            body[longest.name] = .array(Array(kept))
            let before = leftOut[longest.name]?.integerValue ?? 0
            leftOut[longest.name] = .integer(before + Int64(longest.rows.count - kept.count))
        }
    }
}

extension PropertyListValue {
    /// Roughly the bytes of a row in a frame; 8 for each value, so that no row has none.
    fileprivate var bytes: Int {
        switch self {
        case .string(let text): 8 + text.utf8.count
        case .data(let bytes): 8 + bytes.count
        case .array(let values): values.reduce(8) { $0 + $1.bytes }
        case .dictionary(let pairs): pairs.reduce(8) { $0 + $1.key.utf8.count + $1.value.bytes }
        case .boolean, .integer, .unsigned, .real, .date: 8
        }
    }
}

/// Carries out control requests; on the daemon's loop.
package protocol ControlResponder: AnyObject {
    /// Answers by calling `completion` exactly once, now or later, on the loop.
    func respond(to request: ControlRequest, completion: @escaping (ControlAnswer) -> Void)

    /// Why the command of a request is not the caller's, or unknown; nil if it is carried out. A look into a table.
    func refusal(of request: ControlRequest) -> ControlFailure?
}

extension ControlResponder {
    package func refusal(of request: ControlRequest) -> ControlFailure? { nil }
}
