// Key set histories: what a chain of rotations may do, how far it goes, and what a change of keys does to the
// configurations that wait or are active. The single steps are in the vectors.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemTestSupport
import Testing

@testable import TandemSignedConfiguration

@Suite struct KeySetHistoryTests {
    private let root = PrivateKey.generate(.ed25519)
    private let revoker = PrivateKey.generate(.ed25519)
    private let signers = (0..<3).map { _ in ConfigurationPrivateKey.generate() }

    private func subject() throws -> KeySubject {
        KeySubject(application: try Fixture.application(), role: .secondary)
    }

    /// A set with this root and one key for configuration, which an existing signer has or a fresh one.
    private func document(_ version: UInt64, signer: Int = 0, root: PrivateKey? = nil) throws -> KeySetDocument {
        KeySetDocument(
            subject: try subject(), version: version, issued: Fixture.now.seconds - 60,
            roles: [
                .configuration: ([signers[signer].key.publicKey], 1), .keySet: ([(root ?? self.root).publicKey], 1),
                .revocation: ([revoker.publicKey], 1),
            ])
    }

    private func set(_ version: UInt64, signer: Int = 0) throws -> [UInt8] {
        try KeyStatementSigner.sign(try document(version, signer: signer), with: [root])
    }

    private func revocation(of signer: Int, under version: UInt64, withdraws: Bool = false) throws -> [UInt8] {
        try KeyStatementSigner.sign(
            RevocationDocument(
                subject: try subject(), keySetVersion: version, issued: Fixture.now.seconds,
                revoked: [signers[signer].publicKey.identifier], withdraws: withdraws), with: [revoker])
    }

    private func configuration(_ version: UInt64, signer: Int, keySet: UInt64) throws -> [UInt8] {
        var payload = try Fixture.payload(version: version)
        payload.keySetVersion = keySet
        return try ConfigurationSigner.sign(payload, with: [signers[signer]])
    }

    private func context(_ history: KeySetHistory, _ profile: VerificationProfile = .full) throws -> VerificationContext
    {
        try Fixture.context(profile, trusting: history)
    }

    /// A slot whose app is connected and has applied these bytes.
    private func slot(with bytes: [UInt8], _ history: KeySetHistory) throws -> ConfigurationSlot {
        var slot = try Fixture.slot()
        _ = slot.applicationConnected()
        try apply(bytes, to: &slot, history)
        return slot
    }

    private func apply(_ bytes: [UInt8], to slot: inout ConfigurationSlot, _ history: KeySetHistory) throws {
        try Fixture.apply(bytes, to: &slot, in: try context(history))
    }

    @Test("CFG-22, CFG-88: after all keys were replaced, a waived signature restarts no version mark")
    func aWaivedSignatureRestartsNoMark() throws {
        var history = try KeySetHistory(anchor: try set(1))
        var slot = try slot(with: try configuration(9, signer: 0, keySet: 1), history)
        let before = slot.mark
        #expect(try history.take(try set(2, signer: 1)) == .rotated(version: 2))
        var staging = try context(history, .full)
        staging.allowsInvalidSignatures = true
        _ = slot.received(try configuration(1, signer: 2, keySet: 2), by: Fixture.delivery, in: staging)
        #expect(slot.staged?.isWaived == true && slot.mark == before && slot.staged?.mark == nil)
    }

    @Test("CFG-86, LIM-147: a key set expires soon in its last 14 days, and one with a short life in its last third")
    func validity() throws {
        func validity(life: UInt64, left: UInt64) throws -> TrustedKeySet.Validity {
            var set = try document(1)
            set.expires = set.issued + life
            return try set.trusted().validity(at: WallTime(seconds: set.issued + life - left))
        }
        let (day, year): (UInt64, UInt64) = (86_400, 365 * 86_400)
        #expect(try validity(life: year, left: 14 * day + 1) == .lasting)
        #expect(try validity(life: year, left: 14 * day) == .expiring)
        #expect(try validity(life: year, left: 1) == .expiring)
        #expect(try validity(life: year, left: 0) == .expired)
        #expect(try validity(life: 9 * day, left: 3 * day + 1) == .lasting)
        #expect(try validity(life: 9 * day, left: 3 * day) == .expiring)
        #expect(try document(1).trusted().validity(at: Fixture.now) == .lasting, "it never expires")
    }

    @Test("CFG-88: a store that was lost takes an older version again, and nothing below the lowest of the set")
    func aLostMarkLetsAnOlderVersionPass() throws {
        let history = try KeySetHistory(anchor: try set(1))
        #expect(try slot(with: try configuration(9, signer: 0, keySet: 1), history).mark?.version == 9)
        #expect(try slot(with: try configuration(8, signer: 0, keySet: 1), history).mark?.version == 8)
        var least = try document(1)
        least.minimumVersions = [try Fixture.target(): 9]
        let bounded = try KeySetHistory(anchor: try KeyStatementSigner.sign(least, with: [root]))
        var lost = try Fixture.slot()
        let old = try configuration(8, signer: 0, keySet: 1)
        let judged = lost.received(old, by: Fixture.delivery, in: try context(bounded, .full))
        #expect(judged.verdict == .rejected(.rollback))
    }

    @Test("THR-11: the thief of the root keys does everything, until the app ships another anchor")
    func theThiefOfTheRoot() throws {
        let thief = PrivateKey.generate(.ed25519)
        var history = try KeySetHistory(anchor: try set(1))
        let stolen = try KeyStatementSigner.sign(try document(2, signer: 1, root: thief), with: [root, thief])
        #expect(try history.take(stolen) == .rotated(version: 2))
        var slot = try slot(with: try configuration(9, signer: 1, keySet: 2), history)
        // The owner's root is out of force.
        #expect(throws: VerificationFailure(.threshold, "")) { try history.take(try set(3)) }
        let fresh = PrivateKey.generate(.ed25519)
        let anchor = try KeyStatementSigner.sign(try document(3, signer: 2, root: fresh), with: [fresh])
        var shipped = try KeySetHistory(anchor: anchor)
        let next = try KeyStatementSigner.sign(try document(4, signer: 1, root: thief), with: [thief])
        #expect(shipped.follow([try set(1), stolen, next]) == VerificationFailure(.threshold, ""))
        #expect(shipped.current.version == 3)
        let more = try configuration(10, signer: 1, keySet: 2)
        let judged = slot.received(more, by: Fixture.delivery, in: try context(shipped, .full))
        #expect(judged.verdict == .rejected(.threshold))
    }

    // MARK: chains

    @Test("CFG-81: a role that lists one key twice is illegal, whatever its threshold")
    func oneKeyTwiceInARole() throws {
        let identifier = signers[0].publicKey.identifier.bytes
        for threshold in 1...2 {
            var twice = try document(1)
            twice.roles["config"] = KeySetDocument.Role(
                keyIdentifiers: [identifier, identifier], threshold: Int64(threshold))
            #expect(throws: VerificationFailure(.keySetIllegal, "")) { try twice.trusted() }
        }
    }

    @Test("CFG-84: all roles of a statement have one result for each signature, and no key stands for its other ones")
    func oneResultForEachSignature() throws {
        let envelope = try UnverifiedEnvelope(try set(2))
        let key = root.publicKey
        let good = try #require(envelope.signatures.first { $0.keyIdentifier == key.identifier.bytes })
        var signatures = VerifiedSignatures(over: envelope.statement)
        for _ in 0..<2 {
            let results = [
                signatures.isGood(good.bytes, by: key), signatures.isGood([1], by: key),
                signatures.isGood(good.bytes, by: revoker.publicKey),
            ]
            #expect(results == [true, false, false])
        }
        let role = KeyRole(keyIdentifiers: [key.identifier], threshold: 1)
        let forged = try UnverifiedEnvelope(
            try SignedEnvelope.bytes(
                envelope.payload, type: envelope.payloadType,
                signatures: [EnvelopeSignature(keyIdentifier: key.identifier.bytes, bytes: [1])]))
        let keys = [key.identifier: key]
        let counted = SignatureCount(envelope, &signatures, role: role, keys: keys, revoked: [])
        let refused = SignatureCount(forged, &signatures, role: role, keys: keys, revoked: [])
        #expect(counted.signers.count == 1 && refused.signers.isEmpty)
    }

    @Test("CFG-84: bytes of the type of a key set are for the judge of key sets, also if they name no app")
    func statementWithoutASubject() throws {
        let payload = try PropertyListWriter.write(["ver": 1] as PropertyListDictionary)
        let bytes = try SignedEnvelope.bytes(payload, type: SignedPayloadType.keySet.rawValue, signatures: [])
        let claimed = try #require(ClaimedStatement(bytes))
        #expect(claimed.type == .keySet && claimed.subject == nil && claimed.keySetVersion == nil)
        let configuration = try Fixture.envelope()
        #expect(ClaimedStatement(configuration) == nil)
    }

    @Test("CFG-84: signatures that a carrier adds are not stored, and none is a duplicate")
    func surplusSignaturesAreNotStored() throws {
        let bytes = try set(2, signer: 1)
        let envelope = try UnverifiedEnvelope(bytes)
        let junk = (0..<20).map { EnvelopeSignature(keyIdentifier: [UInt8($0)], bytes: [2]) }
        let forged = EnvelopeSignature(keyIdentifier: root.publicKey.identifier.bytes, bytes: [3])
        let padded = try SignedEnvelope.bytes(
            envelope.payload, type: envelope.payloadType,
            signatures: [forged, forged] + envelope.signatures + envelope.signatures + junk)
        var history = try KeySetHistory(anchor: try set(1))
        #expect(try history.take(padded) == .rotated(version: 2))
        #expect(history.steps == [bytes])
        let next = try set(3)
        #expect(history.index(of: padded) == 0 && history.index(of: next) == nil)
    }

    @Test("CFG-84: a chain with a gap is followed up to the gap")
    func aChainIsFollowedUpToItsGap() throws {
        var history = try KeySetHistory(anchor: try set(1))
        let failure = history.follow([try set(1), try set(2), try set(4), try set(3)])
        #expect(failure == VerificationFailure(.keySetGap, ""))
        #expect(history.current.version == 2)
        #expect(try history.take(try set(3)) == .rotated(version: 3))
    }

    @Test("CFG-90: a later anchor follows the same chain from its own place")
    func aLaterAnchorFollowsTheSameChain() throws {
        var old = try KeySetHistory(anchor: try set(1))
        let steps = [
            try set(2, signer: 1), try revocation(of: 0, under: 2), try set(3, signer: 2), try set(4, signer: 2),
        ]
        #expect(old.follow(steps) == nil)
        var new = try KeySetHistory(anchor: steps[2])
        #expect(new.follow(old.chain) == nil)
        #expect(new.current == old.current)
        #expect(new.steps == [steps[3]])
        #expect(new.revoked.isEmpty)
        #expect(new[2] == nil)
        #expect(old[2]?.version == 2)
    }

    @Test("CFG-90: an anchor for another app trusts nothing here")
    func anAnchorForAnotherAppTrustsNothing() throws {
        var other = try document(1)
        other.subject = KeySubject(application: try ApplicationIdentifier("org.example.other"), role: .secondary)
        let history = try KeySetHistory(anchor: try KeyStatementSigner.sign(other, with: [root]))
        let bytes = try configuration(7, signer: 0, keySet: 1)
        #expect(throws: VerificationFailure(.noKey, "")) {
            try ApplicableConfiguration(verifying: bytes, in: try context(history))
        }
    }

    @Test("CFG-90: an anchor that its own keys have not signed is refused, and so is a damaged text")
    func anUnsignedAnchorIsRefused() throws {
        let stranger = PrivateKey.generate(.ed25519)
        let bytes = try KeyStatementSigner.sign(try document(1), with: [stranger])
        #expect(throws: VerificationFailure(.threshold, "")) { try KeySetHistory(anchor: bytes) }
        let unsigned = ConfigurationAnchor(pem: KeySetText.text(of: bytes))
        #expect(unsigned != .none)
        #expect(throws: VerificationFailure(.noKey, "")) { try unsigned.history() }
        let text = KeySetText.text(of: try set(1))
        for damaged in [String(text.dropLast(40)), text + text, text + "x", "x" + text] {
            guard case .unusable = ConfigurationAnchor(pem: damaged) else {
                Issue.record("a damaged anchor is trusted")
                continue
            }
        }
    }

    @Test("CFG-20, CFG-74: a configuration under a refused anchor is refused by the fault of its key, or as no-key")
    func aFaultOfAnAnchorIsNoVerdict() throws {
        var context = try Fixture.context()
        for rejection in Rejection.allCases {
            context.anchor = .unusable(rejection, "its fault")
            let name = [.weakKey, .unknownAlgorithm].contains(rejection) ? rejection : .noKey
            do {
                _ = try ApplicableConfiguration(verifying: try Fixture.envelope(), in: context)
                Issue.record("verified without a key")
            } catch let failure as VerificationFailure {
                #expect(failure.rejection == name && failure.detail == "its fault")
            }
        }
    }

    @Test("CFG-80: no mutation of a rotation is accepted")
    func noMutationOfARotationIsAccepted() throws {
        let history = try KeySetHistory(anchor: try set(1))
        let bytes = try set(2, signer: 1)
        var generator = SeededGenerator(seed: 20_261_123)
        for round in 0..<3_000 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let index = Int.random(in: 0..<changed.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: changed[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                case 1: changed.remove(at: index)
                default: changed.insert(UInt8.random(in: 0...255, using: &generator), at: index)
                }
            }
            guard changed != bytes else { continue }
            var followed = history
            #expect(throws: VerificationFailure.self, "round \(round)") { try followed.take(changed) }
            #expect(followed == history)
        }
    }

    /// The same statement in another envelope, as a carrier can make it: one more signature by nobody's key.
    private func carried(_ bytes: [UInt8]) throws -> [UInt8] {
        let envelope = try UnverifiedEnvelope(bytes)
        let junk = EnvelopeSignature(keyIdentifier: [1], bytes: [2])
        return try SignedEnvelope.bytes(
            envelope.payload, type: envelope.payloadType, signatures: envelope.signatures + [junk])
    }

    @Test("CFG-84, CFG-90: a statement is the same one in every envelope around it")
    func aStatementIsTheSameInEveryEnvelope() throws {
        let anchor = try set(2, signer: 1)
        var old = try KeySetHistory(anchor: try set(1))
        #expect(old.follow([try carried(anchor), try set(3, signer: 1)]) == nil)
        #expect(try old.take(anchor) == .known, "no equivocation: it says the same")
        #expect(try old.take(try carried(try set(1))) == .known)
        #expect(old.contains(anchor) && !old.contains([]))
        var new = try KeySetHistory(anchor: anchor)
        #expect(new.follow(old.chain) == nil)
        #expect(new.current == old.current)
    }

    @Test("CFG-90: an anchor ahead of the chain passes over it, and another set of its version is an alarm")
    func anAnchorAheadOfTheChainPassesOverIt() throws {
        var ahead = try KeySetHistory(anchor: try set(3, signer: 1))
        let before = ahead
        #expect(ahead.follow([try set(1), try revocation(of: 0, under: 1), try set(2, signer: 1)]) == nil)
        #expect(ahead == before)
        #expect(ahead.follow([try set(1), try set(2), try set(3)]) == VerificationFailure(.equivocation, ""))
    }

    @Test("CFG-85, CFG-90: a revocation of a key from before the anchor is passed over, and the chain goes on")
    func aRevocationOfAKeyFromBeforeTheAnchorIsPassedOver() throws {
        var old = try KeySetHistory(anchor: try set(1))
        let steps = [try set(2, signer: 1), try revocation(of: 0, under: 2), try set(3, signer: 1)]
        #expect(old.follow(steps) == nil)
        #expect(old.revoked == [signers[0].publicKey.identifier])
        var new = try KeySetHistory(anchor: steps[0])
        #expect(new.follow(old.chain) == nil)
        #expect(new.current == old.current && new.revoked.isEmpty)
        #expect(new.steps == [steps[2]], "what has no effect here is not kept")
    }

    @Test("CFG-90: a chain that had a revocation before the rotation is followed by one that had not")
    func aChainWithAnotherOrderIsFollowed() throws {
        var first = try KeySetHistory(anchor: try set(1))
        #expect(first.follow([try revocation(of: 0, under: 1), try set(2, signer: 1), try set(3, signer: 1)]) == nil)
        var other = try KeySetHistory(anchor: try set(1))
        #expect(other.follow([try set(2, signer: 1)]) == nil)
        #expect(other.follow(first.chain) == nil)
        #expect(other.current == first.current)
    }

    @Test("CFG-85: no revocation, in whichever order, keeps a verifier from the next set")
    func noRevocationEndsAChain() throws {
        let taken = [
            try revocation(of: 0, under: 1),
            try KeyStatementSigner.sign(
                RevocationDocument(
                    subject: try subject(), keySetVersion: 1, issued: 0, revoked: [revoker.publicKey.identifier],
                    withdraws: true), with: [revoker]),
        ]
        // The next set lists both keys: those who made it have not heard of the revocations.
        for statements in [taken, taken.reversed(), [taken[0]], [taken[1]], []] {
            var history = try KeySetHistory(anchor: try set(1))
            for statement in statements { _ = try? history.take(statement) }
            #expect(history.revoked.isEmpty == statements.isEmpty)
            #expect(try history.take(try set(2)) == .rotated(version: 2))
            #expect(try history.take(try set(3, signer: 1)) == .rotated(version: 3))
        }
        var history = try KeySetHistory(anchor: try set(1))
        let before = history
        let root = RevocationDocument(
            subject: try subject(), keySetVersion: 1, issued: 0,
            revoked: [self.root.publicKey.identifier, signers[0].publicKey.identifier], withdraws: false)
        let bytes = try KeyStatementSigner.sign(root, with: [revoker])
        #expect(throws: VerificationFailure(.keySetIllegal, "")) { try history.take(bytes) }
        #expect(history == before)
    }

    @Test("CFG-80: a set revokes up to 256 keys in all, and one more is malformed")
    func aSetRevokesUpToItsLimit() throws {
        for (count, fits) in [(255, true), (256, true), (257, false)] {
            var next = try document(2, signer: 1)
            next.revoked = (0..<count).map { SHA256.digest([UInt8($0 & 255), UInt8($0 >> 8)]) }
            var history = try KeySetHistory(anchor: try set(1))
            let bytes = try KeyStatementSigner.sign(next, with: [root])
            if fits {
                #expect(try history.take(bytes) == .rotated(version: 2))
            } else {
                #expect(throws: VerificationFailure(.payloadMalformed, "")) { try history.take(bytes) }
            }
        }
    }

    @Test("CFG-81: of several faults every verifier names the same one")
    func ofSeveralFaultsEveryVerifierNamesTheSame() throws {
        var faulty = try document(2)
        for number in 0..<40 {
            faulty.keys["\(number)"] = number.isMultiple(of: 2) ? [0x30] : root.publicKey.subjectPublicKeyInfo
        }
        faulty.roles["x"] = faulty.roles["config"]
        faulty.roles["y"] = faulty.roles["config"]
        var details: Set<String> = []
        for _ in 0..<20 {
            // A dictionary made again has another order.
            var shuffled = faulty
            shuffled.keys = Dictionary(uniqueKeysWithValues: faulty.keys.shuffled())
            do { _ = try shuffled.trusted() } catch { details.insert(error.detail) }
        }
        #expect(details.count == 1)
    }

    @Test("CFG-81: a key that was judged with the set before is not read again")
    func knownKeysAreNotReadAgain() throws {
        var next = try document(2)
        // No key: a reader of these bytes refuses the set.
        let bytes: [UInt8] = [0x30]
        next.keys[root.publicKey.identifier.hexadecimal] = bytes
        #expect(throws: VerificationFailure(.keySetIllegal, "")) { try next.trusted() }
        let identifier = try #require(KeyIdentifier(bytes: SHA256.digest(bytes)))
        let set = try next.trusted(knowing: [identifier: root.publicKey])
        #expect(set.keys[root.publicKey.identifier] == root.publicKey)
    }

    // MARK: configurations under changing keys

    @Test("CFG-89: a rotation that overtakes a revocation withdraws what it would have withdrawn")
    func aRotationWithdraws() throws {
        var history = try KeySetHistory(anchor: try set(1))
        var slot = try slot(with: try configuration(6, signer: 0, keySet: 1), history)
        var next = try document(2, signer: 1)
        next.revoked = [signers[0].publicKey.identifier.bytes]
        next.withdrawn = next.revoked
        #expect(
            try history.take(try KeyStatementSigner.sign(next, with: [root])) == .rotated(version: 2))
        let late = try revocation(of: 0, under: 1, withdraws: true)
        #expect(throws: VerificationFailure(.oldKeySet, "")) { try history.take(late) }
        _ = slot.keysChanged(in: try context(history, .full))
        #expect(slot.active == nil)
        next.withdrawn = [signers[2].publicKey.identifier.bytes]
        #expect(throws: VerificationFailure(.keySetIllegal, "")) { try next.trusted() }
    }

    @Test("CFG-20, CFG-89: signatures that a carrier adds for a revoked key never end what was applied")
    func addedSignaturesNeverEndWhatWasApplied() throws {
        var history = try KeySetHistory(
            anchor: try KeyStatementSigner.sign(
                KeySetDocument(
                    subject: try subject(), version: 1, issued: 0,
                    roles: [
                        .configuration: ([signers[0].key.publicKey, signers[1].key.publicKey], 1),
                        .keySet: ([root.publicKey], 1), .revocation: ([revoker.publicKey], 1),
                    ]), with: [root]))
        _ = try history.take(try revocation(of: 1, under: 1))
        let good = try UnverifiedEnvelope(try configuration(6, signer: 0, keySet: 1))
        let junk = EnvelopeSignature(keyIdentifier: signers[1].publicKey.identifier.bytes, bytes: [1])
        let bytes = try SignedEnvelope.bytes(
            good.payload, type: good.payloadType, signatures: good.signatures + [junk, junk])
        var slot = try slot(with: bytes, history)
        let loading = try context(history, .load)
        #expect(try !ApplicableConfiguration(verifying: bytes, in: loading).verified.isSignerRevoked)
        _ = slot.keysChanged(in: try context(history, .full))
        #expect(slot.active?.record.envelope == bytes)
        let twice = try SignedEnvelope.bytes(
            good.payload, type: good.payloadType, signatures: good.signatures + good.signatures)
        #expect(throws: VerificationFailure(.duplicateKeyIdentifier, "")) {
            try ApplicableConfiguration(verifying: twice, in: try context(history))
        }
    }

    @Test("CFG-88: after all configuration keys were replaced, versions start again, and the floor with them")
    func versionsStartAgainAfterAReplacement() throws {
        var history = try KeySetHistory(anchor: try set(1))
        var payload = try Fixture.payload(version: .max)
        payload.floor = .max
        var slot = try slot(with: try ConfigurationSigner.sign(payload, with: [signers[0]]), history)
        #expect(slot.mark?.version == .max)
        #expect(try history.take(try set(2, signer: 1)) == .rotated(version: 2))
        #expect(slot.keysChanged(in: try context(history, .full)) == ApplyTransition())
        #expect(slot.active?.record.version == .max, "what is active stays")
        try apply(try configuration(3, signer: 1, keySet: 2), to: &slot, history)
        #expect(slot.mark?.version == 3 && slot.mark?.floor == 0 && slot.mark?.keySetVersion == 2)
        #expect(try VersionMark(try #require(slot.mark).dictionary) == slot.mark)
        let again = slot.received(
            try configuration(2, signer: 1, keySet: 2), by: nil, in: try context(history, .full))
        #expect(again.verdict == .rejected(.rollback))
    }

    @Test("CFG-88: a refused configuration restarts no mark")
    func aRefusedConfigurationRestartsNoMark() throws {
        var history = try KeySetHistory(anchor: try set(1))
        var slot = try slot(with: try configuration(9, signer: 0, keySet: 1), history)
        #expect(try history.take(try set(2, signer: 1)) == .rotated(version: 2))
        let before = slot
        let late = slot.received(
            try configuration(10, signer: 0, keySet: 1), by: nil, in: try context(history, .full))
        #expect(late.verdict == .rejected(.threshold))
        #expect(slot == before)
    }

    @Test("CFG-91: what waits is judged again when keys change, and its sender hears it")
    func whatWaitsIsJudgedAgain() throws {
        var history = try KeySetHistory(anchor: try set(1))
        var slot = try slot(with: try configuration(6, signer: 0, keySet: 1), history)
        slot.applicationDisconnected()
        let waiting = try configuration(7, signer: 0, keySet: 1)
        let received = slot.received(waiting, by: Fixture.delivery, in: try context(history, .full))
        #expect(received.verdict == .waitingForApplication)
        #expect(slot.keysChanged(in: try context(history, .full)) == ApplyTransition(), "nothing has changed yet")
        #expect(try history.take(try revocation(of: 0, under: 1)) == .revoked([signers[0].publicKey.identifier]))
        let judged = slot.keysChanged(in: try context(history, .full))
        #expect(judged.verdict == .rejected(.threshold))
        #expect(judged.changes.contains(.staged(nil)))
        #expect(slot.staged == nil && slot.active?.record.version == 6)
        let facts = judged.reports
        #expect(facts.map(\.verdict) == [.rejected(.threshold)])
        #expect(facts.first?.good?.version == 6)
    }

    @Test("CFG-91: what was offered and is refused now is taken back from the app")
    func whatWasOfferedIsTakenBack() throws {
        var history = try KeySetHistory(anchor: try set(1))
        var slot = try Fixture.slot()
        _ = slot.applicationConnected()
        let bytes = try configuration(7, signer: 0, keySet: 1)
        _ = slot.received(bytes, by: Fixture.delivery, in: try context(history, .full))
        #expect(slot.phase == .offered)
        let verified = try VerifiedConfiguration(try UnverifiedEnvelope(bytes), in: try context(history))
        #expect(try history.take(try set(2, signer: 1)) == .rotated(version: 2))
        let judged = slot.keysChanged(in: try context(history, .full))
        #expect(judged.effects == [.reload])
        #expect(slot.answered(OfferReply(applied: verified), now: Fixture.now) == ApplyTransition(), "too late")
        #expect(slot.active == nil)
    }

    @Test("CFG-31, CFG-37, CFG-91: a connected app reads its files again when what waits for the clock ends")
    func whatWaitsForTheClockIsTakenBack() throws {
        var history = try KeySetHistory(anchor: try set(1))
        var slot = try Fixture.slot()
        var early = try context(history, .full)
        early.now = WallTime(seconds: 0)
        _ = slot.received(try configuration(7, signer: 0, keySet: 1), by: Fixture.delivery, in: early)
        _ = slot.applicationConnected()
        #expect(slot.phase == .waitingForClock, "its library reads the file by its own clock")
        var closing = slot
        #expect(closing.closed().effects.contains(.reload))
        #expect(try history.take(try set(2, signer: 1)) == .rotated(version: 2))
        #expect(slot.keysChanged(in: try context(history, .full)).effects == [.reload])
        #expect(slot.staged == nil)
    }

    @Test("CFG-23, CFG-89: a revoked signer leaves what is active, a withdrawn one ends it")
    func aWithdrawnSignerEndsWhatIsActive() throws {
        var history = try KeySetHistory(anchor: try set(1))
        var slot = try slot(with: try configuration(6, signer: 0, keySet: 1), history)
        _ = try history.take(try revocation(of: 0, under: 1))
        #expect(slot.keysChanged(in: try context(history, .full)) == ApplyTransition())
        #expect(slot.active?.record.version == 6)
        _ = try history.take(try revocation(of: 0, under: 1, withdraws: true))
        let ended = slot.keysChanged(in: try context(history, .full))
        #expect(slot.active == nil)
        #expect(ended.effects == [.reload])
        #expect(slot.mark?.version == 6 && slot.mark?.isActive == false)
        let facts = ended.reports
        #expect(slot.trial == nil && facts.map(\.verdict) == [.rejected(.signerRevoked)], "its trial ends with it")
    }

    @Test("CFG-89, CFG-114: the senders of what a revocation withdraws after its trial learn that it has ended")
    func aWithdrawnSignerIsReportedAfterTheTrial() throws {
        var history = try KeySetHistory(anchor: try set(1))
        var slot = try slot(with: try configuration(6, signer: 0, keySet: 1), history)
        Fixture.live(&slot)
        _ = try history.take(try revocation(of: 0, under: 1, withdraws: true))
        let ended = slot.keysChanged(in: try context(history, .full))
        #expect(slot.active == nil && slot.loadReports == nil && ended.verdict == .rejected(.signerRevoked))
        let facts = try #require(ended.reports.last)
        #expect(ended.reports.count == 1 && facts.verdict == .rejected(.signerRevoked) && facts.good == nil)
        #expect(ended.recalled == [facts.delivery], "CFG-52: not held back behind other failures")
    }
}
