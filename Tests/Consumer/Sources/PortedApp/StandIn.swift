// A protocol of the app's own before the session, a stand-in for its tests, and a delegate that is tested alone.

import Foundation
import PairedSessionFoundation

// snippet.standIn
#if canImport(WatchConnectivity)
    typealias ReplyHandler = ([String: Any]) -> Void
    typealias ErrorHandler = (any Error) -> Void
#else
    typealias ReplyHandler = @Sendable (sending [String: Any]) -> Void
    typealias ErrorHandler = @Sendable (any Error) -> Void
#endif

protocol ConnectivitySession {
    var isReachable: Bool { get }
    func sendMessage(_ message: [String: Any], replyHandler: ReplyHandler?, errorHandler: ErrorHandler?)
    func updateApplicationContext(_ applicationContext: [String: Any]) throws
}

extension WCSession: ConnectivitySession {}

final class StandIn: ConnectivitySession {
    var isReachable = true
    private(set) var contexts: [[String: Any]] = []

    func sendMessage(_ message: [String: Any], replyHandler: ReplyHandler?, errorHandler: ErrorHandler?) {
        if isReachable {
            replyHandler?(["half": 5.5])
        } else {
            errorHandler?(WCError(.notReachable))
        }
    }

    func updateApplicationContext(_ applicationContext: [String: Any]) throws { contexts.append(applicationContext) }
}
// snippet.end

// snippet.receivedFile
func testReceivedFile(_ delegate: Connectivity, at url: URL) {
    delegate.session(.default, didReceive: WCSessionFile(fileURL: url, metadata: ["album": 7]))
}
// snippet.end
