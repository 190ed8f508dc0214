// The cost of verifying: the signature alone for each kind of key, signed once and verified many times, and everything
// else that the verification of a configuration does. Scripts/lib/bench puts `openssl speed` beside it.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration

extension Subcommand {
    static let benchVerify = Subcommand(
        path: ["bench", "verify"], summary: "measure verifying signatures and configurations",
        options: [
            Option.valued("key", "FILE", "private key to measure instead of fresh ones").repeated,
            .valued("rounds", "N", "rounds of 20 verifications (default 50)"), .json,
        ],
        notes: "Times are CPU nanoseconds per verification. Without --key: a fresh Ed25519, P-256 and RSA-3072 key.",
        examples: ["bench verify", "bench verify --key signing.key --json"]
    ) { arguments, console in
        let rounds = Rounds(count: try arguments.integer("rounds", in: 1...1_000_000) ?? 50)
        let keys = try arguments.all("key").map { try KeyFile(path: $0).signing() }
        for key in keys.isEmpty ? KeyAlgorithm.allCases.map(PrivateKey.generate) : keys {
            let bench = try VerifyBench(key)
            if !arguments.has("json") {
                console.print("\(bench.name), configuration of \(bench.configuration.count) B")
            }
            try bench.figures(rounds).forEach { $0.print(on: console, as: arguments) }
        }
    }
}

/// Verifications under one key.
private struct VerifyBench {
    /// As many as `openssl speed` verifies at once.
    private static let message = [UInt8](repeating: 0x5A, count: 36)
    /// What the targets are set for, in bytes.
    private static let configurationCount = 1024

    let name: String
    let key: PublicKey
    let signature: [UInt8]
    let configuration: [UInt8]
    let signedBytes: [UInt8]
    let signedSignature: [UInt8]
    let context: VerificationContext

    init(_ key: PrivateKey) throws {
        self.key = key.publicKey
        name = key.publicKey.displayName
        signature = key.sign(Self.message)
        let application = try ApplicationIdentifier("org.example.bench")
        let target = try PairedIdentifier(text: "custom:bench")
        let now = Linux.wallTime
        var payload = ConfigurationPayload(
            application: application, role: .secondary, target: target, version: 1, transaction: .random(),
            issued: now.seconds, values: [:])
        configuration = try Self.signed(&payload, with: ConfigurationPrivateKey(key))
        let envelope = try UnverifiedEnvelope(configuration)
        signedBytes = PreAuthenticationEncoding.bytes(type: envelope.payloadType, body: envelope.payload)
        signedSignature = envelope.signatures.first?.bytes ?? []
        context = VerificationContext(
            profile: .full, application: application, role: .secondary,
            anchor: ConfigurationAnchor(pem: key.publicKey.pem), target: target, device: nil, now: now)
    }

    /// A configuration with as many values as it takes to reach the size.
    private static func signed(_ payload: inout ConfigurationPayload, with key: ConfigurationPrivateKey) throws
        -> [UInt8]
    {
        while true {
            let signed = try ConfigurationSigner.sign(payload, with: [key])
            if signed.count >= configurationCount { return signed }
            let number = payload.values.count
            payload.values["value\(number)"] = .string("a value of the user \(1000 + number)")
        }
    }

    func figures(_ rounds: Rounds) throws -> [Figure] {
        let alone = try rounds.figure("signature", over: Array(repeating: signature, count: 20)) {
            Sink.keep(key.isValid($0, for: Self.message))
        }
        return [alone, try rest(rounds)]
    }

    /// What is left of the whole when the signature's time is taken away, round by round.
    private func rest(_ rounds: Rounds) throws -> Figure {
        let times = try (0..<rounds.count).map { _ in
            let start = Rounds.nanoseconds()
            for _ in 0..<20 { Sink.keep(try ApplicableConfiguration(verifying: configuration, in: context)) }
            let middle = Rounds.nanoseconds()
            for _ in 0..<20 { Sink.keep(key.isValid(signedSignature, for: signedBytes)) }
            return Double(2 * middle - start - Rounds.nanoseconds()) / 20
        }
        return Figure(operation: "configuration without signature", times: times)
    }
}

extension PublicKey {
    /// The algorithm, and an RSA key's size.
    fileprivate var displayName: String {
        switch algorithm {
        case .ed25519: "Ed25519"
        case .ecdsaP256: "P-256"
        case .rsaPSS: "RSA-\(bits)"
        }
    }
}
