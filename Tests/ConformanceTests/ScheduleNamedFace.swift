// The session of a random schedule's app by Apple's names: its calls, and a delegate that comes and goes. The callback
// queue runs only while the clock rests, so that one seed gives one run.

import Dispatch
import Foundation
import PairedSession
import PairedSessionFoundation
import TandemBase
import TandemSession
import TandemTestSupport
import TandemWire

@testable import TandemConformance

/// A WCSession over an app's session.
///
/// `@unchecked`: the callback queue runs while the world's thread waits for it.
final class NamedFace: @unchecked Sendable {
    unowned let player: Player
    let session: WCSession
    private var delegate: ScheduleDelegate?
    private var transfers: [ObjectIdentifier: Call] = [:]
    private var kept: [(AnyObject, Call)] = []
    fileprivate var isCalm = false
    /// The value that the delegate saw last.
    fileprivate var toldReachable: Bool?
    fileprivate var isInactive = false
    fileprivate var needsActivation = false

    init(_ player: Player) {
        self.player = player
        session = WCSession(over: player.session)
        session.callbacks.suspend()
        player.app.runCallbacks = { [session] in
            // Twice, because callbacks queue further ones. It is suspended from within: nothing begins behind that.
            for _ in 0..<2 {
                session.callbacks.resume()
                session.callbacks.sync { session.callbacks.suspend() }
            }
        }
    }

    func start() {
        let draw = player.draw
        player.app.run { core in core.draw { UInt64(draw(1 << 30)) } }
        delegate = ScheduleDelegate(self)
        session.delegate = delegate
        session.activate()
    }

    /// Its delegate goes, or comes back; whether there is one now.
    @discardableResult
    func changeDelegate() -> Bool {
        if needsActivation { activate() }
        delegate = delegate == nil ? ScheduleDelegate(self) : nil
        session.delegate = delegate
        return delegate != nil
    }

    func calm() {
        isCalm = true
        if delegate == nil { changeDelegate() }
        if needsActivation { activate() }
    }

    /// The schedule is over: what is left is nobody's.
    func finish() {
        player.app.runCallbacks = {}
        session.delegate = nil
        session.callbacks.resume()
    }

    fileprivate func activate() {
        needsActivation = false
        session.activate()
    }

    var isReady: Bool { session.isReachable }

    var standing: Standing {
        Standing(
            activation: ActivationState(rawValue: session.activationState.rawValue) ?? .notActivated,
            isPaired: session.isPaired, hasPairings: session.isPaired,
            isInstalled: player.session.pairedDevice?.reachability.reason != .notInstalled,
            level: session.isReachable ? .immediate : .background,
            isPrimary: player.session.role != .secondary, hasDelegate: session.delegate != nil)
    }

    // MARK: calls

    private func begin(_ number: Int64, _ kind: CallKind) -> Call {
        let call = Call(number, kind, player, to: nil, standing, at: player.world.now)
        call.isNamed = true
        player.journal.calls.append(call)
        return call
    }

    private func end(_ call: Call, _ ending: Call.Ending) {
        call.end(ending, at: player.world.now, sights: player.journal.sights.count)
    }

    private func fail(_ call: Call, _ error: any Error) { end(call, .failed(Self.error(error))) }

    private static func error(_ error: any Error) -> SessionError {
        (error as? WCError)?.underlyingError ?? SessionError(.genericError, name: "no WCError", reason: "\(error)")
    }

    func sendMessage(_ number: Int64) -> Call {
        let call = begin(number, .message)
        session.sendMessage(["n": number]) { [self] reply in
            end(call, .reply(reply.number))
        } errorHandler: { [self] in
            fail(call, $0)
        }
        return call
    }

    func sendData(_ number: Int64) -> Call {
        let call = begin(number, .data)
        let bytes = Data(Player.bytes(number))
        session.sendMessageData(bytes) { [self] reply in
            end(call, .reply(reply == bytes ? number : -1))
        } errorHandler: { [self] in
            fail(call, $0)
        }
        return call
    }

    func sendNote(_ number: Int64) -> Call {
        let call = begin(number, .note)
        call.end(.done, at: player.world.now, sights: player.journal.sights.count)
        session.sendMessage(["n": number], replyHandler: nil) { call.laterFailures.append((nil, Self.error($0))) }
        return call
    }

    func update(_ number: Int64) -> Call {
        let call = begin(number, .context)
        do {
            try session.updateApplicationContext(["n": number])
            end(call, .done)
        } catch { fail(call, error) }
        return call
    }

    func transfer(_ number: Int64, _ kind: CallKind) -> Call {
        let call = begin(number, kind)
        let transfer =
            kind == .userInfo
            ? session.transferUserInfo(["n": number]) : session.transferCurrentComplicationUserInfo(["n": number])
        keep(transfer, call)
        return call
    }

    func transferFile(_ number: Int64, _ path: String) -> Call {
        let call = begin(number, .file)
        keep(session.transferFile(URL(fileURLWithPath: path), metadata: ["n": number]), call)
        return call
    }

    private func keep(_ transfer: AnyObject, _ call: Call) {
        transfers[ObjectIdentifier(transfer)] = call
        kept.append((transfer, call))
        end(call, .done)
    }

    /// Takes one of the last items back; its number.
    func takeBack() -> Int64? {
        guard !kept.isEmpty else { return nil }
        let (transfer, call) = kept[max(0, kept.count - 1 - player.draw(4))]
        call.isGivenUp = true
        (transfer as? WCSessionUserInfoTransfer)?.cancel()
        (transfer as? WCSessionFileTransfer)?.cancel()
        return call.number
    }

    fileprivate func finished(_ transfer: AnyObject, _ error: (any Error)?) {
        transfers[ObjectIdentifier(transfer)]?.finishes.append(error.map(Self.error))
    }

    /// SES-35, SES-54: what the delegate saw last is what there is, and nothing is outstanding.
    func check() {
        // A delegate that came after the first activation begins with the value of that one.
        if let toldReachable, toldReachable != session.isReachable {
            player.journal.fault("SES-35: \(player.place) was told \(toldReachable)")
        }
        let count = session.outstandingUserInfoTransfers.count + session.outstandingFileTransfers.count
        if count > 0 { player.journal.fault("SES-54: \(player.place) has \(count) outstanding by name") }
    }
}

/// Notes what comes.
///
/// `@unchecked`: only the callback queue uses it, while the world's thread waits.
private final class ScheduleDelegate: WCSessionDelegate, @unchecked Sendable {
    private unowned let face: NamedFace

    init(_ face: NamedFace) { self.face = face }

    private var player: Player { face.player }
    private var journal: ScheduleJournal { face.player.journal }

    func session(
        _ session: WCSession, activationDidCompleteWith activationState: WCSessionActivationState, error: (any Error)?
    ) { if activationState == .activated, face.toldReachable == nil { face.toldReachable = session.isReachable } }

    func sessionDidBecomeInactive(_ session: WCSession) {
        if face.isInactive { journal.fault("SES-31: inactive twice") }
        face.isInactive = true
    }

    func sessionDidDeactivate(_ session: WCSession) {
        if !face.isInactive { journal.fault("SES-31: deactivated without being inactive") }
        face.isInactive = false
        face.needsActivation = true
        if face.isCalm || player.draw(3) > 0 { face.activate() }
    }

    func sessionReachabilityDidChange(_ session: WCSession) {
        if face.toldReachable == session.isReachable { journal.fault("SES-35: told what it knows") }
        face.toldReachable = session.isReachable
    }

    func session(_ session: WCSession, didReceiveMessage message: sending [String: Any]) {
        saw(message.number, nil, .handled)
    }

    func session(
        _ session: WCSession, didReceiveMessage message: sending [String: Any],
        replyHandler: @escaping @Sendable ([String: Any]) -> Void
    ) {
        // The daemon's own word, which is no message.
        if message.keys.contains(where: { $0.hasPrefix("tandem.") }) { return replyHandler([:]) }
        let number = message.number
        if drops { return saw(number, nil, .dropped) }
        saw(number, nil, .replied)
        replyHandler(["n": number])
    }

    func session(
        _ session: WCSession, didReceiveMessageData messageData: Data, replyHandler: @escaping @Sendable (Data) -> Void
    ) {
        let number = messageData.reduce(Int64(0)) { $0 << 8 | Int64($1) }
        if drops { return saw(number, nil, .dropped) }
        saw(number, nil, .replied)
        replyHandler(messageData)
    }

    private var drops: Bool { player.rule() == .drop }

    func session(_ session: WCSession, didReceiveApplicationContext applicationContext: sending [String: Any]) {
        saw(applicationContext.number, .context, .handled)
    }

    func session(_ session: WCSession, didReceiveUserInfo userInfo: sending [String: Any]) {
        saw(userInfo.number, .userInfo, .handled)
    }

    func session(_ session: WCSession, didReceive file: WCSessionFile) {
        saw(file.metadata?.number ?? -1, .file, .handled)
    }

    func session(_ session: WCSession, didFinish userInfoTransfer: WCSessionUserInfoTransfer, error: (any Error)?) {
        face.finished(userInfoTransfer, error)
    }

    func session(_ session: WCSession, didFinish fileTransfer: WCSessionFileTransfer, error: (any Error)?) {
        face.finished(fileTransfer, error)
    }

    private func saw(_ number: Int64, _ channel: Channel?, _ verdict: Sight.Verdict) {
        let sight = Sight(
            number: number, place: player.place, process: player.process, pairing: nil, channel: channel, id: nil,
            attempt: 1, verdict: verdict)
        journal.sights.append(sight)
    }
}

extension [String: Any] {
    fileprivate var number: Int64 { (self["n"] as? Int).map { Int64($0) } ?? -1 }
}
