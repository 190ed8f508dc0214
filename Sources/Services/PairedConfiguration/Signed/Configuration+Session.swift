// The hook that an app's message handler calls: nil means that the message is the app's own; a dictionary is the answer
// to give. Everything is verified again from the compiled anchor, so that neither a daemon nor whoever can speak in its
// place can change a value that the signer did not sign.

import Synchronization
public import TandemPropertyList
import TandemSettings
import TandemSignedConfiguration

extension Configuration {
    /// Takes a session message if it is a configuration for this app (Protocol/SignedConfiguration.md CFG-41).
    /// Appfigurate's `APLSessionDidReceiveMessage`.
    /// - Returns: the reply to give at once, or nil if the message is not ours and the app handles it itself.
    public func sessionDidReceiveMessage(_ message: PropertyListDictionary) -> PropertyListDictionary? {
        guard ConfigurationOffer.isClaimed(by: message) else { return nil }
        if ConfigurationOffer.isReload(message) {
            reload()
            return ["tandem.verdict": "applied"]
        }
        let envelope = message["tandem.configuration"]?.dataValue ?? []
        let reply: OfferReply
        do {
            reply = OfferReply(applied: try receive(try ConfigurationOffer(message)))
        } catch {
            let rejection = ConfigurationRejection(name: error.rejection.rawValue, detail: error.detail)
            store.notices.add(.event(.rejected(rejection)))
            reply = OfferReply(error, of: envelope)
        }
        store.notices.deliver()
        return reply.message
    }

    /// Judges and applies; a failure leaves everything as it was.
    private func receive(_ offer: ConfigurationOffer) throws(VerificationFailure) -> VerifiedConfiguration {
        let anchor = ConfigurationAnchor(pem: publicKey)
        let allowsInvalid = allowsInvalidSignatures
        return try signed.withLock { state throws(VerificationFailure) -> VerifiedConfiguration in
            guard let home = state.home else {
                throw VerificationFailure(.wrongApplication, "the app has not called load(application:role:directory:)")
            }
            let judge = ConfigurationJudge(
                home: home, anchor: anchor, allowsInvalidSignatures: allowsInvalid, schema: store.schema,
                now: home.clock())
            let claim = ConfigurationJudge.Claim(
                envelope: offer.envelope, target: offer.target, device: offer.device,
                allowsInvalid: offer.allowsInvalid)
            let record = try judge.judgeNew(claim, mark: offer.mark, active: state.applied)
            if let record { apply(record, &state) }
            guard let applied = record ?? state.applied else {
                preconditionFailure("a configuration is active already only if one is applied")
            }
            return applied.configuration
        }
    }
}
