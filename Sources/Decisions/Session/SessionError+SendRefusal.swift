// What a caller is told of a refusal (SES-13): one code, one name and one text, whether the app's library or its daemon
// has found it.

package import TandemBase
package import TandemWire

extension SessionError {
    /// The error for a message that must not leave (SES-13).
    package init(_ refusal: SendRefusal, messageID: UniqueIdentifier?) {
        switch refusal {
        case .notSupported:
            self.init(.sessionNotSupported, name: RefusalName.version.rawValue, reason: Self.noCommonVersion)
        case .notActivated:
            self.init(.sessionNotActivated, reason: "the session is not activated: await activate() first")
        case .inactive: self.init(.sessionInactive, reason: "the session is switching to another device: try again")
        case .notPaired:
            self.init(.deviceNotPaired, name: "not-paired", reason: "this device has no such pairing: pair it first")
        case .notInstalled(on: .secondary):
            self.init(
                .watchAppNotInstalled, name: Self.notInstalled,
                reason: "the application was never registered on the secondary")
        case .notInstalled(on: .primary):
            self.init(
                .companionAppNotInstalled, name: Self.notInstalled,
                reason: "the application was never registered on the primary")
        case .badArgument(let argument): self.init(argument)
        case .unsupportedType(let path):
            self.init(
                .payloadUnsupportedTypes, reason: "the message holds something that no property list can hold",
                keyPath: path)
        case .tooLarge(let actual, let limit):
            self.init(
                .payloadTooLarge, name: "too-large", reason: "the content is too large", actual: actual, limit: limit)
        case .notReachable(let reason):
            self.init(.notReachable, name: reason.rawValue, reason: "the counterpart cannot be reached now")
        }
        self.messageID = messageID
    }

    private init(_ argument: BadArgument) {
        switch argument {
        case .reservedKey:
            self.init(
                .invalidParameter, name: argument.rawValue,
                reason: "top-level keys that start with 'tandem.' are reserved: choose another key")
        case .timeout:
            self.init(
                .invalidParameter, name: argument.rawValue, reason: "a timeout is between 1 ms and 600 s")
        case .topic, .supersedeKey, .kind:
            self.init(
                .invalidParameter, name: argument.rawValue,
                reason: "a topic, a key and a kind have 1 to 128 bytes and no NUL", limit: Limits.shortText)
        case .channel:
            self.init(.invalidParameter, name: argument.rawValue, reason: "apps submit nothing on this channel")
        case .timeToLive:
            self.init(.invalidParameter, name: argument.rawValue, reason: "a time to live is more than nothing")
        }
    }

    private static var notInstalled: String { ReachabilityReason.notInstalled.rawValue }

    package static var noCommonVersion: String {
        "this app and its daemon speak no common version of the protocol: update the older one"
    }
}
