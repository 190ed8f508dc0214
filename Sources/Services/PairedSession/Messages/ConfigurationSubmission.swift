// Signed configurations that the app itself brings to its daemon, as it was given them by a link.

import TandemBase
import TandemWire

/// The verdict on a configuration that the app has handed over.
public struct ConfigurationVerdict: Sendable, Hashable {
    /// `applied`, `waiting-for-app` or a rejection's name (Protocol/SignedConfiguration.md CFG-24); nil if this app's
    /// own message handler has not judged it in time.
    public let name: String?
    /// For people; may be empty.
    public let text: String

    package init(name: String?, text: String) {
        self.name = name
        self.text = text
    }
}

extension ConfigurationVerdict: CustomStringConvertible {
    /// A line for a log; control characters are escaped.
    public var description: String {
        OutsideText.line((name ?? "no verdict yet") + (text.isEmpty ? "" : ": \(text)"))
    }
}

extension PairedSession {
    /// Hands the exact bytes of a signed configuration for this app to this device's daemon (CFG-60): what
    /// `Configuration.handleOpen(url:submit:)` has found in a link. The daemon verifies it, and it comes back through
    /// the app's own message handler before this returns; so do not call it from that handler. It needs no pairing: an
    /// app on a primary may have a configuration before any secondary is paired.
    /// - Throws: 7001 `too-large` for bytes that fit no frame; 7004, 7007, 7014 `daemon-lost`; 7005 from a daemon of an
    ///   earlier release without a pairing; 7008 `unknown-command` if the daemon takes none; 7001 `cancelled` if the
    ///   caller's task is cancelled, after which the configuration may still be applied.
    public func submitConfiguration(_ envelope: [UInt8]) async throws(SessionError) -> ConfigurationVerdict {
        let answer = try await core.result { [pairing] core, completion in
            core.ask(.apply(envelope: envelope), pairing: pairing, channel: .configuration, then: completion)
        }
        let verdict = ApplyAnswer(answer.body)
        return ConfigurationVerdict(name: verdict.verdict, text: verdict.text)
    }
}
