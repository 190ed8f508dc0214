// What a connection gets before it closes: a stable name and a text for people (SES-21). A refusal never carries
// anything that the peer did not already send or that is not public.

import TandemPropertyList

/// A refusal, to be sent or received.
package struct Refusal: Error, Sendable, Equatable, CustomStringConvertible {
    /// The word on the wire; a newer peer may use one that ``RefusalName`` does not know.
    package let word: String
    /// For people.
    package let text: String

    package init(_ name: RefusalName, _ text: String = "") {
        word = name.rawValue
        self.text = text
    }

    /// The refusal that answers a fault of the peer's bytes.
    package init(_ error: WireError) { self.init(error.refusalName, error.description) }

    /// The known name; nil for a newer peer's.
    package var name: RefusalName? { RefusalName(rawValue: word) }

    package var description: String { text.isEmpty ? word : "\(word): \(text)" }

    /// The frame's envelope.
    package func envelope() throws(WireError) -> Envelope {
        let body: PropertyListDictionary = text.isEmpty ? [:] : ["text": .string(text)]
        return try Envelope(.refusal, name: word).with(body: body)
    }

    /// The refusal that an envelope carries; its text is the peer's.
    package init(_ envelope: Envelope) throws(WireError) {
        guard let word = envelope.name else { throw .missingKey(.name, envelope.kind) }
        self.word = word
        text = try BodyFields(envelope.dictionaryBody()).optionalString("text") ?? ""
    }
}
