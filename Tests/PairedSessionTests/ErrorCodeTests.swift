// SES-37: every code of WCError is reached through the public surface, or cannot occur here for a reason that is
// written down. The table in Protocol/Session.md says where each comes from.

import Foundation
import PairedSession
import PairedSessionFoundation
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

struct ErrorCodeTests {
    /// Codes that cannot occur here.
    private static let impossible: Set<SessionError.Code> = [.watchOnlyApp]

    private let fixture: SessionFixture
    private let pairing: UniqueIdentifier
    private let peer: UniqueIdentifier

    init() throws {
        fixture = try SessionFixture()
        pairing = fixture.daemon.pair()
        peer = try #require(fixture.daemon.situation.pairings.first?.peer)
        fixture.activate()
    }

    /// The error of a request that the daemon or the counterpart answers with a failure of this code.
    private func answered(_ code: SessionError.Code, _ name: String) throws -> SessionError? {
        let results = fixture.request()
        try fail(try #require(fixture.daemon.received.last), SessionError(code, name: name, reason: "as told"))
        return results.all.first?.error
    }

    private func fail(_ question: Envelope, _ error: SessionError) throws {
        fixture.daemon.send(
            try error.failure(
                app: try #require(question.app), pairing: try #require(question.pairing),
                id: try #require(question.id), channel: question.channel))
        fixture.scheduler.run()
    }

    /// The error of a submission that the daemon refuses.
    private func refused(_ code: SessionError.Code, _ name: String) throws -> SessionError? {
        let errors = Collector<SessionError?>()
        fixture.core.run { core in
            core.submit(Submission(.userInfo, to: nil, OutgoingContent(["a": 1]))) { errors.add($0.error) }
        }
        fixture.scheduler.run()
        try fail(try #require(fixture.daemon.received.last), SessionError(code, name: name, reason: "as told"))
        return errors.all.first ?? nil
    }

    private func with(_ level: ReachabilityLevel, _ reason: ReachabilityReason, _ role: DeviceRole = .primary) throws
        -> SessionError?
    {
        let fixture = try SessionFixture()
        fixture.daemon.role = role
        fixture.daemon.pair(level, reason)
        fixture.activate()
        return fixture.request().all.first?.error
    }

    private func error(_ code: SessionError.Code) throws -> SessionError? {
        let large: PropertyListDictionary = ["d": .data([UInt8](repeating: 0, count: 65_536))]
        switch code {
        case .genericError:
            let id = UniqueIdentifier.random()
            let results = Collector<SessionError?>()
            fixture.core.run { core in
                core.request(OutgoingContent(["a": 1]), id: id) { results.add($0.error) }
                core.abandon(id)
            }
            fixture.scheduler.run()
            return results.all.first ?? nil
        case .sessionNotSupported:
            let old = try SessionFixture()
            old.daemon.refusal = Refusal(.version)
            return old.activate().all.first?.error
        case .sessionMissingDelegate:
            let errors = Collector<SessionError>()
            WCSession(over: fixture.session).sendMessage(["a": 1], replyHandler: nil) { error in
                if let error = error as? WCError { errors.add(error.underlyingError) }
            }
            fixture.scheduler.run()
            return try waitFor(errors)
        case .sessionNotActivated: return try SessionFixture().request().all.first?.error
        case .deviceNotPaired: return fixture.request(to: .random()).all.first?.error
        case .watchAppNotInstalled: return try with(.background, .notInstalled)
        case .companionAppNotInstalled: return try with(.background, .notInstalled, .secondary)
        case .notReachable: return try with(.unreachable, .noLink)
        case .invalidParameter: return fixture.request(["tandem.x": 1]).all.first?.error
        case .payloadTooLarge: return fixture.request(large).all.first?.error
        case .payloadUnsupportedTypes: return fixture.request(["a": ["b": [1, .real(.nan)]]]).all.first?.error
        case .messageReplyFailed: return try answered(code, "reply-dropped")
        case .messageReplyTimedOut:
            let results = fixture.request(timeout: .milliseconds(1))
            fixture.scheduler.advance(by: .milliseconds(1))
            return results.all.first?.error
        case .deliveryFailed: return try answered(code, "unhandled")
        case .fileAccessDenied: return try refused(code, "changed")
        case .insufficientSpace: return try refused(code, "insufficient-space")
        case .sessionInactive:
            let results = fixture.request()
            fixture.daemon.situation.active = fixture.daemon.pair()
            fixture.tellSituation()
            return results.all.first?.error
        case .transferTimedOut: return TransferOutcome.expired.error
        case .watchOnlyApp: return nil
        }
    }

    /// Waits for the first error on the callback queue.
    private func waitFor(_ errors: Collector<SessionError>) throws -> SessionError? {
        while errors.all.isEmpty { sched_yield() }
        return errors.all.first
    }

    @Test(
        "SES-37: each code is reached, with its number and what the error is about",
        arguments: SessionError.Code.allCases)
    func reached(code: SessionError.Code) throws {
        let error = try error(code)
        guard !Self.impossible.contains(code) else { return #expect(error == nil) }
        let found = try #require(error)
        #expect(found.code == code && !found.reason.isEmpty)
        #expect((WCError(found) as NSError).code == code.rawValue)
    }

    @Test("SES-37: an error says which message and which device it is about")
    func about() throws {
        for code in [
            SessionError.Code.messageReplyTimedOut, .messageReplyFailed, .sessionInactive, .payloadTooLarge,
            .invalidParameter, .deliveryFailed, .genericError, .insufficientSpace,
        ] {
            let fresh = try ErrorCodeTests()
            let error = try #require(try fresh.error(code))
            #expect(error.peer == fresh.peer && error.messageID != nil, "\(code)")
        }
        let lost = fixture.request()
        fixture.cut()
        #expect(lost.all.first?.error?.peer == peer && lost.all.first?.error?.messageID != nil)
    }

    @Test("SES-37: sizes carry actual and limit, types their key path")
    func facts() throws {
        let large = try #require(try error(.payloadTooLarge))
        #expect(large.limit == 65_536 && (large.actual ?? 0) > 65_536)
        #expect(WCError(large).limit == large.limit && WCError(large).actual == large.actual)
        let unsupported = try #require(try error(.payloadUnsupportedTypes))
        #expect(unsupported.keyPath == "a.b[1]" && WCError(unsupported).keyPath == "a.b[1]")
        #expect(WCError(unsupported).messageID != nil && WCError(unsupported).peer == peer)
        #expect(!WCError(unsupported).isRetryable)
    }

    @Test(
        "LIM-2: on each message channel the limit passes, one byte more is 7009",
        arguments: [FrameKind.message, .messageData])
    func limits(kind: FrameKind) throws {
        let sample: PropertyListDictionary = ["d": .data([UInt8](repeating: 0, count: 60_000))]
        let overhead = try PropertyListWriter.write(sample).count - 60_000
        for size in [65_535, 65_536, 65_537] {
            let errors = Collector<SessionError?>()
            let content =
                kind == .messageData
                ? OutgoingContent(data: [UInt8](repeating: 0, count: size))
                : OutgoingContent(["d": .data([UInt8](repeating: 0, count: size - overhead))])
            fixture.core.run { $0.request(content) { errors.add($0.error) } }
            fixture.scheduler.run()
            guard size > 65_536 else {
                #expect(errors.all.isEmpty && fixture.daemon.received.last?.body?.count == size)
                continue
            }
            #expect(errors.all.first??.code == .payloadTooLarge)
            #expect(errors.all.first??.actual == size && errors.all.first??.limit == 65_536)
        }
    }

    @Test("SES-37: without its daemon a session that was activated says no-daemon for every kind of call")
    func lostDaemon() throws {
        fixture.daemon.isRunning = false
        fixture.cut()
        let errors = Collector<SessionError?>()
        let content = OutgoingContent(["a": 1])
        fixture.core.run { [pairing] core in
            for target in [nil, pairing] {
                core.request(content, to: target) { errors.add($0.error) }
                core.submit(Submission(.userInfo, to: target, content)) { errors.add($0.error) }
                core.outstanding(.userInfo, to: target) { errors.add($0.error) }
            }
            core.broadcast(content) { errors.add($0.error) }
        }
        fixture.scheduler.run()
        errors.add(fixture.session.obstacle(to: Submission(.context, to: nil, content)))
        #expect(errors.all.count == 8)
        for error in errors.all {
            #expect(error?.code == .sessionNotActivated && error?.name == "no-daemon" && error?.isRetryable == true)
            #expect(error?.reason.contains("by itself") == true)
        }
    }

    @Test("SES-37: a session that has never been activated, or that the daemon refuses, is to be activated by the app")
    func neverActivated() throws {
        let new = try SessionFixture()
        new.daemon.isRunning = false
        new.activate()
        #expect(new.request().all.first?.error?.name == nil)
        fixture.daemon.send(try Refusal(.appRemoved, "the operator has removed it").envelope)
        fixture.scheduler.run()
        let error = try #require(fixture.request().all.first?.error)
        #expect(error.code == .sessionNotActivated && error.name == nil && error.reason.contains("activate()"))
    }

    @Test("SES-37: no later call of an ended session succeeds, and its error says so")
    func ended() {
        fixture.session.end {}
        fixture.scheduler.run()
        let error = fixture.request().all.first?.error
        #expect(error?.name == "ended" && error?.isRetryable == false)
    }

    @Test("SES-37: the protocol's table has each code once, and says of the impossible ones why")
    func table() {
        let text = Checkout.text(of: "Protocol/Session.md")
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("| 70") }
        for code in SessionError.Code.allCases {
            let row = rows.filter { $0.hasPrefix("| \(code.rawValue) | `\(code)` |") }
            #expect(row.count == 1, "\(code)")
            #expect(row.first?.contains("cannot occur") == Self.impossible.contains(code), "\(code)")
        }
    }
}
