// Offer of a staged configuration to its app: the reserved session message from the daemon, and the app's reply (CFG-40
// to CFG-43). The library verifies everything in the message again. The daemon believes the reply about the bytes whose
// digest it names, and about no others.

package import TandemBase
import TandemCrypto
package import TandemPropertyList
import TandemWire

package struct ConfigurationOffer: Sendable, Equatable {
    package let envelope: [UInt8]
    package let target: PairedIdentifier
    package let device: UniqueIdentifier
    package let mark: UInt64?
    package let allowsInvalid: Bool

    package init(_ staged: StagedConfiguration) {
        envelope = staged.record.envelope
        target = staged.record.key.target
        device = staged.record.device
        mark = staged.mark
        allowsInvalid = staged.allowsInvalid
    }

    /// Whether a session message is one of these, well-formed or not: then it is never shown to the app itself.
    package static func isClaimed(by message: PropertyListDictionary) -> Bool {
        message["tandem.configuration"] != nil || message["tandem.reload"] != nil
    }

    /// Whether it only says that the files have changed (CFG-42).
    package static func isReload(_ message: PropertyListDictionary) -> Bool { message == reloadMessage }

    /// The message of CFG-42.
    package static let reloadMessage: PropertyListDictionary = ["tandem.reload": true]

    package var message: PropertyListDictionary {
        PropertyListDictionary(present: [
            "tandem.configuration": .data(envelope), "tandem.target": .string(target.text),
            "tandem.device": .data(device.bytes), "tandem.allowsInvalid": .boolean(allowsInvalid),
            "tandem.mark": mark.map { PropertyListValue($0) },
        ])
    }

    /// - Throws: ``VerificationFailure`` (`malformed`) for a claimed message of another form.
    package init(_ message: PropertyListDictionary) throws(VerificationFailure) {
        do {
            var fields = FieldReader(message)
            envelope = try fields.required("tandem.configuration", "data") { $0.dataValue }
            target = try fields.required("tandem.target", "a paired identifier") { $0.targetValue }
            device = try fields.required("tandem.device", "16 bytes of data") { $0.identifierValue }
            mark = try fields.optional("tandem.mark", "an integer from 0") { $0.unsignedValue }
            allowsInvalid = try fields.required("tandem.allowsInvalid", "a boolean") { $0.booleanValue }
            try fields.refuseUnknownFields()
        } catch {
            throw VerificationFailure(.malformed, "the offer's \(error.description)")
        }
    }
}

/// The app's answer to an offer.
package struct OfferReply: Sendable, Equatable {
    package let verdict: Verdict
    /// SHA-256 of the bytes that were judged.
    package let digest: [UInt8]
    package let transaction: UniqueIdentifier?
    package let version: UInt64?
    /// The reason of a rejection, for people; of what is applied, the values that wait for the app's next start.
    package let text: String?

    /// The answer that these bytes are applied.
    /// - Parameters:
    ///   - envelope: the bytes of the offer, where another envelope around the same statement is applied.
    ///   - restart: the keys whose values take effect at the app's next start; the text names eight of them.
    package init(
        applied configuration: VerifiedConfiguration, of envelope: [UInt8]? = nil, restart: [String] = []
    ) {
        verdict = .applied
        digest = envelope.map { SHA256.digest($0) } ?? configuration.digest
        transaction = configuration.payload.transaction
        version = configuration.payload.version
        let more = restart.count > 8 ? " and \(restart.count - 8) more" : ""
        text = restart.isEmpty ? nil : "at the app's next start: \(restart.prefix(8).joined(separator: ", "))\(more)"
    }

    /// The answer that the app did not live with these bytes (CFG-66).
    package init(failed envelope: [UInt8]) {
        verdict = .failed
        digest = SHA256.digest(envelope)
        transaction = nil
        version = nil
        text = "the app did not live with it"
    }

    package init(_ failure: VerificationFailure, of envelope: [UInt8]) {
        verdict = .rejected(failure.rejection)
        digest = SHA256.digest(envelope)
        transaction = failure.payload?.transaction
        version = failure.payload?.version
        text = failure.detail
    }

    /// Whether it may come of missing key sets alone (CFG-113).
    package var mayLackKeySets: Bool {
        guard case .rejected(let rejection) = verdict else { return false }
        return rejection.mayLackKeySets
    }

    package var message: PropertyListDictionary {
        PropertyListDictionary(present: [
            "tandem.verdict": .string(verdict.name), "tandem.digest": .data(digest),
            "tandem.txid": transaction.map { .data($0.bytes) }, "tandem.version": version.map { PropertyListValue($0) },
            "tandem.text": text.map { .string($0) },
        ])
    }

    /// Reads a reply; nil for one of another form, or one that could not follow from an offer: then it is as if
    /// there were none.
    package init?(_ message: PropertyListDictionary) {
        guard let name = message["tandem.verdict"]?.stringValue, let verdict = Verdict(name: name),
            let digest = message["tandem.digest"]?.digestValue
        else { return nil }
        switch verdict {
        case .applied, .failed, .rejected: self.verdict = verdict
        case .waitingForApplication, .waitingForKey, .superseded: return nil
        }
        self.digest = digest
        transaction = message["tandem.txid"]?.identifierValue
        version = message["tandem.version"]?.unsignedValue
        let text = message["tandem.text"]?.stringValue
        if case .rejected(let rejection) = verdict, rejection.comesOfKeys {
            // The daemon has verified the same bytes: the keys that it trusts are not the fault.
            self.text = "the app refuses it by its own keys" + (text.map { ": \($0)" } ?? "")
        } else {
            self.text = text
        }
    }
}

/// The app's answer to a reload (CFG-42): whether it loads what is applied.
package struct ReloadReply: Sendable, Equatable {
    /// The fault of what is applied; nil if it loads.
    package let fault: LoadFault?

    /// The answer of an app that has no fault to name.
    /// - Parameter loaded: the digest of what it has loaded, empty for none; nil does not say, as the libraries before.
    package static func message(loaded: [UInt8]?) -> PropertyListDictionary {
        var fields: PropertyListDictionary = ["tandem.verdict": .string(Verdict.applied.name)]
        fields["tandem.loaded"] = loaded.map { .data($0) }
        return fields
    }

    /// - Parameters:
    ///   - applied: the digest of what is applied, as the app sees it.
    ///   - waiting: that of what waits for the app, whose file it may have loaded already (CFG-37).
    /// - Returns: nil for an answer of another form, or about other bytes, which counts as none (CFG-43).
    package init?(_ message: PropertyListDictionary, applied: [UInt8]?, waiting: [UInt8]? = nil) {
        if message["tandem.verdict"]?.stringValue?.isWord(Verdict.applied.name) == true {
            guard let value = message["tandem.loaded"] else {
                fault = nil
                return
            }
            guard let loaded = value.dataValue, loaded.isEmpty || value.digestValue != nil else { return nil }
            let isOther = loaded != applied && loaded != waiting
            fault = isOther ? applied.map { LoadFault(of: $0, loaded: loaded) } : nil
            return
        }
        guard let applied else { return nil }
        if let unread = UnreadConfiguration(message) {
            fault = LoadFault(unread, of: applied)
            return
        }
        guard let reply = OfferReply(message), reply.digest == applied, let refused = LoadFault(reply) else {
            return nil
        }
        fault = refused
    }
}

/// The app's answer to a reload that it cannot read the file with what is applied, or its directory (CFG-115). It names
/// no digest, which that file has. An earlier daemon takes it as no answer.
package struct UnreadConfiguration: Sendable, Equatable {
    /// The fault, for people.
    package let text: String

    /// - Parameter fault: of the file or the directory, for people.
    package init(because fault: String) { text = "the app cannot read its configuration: \(fault)" }

    package var message: PropertyListDictionary {
        ["tandem.verdict": .string(UnjudgedOffer.name), "tandem.text": .string(text)]
    }

    package init?(_ message: PropertyListDictionary) {
        guard message["tandem.verdict"]?.stringValue?.isWord(UnjudgedOffer.name) == true,
            message["tandem.digest"] == nil
        else {
            return nil
        }
        text = message["tandem.text"]?.stringValue ?? "the app cannot read its configuration"
    }
}

/// The app's answer that it cannot judge a configuration now, because its key sets cannot be read (CFG-113). No
/// verdict: the daemon makes the offer again.
package struct UnjudgedOffer: Sendable, Equatable {
    static let name = "not-judged"

    /// SHA-256 of the bytes that were offered, or of those that a reload did not load.
    package let digest: [UInt8]
    /// The fault, for people.
    package let text: String

    /// - Parameter fault: of the key sets, for people.
    package init(of envelope: [UInt8], because fault: String) {
        self.init(ofBytes: SHA256.digest(envelope), because: fault)
    }

    package init(ofBytes digest: [UInt8], because fault: String) {
        self.digest = digest
        text = "the app cannot read its key sets (\(KeySetChainFile.name)): \(fault)"
    }

    package var message: PropertyListDictionary {
        ["tandem.verdict": .string(Self.name), "tandem.digest": .data(digest), "tandem.text": .string(text)]
    }

    package init?(_ message: PropertyListDictionary) {
        guard message["tandem.verdict"]?.stringValue?.isWord(Self.name) == true,
            let digest = message["tandem.digest"]?.digestValue
        else { return nil }
        self.digest = digest
        text = message["tandem.text"]?.stringValue ?? "the app cannot read its key sets"
    }
}
