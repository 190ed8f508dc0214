// Apple's error with its domain and numbers, and the whole story underneath: the session's own error with name, limits,
// key path, peer and message.

public import Foundation
import PairedSession
public import TandemBase
import TandemWire

/// The domain of ``WCError`` as an NSError; Apple's name.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let WCErrorDomain = "WCErrorDomain"

/// An error of a ``WCSession``.
public struct WCError: CustomNSError, LocalizedError, Sendable {
    /// The codes, with Apple's names and numbers.
    public typealias Code = SessionError.Code

    /// What kind of failure; also ``errorCode``.
    public let code: Code
    /// What happened, in the words of the session underneath.
    public let underlyingError: SessionError

    /// The same failure by Apple's name.
    public init(_ error: SessionError) {
        code = error.code
        underlyingError = error
    }

    /// Any error on the way of a message; what is no session error becomes `genericError`.
    init(_ error: any Error) {
        self.init(error as? SessionError ?? SessionError(.genericError, reason: "\(error)"))
    }

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
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: underlyingError.reason] }
    public var errorDescription: String? { underlyingError.reason }
}
