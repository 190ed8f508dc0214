// Apple's short way to a code: `catch WCError.notReachable`. It has to be a property of WCError: a case of the enum in
// a pattern is looked for in the matched type itself, so that `WCError.Code.notReachable` matches no error.

import TandemWire

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
