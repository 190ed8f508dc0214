// `sign`: makes a signed configuration, the complete set of values for one app on the devices of one paired identifier.
// It needs no daemon and no network, so that the private key can stay on a machine without either.

import TandemBase
import TandemControl
import TandemCrypto
import TandemPropertyList
import TandemQRCode
import TandemSettings
import TandemSignedConfiguration

extension Subcommand {
    static let sign = Subcommand(
        path: ["sign"], summary: "sign a configuration for an app into a file",
        options: [
            Option.valued("key", "FILE", "private key of mode 0600, or a pkcs11: URI; as many as the threshold")
                .required.repeated,
            .passphraseDescriptor, .passphraseFile, .application.required, .side.required,
            .valued("target", "vendor:UUID|custom:TEXT", "paired identifier of the devices it is for").required,
            .valued("version", "N", "from 1, higher than every one before").required,
            .out.required,
            Option.valued("set", "KEY=VALUE", "a value: true, 7, 1.5, or text; \"7\" is text").repeated,
            .valued("values", "FILE", "values from a file with one JSON object"),
            Option.valued("only", "UUID", "only this secondary (its vendor identifier)").repeated,
            Option.valued("optional", "KEY", "a value that apps without it may ignore").repeated,
            .valued("expires", "TIME", "from now, such as 30d; not applied after that (at most 400d)"),
            .valued("lifetime", "TIME", "revert the values when they have been applied that long, such as 24h"),
            .valued("floor", "N", "once applied, refuse every version below N"),
            .valued("keyset", "FILE", "the key set in force (tandem keyset show), if the keys are of one"),
            .valued("check", "FILE", "refuse values that this schema refuses (tandem settings schema)"),
            .flag("link", "also print it as a link, and as a QR code if one can hold it"),
            .flag("qr", "also print its link as a QR code alone; refused if none can hold it"),
        ],
        notes: """
            A key that is not among the values has no override: the values are the complete set, not a change.
            An on-off setting is true or false, also if the app's settings page stores other values for them. Besides
            on-off settings, numbers and texts only a list of texts can be signed; it needs --values.
            A private key on a token has a URI (RFC 7512) in the place of FILE, such as 'pkcs11:token=safe;object=signing';
            it needs OpenSSL's provider 'pkcs11'. Its PIN is asked for, or read as a passphrase.
            """,
        examples: [
            "sign --key signing.key --app org.example.lamp --role secondary --target custom:house-7 --version 1 "
                + "--set logging=true --set volume=75 --out lamp.config",
            "sign --key signing.key --app org.example.lamp --role secondary "
                + "--target vendor:0123ABCD-0000-4000-8000-0123456789AB --version 2 --values lamp.json --expires 30d "
                + "--out lamp-2.config",
        ]
    ) { arguments, console in
        let keys = try KeyFile.signing(arguments)
        let request = SignRequest(arguments: arguments)
        let now = SigningClock.read(console)
        let payload = try request.payload(now: now)
        let bytes = try ConfigurationSigner.sign(payload, with: keys.map { ConfigurationPrivateKey($0) })
        try request.check(bytes, payload, by: keys, now: now)
        guard !arguments.has("qr") || ApplyLink.fitsQRCode(bytes) else {
            throw CommandFailure.refused(
                "no QR code can hold a link to these \(bytes.count) bytes; --link prints it as text")
        }
        let file = LocalFile(path: try arguments.required("out"))
        try KeyFile.create(bytes, as: file)
        request.warnings(of: payload).forEach { console.warn($0) }
        console.print("signed   \(file.path), \(bytes.count) bytes")
        console.print("version  \(payload.version) for \(payload.target.text)")
        console.print("txid     \(payload.transaction)")
        console.print("digest   \(Hexadecimal.encode(SHA256.digest(bytes)))")
        guard arguments.has("link") || arguments.has("qr") else { return }
        let link = ApplyLink.text(of: bytes)
        if arguments.has("link") { console.print("\n\(link)") }
        if ApplyLink.fitsQRCode(bytes) {
            console.write("\n" + (try QRCode(link).terminalText(inColour: console.isColoured)))
        }
    }
}

/// The options of `sign` as a payload.
private struct SignRequest {
    let arguments: Arguments

    func payload(now: WallTime) throws -> ConfigurationPayload {
        var payload = ConfigurationPayload(
            application: try arguments.application(), role: try arguments.role(),
            target: try PairedIdentifier(text: try arguments.required("target")), version: try version("version"),
            transaction: .random(), issued: now.seconds, values: try ValuesInput(arguments).values())
        payload.only = try only()
        payload.optional = arguments.has("optional") ? arguments.all("optional") : nil
        payload.expires = try seconds("expires").map { now.seconds + $0 }
        payload.lifetime = try seconds("lifetime")
        payload.floor = arguments.has("floor") ? try version("floor") : nil
        if let history = try keySet() { payload.keySetVersion = history.current.version }
        try checkSchema(payload)
        return payload
    }

    /// Fewer versions left than this are worth a warning. A version taken from a clock in nanoseconds leaves far more.
    private static let fewVersions: UInt64 = 1_000_000

    /// Warnings about what is allowed and seldom intended: a floor above the version, and a version that hardly any
    /// other is above.
    func warnings(of payload: ConfigurationPayload) -> [String] {
        var warnings: [String] = []
        if let floor = payload.floor, floor > payload.version {
            warnings.append(
                "warning: --floor \(floor) is above --version \(payload.version): after this one, only version \(floor) "
                    + "and higher are applied")
        }
        let left = UInt64.max - max(payload.version, payload.floor ?? 0)
        if left < Self.fewVersions {
            warnings.append(
                "warning: once this one is applied, only \(left) higher versions are left for \(payload.target.text); "
                    + "versions begin again only after 'tandem keyset rotate' has replaced all configuration keys")
        }
        return warnings
    }

    /// The app would refuse the configuration as a whole, by the name `schema` and with this text.
    private func checkSchema(_ payload: ConfigurationPayload) throws {
        guard let path = arguments.value("check") else { return }
        do {
            let document = try SchemaDocument(reading: try LocalFile(path: path).read())
            _ = try document.schema.payload(payload.values, optional: payload.optional ?? [])
        } catch let error as SettingsPayloadError {
            throw ValuesInput(arguments).explained(.refused("\(error) [schema]"))
        } catch {
            throw CommandFailure.refused("\(path): \(error)")
        }
    }

    private func keySet() throws -> KeySetHistory? { try arguments.value("keyset").map { try KeySetChain.read([$0]) } }

    /// Under a key set the configuration must be one that a device would accept: a signature too few is found here.
    func check(_ bytes: [UInt8], _ payload: ConfigurationPayload, by keys: [PrivateKey], now: WallTime) throws {
        guard let history = try keySet() else { return }
        let needs = try SignatureNeeds(of: bytes, after: history)
        if needs.isMissing { try needs.refuseSurplus(keys, arguments) }
        let context = VerificationContext(
            profile: .forwarding, application: payload.application, role: payload.role, anchor: .trusted(history),
            target: nil, device: nil, now: now)
        do { _ = try ApplicableConfiguration(verifying: bytes, in: context) } catch {
            throw CommandFailure.refused("under this key set it would be refused: \(error)")
        }
    }

    private func version(_ name: String) throws -> UInt64 {
        guard let number: UInt64 = try arguments.integer(name, in: 1...UInt64.max) else {
            throw CommandFailure.usage("--\(name) is missing")
        }
        return number
    }

    private func seconds(_ name: String) throws -> UInt64? {
        guard let duration = try arguments.duration(name) else { return nil }
        let seconds = UInt64(clamping: duration.saturatingMilliseconds / 1000)
        // Four centuries: far above every limit, far below where adding to a date could overflow.
        guard (1...12_700_000_000).contains(seconds) else {
            throw CommandFailure.usage("--\(name) must be at least 1s and a time that somebody can wait for")
        }
        return seconds
    }

    private func only() throws -> [UniqueIdentifier]? {
        guard arguments.has("only") else { return nil }
        return try arguments.all("only").map {
            try UniqueIdentifier(argument: $0, "is not a UUID; 'tandem status' shows a device's", of: "--only ")
        }
    }
}

/// The values that `--set` and `--values` give.
struct ValuesInput {
    private let assignments: [String]
    private let path: String?

    init(_ arguments: Arguments) { self.init(arguments, assignments: arguments.all("set")) }

    /// - Parameter assignments: texts of the form `KEY=VALUE`.
    init(_ arguments: Arguments, assignments: [String]) {
        self.assignments = assignments
        path = arguments.value("values")
    }

    /// The file's values and then the options', of which none may be in the file too.
    func values() throws -> PropertyListDictionary {
        var values = try path.map(Self.file) ?? PropertyListDictionary()
        for assignment in assignments {
            let (key, value) = try Self.assignment(assignment)
            guard values[key] == nil else { throw CommandFailure.usage("the value '\(key)' is given twice") }
            values[key] = value
        }
        return values
    }

    /// A refusal with the way out, if a value of the arguments may have another type than was meant.
    func explained(_ failure: CommandFailure) -> CommandFailure {
        guard !assignments.isEmpty, case .refused(let text) = failure else { return failure }
        let types = text.split(separator: "is not of type ").dropFirst().map { $0.prefix(while: \.isLetter) }
        let ways = Self.ways.filter { way in way.types.contains { types.contains($0.rawValue[...]) } }
        return ways.isEmpty ? failure : .refused(([text] + ways.map(\.text)).joined(separator: "\n"))
    }

    /// The way to write a value of each type that is not written as its plain text.
    private static let ways: [(types: [SettingType], text: String)] = [
        (
            [.strings, .array, .set],
            "A list needs --values FILE, with one JSON object such as {\"KEY\": [\"a\", \"b\"]}"
        ),
        ([.dictionary], "An object needs --values FILE, such as {\"KEY\": {\"a\": 1}}"),
        ([.string], "Quote a text that looks like a number: KEY='\"123\"'"),
        ([.boolean], "Write true or false, also if the app's settings page stores other values for them"),
        (
            [.date],
            "A date needs --values FILE with {\"KEY\": {\"$date\": 1795426200000}}, milliseconds since 1970; "
                + "'tandem settings edit' takes 2026-11-23T09:30"
        ),
        ([.data], "Data needs --values FILE with {\"KEY\": {\"$data\": \"AAEC\"}}, in base64url"),
        ([.coded], "Only the app itself writes a value of this type"),
    ]

    /// One `KEY=VALUE`.
    static func assignment(_ text: String) throws(CommandFailure) -> (String, PropertyListValue) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, let key = parts.first, let value = parts.last, !key.isEmpty else {
            throw .usage("'\(text)' is not KEY=VALUE")
        }
        return (key, scalar(value))
    }

    private static func scalar(_ text: String) -> PropertyListValue {
        switch try? JSONReader.read(text) {
        case .boolean(let flag): .boolean(flag)
        case .integer(let number): .integer(number)
        case .unsigned(let number): .unsigned(number)
        case .real(let number): .real(number)
        case .string(let quoted): .string(quoted)
        default: .string(text)
        }
    }

    static func file(_ path: String) throws -> PropertyListDictionary {
        try object(try LocalFile(path: path).read(), of: path)
    }

    /// The values in the bytes of a JSON text.
    /// - Parameter source: where they are from.
    static func object(_ bytes: [UInt8], of source: String) throws(CommandFailure) -> PropertyListDictionary {
        let value: PropertyListValue
        do { value = try JSONReader.read(bytes) } catch { throw .refused("\(source): \(error)") }
        guard let values = value.dictionaryValue else {
            throw .refused("\(source): the values must be one JSON object")
        }
        return values
    }
}
