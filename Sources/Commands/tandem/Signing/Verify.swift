// `verify`: verifies a signed configuration offline, by the same steps and names as a daemon and an app's library. The
// version mark and the schema belong to those devices and are not checked.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration

extension Subcommand {
    static let verify = Subcommand(
        path: ["verify"], summary: "verify a signed configuration offline and show what it says",
        operands: [.required("FILE")],
        options: [
            Option.valued("key", "FILE", "public key, or key sets and revocations in order, from the anchor on")
                .required
                .repeated,
            .application.required,
            .valued("role", "primary|secondary", "for which side's app (default secondary)"),
            .valued("target", "vendor:UUID|custom:TEXT", "check that it is for this paired identifier"),
            .valued("device", "UUID", "check that it is for this secondary"), .json,
        ],
        notes: """
            FILE holds the configuration or a text with its link; '-' is standard input. Exit code 0: valid. Otherwise the
            rejection is printed by name, as a device would report it. The device's version mark (rollback) and the app's schema are not known here and not checked.
            """,
        examples: ["verify --key signing.key.pub --app org.example.lamp --target custom:house-7 lamp.config"]
    ) { arguments, console in
        let bytes = try EnvelopeInput.read(arguments.operands[0])
        let context = try VerifyRequest(arguments: arguments).context(now: Linux.wallTime)
        let verdict = Result { () throws(VerificationFailure) in
            try ApplicableConfiguration(verifying: bytes, in: context)
        }
        let report = VerifyReport(digest: SHA256.digest(bytes), verdict: verdict)
        if arguments.has("json") {
            console.print(json: report.json)
        } else {
            report.lines.forEach { console.print($0) }
        }
        if case .failure(let failure) = verdict {
            throw CommandFailure.refused("\(failure.rejection): \(Printable.text(failure.detail))")
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
        return VerificationContext(
            profile: target == nil ? .forwarding : .full, application: try arguments.application(),
            role: arguments.has("role") ? try arguments.role() : .secondary,
            anchor: .trusted(try KeySetChain.read(arguments.all("key"))), target: target,
            device: try arguments.value("device").map {
                try UniqueIdentifier(argument: $0, "is not a UUID", of: "--device ")
            }, now: now)
    }
}

/// The output of `verify`.
private struct VerifyReport {
    let digest: [UInt8]
    let verdict: Result<ApplicableConfiguration, VerificationFailure>

    private var name: String {
        switch verdict {
        case .success: "valid"
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
        if let expires = payload.expires { lines.append("expires  \(WallTime(seconds: expires))") }
        for (key, value) in payload.values {
            lines.append("value    \(Printable.text(key)) = \(PropertyListJSON.text(value))")
        }
        return lines
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
