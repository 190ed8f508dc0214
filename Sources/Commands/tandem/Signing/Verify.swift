// `verify`: verifies a signed configuration offline, by the same steps and names as a daemon and an app's library.
// Their version mark is known only as far as a file stands for it, and their schema is not checked.

import TandemBase
import TandemControl
import TandemCrypto
import TandemOperations
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration

extension Subcommand {
    static let verify = Subcommand(
        path: ["verify"], summary: "verify a signed configuration offline and show what it says",
        operands: [.required("FILE")],
        options: [
            Option.valued("key", "FILE", "public key, or key sets and revocations in order, from the anchor on")
                .required.repeated,
            .application.required,
            .valued("role", "primary|secondary", "for which side's app (default secondary)"),
            .valued("target", "vendor:UUID|custom:TEXT", "check that it is for this paired identifier"),
            .valued("device", "UUID", "check that it is for this secondary"),
            .valued("applied", "FILE", "configuration that the device has applied: check the version against it"),
            .flag("loaded", "verify as what is applied already and is loaded again"),
            .valued("at", "SECONDS", "verify as at this time since 1970 (default: now)"), .json,
        ],
        notes: """
            FILE holds the configuration or a text with its link; '-' is standard input. Exit code 0: valid. Otherwise the
            rejection is printed by name, as a device would report it. The app's schema is not known here and not checked,
            and the device's version mark only with --applied. --device, --applied and --loaded need --target. --device is
            needed for what is for some secondaries only.
            With --loaded a configuration whose keys have all been revoked since also ends with 0 (see signer-revoked).
            """,
        examples: [
            "verify --key signing.key.pub --app org.example.lamp --target custom:house-7 lamp.config",
            "verify --key signing.key.pub --app org.example.lamp --target custom:house-7 --applied lamp.config "
                + "lamp-2.config",
        ]
    ) { arguments, console in
        let bytes = try EnvelopeInput.read(arguments.operands[0])
        let context = try VerifyRequest(arguments: arguments).context(now: Linux.wallTime)
        let verdict = Result { () throws(VerificationFailure) in
            try ApplicableConfiguration(verifying: bytes, in: context)
        }
        if context.device == nil, case .failure(let failure) = verdict, let only = failure.onlyThatCounts(in: context) {
            let devices = only.map(\.description).joined(separator: ", ")
            throw CommandFailure.usage(
                "--device is needed: it is for some secondaries of this target only (\(devices))")
        }
        let report = VerifyReport(digest: SHA256.digest(bytes), verdict: verdict)
        if arguments.has("json") {
            console.print(json: report.json)
        } else {
            for line in report.lines { console.print(line) }
        }
        if case .failure(let failure) = verdict {
            let hint = EnvelopeInput.keyStatement(bytes).map { kind in
                "; \(arguments.operands[0]) is \(kind), not a configuration: 'tandem keyset show' shows what it says"
            }
            throw CommandFailure.refused(
                "\(failure.rejection): \(Printable.text(failure.detail))" + (hint ?? ""))
        }
    }
}

/// The options of `verify` as a context.
private struct VerifyRequest {
    let arguments: Arguments

    func context(now: WallTime) throws -> VerificationContext {
        let target = try arguments.value("target").map { text throws(IdentifierError) in
            try PairedIdentifier(text: text)
        }
        // Without a target step 13 is not run, and so no device is looked at.
        if target == nil, let option = ["device", "applied", "loaded"].first(where: arguments.has) {
            throw CommandFailure.usage("--\(option) needs --target")
        }
        let time: UInt64? = try arguments.integer("at", in: 0...UInt64(Int64.max / 1000))
        var context = VerificationContext(
            profile: target == nil ? .forwarding : .full, application: try arguments.application(),
            role: arguments.has("role") ? try arguments.role() : .secondary,
            anchor: .trusted(try KeySetChain.read(arguments.all("key"))), target: target,
            device: try arguments.value("device").map {
                try UniqueIdentifier(argument: $0, "is not a UUID", of: "--device ")
            }, now: time.map { WallTime(seconds: $0) } ?? now)
        context.mark = try arguments.value("applied").map { try mark(of: $0, in: context) }
        if arguments.has("loaded") { context.profile = .load }
        return context
    }

    /// The version mark of a device that has applied the configuration in this file.
    private func mark(of path: String, in context: VerificationContext) throws -> VersionMark {
        var loading = context
        loading.profile = .load
        do {
            let bytes = try EnvelopeInput.read(path)
            let applied = try ApplicableConfiguration(verifying: bytes, in: loading)
            return VersionMark(
                version: applied.payload.version, digest: applied.verified.digest,
                statement: applied.verified.statement, floor: applied.payload.floor ?? 0,
                keySetVersion: applied.payload.keySetVersion)
        } catch let failure as VerificationFailure {
            throw CommandFailure.refused("\(path): \(failure.rejection): \(Printable.text(failure.detail))")
        }
    }
}

extension VerificationFailure {
    /// The secondaries that it is for, if nothing but the device that is asked about is in doubt; else nil.
    fileprivate func onlyThatCounts(in context: VerificationContext) -> [UniqueIdentifier]? {
        rejection == .wrongTarget && payload?.target == context.target ? payload?.only : nil
    }
}

/// The output of `verify`.
private struct VerifyReport {
    let digest: [UInt8]
    let verdict: Result<ApplicableConfiguration, VerificationFailure>

    private var name: String {
        switch verdict {
        case .success(let applicable): applicable.verified.isSignerRevoked ? "valid, signer-revoked" : "valid"
        case .failure(let failure): failure.rejection.rawValue
        }
    }

    /// The payload, if a good signature vouches for it.
    private var payload: ConfigurationPayload? {
        switch verdict {
        case .success(let applicable): applicable.payload
        case .failure(let failure): failure.payload
        }
    }

    var lines: [String] {
        var lines = ["verdict  \(name)", "digest   \(Hexadecimal.encode(digest))"]
        guard let payload else { return lines }
        lines.append("version  \(payload.version) for \(payload.role.rawValue), \(Printable.text(payload.target.text))")
        lines.append("txid     \(payload.transaction)")
        lines.append("issued   \(WallTime(seconds: payload.issued))")
        lines += restrictions(in: payload)
        for (key, value) in payload.values {
            lines.append("value    \(Printable.text(key)) = \(PropertyListJSON.text(value))")
        }
        return lines
    }

    /// The fields that restrict where, when and how long it holds; the absent ones have no line.
    private func restrictions(in payload: ConfigurationPayload) -> [String] {
        let names: ([String]) -> String = { $0.map { Printable.text($0) }.joined(separator: ", ") }
        return [
            payload.only.map { "only     \(names($0.map(\.description)))" },
            payload.notBefore.map { "from     \(WallTime(seconds: $0))" },
            payload.expires.map { "expires  \(WallTime(seconds: $0))" },
            payload.lifetime.map { "lifetime \($0) s" },
            payload.floor.map { "floor    \($0)" },
            payload.critical.map { "crit     \(names($0))" },
            payload.optional.map { "optional \(names($0))" },
        ].compactMap { $0 }
    }

    var json: PropertyListValue {
        var fields: PropertyListDictionary = [
            "verdict": .string(name), "digest": .string(Hexadecimal.encode(digest)),
        ]
        fields["payload"] = payload.map { Fact.plain(.dictionary($0.dictionary)) }
        if case .failure(let failure) = verdict { fields["detail"] = .string(failure.detail) }
        return .dictionary(fields)
    }
}
