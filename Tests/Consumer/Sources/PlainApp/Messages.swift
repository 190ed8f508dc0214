// Messages: what is sent with and without a reply, and the three ways to receive.

import PairedSession

enum Messages {
    // snippet.send
    static func send(_ session: PairedSession) async throws(SessionError) {
        let reply = try await session.sendMessageData([1, 2, 3], timeout: .seconds(2))
        print("\(reply.count) bytes came back")
        try await session.sendMessageWithoutReply(["hello": true]) { error in print("not delivered: \(error)") }
        try await session.sendMessageDataWithoutReply([4, 5, 6], topic: "sound")
    }
    // snippet.end

    // snippet.receive
    static func receive(_ session: PairedSession) -> MessageSubscription {
        session.handleMessageData { message in message.data?.reversed() }
        session.handleMessages(topic: "time") { _ in ["zone": "UTC"] }
        return session.handleMessages { message in
            guard let dictionary = message.dictionary, dictionary["echo"] != nil else { return nil }  // another's
            return dictionary
        }
    }
    // snippet.end

    // snippet.deliver
    static func deliver(_ session: PairedSession) async throws(SessionError) {
        let receipt = try await session.deliver(["lights": "off"], topic: "lights", ifUnreachable: .queue)
        switch receipt.channel {
        case .message: print("handled: \(receipt.reply?.count ?? 0) keys")
        case .userInfo: try await receipt.transfer?.reached(.handled)
        }
    }
    // snippet.end

    // snippet.read
    static func read(_ session: PairedSession) async throws(SessionError) {
        for await message in session.messages {
            guard message.wantsReply else { continue }
            switch message.content {
            case .dictionary(let dictionary): try message.reply(["seen": .integer(Int64(dictionary.count))])
            case .data(let bytes) where bytes.isEmpty: message.fail("nothing to answer")
            case .data(let bytes): try message.reply(data: bytes)
            }
        }
    }
    // snippet.end

    /// The facts of a message.
    static func describe(_ message: ReceivedMessage) -> String {
        "\(message.id) \(message.pairing) \(message.topic ?? "-") \(message.isConfiguration) \(message.deadline ?? .zero)"
    }
}
