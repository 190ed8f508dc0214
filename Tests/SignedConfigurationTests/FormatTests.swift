// Formats of earlier releases (Protocol/Vectors/signing/formats.json), read by this one. The bytes stand for files on
// disks and envelopes in queues: a case is never changed to make a test pass.

import FoundationEssentials
import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSignedConfiguration
import Testing

private struct FormatFile: Decodable {
    struct Case: Decodable {
        let name: String
        let format: String
        let bytes: Data
        let facts: [String: String]
    }
    let key: String
    let cases: [Case]
}

@Suite struct FormatTests {
    private let file: FormatFile

    init() throws { file = try SigningVectors.read("formats.json") }

    @Test("CFG-98: each format of an earlier release is read with its meaning")
    func eachFormatIsReadWithItsMeaning() throws {
        #expect(file.cases.count >= 40)
        for format in file.cases {
            let facts = try Facts(key: file.key, passphrase: format.facts["passphrase"])
            let read = try facts.reading(Array(format.bytes), as: format.format)
            for (name, value) in format.facts where name != "passphrase" {
                #expect(read[name] == value, "\(format.name): \(name)")
            }
        }
    }
}

/// The facts of each format as texts.
private struct Facts {
    private let key: PublicKey
    private let passphrase: SecretBytes?

    init(key: String, passphrase: String?) throws {
        self.key = try PublicKey(pem: key)
        self.passphrase = passphrase.map { SecretBytes(copying: $0.utf8) }
    }

    func reading(_ bytes: [UInt8], as format: String) throws -> [String: String] {
        let text = String(decoding: bytes, as: UTF8.self)
        switch format {
        case "envelope": return try envelope(bytes)
        case "link": return ["digest": Hexadecimal.encode(SHA256.digest(try ApplyLink.envelope(in: text)))]
        case "report": return try report(bytes)
        case "staged": return try staged(try StagedConfiguration(try PropertyListReader.readDictionary(bytes)))
        case "active": return try active(try ActiveConfiguration(try PropertyListReader.readDictionary(bytes)))
        case "trial": return try trial(try ConfigurationTrial(try PropertyListReader.readDictionary(bytes)))
        case "attempts": return try attempts(try LoadAttempts(try PropertyListReader.readDictionary(bytes)))
        case "key-chain": return try chain(try KeySetChainFile(try PropertyListReader.readDictionary(bytes)))
        case "mark": return try mark(try VersionMark(try PropertyListReader.readDictionary(bytes)))
        case "public-key": return facts(of: try PublicKey(pem: text))
        case "private-key":
            let key = try PrivateKey(pem: SecretBytes(copying: bytes), passphrase: passphrase)
            return facts(of: key.publicKey)
        case "key-set":
            let set = try KeySetHistory(pem: text).current
            return [
                "version": "\(set.version)", "expires": set.expires.map { "\($0)" } ?? "",
                "minimum": set.minimumVersions.values.map { "\($0)" }.joined(),
            ]
        case "desired": return try desired(try DesiredConfiguration(try PropertyListReader.readDictionary(bytes)))
        case "accepted": return try accepted(try AcceptedConfiguration(try PropertyListReader.readDictionary(bytes)))
        case "forwarded": return try forwarded(try ForwardedConfiguration(try PropertyListReader.readDictionary(bytes)))
        case "secondary": return try secondary(try SecondaryState(try PropertyListReader.readDictionary(bytes)))
        case "key-deliveries": return try keyDeliveries(try PropertyListReader.readDictionary(bytes))
        case "carrier": return try carrier(bytes)
        case "carried", "carried-report", "carried-cancellation": return try frame(bytes)
        default: throw UnknownFormat(name: format)
        }
    }

    private struct UnknownFormat: Error {
        let name: String
    }

    private func facts(of key: PublicKey) -> [String: String] {
        ["algorithm": key.algorithm.rawValue, "keyid": key.identifier.hexadecimal]
    }

    private func envelope(_ bytes: [UInt8]) throws -> [String: String] {
        let context = VerificationContext(
            profile: .full, application: try Fixture.application(), role: .secondary,
            anchor: .trusted(KeySetHistory(TrustedKeySet(ConfigurationPublicKey(key)))),
            target: try PairedIdentifier(text: "custom:house-7"), device: try Fixture.device(), now: Fixture.now)
        let verified = try ApplicableConfiguration(verifying: bytes, in: context).verified
        let payload = verified.payload
        var facts = [
            "version": "\(payload.version)", "target": payload.target.text, "txid": "\(payload.transaction)",
            "digest": Hexadecimal.encode(verified.digest),
            "values": PropertyListJSON.text(.dictionary(payload.values)),
            "only": (payload.only ?? []).map(\.description).joined(separator: " "),
            "optional": (payload.optional ?? []).joined(separator: " "),
        ]
        facts["expires"] = payload.expires.map { "\($0)" }
        facts["lifetime"] = payload.lifetime.map { "\($0)" }
        facts["floor"] = payload.floor.map { "\($0)" }
        return facts
    }

    private func report(_ bytes: [UInt8]) throws -> [String: String] {
        let envelope = try UnverifiedEnvelope(bytes)
        let fields = try PropertyListReader.readDictionary(envelope.payload)
        let delivery = ConfigurationDelivery(
            pairing: try identifier(fields["pairing"]), nonce: try identifier(fields["nonce"]))
        let report = try ConfigurationReport(
            verifying: bytes, by: ReportPublicKey(key), device: try Fixture.device(), pairing: delivery.pairing)
        #expect(report.facts.delivery == delivery)
        var facts = [
            "verdict": report.facts.verdict.name, "counter": "\(report.counter)", "device": "\(report.device)",
            "time": "\(report.time.seconds)", "waived": "\(report.facts.isWaived)",
        ]
        facts["trial"] = report.facts.isOnTrial.map { "\($0)" }
        facts["version"] = report.facts.version.map { "\($0)" }
        facts["good"] = report.facts.good.map { "\($0.version)" }
        facts["text"] = report.facts.text
        return facts
    }

    private func identifier(_ value: PropertyListValue?) throws -> UniqueIdentifier {
        try #require(value?.dataValue.flatMap { UniqueIdentifier(bytes: $0) })
    }

    /// Each is also written and read again: a later release keeps what it found.
    private func staged(_ staged: StagedConfiguration) throws -> [String: String] {
        #expect(try StagedConfiguration(staged.dictionary) == staged)
        var facts = [
            "version": "\(staged.record.version)", "staged": "\(staged.staged.milliseconds)",
            "allowsInvalid": "\(staged.allowsInvalid)", "waived": "\(staged.isWaived)",
        ]
        facts["mark"] = staged.mark.map { "\($0)" }
        facts["pairing"] = staged.deliveries.newest.map { "\($0.pairing)" }
        facts["nonce"] = staged.deliveries.newest.map { "\($0.nonce)" }
        return facts
    }

    private func active(_ active: ActiveConfiguration) throws -> [String: String] {
        #expect(try ActiveConfiguration(active.dictionary) == active)
        return [
            "version": "\(active.record.version)", "applied": "\(active.applied.milliseconds)",
            "elapsed": "\(active.elapsed)", "waived": "\(active.isWaived)",
        ]
    }

    private func trial(_ trial: ConfigurationTrial) throws -> [String: String] {
        #expect(try ConfigurationTrial(trial.dictionary) == trial)
        var facts = ["digest": Hexadecimal.encode(trial.digest), "attempts": "\(trial.attempts)"]
        facts["replaced"] = trial.replaced.map { Hexadecimal.encode($0) }
        facts["previous"] = trial.previous.map { "\($0.record.version)" }
        facts["pairing"] = trial.deliveries.newest.map { "\($0.pairing)" }
        return facts
    }

    private func attempts(_ attempts: LoadAttempts) throws -> [String: String] {
        #expect(try LoadAttempts(attempts.dictionary) == attempts)
        let (first, last) = (try #require(attempts.entries.first), try #require(attempts.entries.last))
        return ["starts": "\(first.starts)", "healthy": "\(first.isHealthy)", "elapsed": "\(last.elapsed)"]
    }

    private func chain(_ file: KeySetChainFile) throws -> [String: String] {
        #expect(try KeySetChainFile(file.dictionary) == file)
        var history = try KeySetHistory(anchor: try #require(file.chain.first))
        #expect(history.follow(file.chain) == nil)
        return [
            "app": "\(file.subject.application)", "role": file.subject.role.rawValue,
            "version": "\(history.current.version)",
        ]
    }

    /// The last device of a chain, as the statement names it.
    private func carrier(_ bytes: [UInt8]) throws -> [String: String] {
        let fields = try PropertyListReader.readDictionary(try UnverifiedEnvelope(bytes).payload)
        let statement = try CarrierStatement(fields)
        var known = FarSecondaries()
        let carrier = FarSecondaries.Carrier(
            pairing: statement.pairing, device: statement.device, key: ReportPublicKey(key))
        let accepted = try known.take(
            bytes, about: statement.application, from: carrier, at: .random(), now: Fixture.now,
            isDirect: { _ in false })
        #expect(accepted.passedOver.isEmpty)
        let far = try #require(known.pairings.first.flatMap { known[$0]?.facts })
        return [
            "counter": "\(statement.counter)", "app": "\(statement.application)", "far": "\(far.pairing)",
            "device": "\(far.device)", "called": far.name, "target": far.target.text,
            "keyid": try PublicKey(subjectPublicKeyInfo: far.reportKey).identifier.hexadecimal,
        ]
    }

    private func frame(_ bytes: [UInt8]) throws -> [String: String] {
        if let carried = CarriedConfiguration(bytes) {
            #expect(carried.bytes == bytes)
            return [
                "to": "\(carried.to)", "slot": Hexadecimal.encode(carried.slot),
                "content": Hexadecimal.encode(carried.envelope),
            ]
        }
        if let carried = CarriedReport(bytes) {
            #expect(carried.bytes == bytes)
            return ["to": "\(carried.from)", "content": Hexadecimal.encode(carried.report)]
        }
        let cancellation = try #require(CarriedCancellation(bytes))
        #expect(cancellation.bytes == bytes)
        return ["to": "\(cancellation.to)", "item": "\(cancellation.item)"]
    }

    private func mark(_ mark: VersionMark) throws -> [String: String] {
        #expect(try VersionMark(mark.dictionary) == mark)
        return [
            "version": "\(mark.version)", "floor": "\(mark.floor)", "active": "\(mark.isActive)",
            "closed": "\(mark.isClosed)", "keyset": "\(mark.keySetVersion)", "burnt": "\(mark.isBurnt)",
        ]
    }

    // MARK: rows of a primary

    private func desired(_ desired: DesiredConfiguration) throws -> [String: String] {
        #expect(try DesiredConfiguration(desired.dictionary) == desired)
        var facts = [
            "version": "\(desired.version)", "accepted": "\(desired.accepted.milliseconds)",
            "proven": "\(desired.isSpent)", "digest": Hexadecimal.encode(desired.digest),
        ]
        facts["first"] = desired.rollout.map { $0.first.map(\.description).joined(separator: " ") }
        facts["stopped"] = desired.rollout?.stopped
        return facts
    }

    private func accepted(_ line: AcceptedConfiguration) throws -> [String: String] {
        #expect(try AcceptedConfiguration(line.dictionary) == line)
        var facts = [
            "version": "\(line.version)", "digest": Hexadecimal.encode(line.digest),
            "signer": line.signers.map { Hexadecimal.encode($0) }.joined(separator: " "),
        ]
        facts["withdrawn"] = line.withdrawn.map { "\($0.milliseconds)" }
        return facts
    }

    private func forwarded(_ entry: ForwardedConfiguration) throws -> [String: String] {
        #expect(try ForwardedConfiguration(entry.dictionary) == entry)
        var facts = [
            "nonce": "\(entry.id)", "pairing": "\(entry.pairing)", "version": "\(entry.version)",
            "target": entry.key.target.text, "finished": "\(entry.isFinished)",
        ]
        facts["verdict"] = entry.verdict
        facts["text"] = entry.text
        facts["reported"] = entry.reported.map { "\($0.milliseconds)" }
        facts["ending"] = entry.ending?.rawValue
        return facts
    }

    private func secondary(_ state: SecondaryState) throws -> [String: String] {
        #expect(try SecondaryState(try #require(state.dictionary)) == state)
        var facts = ["history": state.history.map { "\($0.version)" }.joined(separator: " ")]
        facts["good"] = state.good.map { "\($0.version)" }
        return facts
    }

    /// Without facts: it is written as it was read.
    private func keyDeliveries(_ row: PropertyListDictionary) throws -> [String: String] {
        var deliveries = KeyChainDeliveries()
        let subject = KeySubject(application: try Fixture.application(), role: .secondary)
        let key = KeyChainDeliveries.Key(pairing: .random(), subject: subject)
        try deliveries.restore(row, of: key)
        #expect(deliveries.row(of: key) == row)
        return [:]
    }
}
