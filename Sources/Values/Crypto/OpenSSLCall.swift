// The one place where OpenSSL's error queue is cleared and drained. The queue belongs to the thread, not to the call:
// an entry that one call leaves behind makes a later, innocent call look like a failure (SSL_get_error reads it). So
// every call of this room and of TLS runs through `openSSL`, which starts with an empty queue and takes all that is
// left in it.
// It also prepares OpenSSL, before the first call: the machine's openssl.cnf is not read, because what a peer may send
// must not depend on it, and the texts of errors, thousands of them, are loaded when the first is shown.

import CTandemOpenSSL

/// The entries of OpenSSL's error queue after one operation.
package struct OpenSSLFaults: Sendable, Equatable {
    /// The packed codes, oldest first.
    package let codes: [UInt]

    /// The reason numbers of the entries of one library (`ERR_LIB_...`), oldest first.
    package func reasons(in library: Int32) -> [Int32] {
        codes.filter { CTandemOpenSSL_library($0) == library }.map { CTandemOpenSSL_reason($0) }
    }

    /// The texts of all entries, for people.
    package var text: String {
        codes.map(Self.text(of:)).joined(separator: "; ")
    }

    private static func text(of code: UInt) -> String {
        _ = hasTexts
        guard let reason = unsafe ERR_reason_error_string(code) else { return "code \(code)" }
        return unsafe String(cString: reason)
    }
}

private let hasTexts: Void = CTandemOpenSSL_load_error_texts()

private let isPrepared = OPENSSL_init_crypto(CTandemOpenSSL_INIT_QUIETLY, nil) == 1

/// OpenSSL's memory, for the whole process.
package enum OpenSSLMemory {
    /// From now on OpenSSL's memory is cleared before it is freed, so that no secret of an ended connection stays in
    /// the heap (PAR-13). For daemons only: in an app's process the setting would be the app's. Call it before
    /// everything else of OpenSSL.
    /// - Returns: whether it took effect.
    package static func clearOnFree() -> Bool { CTandemOpenSSL_cleanse_freed_memory() == 1 }
}

/// Runs one OpenSSL operation with an empty error queue and takes all that it left there.
package func openSSL<Value>(_ operation: () -> Value) -> (value: Value, faults: OpenSSLFaults) {
    precondition(isPrepared, "OpenSSL starts as long as there is memory")
    // Almost always empty, and clearing an empty queue costs more than many a call.
    if ERR_peek_error() != 0 { ERR_clear_error() }
    let value = operation()
    var codes: [UInt] = []
    while case let code = ERR_get_error(), code != 0 { codes.append(code) }
    return (value, OpenSSLFaults(codes: codes))
}
