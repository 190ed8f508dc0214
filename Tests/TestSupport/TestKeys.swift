// Keys that tests share: making RSA keys takes most of a second, so each is made once.

import TandemBase
package import TandemCrypto
import Testing

package enum TestKeys {
    private static let first = KeyAlgorithm.allCases.map { ($0, PrivateKey.generate($0)) }
    private static let second = KeyAlgorithm.allCases.map { ($0, PrivateKey.generate($0)) }

    package static func key(_ algorithm: KeyAlgorithm) -> PrivateKey { pick(algorithm, first) }

    package static func other(_ algorithm: KeyAlgorithm) -> PrivateKey { pick(algorithm, second) }

    private static func pick(_ algorithm: KeyAlgorithm, _ keys: [(KeyAlgorithm, PrivateKey)]) -> PrivateKey {
        keys.first { $0.0 == algorithm }?.1 ?? .generate(algorithm)
    }
}

/// The bytes of hexadecimal text written in a test.
package func bytes(_ hexadecimal: String) -> [UInt8] {
    guard let bytes = Hexadecimal.decode(hexadecimal) else {
        Issue.record("not hexadecimal: \(hexadecimal)")
        return []
    }
    return bytes
}
