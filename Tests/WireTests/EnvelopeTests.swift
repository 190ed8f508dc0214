// The envelope's rules (FRM-8 to FRM-14): what each kind must and may have, and the name of each refusal.

import TandemIdentity
import TandemPropertyList
import TandemWire
import Testing

@Suite struct EnvelopeTests {
    static let app = try? ApplicationIdentifier("com.example.app")
    static let uuid = UniqueIdentifier(bytes: Array(1...16))

    static func envelope(of pairs: PropertyListDictionary) throws -> Envelope {
        try Envelope(reading: Frame(payload: PropertyListWriter.write(pairs)))
    }

    static let message: PropertyListDictionary = [
        "kind": "message", "app": "com.example.app", "pairing": .data(Array(1...16)), "id": .data(Array(1...16)),
        "body": .data([1, 2, 3]),
    ]

    @Test func aMessageComesOutAsItWentIn() throws {
        let envelope = Envelope(
            .message, app: Self.app, pairing: Self.uuid, id: Self.uuid, reply: true, deadline: .seconds(30),
            body: [1, 2, 3])
        #expect(try Envelope(reading: envelope.frame()) == envelope)
        #expect(envelope.wantsReply)
    }
}
