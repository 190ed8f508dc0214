// Why a report was not believed, by stable names like those of configurations.

/// A report that is not accepted (CFG-51); the raw value is the stable name.
package enum ReportFailure: String, Error, Sendable, Hashable, CaseIterable {
    case malformed
    case shape
    /// Not exactly one signature, or not a good one by the pairing's report key.
    case threshold
    case wrongType = "wrong-type"
    case payloadMalformed = "payload-malformed"
    /// Of another device or pairing than the one whose link it came through.
    case wrongDevice = "wrong-device"
    /// Answers nothing that was asked, or something that is answered.
    case wrongNonce = "wrong-nonce"
    /// Its counter is not higher than the last accepted one.
    case replayed
}

extension ReportFailure: CustomStringConvertible {
    package var description: String { rawValue }
}
