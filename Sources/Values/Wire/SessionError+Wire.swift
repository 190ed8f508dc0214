// A session error as a `failure` and back (SES-20). An unknown number from a newer peer becomes genericError with the
// number in its text: a caller always gets an error that it can name.

package import TandemBase
package import TandemPropertyList

extension SessionError {
    /// The body of the `failure` that carries this error; peer and message are known from the envelope.
    package var failureBody: PropertyListDictionary {
        var body: PropertyListDictionary = [BodyKey.text: .string(reason), BodyKey.retry: .boolean(isRetryable)]
        body[BodyKey.actual] = actual.map { PropertyListValue($0) }
        body[BodyKey.limit] = limit.map { PropertyListValue($0) }
        body[BodyKey.path] = keyPath.map { .string($0) }
        return body
    }

    /// The `failure` frame's envelope that answers a message, or with a channel an item (``FailureFrame``).
    package func failure(
        app: ApplicationIdentifier, pairing: UniqueIdentifier, id: UniqueIdentifier, channel: Channel? = nil
    ) throws(WireError) -> Envelope {
        try Envelope(.failure, app: app, pairing: pairing, id: id, channel: channel, code: code.rawValue, name: name)
            .with(body: failureBody)
    }

    /// The error that a `failure` carries.
    /// - Throws: ``WireError`` if the envelope is no failure or its body is malformed.
    package init(failure envelope: Envelope) throws(WireError) {
        guard let number = envelope.code else { throw .missingKey(.code, envelope.kind) }
        let fields = BodyFields(try envelope.dictionaryBody())
        let known = Code(rawValue: number)
        let text = try fields.optionalString(BodyKey.text) ?? "the other side gave no text"
        self.init(
            known ?? .genericError, name: envelope.name,
            reason: known == nil ? "unknown error \(number): \(text)" : text,
            actual: try fields.optionalInteger(BodyKey.actual).map { Int($0) },
            limit: try fields.optionalInteger(BodyKey.limit).map { Int($0) },
            keyPath: try fields.optionalString(BodyKey.path), messageID: envelope.id,
            isRetryable: try fields.optional(BodyKey.retry, "a boolean", \.booleanValue))
    }
}
