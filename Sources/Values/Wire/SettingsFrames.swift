// Requests of a primary about the settings of an app on a secondary, and the answers (SES-72), as values.

package import TandemBase
package import TandemPropertyList

/// A `query` on a link.
package struct SettingsQueryFrame: TypedFrame {
    package let app: ApplicationIdentifier
    package let pairing: UniqueIdentifier
    package let id: UniqueIdentifier
    /// The word as it came; a newer primary's may be unknown.
    package let command: String
    package let body: PropertyListDictionary

    package init(
        _ command: ControlName, id: UniqueIdentifier, app: ApplicationIdentifier, pairing: UniqueIdentifier,
        body: PropertyListDictionary
    ) {
        (self.app, self.pairing, self.id, self.body) = (app, pairing, id, body)
        self.command = command.rawValue
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        app = try envelope.required(.app)
        pairing = try envelope.required(.pairing)
        id = try envelope.required(.id)
        command = try envelope.required(.command)
        body = try envelope.dictionaryBody()
    }

    package var envelope: Envelope {
        get throws(WireError) {
            var envelope = Envelope(.query)
            (envelope[.app], envelope[.pairing], envelope[.id], envelope[.command]) = (app, pairing, id, command)
            return try envelope.with(body: body)
        }
    }
}

/// An `answer` on a link.
package struct SettingsAnswerFrame: TypedFrame {
    package let app: ApplicationIdentifier
    package let pairing: UniqueIdentifier
    package let id: UniqueIdentifier
    package let command: String
    /// 0: done.
    package let code: Int
    /// The name of the failure, for programs.
    package let name: String?
    package let body: PropertyListDictionary

    /// - Parameter name: of the failure; nil if it is done.
    package init(to query: SettingsQueryFrame, name: String? = nil, body: PropertyListDictionary) {
        (app, pairing, id, command) = (query.app, query.pairing, query.id, query.command)
        code = name == nil ? 0 : SessionError.Code.invalidParameter.rawValue
        (self.name, self.body) = (name, body)
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        app = try envelope.required(.app)
        pairing = try envelope.required(.pairing)
        id = try envelope.required(.id)
        command = try envelope.required(.command)
        code = try envelope.optional(.code) ?? 0
        name = try envelope.optional(.name)
        body = try envelope.dictionaryBody()
    }

    package var envelope: Envelope {
        get throws(WireError) {
            var envelope = Envelope(.answer)
            (envelope[.app], envelope[.pairing], envelope[.id], envelope[.command]) = (app, pairing, id, command)
            (envelope[.code], envelope[.name]) = (code, name)
            return try envelope.with(body: body)
        }
    }
}
