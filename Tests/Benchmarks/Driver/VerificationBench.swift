// Verification benchmark: the signature alone, and the other steps of a configuration's verification without it.
// Scripts/bench puts `openssl speed` beside the former.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration

/// Verifications under one key, signed once.
struct VerificationBench {
    /// As many bytes as `openssl speed` verifies at once.
    private static let message = [UInt8](repeating: 0x5A, count: 36)
    /// The size for which the targets are set, in bytes.
    private static let configurationCount = 1024

    private let key: PublicKey
    private let signature: [UInt8]
    private let configuration: [UInt8]
    private let signedBytes: [UInt8]
    private let signedSignature: [UInt8]
    private let context: VerificationContext

    init(_ key: PrivateKey) throws {
        self.key = key.publicKey
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

    /// A configuration with as many values as the size takes.
    private static func signed(
        _ payload: inout ConfigurationPayload, with key: ConfigurationPrivateKey
    ) throws -> [UInt8] {
        while true {
            let signed = try ConfigurationSigner.sign(payload, with: [key])
            if signed.count >= configurationCount { return signed }
            let number = payload.values.count
            payload.values["value\(number)"] = .string("a value of the user \(1000 + number)")
        }
    }

    func report() throws {
        let rounds = Rounds(count: 50)
        try rounds.figure("signature", over: Array(repeating: signature, count: 20)) {
            Sink.keep(key.isValid($0, for: Self.message))
        }.report()
        try remainder(rounds).report()
    }

    /// The whole verification less its signature check, round by round.
    private func remainder(_ rounds: Rounds) throws -> Figure {
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
