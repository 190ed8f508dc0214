// The one home of secret bytes: private keys in text form, join secrets, keys of HMACs. A Swift array is copied when it
// is shared and freed without being cleared; this buffer has one owner, is never copied and is cleansed when freed.
// It has no description, so that a log or an error cannot show it.

import CTandemOpenSSL

/// Secret bytes with one owner; cleansed when released. Safe to share: the bytes never change.
@safe package final class SecretBytes: @unchecked Sendable {
    // @unchecked: the buffer is written only in the initialisers and deinit; nothing else can reach it then.
    private let buffer: UnsafeMutableRawBufferPointer

    /// A buffer that `body` fills.
    init(count: Int, filledBy body: (UnsafeMutableRawBufferPointer) -> Void) {
        unsafe buffer = .allocate(byteCount: count, alignment: 16)
        unsafe body(buffer)
    }

    /// Copies the bytes. The caller's array stays as it is: prefer ``init(taking:)`` where it is the last copy.
    package convenience init(copying bytes: some Collection<UInt8>) {
        unsafe self.init(count: bytes.count) { unsafe $0.copyBytes(from: bytes) }
    }

    /// Copies the bytes and then cleanses the caller's array.
    package convenience init(taking bytes: inout [UInt8]) {
        self.init(copying: bytes)
        unsafe bytes.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
        bytes = []
    }

    /// Fresh random bytes.
    package convenience init(randomCount count: Int) {
        unsafe self.init(count: count) { unsafe SecureRandom.fill($0) }
    }

    /// Number of bytes.
    package var count: Int { unsafe buffer.count }

    /// Lends the bytes for the length of the call; the pointer must not leave it.
    @safe package func withBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        unsafe body(UnsafeRawBufferPointer(buffer))
    }

    /// A copy as an array, for the one place that must write it out; nobody cleanses that copy.
    package var exposed: [UInt8] { unsafe Array(buffer) }

    deinit {
        unsafe OPENSSL_cleanse(buffer.baseAddress, buffer.count)
        unsafe buffer.deallocate()
    }
}

extension SecretBytes: Equatable {
    /// Compares in constant time.
    package static func == (left: SecretBytes, right: SecretBytes) -> Bool {
        left.withBytes { first in right.withBytes { second in unsafe isEqualInConstantTime(first, second) } }
    }
}
