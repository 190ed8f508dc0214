// Secrets do not stay in freed memory: it is read as another process would read it, by address.

import Glibc
import Testing

@testable import TandemCrypto

@Suite struct SecretBytesTests {
    private static let count = 512

    /// The bytes that this process has at an address now; none if the memory is gone.
    private func memory(at address: UInt) -> [UInt8] {
        let file = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: Self.count)
        let read = bytes.withUnsafeMutableBytes { pread(file, $0.baseAddress, $0.count, off_t(address)) }
        return read == Self.count ? bytes : []
    }

    /// How many bytes are those whose complements these are; chance makes two of 512.
    private func remains(of complements: [UInt8], at address: UInt) -> Int {
        zip(memory(at: address), complements).count { $0 == ~$1 }
    }

    @Test func aSecretThatIsReleasedIsCleansed() {
        var secret: SecretBytes? = SecretBytes(randomCount: Self.count)
        let known = secret?.withBytes { (UInt(bitPattern: $0.baseAddress), $0.map { ~$0 }) }
        let (address, complements) = known ?? (0, [])
        #expect(remains(of: complements, at: address) == Self.count, "the search finds it")
        secret = nil
        #expect(remains(of: complements, at: address) < 32)
    }

    @Test func anArrayThatIsTakenIsCleansed() {
        var source = SecureRandom.bytes(Self.count)
        let complements = source.map { ~$0 }
        let address = source.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        #expect(remains(of: complements, at: address) == Self.count, "the search finds it")
        let secret = SecretBytes(taking: &source)
        #expect(remains(of: complements, at: address) < 32)
        #expect(secret.count == Self.count)
    }
}
