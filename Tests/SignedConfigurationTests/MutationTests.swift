// Twelve thousand seeded mutations of signed envelopes: 6,000 with one Ed25519 signature, 2,400 with three of which two
// are needed, 1,600 with P-256 and 2,000 with RSA-PSS. Every second one changes bytes, first each position in place and
// then each in any way. The others change a field of envelope or payload, each in turn, and write the property list
// again. Where a signature has no random bytes, the payload has every field that there is.

import FoundationEssentials
import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSignedConfiguration
import TandemTestSupport
import Testing

/// A signed envelope with the trust that accepts it. Its bytes are the same in each run: they come from the vectors'
/// keys, and from the vectors where signing takes random bytes.
struct MutationSubject: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let rounds: Int
    /// The good case of verification.json with these bytes; nil for an envelope that is signed here.
    let vector: String?
    let keys: [String]
    let threshold: Int

    static let all = [
        Self(testDescription: "Ed25519", rounds: 6_000, vector: nil, keys: ["ed25519"], threshold: 1),
        Self(
            testDescription: "two of three", rounds: 2_400, vector: nil, keys: ["ed25519", "config1", "config2"],
            threshold: 2),
        Self(testDescription: "P-256", rounds: 1_600, vector: "good with P-256", keys: ["p256"], threshold: 1),
        Self(testDescription: "RSA-PSS", rounds: 2_000, vector: "good with RSA 2048", keys: ["rsa2048"], threshold: 1),
    ]

    private struct VectorFile: Decodable {
        struct Case: Decodable {
            let name: String
            let envelope: Data
        }
        let cases: [Case]
    }

    func signers() throws -> [ConfigurationPrivateKey] {
        try keys.map { name in
            let text = try Data(contentsOf: SigningVectors.folder.appending(path: "keys/\(name).pem"))
            return ConfigurationPrivateKey(try PrivateKey(pem: SecretBytes(copying: text)))
        }
    }

    /// An envelope of that version; version 7 is the one to mutate.
    func envelope(version: UInt64, by signers: [ConfigurationPrivateKey]) throws -> [UInt8] {
        if let vector, version == 7 {
            let file: VectorFile = try SigningVectors.read("verification.json")
            let cases = file.cases
            return Array(try #require(cases.first { $0.name == vector }).envelope)
        }
        var payload = ConfigurationPayload(
            application: try Fixture.application(), role: .secondary, target: try Self.target(), version: version,
            transaction: try Fixture.device(), issued: Fixture.now.seconds - 60,
            values: ["logging": true, "volume": 80])
        (payload.notBefore, payload.expires) = (Fixture.now.seconds, Fixture.now.seconds + 86_400)
        (payload.lifetime, payload.floor, payload.only) = (604_800, 3, [try Fixture.device()])
        (payload.critical, payload.optional) = (["lifetime"], ["volume"])
        #expect(Set(payload.dictionary.map(\.key)) == ConfigurationPayload.knownFields)
        return try ConfigurationSigner.sign(payload, with: signers)
    }

    static func target() throws -> PairedIdentifier {
        try PairedIdentifier(text: "vendor:0123ABCD-0000-8000-8000-0123456789AB")
    }

    func context(_ signers: [ConfigurationPrivateKey]) throws -> VerificationContext {
        let keys = TrustedKeySet(signers.map(\.publicKey), threshold: threshold)
        var context = try Fixture.context(trusting: KeySetHistory(keys))
        context.target = try Self.target()
        return context
    }
}

@Suite struct MutationTests {
    @Test(
        "CFG-5, CFG-20, CFG-24: no mutation of an envelope is accepted, and each has a name",
        arguments: MutationSubject.all)
    func noMutationIsAccepted(subject: MutationSubject) throws {
        let signers = try subject.signers()
        let bytes = try subject.envelope(version: 7, by: signers)
        let context = try subject.context(signers)
        let used = try Self.slot(applied: try subject.envelope(version: 6, by: signers), in: context)
        let good = try UnverifiedEnvelope(bytes)
        var mutator = try Mutator(bytes, seed: 20_261_121)
        var refused: [Rejection: Int] = [:]
        for round in 0..<subject.rounds {
            let changed = mutator.mutation(round)
            guard changed != bytes else { continue }
            var slot = used
            let transition = slot.received(changed, by: Fixture.delivery, in: context)
            if case .rejected(let rejection)? = transition.verdict {
                refused[rejection, default: 0] += 1
                #expect(slot == used, "round \(round): a refusal changed the state")
                #expect(transition.effects.isEmpty, "round \(round)")
            } else {
                try Self.expectSameStatement(changed, as: good, by: subject, in: context, "round \(round)")
            }
        }
        #expect(mutator.indices == Set(bytes.indices), "each byte was changed in place")
        #expect(mutator.fields == Set(mutator.allFields), "each field was changed")
        // A change is found by the form or by the signatures: no field of a changed payload is ever looked at.
        #expect(Set(refused.keys).isSubset(of: [.oversize, .malformed, .shape, .duplicateKeyIdentifier, .threshold]))
        #expect(refused.values.reduce(0, +) > subject.rounds * 3 / 4)
        #expect(Set(refused.keys).isSuperset(of: [.malformed, .shape, .threshold]))
        var slot = used
        guard case .offer? = slot.received(bytes, by: Fixture.delivery, in: context).effects.first
        else { throw Unexpected("the envelope itself is not accepted after all that") }
    }

    /// Bytes that are accepted state what was signed: only signatures that are not needed were changed.
    private static func expectSameStatement(
        _ changed: [UInt8], as good: UnverifiedEnvelope, by subject: MutationSubject, in context: VerificationContext,
        _ comment: Comment
    ) throws {
        #expect(subject.keys.count > subject.threshold, comment)
        let envelope = try UnverifiedEnvelope(changed)
        #expect(envelope.payload == good.payload && envelope.payloadType == good.payloadType, comment)
        let verified = try ApplicableConfiguration(verifying: changed, in: context).verified
        let original = try ApplicableConfiguration(verifying: good.bytes, in: context).verified
        #expect(verified.signers.isSubset(of: original.signers), comment)
        #expect(verified.signers.count >= subject.threshold, comment)
    }

    private static func slot(applied bytes: [UInt8], in context: VerificationContext) throws -> ConfigurationSlot {
        let key = ConfigurationSlotKey(
            application: context.application, role: context.role, target: try #require(context.target))
        var slot = ConfigurationSlot(key: key, device: try Fixture.device())
        _ = slot.applicationConnected()
        try Fixture.apply(bytes, to: &slot, in: context)
        return slot
    }
}

/// Mutations of one envelope, the same in each run.
private struct Mutator {
    private let bytes: [UInt8]
    private let root: PropertyListDictionary
    private let payload: PropertyListDictionary
    private let signatures: [PropertyListValue]
    private var generator: SeededGenerator
    /// The bytes that have been changed in place so far.
    private(set) var indices: Set<Int> = []
    /// The fields that have been changed so far.
    private(set) var fields: Set<String> = []

    init(_ bytes: [UInt8], seed: UInt64) throws {
        self.bytes = bytes
        root = try PropertyListReader.readDictionary(bytes)
        payload = try PropertyListReader.readDictionary(try #require(root["payload"]?.dataValue))
        signatures = try #require(root["signatures"]?.arrayValue)
        generator = SeededGenerator(seed: seed)
    }

    /// The fields that there are to change, and one that nobody knows.
    var allFields: [String] {
        payload.map { "payload.\($0.key)" } + ["payload.unknown"] + root.map(\.key)
            + signatures.indices.flatMap { ["signature \($0).keyid", "signature \($0).sig"] }
    }

    /// The mutation of this round: bytes in even rounds, a field in odd ones.
    mutating func mutation(_ round: Int) -> [UInt8] {
        guard round.isMultiple(of: 2) else { return fieldChanged(round / 2) }
        return bytesChanged(at: round / 2 % bytes.count, isInPlace: round / 2 < bytes.count)
    }

    private mutating func bytesChanged(at index: Int, isInPlace: Bool) -> [UInt8] {
        var changed = bytes
        let other = Int.random(in: bytes.indices, using: &generator)
        switch Int.random(in: 0..<(isInPlace ? 3 : 8), using: &generator) {
        case 0, 1: changed[index] ^= UInt8.random(in: 1...255, using: &generator)
        case 2: changed[index] ^= 1 << UInt8.random(in: 0...7, using: &generator)
        case 3: changed.remove(at: index)
        case 4: changed.insert(UInt8.random(in: 0...255, using: &generator), at: index)
        case 5: changed.removeLast(bytes.count - index)
        case 6: changed.swapAt(index, other)
        default: changed.replaceSubrange(index..., with: bytes[min(index, other)...])
        }
        if changed.count == bytes.count, changed[index] != bytes[index] { indices.insert(index) }
        return changed
    }

    /// A field of the payload or of the envelope with another value, or without any; nothing is signed again.
    private mutating func fieldChanged(_ round: Int) -> [UInt8] {
        let names = payload.map(\.key) + ["unknown"]
        let index = round % allFields.count
        var envelope = root
        if index < names.count {
            var changed = payload
            changed[names[index]] = value(insteadOf: payload[names[index]])
            envelope["payload"] = .data(written(changed))
        } else if index < names.count + root.count {
            let name = root.map(\.key)[index - names.count]
            envelope[name] = name == "signatures" ? .array(signaturesChanged()) : value(insteadOf: root[name])
        } else {
            let number = index - names.count - root.count
            var list = signatures
            var one = list[number / 2].dictionaryValue ?? PropertyListDictionary()
            let name = number.isMultiple(of: 2) ? "keyid" : "sig"
            one[name] = value(insteadOf: one[name])
            list[number / 2] = .dictionary(one)
            envelope["signatures"] = .array(list)
        }
        if envelope != root { fields.insert(allFields[index]) }
        return written(envelope)
    }

    /// The list with signatures left out, doubled, exchanged or joined by a stranger's.
    private mutating func signaturesChanged() -> [PropertyListValue] {
        var list = signatures
        let index = Int.random(in: list.indices, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: list.remove(at: index)
        case 1: list.append(list[index])
        case 2: list = list.reversed().map { ["keyid": .data(identifier(of: $0)), "sig": .data(generator.bytes(64))] }
        default: list[index] = ["keyid": .data(generator.bytes(32)), "sig": .data(generator.bytes(64))]
        }
        return list
    }

    private func identifier(of signature: PropertyListValue) -> [UInt8] {
        signature.dictionaryValue?["keyid"]?.dataValue ?? []
    }

    /// Another value of the same type, one of another type, or none.
    private mutating func value(insteadOf value: PropertyListValue?) -> PropertyListValue? {
        switch (Int.random(in: 0..<3, using: &generator), value) {
        case (0, .data(var data)?) where !data.isEmpty:
            data[Int.random(in: data.indices, using: &generator)] ^= UInt8.random(in: 1...255, using: &generator)
            return .data(data)
        case (0, .string(let text)?): return .string(text + "\u{301}")
        case (0, .integer(let number)?): return .integer(number &+ Int64.random(in: 1...1000, using: &generator))
        case (1, .some): return nil
        default:
            let values: [PropertyListValue] = [
                true, .integer(-1), 0, .unsigned(.max), 1.5, "", "x", .data([]), .data(generator.bytes(32)), [], ["x"],
                [:], ["x": 1], .date(PropertyListDate(millisecondsSinceReferenceDate: 0)),
            ]
            return values.randomElement(using: &generator)
        }
    }

    private func written(_ dictionary: PropertyListDictionary) -> [UInt8] {
        do { return try PropertyListWriter.write(dictionary) } catch {
            Issue.record("a mutation cannot be written: \(error)")
            return []
        }
    }
}
