// Apple's error with its domain and numbers, and the whole story underneath: the session's own error with name, limits,
// key path, peer and message.

public import Foundation
public import TandemBase
import TandemWire

/// The domain of ``WCError`` as an NSError; Apple's name.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let WCErrorDomain = "WCErrorDomain"

/// An error of a ``WCSession``.
public struct WCError: CustomNSError, LocalizedError, Hashable, Sendable {
    /// The codes, with Apple's names and numbers.
    public typealias Code = SessionError.Code

    /// The error of the session underneath.
    public let underlyingError: SessionError

    /// The same failure by Apple's name.
    public init(_ error: SessionError) { underlyingError = error }

    /// An error of this code, as tests of an app make them.
    /// - Parameters:
    ///   - code: the code.
    ///   - userInfo: its localized description becomes this error's; other entries are not kept.
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        underlyingError = SessionError(code, reason: userInfo[NSLocalizedDescriptionKey] as? String ?? "\(code)")
    }

    /// Any error on the way of a message; what is no session error becomes `genericError`.
    init(_ error: any Error) {
        self.init(error as? SessionError ?? SessionError(.genericError, reason: "\(error)"))
    }

    /// The kind of failure; also ``errorCode``.
    public var code: Code { underlyingError.code }
    /// The size or count that was too large.
    public var actual: Int? { underlyingError.actual }
    /// The limit that it exceeds.
    public var limit: Int? { underlyingError.limit }
    /// Where in the payload the fault is, for example `a.b[2]`.
    public var keyPath: String? { underlyingError.keyPath }
    /// The other device, by its vendor identifier.
    public var peer: UniqueIdentifier? { underlyingError.peer }
    /// The message or item that failed.
    public var messageID: UniqueIdentifier? { underlyingError.messageID }
    /// The same call may succeed later without a change by the caller.
    public var isRetryable: Bool { underlyingError.isRetryable }

    public static var errorDomain: String { WCErrorDomain }
    public var errorCode: Int { code.rawValue }
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: text] }
    /// The text for people under `NSLocalizedDescriptionKey`, as an `NSError` has it.
    public var userInfo: [String: Any] { errorUserInfo }
    public var errorDescription: String? { text }

    /// The reason, the sizes and the key path of the fault. The reason of `unhandled` names its topic already.
    private var text: String {
        var text = underlyingError.shownReason
        if let sizes = underlyingError.shownSizes { text += " (\(sizes))" }
        guard let keyPath = underlyingError.shownKeyPath, !underlyingError.isNamed(.unhandled) else { return text }
        return "\(text) at \(keyPath)"
    }

    /// Equal errors have equal codes; the other facts need not be hashed.
    public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}

// MARK: - Apple's short way to a code: `catch WCError.notReachable`. The compiler looks for a case in the matched type
// itself, so that `WCError.Code.notReachable` matches no error.
extension WCError {
    /// 7001: ``/PairedSession/SessionError/Code/genericError``.
    public static var genericError: Code { .genericError }
    /// 7002: ``/PairedSession/SessionError/Code/sessionNotSupported``.
    public static var sessionNotSupported: Code { .sessionNotSupported }
    /// 7003: ``/PairedSession/SessionError/Code/sessionMissingDelegate``.
    public static var sessionMissingDelegate: Code { .sessionMissingDelegate }
    /// 7004: ``/PairedSession/SessionError/Code/sessionNotActivated``.
    public static var sessionNotActivated: Code { .sessionNotActivated }
    /// 7005: ``/PairedSession/SessionError/Code/deviceNotPaired``.
    public static var deviceNotPaired: Code { .deviceNotPaired }
    /// 7006: ``/PairedSession/SessionError/Code/watchAppNotInstalled``.
    public static var watchAppNotInstalled: Code { .watchAppNotInstalled }
    /// 7007: ``/PairedSession/SessionError/Code/notReachable``.
    public static var notReachable: Code { .notReachable }
    /// 7008: ``/PairedSession/SessionError/Code/invalidParameter``.
    public static var invalidParameter: Code { .invalidParameter }
    /// 7009: ``/PairedSession/SessionError/Code/payloadTooLarge``.
    public static var payloadTooLarge: Code { .payloadTooLarge }
    /// 7010: ``/PairedSession/SessionError/Code/payloadUnsupportedTypes``.
    public static var payloadUnsupportedTypes: Code { .payloadUnsupportedTypes }
    /// 7011: ``/PairedSession/SessionError/Code/messageReplyFailed``.
    public static var messageReplyFailed: Code { .messageReplyFailed }
    /// 7012: ``/PairedSession/SessionError/Code/messageReplyTimedOut``.
    public static var messageReplyTimedOut: Code { .messageReplyTimedOut }
    /// 7013: ``/PairedSession/SessionError/Code/fileAccessDenied``.
    public static var fileAccessDenied: Code { .fileAccessDenied }
    /// 7014: ``/PairedSession/SessionError/Code/deliveryFailed``.
    public static var deliveryFailed: Code { .deliveryFailed }
    /// 7015: ``/PairedSession/SessionError/Code/insufficientSpace``.
    public static var insufficientSpace: Code { .insufficientSpace }
    /// 7016: ``/PairedSession/SessionError/Code/sessionInactive``.
    public static var sessionInactive: Code { .sessionInactive }
    /// 7017: ``/PairedSession/SessionError/Code/transferTimedOut``.
    public static var transferTimedOut: Code { .transferTimedOut }
    /// 7018: ``/PairedSession/SessionError/Code/companionAppNotInstalled``.
    public static var companionAppNotInstalled: Code { .companionAppNotInstalled }
    /// 7019: ``/PairedSession/SessionError/Code/watchOnlyApp``.
    public static var watchOnlyApp: Code { .watchOnlyApp }
}

extension SessionError.Code {
    /// Lets a `catch WCError.notReachable` match a ``WCError``.
    public static func ~= (code: Self, error: any Error) -> Bool { (error as? WCError)?.code == code }
}
