// FRM-8 to FRM-10 as a table of words, read with the reference reader: what an envelope may be, said once more without
// any of the code that decides it.

package import TandemPropertyList

/// A second check of envelopes.
package enum ReferenceEnvelope {
    /// Kind: required keys, then optional ones; `kind` itself and `sealing` beside `body` left out, as in FRM-10.
    package static let kinds: [String: (required: [String], optional: [String])] = [
        "hello": (["body"], ["pairing"]), "refusal": (["name"], ["body"]),
        "ping": ([], ["id"]), "pong": ([], ["id"]), "bye": ([], ["name"]),
        "register": (["app", "body"], []), "registered": (["app", "body"], []), "state": (["app", "body"], []),
        "message": (["app", "pairing", "id", "body"], ["reply", "deadline", "topic"]),
        "messageData": (["app", "pairing", "id", "body"], ["reply", "deadline", "topic"]),
        "reply": (["app", "pairing", "id", "body"], []),
        "failure": (["app", "pairing", "id", "code"], ["channel", "name", "body"]),
        "configuration": (["app", "pairing", "id", "reply", "body"], ["deadline"]),
        "control": (["id", "command"], ["body", "code", "name"]),
        "result": (["id", "command"], ["body", "code", "name"]), "application": (["app", "body"], []),
        "item": (
            ["app", "pairing", "id", "channel", "sequence", "body"],
            ["nonce", "age", "remaining", "attempt", "topic", "revision"]
        ),
        "gap": (["app", "pairing", "channel", "sequence", "name"], []),
        "stored": (["app", "pairing", "channel", "sequence"], []),
        "outcome": (["app", "pairing", "channel", "sequence", "name"], ["code"]),
        "outcomeAck": (["app", "pairing", "channel", "sequence"], []),
        "chunk": (["app", "pairing", "id", "channel", "offset", "body"], []),
        "fetch": (["app", "pairing", "id", "channel", "offset"], ["name"]),
        "submit": (
            ["app", "pairing", "id", "channel", "body"], ["topic", "key", "after", "remaining", "name"]
        ),
        "accepted": (["app", "pairing", "id", "channel"], ["name", "revision"]),
        "progress": (["app", "pairing", "id", "channel", "name"], ["offset", "body"]),
        "delivery": (
            ["app", "pairing", "id", "channel", "attempt", "body"], ["topic", "age", "remaining", "revision"]
        ),
        "verdict": (["app", "pairing", "id", "channel", "name"], ["code", "body"]),
        "finished": (["app", "pairing", "id", "channel", "name"], ["code", "body"]),
        "finishedAck": (["app", "pairing", "id", "channel"], []),
        "context": (["app", "pairing", "name", "revision", "body"], []),
        "query": (["app", "id", "command"], ["pairing", "channel", "body"]),
        "answer": (["app", "id", "command"], ["pairing", "code", "name", "body"]),
        "join": (["body"], []), "joined": (["body"], []),
    ]
    private static let channels = ["configuration", "context", "userInfo", "urgent", "file", "settings"]

    /// The pairs of an envelope without `sealing`, which says nothing in version 1; nil if a rule is broken.
    package static func pairs(_ payload: [UInt8]) -> PropertyListDictionary? {
        guard case .dictionary(var pairs)? = ReferenceReader.value(payload),
            let kind = pairs["kind"]?.stringValue, let row = kinds[Array(kind.utf8)]
        else { return nil }
        guard pairs.count(where: { $0.key.utf8.starts(with: "x-".utf8) }) <= 64 else { return nil }
        let listed = row.required + row.optional
        let allowed = listed + (listed.contains("body") ? ["kind", "sealing"] : ["kind"])
        for pair in pairs {
            let isListed = allowed.contains { $0.utf8.elementsEqual(pair.key.utf8) }
            guard isListed ? holds(pair.key, pair.value) : isExtension(pair.key, pair.value) else { return nil }
        }
        guard row.required.allSatisfy({ pairs[$0] != nil }) else { return nil }
        pairs["sealing"] = nil
        return pairs
    }

    private static func isExtension(_ key: String, _ value: PropertyListValue) -> Bool {
        guard key.utf8.starts(with: "x-".utf8) else { return false }
        return switch value {
        case .boolean, .integer, .unsigned, .string, .data: true
        default: false
        }
    }

    /// The type and range of FRM-8.
    private static func holds(_ key: String, _ value: PropertyListValue) -> Bool {
        switch key {
        case "kind", "name", "command": value.stringValue != nil
        case "app": value.stringValue.map(isApplication) ?? false
        case "channel":
            value.stringValue.map { word in channels.contains { $0.utf8.elementsEqual(word.utf8) } } ?? false
        case "pairing", "id", "nonce", "after": value.dataValue?.count == 16
        case "sequence", "attempt", "revision": (value.integerValue ?? 0) >= 1
        case "age", "remaining", "offset": (value.integerValue ?? -1) >= 0
        case "deadline": (1...600_000).contains(value.integerValue ?? 0)
        case "code": value.integerValue != nil
        case "sealing": value.integerValue == 0
        case "reply": value.booleanValue != nil
        case "topic", "key":
            value.stringValue.map { (1...128).contains($0.utf8.count) && !$0.utf8.contains(0) } ?? false
        default: value.dataValue != nil
        }
    }

    private static func isApplication(_ text: String) -> Bool {
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-".utf8
        return (1...128).contains(text.utf8.count) && text.utf8.first != UInt8(ascii: ".")
            && text.utf8.allSatisfy(alphabet.contains)
    }
}

extension [String: (required: [String], optional: [String])] {
    /// By bytes: text as a key of a Swift dictionary is compared by canonical equivalence.
    fileprivate subscript(word: [UInt8]) -> Value? { first { $0.key.utf8.elementsEqual(word) }?.value }
}
