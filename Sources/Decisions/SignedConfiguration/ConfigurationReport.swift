// Signed report of a device on the verdict of a configuration (CFG-50). The primary forwards it and is not trusted with
// its content; any holder of the device's report key can verify it later. Its second form tells of trials and of waived
// signatures; primaries that do not read it get the first, which then says less and never more than is true (CFG-67).

package import TandemBase
package import TandemCrypto
package import TandemPropertyList
import TandemWire

/// A report (CFG-50).
package struct ConfigurationReport: Sendable, Hashable {
    package let facts: ReportFacts
    package let device: UniqueIdentifier
    /// From 1, higher with each report of the device.
    package let counter: UInt64
    /// The device's clock, for people.
    package let time: WallTime
    package let form: Form

    /// The forms of a report; the raw value is its `spec`.
    package enum Form: String, Sendable {
        case first = "1.0"
        /// With `waived`, `trial` and the verdicts `failed` and `waiting-for-key`.
        case second = "1.1"
    }

    package init(
        _ facts: ReportFacts, device: UniqueIdentifier, counter: UInt64, time: WallTime, form: Form = .second
    ) {
        precondition(counter >= 1, "a report's counter starts at 1")
        precondition(form == .second || facts == facts.inFirstForm, "the first form does not tell everything")
        self.form = form
        self.facts = facts
        self.device = device
        self.counter = counter
        self.time = time
    }

    /// Whether another verdict on the same delivery follows (CFG-51).
    package var isProvisional: Bool { facts.verdict.isProvisional || facts.isOnTrial == true }

    package func signed(with key: ReportPrivateKey) -> [UInt8] { key.sign(dictionary, type: .report) }
}

extension ConfigurationReport {
    /// The nonce that a report claims to answer: enough to find the one that judges it, and not trusted.
    package static func claimedNonce(_ bytes: [UInt8]) -> UniqueIdentifier? {
        guard let envelope = try? UnverifiedEnvelope(bytes), envelope.claimedType == .report else { return nil }
        return envelope.claimedFields?["nonce"]?.identifierValue
    }

    /// Which of the reports with one nonce a carrier lets the next one replace, by what it claims and no proof. Reports
    /// with another key are kept beside it: a follow-up must not take the place of the last verdict (CFG-104).
    package static func claimedSupersedeKey(_ bytes: [UInt8], of nonce: UniqueIdentifier) -> [UInt8] {
        let fields = (try? UnverifiedEnvelope(bytes))?.claimedFields
        let verdict = fields?["verdict"]?.stringValue.flatMap { Verdict(name: $0) }
        let isProvisional = verdict?.isProvisional == true || fields?["trial"]?.booleanValue == true
        let kind: UInt8 = isProvisional ? 0 : verdict == .applied ? 1 : 2
        return SHA256.digest(nonce.bytes + [kind])
    }

    package var dictionary: PropertyListDictionary {
        facts.key.fields.merging(present: [
            "typ": "report", "spec": .string(form.rawValue), "device": .data(device.bytes),
            "pairing": .data(facts.delivery.pairing.bytes), "nonce": .data(facts.delivery.nonce.bytes),
            "digest": .data(facts.digest), "verdict": .string(facts.verdict.name),
            "counter": PropertyListValue(counter), "time": PropertyListValue(time.seconds),
            "txid": facts.transaction.map { .data($0.bytes) }, "ver": facts.version.map { PropertyListValue($0) },
            "text": facts.text.map { .string($0) }, "goodVer": facts.good.map { PropertyListValue($0.version) },
            "goodDigest": facts.good.map { .data($0.digest) }, "waived": facts.isWaived ? true : nil,
            "trial": facts.isOnTrial.map { .boolean($0) },
        ])
    }
}

extension ConfigurationReport {
    package init(_ dictionary: PropertyListDictionary) throws(FieldError) {
        var fields = FieldReader(dictionary)
        _ = try fields.required("typ", "'report'") { $0.stringValue?.isWord("report") == true ? true : nil }
        form = try fields.required("spec", "'1.0' or '1.1'") { $0.stringValue.flatMap { Form(word: $0) } }
        device = try fields.required("device", "16 bytes of data") { $0.identifierValue }
        counter = try fields.required("counter", "an integer from 1") { $0.positiveValue }
        time = WallTime(seconds: try fields.required("time", "seconds since 1970") { $0.unsignedValue })
        facts = try Self.facts(&fields, form)
        try fields.refuseUnknownFields()
    }

    private static func facts(_ fields: inout FieldReader, _ form: Form) throws(FieldError) -> ReportFacts {
        let facts = ReportFacts(
            delivery: ConfigurationDelivery(
                pairing: try fields.required("pairing", "16 bytes of data") { $0.identifierValue },
                nonce: try fields.required("nonce", "16 bytes of data") { $0.identifierValue }),
            key: try ConfigurationSlotKey(&fields),
            digest: try fields.required("digest", "32 bytes of data") { $0.digestValue },
            transaction: try fields.optional("txid", "16 bytes of data") { $0.identifierValue },
            version: try fields.optional("ver", "an integer from 1") { $0.positiveValue },
            verdict: try fields.required("verdict", "a verdict") { $0.stringValue.flatMap { Verdict(name: $0) } },
            text: try fields.optional("text", "at most 256 bytes of text", Self.text),
            good: try good(&fields), isWaived: try waived(&fields, form), isOnTrial: try trial(&fields, form))
        guard form == .second || (facts.verdict != .failed && facts.verdict != .waitingForKey) else {
            throw FieldError(field: "verdict", problem: "is not a verdict of this form")
        }
        guard facts.isOnTrial == nil || facts.verdict == .applied else {
            throw FieldError(field: "trial", problem: "belongs to 'applied'")
        }
        return facts
    }

    private static func waived(_ fields: inout FieldReader, _ form: Form) throws(FieldError) -> Bool {
        guard form == .second else { return false }
        return try fields.optional("waived", "true") { $0.booleanValue == true ? true : nil } ?? false
    }

    private static func trial(_ fields: inout FieldReader, _ form: Form) throws(FieldError) -> Bool? {
        guard form == .second else { return nil }
        return try fields.optional("trial", "a boolean") { $0.booleanValue }
    }

    private static func good(_ fields: inout FieldReader) throws(FieldError) -> GoodConfiguration? {
        let version = try fields.optional("goodVer", "an integer from 1") { $0.positiveValue }
        let digest = try fields.optional("goodDigest", "32 bytes of data") { $0.digestValue }
        guard (version == nil) == (digest == nil) else {
            throw FieldError(field: "goodDigest", problem: "and 'goodVer' belong together")
        }
        return version.flatMap { version in digest.map { GoodConfiguration(version: version, digest: $0) } }
    }

    private static func text(_ value: PropertyListValue) -> String? {
        value.stringValue.flatMap { $0.utf8.count <= ConfigurationLimits.reportText ? $0 : nil }
    }
}

/// The configuration that is active after a verdict.
package struct GoodConfiguration: Sendable, Hashable {
    package let version: UInt64
    package let digest: [UInt8]

    package init(version: UInt64, digest: [UInt8]) {
        self.version = version
        self.digest = digest
    }
}

/// A verdict with its facts.
package struct ReportFacts: Sendable, Hashable {
    package let delivery: ConfigurationDelivery
    package let key: ConfigurationSlotKey
    /// SHA-256 of the bytes received.
    package let digest: [UInt8]
    /// Only once the payload was verified and read.
    package let transaction: UniqueIdentifier?
    package let version: UInt64?
    package let verdict: Verdict
    /// At most 256 bytes, for people.
    package let text: String?
    package let good: GoodConfiguration?
    /// Its signatures are invalid, and that was allowed (CFG-22).
    package let isWaived: Bool
    /// Of an applied configuration: whether its trial lasts, or has passed; nil where that is not told (CFG-67).
    package let isOnTrial: Bool?

    package init(
        delivery: ConfigurationDelivery, key: ConfigurationSlotKey, digest: [UInt8], transaction: UniqueIdentifier?,
        version: UInt64?, verdict: Verdict, text: String?, good: GoodConfiguration?, isWaived: Bool = false,
        isOnTrial: Bool? = nil
    ) {
        self.delivery = delivery
        self.key = key
        self.digest = digest
        self.transaction = transaction
        self.version = version
        self.verdict = verdict
        self.text = text.flatMap { $0.isEmpty ? nil : Self.cut($0) }
        self.good = good
        self.isWaived = isWaived
        self.isOnTrial = isOnTrial
    }

    /// Whether it may follow the last verdict on what is applied: the app does not load it, or does again (CFG-114), or
    /// its signature no longer counts, because an invalid one is no longer allowed (CFG-22) or a key is withdrawn.
    var mayFollowApplied: Bool {
        switch verdict {
        case .applied: isOnTrial == false
        case .rejected(let rejection): rejection.isEarly || rejection == .signerRevoked
        case .waitingForApplication, .waitingForKey, .superseded, .failed: false
        }
    }

    /// Everything beside the verdict, for people; nil if there is nothing.
    package var words: String? { Self.words(isOnTrial, isWaived, text) }

    /// The same of a verdict that is no report: that of this device's own app.
    static func words(_ isOnTrial: Bool?, _ isWaived: Bool, _ text: String?) -> String? {
        let words = [
            isOnTrial == true ? "on trial" : nil, isWaived ? "its invalid signature was allowed" : nil, text,
        ].compactMap(\.self)
        return words.isEmpty ? nil : words.joined(separator: "; ")
    }

    /// The facts as the first form can tell them; nil if it would mislead: `applied` is then told when the trial has
    /// passed, of a failure nothing, and a missing key is a rejection.
    package var inFirstForm: ReportFacts? {
        if verdict == .failed || isOnTrial == true { return nil }
        return ReportFacts(
            delivery: delivery, key: key, digest: digest, transaction: transaction, version: version,
            verdict: verdict == .waitingForKey ? .rejected(.noKey) : verdict, text: words, good: good)
    }

    /// The same verdict beside what is active by now.
    package func with(active good: GoodConfiguration?) -> ReportFacts {
        ReportFacts(
            delivery: delivery, key: key, digest: digest, transaction: transaction, version: version, verdict: verdict,
            text: text, good: good, isWaived: isWaived, isOnTrial: isOnTrial)
    }

    /// The longest prefix of whole characters that fits.
    static func cut(_ text: String) -> String {
        var kept = ""
        for scalar in text.unicodeScalars {
            guard kept.utf8.count + scalar.utf8.count <= ConfigurationLimits.reportText else { break }
            kept.unicodeScalars.append(scalar)
        }
        return kept
    }
}
