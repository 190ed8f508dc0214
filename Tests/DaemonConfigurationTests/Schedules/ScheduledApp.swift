// App of a random schedule: it plays the library by the model, over the files of its directory and the daemon's offers,
// and notes everything that no daemon may give it.

import Glibc
import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration
import TandemTestSupport
import TandemWire

final class ScheduledApp {
    private let history: SignedHistory
    private let clock: ManualScheduler
    private let folder: String
    /// Its half of CFG-22.
    var waives = false
    /// It answers no offers.
    var isHanging = false
    /// The configuration that it applies; nil for nothing.
    private(set) var loaded: SignedHistory.Configuration?
    /// It has loaded a configuration that kills it.
    private(set) var isDying = false
    private(set) var client: Client?
    private(set) var violations: [String] = []
    /// The digests that it has refused as unfit.
    private(set) var refused: Set<[UInt8]> = []
    /// How often it has seen each configuration in an offer or at a registration.
    private(set) var sights: [[UInt8]: Int] = [:]
    /// The paired identifier that its daemon has for it; nil while nobody is chosen.
    var target: PairedIdentifier?
    /// The highest versions that were seen as applied, under the key sets of that time.
    var marks: [PairedIdentifier: (version: UInt64, keySet: UInt64)] = [:]

    /// It keeps an account of its starts (CFG-65).
    private let countsStarts: Bool
    /// The digests that this process has counted.
    private var counted: Set<[UInt8]> = []

    init(_ history: SignedHistory, in folder: String, on clock: ManualScheduler, countsStarts: Bool) {
        (self.history, self.folder, self.clock, self.countsStarts) = (history, folder, clock, countsStarts)
    }

    private func violate(_ text: String) { if !violations.contains(text) { violations.append(text) } }

    // MARK: life

    var isRunning: Bool { client.map { !$0.isClosed } ?? false }

    /// A connection that will register.
    func prepare(_ client: Client, isNewProcess: Bool) {
        self.client = client
        if isNewProcess {
            isDying = false
            counted = []
            load()
        }
        if let loaded { sights[loaded.digest, default: 0] += 1 }
        client.onFrame = { [unowned self] client, _, envelope in
            guard envelope.kind == .configuration, let body = try? envelope.dictionaryBody() else { return }
            if ConfigurationOffer.isReload(body) { client.reloadAnswer = reload() }
        }
        client.answerOffers { [unowned self] offer in answer(offer) }
    }

    func end(inOrder: Bool) {
        guard let client, !client.isClosed else { return }
        if inOrder { try? client.send(Envelope(.bye)) } else { client.disconnect() }
        forget()
    }

    /// Its connection is gone, and the process lives on.
    func letGo() { if !isRunning { client = nil } }

    /// Its process is gone.
    func forget() {
        client = nil
        loaded = nil
        isDying = false
    }

    // MARK: files

    private struct File {
        let fields: PropertyListDictionary
        let configuration: SignedHistory.Configuration

        var isWaived: Bool { fields["waived"] == true }
        var target: String? { fields["target"]?.stringValue }
    }

    private func dictionary(_ name: String) -> PropertyListDictionary? {
        guard let bytes = TemporaryDirectory.read("\(folder)/\(name)") else { return nil }
        guard let fields = try? PropertyListReader.readDictionary(bytes) else {
            violate("\(name) does not read")
            return nil
        }
        return fields
    }

    private func file(_ name: String) -> File? { dictionary(name).flatMap { file($0, name) } }

    private func file(_ fields: PropertyListDictionary, _ name: String) -> File? {
        guard let bytes = fields["envelope"]?.dataValue, let one = history[bytes] else {
            violate("\(name) has bytes that nobody signed")
            return nil
        }
        if fields["target"]?.stringValue != one.payload.target.text { violate("\(name) names another target") }
        return File(fields: fields, configuration: one)
    }

    /// The keys of its directory, from its anchor on.
    private var keys: SignedHistory.Keys {
        let written = dictionary("keysets.plist")?["chain"]?.arrayValue?.compactMap(\.dataValue)
        guard let keys = history.keys(after: written ?? [history.anchor]) else {
            violate("keysets.plist has a statement that nobody signed")
            return history.latest
        }
        return keys
    }

    var activeDigest: [UInt8]? { file("configuration.plist")?.configuration.digest }
    var waivedDigest: [UInt8]? { file("waived.plist")?.configuration.digest }
    var hasStaged: Bool { dictionary("staged.plist") != nil }
    var hasTrial: Bool { dictionary("trial.plist") != nil }

    /// CFG-37.
    private func load() {
        let (keys, now) = (keys, clock.wallNow.seconds)
        let (active, waived, staged) = (file("configuration.plist"), file("waived.plist"), file("staged.plist"))
        loaded = nil
        if let staged, !isHanging, stages(staged, keys, now), lives(with: staged.configuration) {
            take(staged.configuration, waived: staged.isWaived, keys, "staged.plist")
        } else if let waived, waives, (active?.configuration.version ?? 0) < waived.configuration.version {
            take(waived.configuration, waived: true, keys, "waived.plist")
        } else if let active, keys.loads(active.configuration) {
            let trial = dictionary("trial.plist")
            let isTried = [trial?["digest"], trial?["replaced"]].contains(.data(active.configuration.digest))
            if isTried, !lives(with: active.configuration) {
                loaded = trial?["previous"]?.dictionaryValue.flatMap { self.file($0, "trial.plist") }?.configuration
            } else {
                loaded = active.configuration
            }
            if loaded?.nature == .deadly, hasTrial { isDying = true }
        }
    }

    /// Counts a start or an offer (CFG-62); false once they are used up (CFG-66).
    private func lives(with one: SignedHistory.Configuration) -> Bool {
        guard countsStarts, counted.insert(one.digest).inserted else { return true }
        var account = dictionary("attempts.plist").flatMap { try? LoadAttempts($0) } ?? LoadAttempts()
        account.count(one.digest, known: 0)
        if let bytes = try? PropertyListWriter.write(account.dictionary) { write(bytes, to: "attempts.plist") }
        return account.starts(of: one.digest) <= ConfigurationLimits.attempts
    }

    private func write(_ bytes: [UInt8], to name: String) {
        let descriptor = open("\(folder)/\(name)", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        _ = Glibc.write(descriptor, bytes, bytes.count)
    }

    private func stages(_ staged: File, _ keys: SignedHistory.Keys, _ now: UInt64) -> Bool {
        let one = staged.configuration
        if staged.isWaived, let trial = dictionary("trial.plist"), trial["digest"]?.dataValue != one.digest {
            return false
        }
        let allows = waives && staged.fields["allowsInvalid"] == true
        return one.nature != .unfit
            && keys.rejection(
                of: one, for: one.payload.target, above: staged.fields["mark"]?.unsignedValue, at: now, waives: allows)
                == nil
    }

    /// It applies a new configuration.
    private func take(
        _ one: SignedHistory.Configuration, waived: Bool, _ keys: SignedHistory.Keys, _ source: String
    ) {
        loaded = one
        if one.nature == .deadly { isDying = true }
        if !waived, !keys.trusts(one) { violate("\(source): bytes that no trusted signature covers") }
        if waived, !waives { violate("\(source): bytes with an invalid signature that the app does not allow") }
    }

    private func reload() -> PropertyListDictionary {
        load()
        let file = waives ? file("waived.plist") ?? file("configuration.plist") : file("configuration.plist")
        if let file, !file.isWaived, !keys.loads(file.configuration) {
            return rejection("signer-revoked", file.configuration)
        }
        return ["tandem.verdict": "applied", "tandem.loaded": .data(loaded?.digest ?? [])]
    }

    private func rejection(_ name: String, _ one: SignedHistory.Configuration) -> PropertyListDictionary {
        ["tandem.verdict": .string(name), "tandem.digest": .data(one.digest)]
    }

    // MARK: offers

    /// CFG-41, by the model.
    private func answer(_ offer: ConfigurationOffer) -> OfferReply? {
        guard let one = history[offer.envelope] else {
            violate("an offer of bytes that nobody signed")
            return nil
        }
        sights[one.digest, default: 0] += 1
        let keys = keys
        judge(offer, one, keys)
        guard !isHanging else { return nil }
        let allows = waives && offer.allowsInvalid
        var name = keys.rejection(
            of: one, for: offer.target, above: offer.mark, at: clock.wallNow.seconds, waives: allows)
        if name == nil, one.nature == .unfit {
            name = "schema"
            refused.insert(one.digest)
        }
        if name == nil, !lives(with: one) { return OfferReply(failed: one.bytes) }
        if name == nil { take(one, waived: allows && !keys.trusts(one), keys, "an offer") }
        var reply = rejection(name ?? "applied", one)
        reply["tandem.txid"] = .data(one.payload.transaction.bytes)
        reply["tandem.version"] = PropertyListValue(one.version)
        return OfferReply(reply)
    }

    /// The daemon has verified what it offers (CFG-20, CFG-21).
    private func judge(_ offer: ConfigurationOffer, _ one: SignedHistory.Configuration, _ keys: SignedHistory.Keys) {
        let name = keys.rejection(
            of: one, for: offer.target, above: nil, at: .max - 1000, waives: waives && offer.allowsInvalid)
        if let name, name != "expired" { violate("an offer of what is \(name)") }
        if let target, offer.target != target { violate("an offer for another target") }
        guard let mark = marks[offer.target], mark.keySet >= keys.epoch else { return }
        // An applied one may be offered again after a crash (CFG-35).
        if one.version < mark.version { violate("an offer below the version that was active (CFG-30 c)") }
    }
}
