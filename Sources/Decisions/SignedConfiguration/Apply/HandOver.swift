// The reserved session message with which the daemon gives a staged configuration to its app, and the app's answer
// (CFG-40 to CFG-43). The message is a claim to the library, which verifies everything in it again; the answer is
// believed about the bytes whose digest it names, and about no others.

package import TandemBase
package import TandemPropertyList

/// What the daemon hands to the app.
package struct HandOver: Sendable, Equatable {
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

    /// The body of the frame.
    package var message: PropertyListDictionary {
        var fields: PropertyListDictionary = [
            "tandem.configuration": .data(envelope), "tandem.target": .string(target.text),
            "tandem.device": .data(device.bytes), "tandem.allowsInvalid": .boolean(allowsInvalid),
        ]
        fields["tandem.mark"] = mark.map { PropertyListValue($0) }
        return fields
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
            throw VerificationFailure(.malformed, "the hand-over's \(error.description)")
        }
    }
}
