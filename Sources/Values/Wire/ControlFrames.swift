// Requests of operators to a daemon, and their answers (Control), as values; with the words that they carry.

package import TandemBase
package import TandemPropertyList

/// The commands of CTL-3; the raw value is the `command` of `control`.
package enum ControlName: String, EnvelopeWord, CaseIterable {
    case status, pair
    case pairCancel = "pair-cancel"
    case join
    case trustDevice = "trust-device"
    case trustedDevices = "trusted-devices"
    case untrustDevice = "untrust-device"
    case unpair
    case farRemove = "far-remove"
    case address
    case `switch`
    case trustAdd = "trust-add"
    case trustList = "trust-list"
    case trustRemove = "trust-remove"
    case trustReplace = "trust-replace"
    case apply
    case configurationList = "configuration-list"
    case configurationShow = "configuration-show"
    case configurationWithdraw = "configuration-withdraw"
    case identifierAccept = "identifier-accept"
    case identifierClear = "identifier-clear"
    case apps
    case appRemove = "app-remove"
    case appAssign = "app-assign"
    case allowVersion = "allow-version"
    case health, drain
    case deadLetters = "dead-letters"
    case deadLetterRetry = "dead-letter-retry"
    case deadLetterDrop = "dead-letter-drop"
    case trace
    case settingsGet = "settings-get"
    case settingsSet = "settings-set"
    case settingsReset = "settings-reset"
    case settingsSchema = "settings-schema"
    case settingsPress = "settings-press"
    case settingsPage = "settings-page"
}

/// The names of CTL-4 that belong to no other vocabulary: the `name` of a `result` that is a failure.
package enum ControlFailureName: String, EnvelopeWord {
    case notAllowed = "not-allowed"
    case unknownCommand = "unknown-command"
    case badRequest = "bad-request"
    case wrongRole = "wrong-role"
    case notFound = "not-found"
    case noAddress = "no-address"
    case joinRefused = "join-refused"
    case ownDevice = "own-device"
    case wouldReplace = "would-replace"
    case unreachable
    case anchorConflict = "anchor-conflict"
    case store
    case full
    case schema
    /// The running app's own decision.
    case refused
    case notRunning = "not-running"
    case noAnswer = "no-answer"
    case notHere = "not-here"
}

/// A `control`: an operator's request.
package struct ControlFrame: TypedFrame {
    package let id: UniqueIdentifier
    /// The word as it came; nil as a ``ControlName`` if a newer command sends it.
    package let command: String
    /// nil: it does not read.
    package let body: PropertyListDictionary?

    package init(_ command: ControlName, id: UniqueIdentifier, body: PropertyListDictionary = [:]) {
        self.id = id
        self.command = command.rawValue
        self.body = body
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        id = try envelope.required(.id)
        command = try envelope.required(.command)
        body = try? envelope.dictionaryBody()
    }

    package var envelope: Envelope {
        get throws(WireError) {
            var envelope = Envelope(.control)
            (envelope[.id], envelope[.command]) = (id, command)
            return try envelope.with(body: body ?? [:])
        }
    }
}

/// A `result`: the answer to a `control`.
package struct ResultFrame: TypedFrame {
    package let id: UniqueIdentifier
    package let command: String
    /// 0: done.
    package let code: Int?
    /// The name of the failure, for programs.
    package let name: String?
    package let body: PropertyListDictionary?

    package init(
        to id: UniqueIdentifier, _ command: String, code: Int, name: String?, body: PropertyListDictionary? = nil
    ) {
        (self.id, self.command, self.code, self.name) = (id, command, code, name)
        self.body = body
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        id = try envelope.required(.id)
        command = try envelope.required(.command)
        code = try envelope.optional(.code)
        name = try envelope.optional(.name)
        body = try envelope.dictionaryBody()
    }

    package var envelope: Envelope {
        get throws(WireError) {
            var envelope = Envelope(.result)
            (envelope[.id], envelope[.command], envelope[.code], envelope[.name]) = (id, command, code, name)
            return try body.map { body throws(WireError) in try envelope.with(body: body) } ?? envelope
        }
    }
}
