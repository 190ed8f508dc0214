// The words of FRM-8 and FRM-10 as a reader in place meets them. Each is written once more, as a literal that becomes a
// constant; the tests hold these tables against the raw values.

extension EnvelopeKey {
    @inline(__always)
    init?(_ word: PackedWord) {
        guard word.isShort else {
            guard word == "remaining" else { return nil }
            self = .remaining
            return
        }
        // One number: the compiler makes a search of it.
        switch word.head {
        case "age": self = .age
        case "app": self = .app
        case "attempt": self = .attempt
        case "body": self = .body
        case "channel": self = .channel
        case "code": self = .code
        case "command": self = .command
        case "deadline": self = .deadline
        case "id": self = .id
        case "kind": self = .kind
        case "name": self = .name
        case "nonce": self = .nonce
        case "pairing": self = .pairing
        case "reply": self = .reply
        case "sealing": self = .sealing
        case "sequence": self = .sequence
        default: return nil
        }
    }
}

extension FrameKind {
    @inline(__always)
    init?(_ word: PackedWord) {
        guard word.isShort else {
            self.init(longWord: word)
            return
        }
        switch word.head {
        case "message": self = .message
        case "reply": self = .reply
        case "failure": self = .failure
        case "item": self = .item
        case "stored": self = .stored
        case "outcome": self = .outcome
        case "settled": self = .settled
        case "gap": self = .gap
        case "ping": self = .ping
        case "pong": self = .pong
        case "bye": self = .bye
        case "hello": self = .hello
        case "refusal": self = .refusal
        case "register": self = .register
        case "state": self = .state
        case "control": self = .control
        case "result": self = .result
        case "join": self = .join
        case "joined": self = .joined
        default: return nil
        }
    }

    @inline(__always)
    private init?(longWord word: PackedWord) {
        switch word {
        case "messageData": self = .messageData
        case "registered": self = .registered
        case "configuration": self = .configuration
        case "application": self = .application
        default: return nil
        }
    }
}

extension Channel {
    @inline(__always)
    init?(_ word: PackedWord) {
        switch word {
        case "configuration": self = .configuration
        case "context": self = .context
        case "userInfo": self = .userInfo
        case "urgent": self = .urgent
        case "file": self = .file
        default: return nil
        }
    }
}
