// `apply`: submits a signed configuration to a daemon and prints the verdict of each secondary. Exit code 0 means
// applied.

import Glibc
import TandemBase
import TandemControl
import TandemOperations
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration
import TandemWire

extension Subcommand {
    static let apply = Subcommand(
        path: ["apply"], summary: "forward a signed configuration or a change of keys and wait for the verdicts",
        operands: [.required("FILE")],
        options: [
            .device, .application.required,
            .valued("wait", "TIME", "how long to wait for reports (default 30s, in a rollout 2m)"),
            .valued("first", "N", "deliver it to N secondaries first, and to the others once it works there"),
            Option.valued("only", "NAME", "deliver it to this secondary first").repeated, .json,
        ],
        notes: """
            FILE holds the configuration or a text with its link, such as the output of 'tandem sign --link'; '-' is
            standard input. Exit code 0: at least one secondary has the app, and each that has it reported 'applied'.
            'no-app' is one that has not announced the app; it gets the configuration again when it does. It is the
            desired configuration from then on, also after Ctrl-C: each secondary that lacks it gets it when it can; see
            'tandem configuration show' and 'withdraw'. With --first or --only the other secondaries get it after the
            apps of the first have run with it for 30 s; a rejection, or three ends of an app before that, stop it.
            --first N takes those that have the app. If these are fewer than N, it takes others as well and waits for
            them: a warning names them. Applied again without these options, it goes to all.
            A key set or a revocation ('tandem keyset rotate' and 'revoke') takes effect on this device at once and for
            good, and reaches each secondary before any configuration. A configuration that the new keys do not verify is
            no longer desired.
            """,
        examples: [
            "apply --app org.example.lamp night.config", "apply --app org.example.lamp --wait 2m night.config",
            "apply --app org.example.lamp - < link.txt", "apply --app org.example.lamp --first 2 night.config",
        ]
    ) { arguments, console in
        let envelope = try EnvelopeInput.read(arguments.operands[0])
        // The first live with it for LIM-87 before the others get it.
        let isStaged = arguments.has("first") || arguments.has("only")
        let wait = try arguments.duration("wait") ?? .seconds(isStaged ? 120 : 30)
        var body: PropertyListDictionary = [
            "envelope": .data(envelope), "app": .string(try arguments.application().description),
        ]
        if arguments.has("first"), arguments.has("only") {
            throw CommandFailure.usage("--first and --only exclude each other")
        }
        if let text = arguments.value("first") {
            guard let count = Int64(text), count > 0 else {
                throw CommandFailure.usage("--first '\(text)' is not an integer from 1")
            }
            body["first"] = .integer(count)
        }
        if arguments.has("only") { body["only"] = .array(arguments.all("only").map { .string($0) }) }
        let path = try arguments.daemonPath()
        var follower = ApplyFollower(path: path, body: body, progress: arguments.has("json") ? nil : console)
        let answer: PropertyListDictionary
        do { answer = try follower.answer(within: wait) } catch ControlError.refused(let name, let text)
            where !EnvelopeInput.isEnvelope(envelope)
        {
            throw ControlError.refused(
                name: name,
                text: "\(arguments.operands[0]) is no signed configuration, and has no link to one: \(text)")
        } catch ControlError.refused(let name, let text) where name == Rejection.wrongApplication.rawValue {
            let app = try arguments.application()
            throw ControlError.refused(name: name, text: "\(arguments.operands[0]): \(text), and --app is '\(app)'")
        }
        let isUnchecked = answer["unchecked"] == true
        if let warning = ApplyReport.absenceWarning(in: answer) { console.warn(warning) }
        if let warning = ApplyReport.rolloutWarning(in: answer) { console.warn(warning) }
        if arguments.has("json") {
            let results = Fact.list(answer["results"]).map { result in
                isUnchecked ? result.body.merging(["unchecked": true]) : result.body
            }
            console.print(json: Fact.plain(.array(results.map { .dictionary($0) })))
        } else {
            if isUnchecked {
                console.warn("not checked here: this device trusts no key for it, and only the secondaries verify it")
            }
            let results = Fact.list(answer["results"])
            (ApplyReport.lines(of: results) + ApplyReport.endedLines(of: results)).forEach { console.print($0) }
        }
        try ApplyReport.check(answer)
    }
}

/// A signed configuration from a file or, for `-`, from standard input: the envelope itself, or a text with one apply
/// link (CFG-60). Any other bytes are passed on, so that the verifier names what is wrong with them.
enum EnvelopeInput {
    /// Whether the bytes begin as an envelope does.
    static func isEnvelope(_ bytes: [UInt8]) -> Bool { bytes.starts(with: "bplist".utf8) }

    /// The claim of bytes about keys, in words; nil for anything else.
    static func keyStatement(_ bytes: [UInt8]) -> String? {
        switch (try? UnverifiedEnvelope(bytes))?.claimedType {
        case .keySet: "a key set"
        case .revocation: "a revocation"
        case .configuration, .report, .carrier: nil
        case nil: KeySetText.isKeySet(String(decoding: bytes, as: UTF8.self)) ? "a key set" : nil
        }
    }

    static func read(_ path: String) throws -> [UInt8] {
        let bytes = path == "-" ? LocalFile.standardInput() : try LocalFile(path: path).read()
        if isEnvelope(bytes) { return bytes }
        let links = ApplyLink.links(in: String(decoding: bytes, as: UTF8.self))
        guard let link = links.first else { return bytes }
        guard links.count == 1 else { throw CommandFailure.refused("\(path) holds \(links.count) apply links") }
        do { return try ApplyLink.envelope(in: link) } catch {
            throw CommandFailure.refused("\(path): \(error)")
        }
    }
}

/// Applies an envelope and follows the reports: a line for each secondary as its verdict comes.
struct ApplyFollower {
    /// One request waits at most this long, so that a daemon that stops is noticed.
    private static let pause = Duration.seconds(10)
    /// Microseconds between two requests.
    private static let rest: UInt32 = 200_000

    let path: String
    let body: PropertyListDictionary
    /// Where the lines go; nil for none.
    let progress: Console?
    private var shown: Set<String> = []
    /// This device's own result of a change of keys: only the first answer has what that has ended.
    private var ended: PropertyListDictionary = [:]

    init(path: String, body: PropertyListDictionary, progress: Console?) {
        (self.path, self.body, self.progress) = (path, body, progress)
    }

    /// The answer when every secondary has a result, or when the time is over.
    mutating func answer(within wait: Duration) throws -> PropertyListDictionary {
        try ProcessSignal.prepareProcess()
        var answer: PropertyListDictionary = [:]
        do {
            let last = try follow(for: wait, &answer)
            return ApplyReport.keeping(ended, in: last)
        } catch is ControlClient.Interruption {
            let results = Fact.list(ApplyReport.keeping(ended, in: answer)["results"])
            var lines = Self.interruption(answer.isEmpty ? nil : pending(answer), of: body)
            if let warning = ApplyReport.rolloutWarning(in: answer) { lines.append(warning) }
            throw CommandFailure.no(lines + ApplyReport.endedLines(of: results))
        }
    }

    private mutating func follow(
        for wait: Duration, _ answer: inout PropertyListDictionary
    ) throws -> PropertyListDictionary {
        let clock = ContinuousClock()
        let end = clock.now + wait
        answer = try ask(["begin": true, "wait": .integer(wait.saturatingMilliseconds)], time: wait)
        ended = ApplyReport.endedFields(in: answer)
        if let warning = ApplyReport.stageWarning(in: answer, to: body) { Console().warn(warning) }
        // A rollout may wait for a secondary that never gets the app.
        let awaited = ApplyReport.awaited(in: answer)
        if awaited.contains(where: ApplyReport.hasNoApp), let warning = ApplyReport.rolloutWarning(in: answer) {
            progress?.warn(warning)
        }
        // This device's own app: the daemon has waited for it.
        guard var ordinal = answer["ordinal"] else { return answer }
        while true {
            let left = min(end - clock.now, Self.pause)
            guard !pending(answer).isEmpty, left > .zero else { return answer }
            answer = try ask(
                ["follow": true, "after": ordinal, "wait": .integer(left.saturatingMilliseconds)], time: left)
            ordinal = answer["ordinal"] ?? ordinal
            showNew(answer)
            // The reports of many secondaries come in few answers.
            if !pending(answer).isEmpty { usleep(Self.rest) }
        }
    }

    private func ask(_ more: PropertyListDictionary, time: Duration) throws -> PropertyListDictionary {
        try ControlClient.ask(
            at: path, .apply, body.merging(more), time: time, software: Version.text, isInterruptible: true)
    }

    /// Those that results are awaited of. One without the app is awaited only where no other one has it: it may
    /// announce the app at any moment, or never.
    private func pending(_ answer: PropertyListDictionary) -> [Fact] {
        let results = Fact.list(answer["results"])
        return results.allSatisfy(ApplyReport.hasNoApp) ? results : results.filter(Self.isPending)
    }

    /// Whether its verdict is outstanding, or others get it first.
    private static func isPending(_ result: Fact) -> Bool { ["queued", "held-back"].contains(result.text("state")) }

    private mutating func showNew(_ answer: PropertyListDictionary) {
        let results = Fact.list(answer["results"])
        let done = results.filter { !Self.isPending($0) }
        let new = done.filter {
            shown.insert("\($0.text("pairing")) \(ApplyReport.verdict(of: $0))").inserted
        }
        for (place, result) in new.enumerated() {
            let count = done.count - new.count + place + 1
            progress?.warn("\(result.deviceName): \(ApplyReport.verdict(of: result)) (\(count) of \(results.count))")
        }
    }

    /// The lines for a person who has ended the wait.
    /// - Parameter pending: the results that are outstanding; nil if the daemon has not answered yet.
    static func interruption(_ pending: [Fact]?, of body: PropertyListDictionary) -> [String] {
        let app = body["app"]?.stringValue ?? ""
        let isAboutKeys = body["envelope"]?.dataValue.flatMap { ClaimedStatement($0) } != nil
        guard let pending else {
            let hint =
                isAboutKeys
                ? "'tandem trust list' shows the keys in force"
                : "'tandem configuration show --app \(app)' shows what is desired, "
                    + "and 'tandem status' what the own app has"
            return ["interrupted before the daemon answered; \(hint)"]
        }
        let isHeldBack = { (result: Fact) in result.text("state") == "held-back" }
        let names = pending.filter { !isHeldBack($0) }.map(\.deviceName).joined(separator: ", ")
        let later = pending.filter(isHeldBack).map(\.deviceName).joined(separator: ", ")
        if isAboutKeys {
            return ["interrupted; the keys have changed" + (names.isEmpty ? "" : ", and \(names) will receive that")]
        }
        return [
            "interrupted; the configuration stays desired" + (names.isEmpty ? "" : ", and is delivered to \(names)")
                + (later.isEmpty ? "" : "; once it works at the first, also to \(later)"),
            "'tandem configuration show --app \(app)' shows its state",
            "'tandem configuration withdraw --app \(app)' ends that",
        ]
    }
}

enum ApplyReport {
    static func lines(of results: [Fact]) -> [String] {
        let columns: [Table.Column] = [
            .init("name", cell: \.deviceName), .init("verdict", cell: verdict), "version", .digest("digest"),
            "pairing", .text("reason", of: "text"),
        ]
        return Array(Table("verdicts", columns, of: results).lines.dropFirst())
    }

    /// The keys of this device's own result that say what a change of keys has ended (CTL-26).
    static func endedFields(in answer: PropertyListDictionary) -> PropertyListDictionary {
        let own = Fact.list(answer["results"]).first?.body ?? [:]
        return own.compactMapValues { key, value in ["ended", "endedMore"].contains(key) ? value : nil }
    }

    /// A later answer to the same request, with what the first one said.
    static func keeping(_ ended: PropertyListDictionary, in answer: PropertyListDictionary) -> PropertyListDictionary {
        var (answer, results) = (answer, Fact.list(answer["results"]).map(\.body))
        guard !ended.isEmpty, !results.isEmpty else { return answer }
        results[0] = results[0].merging(ended)
        answer["results"] = .array(results.map { .dictionary($0) })
        return answer
    }

    /// A line for each configuration that a change of keys has ended.
    static func endedLines(of results: [Fact]) -> [String] {
        results.flatMap { result in
            let lines = result.list("ended").map { one in
                "no longer desired: version \(one.text("version")) for \(one.text("target"))"
                    + " (\(one.text("verdict"))); sign its values again under the new keys"
            }
            let more = result.text("endedMore")
            return lines + (more.isEmpty ? [] : ["and \(more) more"])
        }
    }

    /// Whether a secondary has not announced the app.
    static func hasNoApp(_ result: Fact) -> Bool { result.text("state") == noApp }

    private static let noApp = "no-app"

    /// A warning with the devices that it names and that are no secondaries of its target here (CTL-25).
    static func absenceWarning(in answer: PropertyListDictionary) -> String? {
        let devices = (answer["absent"]?.arrayValue ?? []).compactMap {
            $0.dataValue.flatMap { UniqueIdentifier(bytes: $0) }
        }
        guard !devices.isEmpty else { return nil }
        let names = devices.map(\.description).joined(separator: ", ")
        return "warning: 'only' names devices that are no secondaries of its target here: \(names)"
    }

    /// The secondaries that a rollout waits for.
    static func awaited(in answer: PropertyListDictionary) -> [Fact] {
        Fact.list(answer["results"]).filter { $0.body["awaited"] == true }
    }

    /// A warning with the secondaries that a rollout waits for, and with what ends the wait for one without the app.
    static func rolloutWarning(in answer: PropertyListDictionary) -> String? {
        let awaited = awaited(in: answer)
        guard !awaited.isEmpty, hasOthers(answer) else { return nil }
        let names = awaited.map { "\($0.deviceName) (\(verdict(of: $0)))" }.joined(separator: ", ")
        let way =
            awaited.contains(where: hasNoApp)
            ? "; start the app where it is missing, or apply the file again without --first and --only: it then goes "
                + "to all" : ""
        return "warning: the rollout waits until the apps of these have run with it for 30 s: \(names)\(way)"
    }

    /// Whether a secondary may wait behind the first. Some may have no room in the answer (CTL-63).
    private static func hasOthers(_ answer: PropertyListDictionary) -> Bool {
        let others = Fact.list(answer["results"]).filter { $0.body["awaited"] != true }
        return answer["leftOut"] != nil || others.contains { hasNoApp($0) || $0.text("verdict").isEmpty }
    }

    /// A warning about `--first` or `--only` that holds nobody back; nil if somebody waits.
    /// - Parameters:
    ///   - answer: the first answer. Later ones may show a rollout that is complete.
    ///   - request: the body that was sent.
    static func stageWarning(in answer: PropertyListDictionary, to request: PropertyListDictionary) -> String? {
        let results = Fact.list(answer["results"])
        guard answer["leftOut"] == nil, let version = results.first?.text("version") else { return nil }
        let holdsNobody = !results.contains { ["held-back", noApp, "stopped"].contains($0.text("state")) }
        if let count = request["first"]?.integerValue {
            if count >= results.count { return "warning: --first \(count) includes every secondary: none waits" }
            return holdsNobody
                ? "warning: --first has no effect: version \(version) has already been sent to all" : nil
        }
        let names = (request["only"]?.arrayValue ?? []).compactMap(\.stringValue)
        let named = results.filter { names.contains($0.text("name")) || names.contains($0.text("pairing")) }
        // A name may also be a vendor identifier, which no result has.
        guard !names.isEmpty, holdsNobody, named.count == Set(names).count else { return nil }
        let others = results.filter { result in !named.contains { $0.text("pairing") == result.text("pairing") } }
        guard !others.isEmpty else { return "warning: --only names every secondary: none waits" }
        let list = others.prefix(8).map(\.deviceName).joined(separator: ", ") + (others.count > 8 ? ", ..." : "")
        return "warning: --only has no effect: version \(version) has already been sent to \(list)"
    }

    /// Fails unless every secondary that has the app applied it. One whose result the answer has no room for (CTL-63)
    /// may have refused it.
    static func check(_ answer: PropertyListDictionary) throws(CommandFailure) {
        let results = Fact.list(answer["results"])
        if results.isEmpty { throw .refused("no paired secondary; pair one first") }
        if results.allSatisfy(hasNoApp) {
            throw .refused("no secondary has the app yet; each gets the configuration again when it has")
        }
        let others = results.filter { verdict(of: $0) != "applied" && !hasNoApp($0) }
        guard !others.isEmpty else {
            guard let count = answer["leftOut"]?.dictionaryValue?["results"]?.integerValue else { return }
            throw .refused("the results of \(count) more secondaries are not known: the answer has no room for them")
        }
        // A name that several devices have says nothing.
        let names = Dictionary(grouping: results, by: \.deviceName)
        let list = others.map { result in
            let name = result.deviceName
            let pairing = names[name].map { $0.count > 1 } == true ? " \(result.text("pairing"))" : ""
            return "\(name)\(pairing): \(verdict(of: result))\(reason(of: result))"
        }
        throw .refused("not applied everywhere (\(list.joined(separator: ", ")))")
    }

    private static func reason(of result: Fact) -> String {
        let text = result.sentence("text")
        return text.isEmpty ? "" : " (\(text))"
    }

    /// The verdict, or the state of what has none yet.
    static func verdict(of result: Fact) -> String {
        let verdict = hasNoApp(result) ? noApp : result.text("verdict")
        return verdict.isEmpty ? result.text("state") : verdict
    }
}
