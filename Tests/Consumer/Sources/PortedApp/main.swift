// A session as it is written for Apple's platforms: every method of the delegate and every call that exists here. Only
// the import is different: there it is WatchConnectivity. The documentation ("Porting from WatchConnectivity") lists
// the other differences.

import Foundation
import PairedConfiguration
import PairedSessionFoundation

// snippet.delegate
final class Connectivity: NSObject, WCSessionDelegate {
    func start() {
        guard WCSession.isSupported() else { return }
        WCSession.default.delegate = self
        WCSession.default.activate()
    }

    // MARK: activation and switching

    func session(
        _ session: WCSession, activationDidCompleteWith activationState: WCSessionActivationState, error: Error?
    ) {
        if let error = error as? WCError { print("not activated:", error.code.rawValue, error.localizedDescription) }
        guard activationState == .activated else { return }
        print(session.isPaired, session.isWatchAppInstalled, session.isCompanionAppInstalled, session.isReachable)
        print(session.hasContentPending, session.iOSDeviceNeedsUnlockAfterRebootForReachability)
    }

    func sessionDidBecomeInactive(_ session: WCSession) { print("inactive:", session.activationState == .inactive) }

    func sessionDidDeactivate(_ session: WCSession) { session.activate() }

    // MARK: state

    func sessionWatchStateDidChange(_ session: WCSession) {
        print(session.isPaired, session.isWatchAppInstalled, session.isComplicationEnabled)
        if let directory = session.watchDirectoryURL { print(directory.path) }
    }

    func sessionCompanionAppInstalledDidChange(_ session: WCSession) { print(session.isCompanionAppInstalled) }

    func sessionReachabilityDidChange(_ session: WCSession) { print(session.isReachable) }

    // MARK: messages

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

    func session(_ session: WCSession, didReceiveMessageData messageData: Data) { print(messageData.count) }

    func session(
        _ session: WCSession, didReceiveMessageData messageData: Data, replyHandler: @escaping (Data) -> Void
    ) {
        replyHandler(Data(messageData.reversed()))
    }

    // MARK: what waits in queues

    func session(_ session: WCSession, didReceiveApplicationContext applicationContext: [String: Any]) {
        print(applicationContext.count, session.receivedApplicationContext.count)
    }

    func session(_ session: WCSession, didReceiveUserInfo userInfo: [String: Any] = [:]) {
        for (key, value) in userInfo { print(key, value) }
    }

    func session(_ session: WCSession, didFinish userInfoTransfer: WCSessionUserInfoTransfer, error: Error?) {
        guard let error else { return print("delivered", userInfoTransfer.userInfo.count) }
        print(userInfoTransfer.isTransferring, (error as NSError).domain == WCErrorDomain, (error as NSError).code)
    }

    func session(_ session: WCSession, didReceive file: WCSessionFile) {
        let kept = FileManager.default.temporaryDirectory.appendingPathComponent(file.fileURL.lastPathComponent)
        do { try FileManager.default.moveItem(at: file.fileURL, to: kept) } catch { print(error) }
        print(file.metadata?["album"] as? Int ?? 0)
    }

    func session(_ session: WCSession, didFinish fileTransfer: WCSessionFileTransfer, error: Error?) {
        print(fileTransfer.file.fileURL.path, fileTransfer.isTransferring, error == nil)
    }
}
// snippet.end

// snippet.calls
extension Connectivity {
    func ask() {
        let session = WCSession.default
        guard session.activationState == .activated, session.isReachable else { return }
        session.sendMessage(["volume": 11, "muted": false]) { reply in
            print(reply["half"] as? Double ?? 0)
        } errorHandler: { error in
            switch error {
            case WCError.notReachable: print("not there")
            default: print((error as NSError).code)
            }
        }
        session.sendMessage(["volume": 11], replyHandler: nil, errorHandler: nil)
        session.sendMessageData(Data([1]), replyHandler: nil) { error in print(error) }
    }

    func queue() throws {
        let session = WCSession.default
        try session.updateApplicationContext(["mode": "night"])
        print(session.applicationContext.count)
        session.transferUserInfo(["reading": 21.5])
        if session.remainingComplicationUserInfoTransfers > 0 {
            let transfer = session.transferCurrentComplicationUserInfo(["alarm": true])
            print(transfer.isCurrentComplicationInfo)
        }
        for transfer in session.outstandingUserInfoTransfers where transfer.userInfo["old"] != nil { transfer.cancel() }
    }

    func share(_ photo: URL) {
        let session = WCSession.default
        let transfer = session.transferFile(photo, metadata: ["album": 7])
        print(transfer.progress.fractionCompleted)
        for transfer in session.outstandingFileTransfers where transfer.file.fileURL != photo { transfer.cancel() }
    }
}
// snippet.end

// snippet.configuration
/// Appfigurate's way: the app's own delegate asks first, and the configuration is not installed.
///
/// `@unchecked`: every property is a wrapper around state behind a lock, which the base class checks.
final class AppConfiguration: Configuration, @unchecked Sendable {
    @Toggle("Show the seconds") var showsSeconds = false
    override var publicKey: String? { nil }
}

/// After each activation.
func load(_ configuration: AppConfiguration, on session: WCSession) {
    guard let paired = session.pairedSession, let role = paired.role else { return }
    configuration.load(application: paired.application, role: role, directory: paired.directory)
}

func received(
    _ message: [String: Any], _ configuration: AppConfiguration, replyHandler: @escaping ([String: Any]) -> Void
) {
    let reply = configuration.sessionDidReceiveMessage(message)
    if let reply { return replyHandler(reply) }
    replyHandler(["seconds": configuration.showsSeconds])
}
// snippet.end

// snippet.command
/// A command that hands something over and exits.
func report(_ reading: Double) -> Never {
    WCSession.default.transferUserInfo(["reading": reading])
    exit(WCSession.default.drained(timeout: 10) ? 0 : 1)
}
// snippet.end

// As an app's tests make and compare errors.
extension Connectivity {
    func advice(for error: any Error) -> String {
        if let error = error as? WCError, error == WCError(.payloadTooLarge) { return "send less" }
        do { throw error } catch let error as WCError where error.code == .notReachable {
            return "try later"
        } catch WCError.deliveryFailed { return "send again" } catch { return error.localizedDescription }
    }
}

let configuration = AppConfiguration()
WCSession.default.install(configuration)

// snippet.main
let connectivity = Connectivity()
connectivity.start()
dispatchMain()
// snippet.end
