// A delegate as it is written for Apple's platforms. Nothing but the import is different: there it is
// WatchConnectivity.

import Foundation
import PairedSessionFoundation

final class Connectivity: NSObject, WCSessionDelegate {
    func start() {
        guard WCSession.isSupported() else { return }
        WCSession.default.delegate = self
        WCSession.default.activate()
    }

    func session(
        _ session: WCSession, activationDidCompleteWith activationState: WCSessionActivationState, error: Error?
    ) {
        if let error = error as? WCError { print("not activated:", error.code.rawValue, error.localizedDescription) }
        print(activationState == .activated, session.isPaired, session.isWatchAppInstalled)
    }

    func sessionDidBecomeInactive(_ session: WCSession) {}

    func sessionDidDeactivate(_ session: WCSession) { session.activate() }

    func sessionReachabilityDidChange(_ session: WCSession) { print(session.isReachable) }

    func session(_ session: WCSession, didReceiveMessage message: [String: Any]) {
        if let volume = message["volume"] as? Int { print("volume", volume) }
    }

    func session(
        _ session: WCSession, didReceiveMessage message: [String: Any],
        replyHandler: @escaping ([String: Any]) -> Void
    ) {
        guard let volume = message["volume"] as? Double else { return replyHandler(["error": "no volume"]) }
        replyHandler(["half": volume / 2, "at": Date(), "raw": Data([1, 2])])
    }

    func ask() {
        WCSession.default.sendMessage(["volume": 11, "muted": false]) { reply in
            print(reply["half"] as? Double ?? 0)
        } errorHandler: { error in
            print((error as NSError).domain == WCErrorDomain, (error as NSError).code)
        }
        WCSession.default.sendMessage(["volume": 11], replyHandler: nil, errorHandler: nil)
        WCSession.default.sendMessageData(Data([1]), replyHandler: nil) { error in print(error) }
    }
}

let connectivity = Connectivity()
connectivity.start()
connectivity.ask()
