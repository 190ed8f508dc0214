// The delegate with Apple's methods for what exists here. All are called on one serial queue that is not the main one.
// Apple's optional methods have a default here; the default of a receiving method reports itself, so that the sender
// gets an error at once (7014: no handler) instead of waiting. `sessionDidDeactivate` has a default that logs an error,
// because the app must call `activate()` there.
//
// Received dictionaries are `sending`: nothing else refers to them, so that a method may move one to another actor. A
// method that does not is declared as for Apple, without the word.
//
// The protocol is `SendableMetatype`: a type that conforms to it on one actor alone (`InferIsolatedConformances`, or a
// target whose default isolation is the main actor) would be called on the callback queue nonetheless. So the compiler
// refuses such a conformance.

public import Foundation

/// Receives what happens to a ``WCSession``. Up to 256 messages wait while a method runs; the senders of further ones
/// get 7014 `inbox-full`.
public protocol WCSessionDelegate: AnyObject, SendableMetatype {
    /// Ends an `activate()`; also called when a session that had lost its daemon is activated again by itself.
    func session(
        _ session: WCSession, activationDidCompleteWith activationState: WCSessionActivationState, error: (any Error)?)

    /// On a primary: another secondary becomes the active one; nothing new may be sent.
    func sessionDidBecomeInactive(_ session: WCSession)
    /// On a primary: the former secondary is left; call `activate()` for the new one. Once for each
    /// `sessionDidBecomeInactive`; a further switch before `activate()` is not told.
    func sessionDidDeactivate(_ session: WCSession)

    /// On a primary: `isPaired`, `isWatchAppInstalled`, `isComplicationEnabled` or the active pairing's directory
    /// (`watchDirectoryURL`) differs from what the delegate last saw, which is at first what it reads within the first
    /// `session(_:activationDidCompleteWith:error:)`. After a switch it follows the completion of the activation.
    func sessionWatchStateDidChange(_ session: WCSession)
    /// On a secondary: the same for `isPaired` and `isCompanionAppInstalled`.
    func sessionCompanionAppInstalledDidChange(_ session: WCSession)
    /// `isReachable` differs from the value that the delegate last saw, which is at first the one within the first
    /// `session(_:activationDidCompleteWith:error:)`. A switch or a lost daemon changes it to false. A later activation
    /// may change it to true; this call then follows the completion. A change that is reversed before the callback runs
    /// has none.
    func sessionReachabilityDidChange(_ session: WCSession)

    /// A dictionary whose sender waits for no reply.
    func session(_ session: WCSession, didReceiveMessage message: sending [String: Any])
    /// A dictionary whose sender waits: call the reply handler once, from any thread, at any later time. Letting it go
    /// unused is 7011 for the sender.
    func session(
        _ session: WCSession, didReceiveMessage message: sending [String: Any],
        replyHandler: @escaping @Sendable ([String: Any]) -> Void)
    /// Bytes whose sender waits for no reply.
    func session(_ session: WCSession, didReceiveMessageData messageData: Data)
    /// Bytes whose sender waits; otherwise as for a dictionary.
    func session(
        _ session: WCSession, didReceiveMessageData messageData: Data,
        replyHandler: @escaping @Sendable (Data) -> Void)

    /// A context, newer than any before. Returning means handled.
    func session(_ session: WCSession, didReceiveApplicationContext applicationContext: sending [String: Any])
    /// A user info, in the order of its sender's calls. Returning means handled.
    func session(_ session: WCSession, didReceiveUserInfo userInfo: sending [String: Any])
    /// A user info is stored on the other device, or never will be.
    func session(_ session: WCSession, didFinish userInfoTransfer: WCSessionUserInfoTransfer, error: (any Error)?)
    /// A file arrived; it is deleted when this returns: move it away.
    func session(_ session: WCSession, didReceive file: WCSessionFile)
    /// A file is stored on the other device, or never will be.
    func session(_ session: WCSession, didFinish fileTransfer: WCSessionFileTransfer, error: (any Error)?)
}

extension WCSessionDelegate {
    public func sessionDidBecomeInactive(_ session: WCSession) {}
    /// Reports itself: the session stays deactivated until the app calls `activate()`.
    public func sessionDidDeactivate(_ session: WCSession) { session.reportUnansweredSwitch() }
    public func sessionWatchStateDidChange(_ session: WCSession) {}
    public func sessionCompanionAppInstalledDidChange(_ session: WCSession) {}
    public func sessionReachabilityDidChange(_ session: WCSession) {}

    public func session(_ session: WCSession, didReceiveMessage message: sending [String: Any]) {
        UnhandledReport.set()
    }

    public func session(
        _ session: WCSession, didReceiveMessage message: sending [String: Any],
        replyHandler: @escaping @Sendable ([String: Any]) -> Void
    ) { UnhandledReport.set() }

    public func session(_ session: WCSession, didReceiveMessageData messageData: Data) { UnhandledReport.set() }

    public func session(
        _ session: WCSession, didReceiveMessageData messageData: Data,
        replyHandler: @escaping @Sendable (Data) -> Void
    ) { UnhandledReport.set() }

    public func session(_ session: WCSession, didReceiveApplicationContext applicationContext: sending [String: Any]) {
        UnhandledReport.set()
    }

    public func session(_ session: WCSession, didReceiveUserInfo userInfo: sending [String: Any]) {
        UnhandledReport.set()
    }

    public func session(
        _ session: WCSession, didFinish userInfoTransfer: WCSessionUserInfoTransfer, error: (any Error)?
    ) {}

    /// Refuses the file: its sender learns that nothing handles it.
    public func session(_ session: WCSession, didReceive file: WCSessionFile) { UnhandledReport.set() }

    /// Ignores it.
    public func session(_ session: WCSession, didFinish fileTransfer: WCSessionFileTransfer, error: (any Error)?) {}
}

/// How a default method tells its caller, the callback queue, that it was reached: in that thread's own storage.
enum UnhandledReport {
    private static let key = "tandem.session.unhandled"

    static var isSet: Bool { Thread.current.threadDictionary[key] != nil }

    static func set() { Thread.current.threadDictionary[key] = true }

    static func reset() { Thread.current.threadDictionary[key] = nil }
}

/// Where a ``WCSession`` stands.
public enum WCSessionActivationState: Int, Sendable {
    /// Before the first `activate()`, without a daemon, and after `sessionDidDeactivate`.
    case notActivated = 0
    /// A switch to another device has begun: nothing new may be sent.
    case inactive = 1
    /// The session may be used.
    case activated = 2
}
