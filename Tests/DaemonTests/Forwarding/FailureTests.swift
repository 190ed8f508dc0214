// Failure of a message that cannot be forwarded: its sender gets the code of SES-13 and SES-11 and its name, once.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

@Suite struct FailureTests {
    let simulation = Simulation()

    private func failure(_ caller: Client, of message: Envelope) throws -> SessionError {
        try caller.deliver(message)
        let error = try caller.onlyFailure()
        #expect(error.messageID == message.id)
        return error
    }

    @Test func `SES-13: a pairing that this device does not have is 7005`() throws {
        let caller = try simulation.app(.primary)
        var message = try simulation.message()
        message.pairing = .random()
        let error = try failure(caller, of: message)
        #expect(error.code == .deviceNotPaired)
        #expect(!caller.isClosed)
    }

    @Test func `SES-13: a counterpart that was never registered is 7006 on a primary and 7018 on a secondary`() throws {
        let onPrimary = try failure(try simulation.app(.primary), of: simulation.message())
        #expect(onPrimary.code == .watchAppNotInstalled && onPrimary.name == "not-installed")
        let other = Simulation()
        let caller = try other.app(.secondary)
        try caller.send(other.message())
        other.scheduler.run()
        let onSecondary = try caller.onlyFailure()
        #expect(onSecondary.code == .companionAppNotInstalled && onSecondary.reason.contains("primary: start it there"))
    }

    @Test func `SES-13: a counterpart that is installed and not connected is 7007`() throws {
        let caller = try simulation.app(.primary)
        try simulation.app(.secondary).disconnect()
        simulation.scheduler.run()
        let error = try failure(caller, of: simulation.message())
        #expect(error.code == .notReachable && error.name == "counterpart-absent" && error.isRetryable)
    }

    private func large(_ id: UniqueIdentifier) throws -> Envelope {
        try simulation.message(id: id).asData(Limits.messageBody + 1)
    }

    @Test func `SES-13: a message that is too large is 7009 also if the counterpart is not connected`() throws {
        let caller = try simulation.app(.primary)
        try simulation.app(.secondary).disconnect()
        simulation.scheduler.run()
        let error = try failure(caller, of: large(.random()))
        #expect(error.code == .payloadTooLarge && error.name == "too-large")
    }

    @Test func `SES-13: a message that is too large and named as an open request is 7008`() throws {
        let caller = try simulation.app(.primary)
        let counterpart = try simulation.app(.secondary)
        let request = try simulation.message()
        try caller.send(request)
        let error = try failure(caller, of: large(#require(request.id)))
        #expect(error.code == .invalidParameter && error.name == "duplicate-id")
        #expect(counterpart.received(.messageData).isEmpty)
    }

    @Test func `a counterpart whose only connection does not receive is 7007`() throws {
        let caller = try simulation.app(.primary)
        try simulation.app(.secondary).disconnect()
        _ = try simulation.app(.secondary, receives: false)
        #expect(try failure(caller, of: simulation.message()).code == .notReachable)
    }

    @Test(arguments: [-1, 0, 1])
    func `SES-68, LIM-79: keys that pad a message count beyond 16 KiB, as its body does`(offset: Int) throws {
        let caller = try simulation.app(.primary)
        let counterpart = try simulation.app(.secondary)
        var message = try simulation.message()
        try message.pad(to: Limits.messageBody + Limits.envelope + offset)
        try caller.deliver(message)
        guard offset > 0 else { return #expect(counterpart.received(.message).map(\.id) == [message.id]) }
        let error = try caller.onlyFailure()
        #expect(error.code == .payloadTooLarge && error.name == "too-large" && !error.isRetryable)
        #expect(error.actual == Limits.messageBody + 1 && error.limit == Limits.messageBody)
        #expect(counterpart.received(.message).isEmpty && !caller.isClosed)
    }

    @Test(arguments: [-1, 0, 1])
    func `LIM-2: a message of up to 65,536 bytes passes, one more is 7009 with both sizes`(offset: Int) throws {
        let caller = try simulation.app(.primary)
        let counterpart = try simulation.app(.secondary)
        let body = [UInt8](repeating: 7, count: Limits.messageBody + offset)
        let app = try ApplicationIdentifier("com.example.app")
        try caller.deliver(Envelope(.messageData, app: app, pairing: simulation.pairing, id: .random(), body: body))
        #expect(counterpart.received(.messageData).count == (offset > 0 ? 0 : 1))
        guard offset > 0 else { return #expect(caller.received(.failure).isEmpty) }
        let error = try caller.onlyFailure()
        #expect(error.code == .payloadTooLarge && error.actual == body.count && error.limit == Limits.messageBody)
    }

    @Test func `LIM-7: request 1,025 of an app is 7001 too-many-requests, and one answer makes room`() throws {
        let caller = try simulation.app(.primary)
        let counterpart = try simulation.app(.secondary)
        let first = try simulation.message()
        try caller.send(first)
        for _ in 1..<Limits.openRequests { try caller.send(simulation.message()) }
        simulation.scheduler.run()
        #expect(caller.received(.failure).isEmpty)
        let error = try failure(caller, of: simulation.message())
        #expect(error.code == .genericError && error.name == "too-many-requests" && error.limit == Limits.openRequests)
        try counterpart.deliver(first.answer("one"))
        try caller.deliver(simulation.message())
        #expect(caller.received(.failure).count == 1)
    }

    @Test func `LIM-7: two connections of one app have 1,024 requests together, and another user's app its own`()
        throws
    {
        let answering = try simulation.app(.secondary)
        let callers = try (0..<2).map { _ in try simulation.app(.primary, receives: false) }
        let other = try simulation.app(.primary, "com.example.other", user: Simulation.user + 1)
        _ = try simulation.app(.secondary, "com.example.other")
        for index in 0..<1024 { try callers[index % 2].send(simulation.message()) }
        simulation.scheduler.run()
        #expect(callers.allSatisfy { $0.received(.failure).isEmpty })
        for caller in callers {
            try caller.deliver(simulation.message())
            #expect(try caller.onlyFailure().name == "too-many-requests")
        }
        try other.deliver(simulation.message(app: "com.example.other"))
        #expect(other.received(.failure).isEmpty && answering.received(.message).count == 1024)
    }

    @Test func `SES-11: a counterpart that disconnects leaves 7011 for each open request and nothing for the others`()
        throws
    {
        let caller = try simulation.app(.primary)
        let counterpart = try simulation.app(.secondary)
        let requests = try (0..<5).map { _ in try simulation.message() }
        for request in requests { try caller.send(request) }
        try caller.deliver(simulation.message(wantsReply: false))
        try counterpart.deliver(requests[2].answer("this one"))
        counterpart.disconnect()
        simulation.scheduler.run()
        let failures = caller.received(.failure)
        #expect(failures.map(\.id) == [0, 1, 3, 4].map { requests[$0].id })
        #expect(failures.allSatisfy { $0.code == 7011 && $0.name == "counterpart-disconnected" })
    }

    @Test func `SES-3: a kind that the counterpart did not agree to is 7014, not delivered`() throws {
        let caller = try simulation.app(.primary)
        let counterpart = simulation.connect(.secondary)
        try counterpart.hello([.message])
        try counterpart.register(try ApplicationIdentifier("com.example.app"))
        simulation.scheduler.run()
        var message = try simulation.message()
        message.kind = .messageData
        let error = try failure(caller, of: message)
        #expect(error.code == .deliveryFailed && error.name == "unsupported-kind")
        #expect(counterpart.received(.messageData).isEmpty)
    }

    @Test func `SES-18: while stopping, new messages are 7007 stopping and open requests are still answered`() throws {
        let caller = try simulation.app(.primary)
        let counterpart = try simulation.app(.secondary)
        let request = try simulation.message()
        try caller.deliver(request)
        var hasStopped = false
        simulation.simulator.stop { hasStopped = true }
        simulation.scheduler.run()
        #expect(caller.received(.bye).count == 1 && !hasStopped)
        #expect(try failure(caller, of: simulation.message()).name == "stopping")
        try counterpart.deliver(request.answer("just in time"))
        #expect(caller.received(.reply).count == 1)
        #expect(hasStopped && caller.isClosed && counterpart.isClosed)
    }

    @Test func `SES-18: a stop waits at most 5 s for open requests`() throws {
        let caller = try simulation.app(.primary)
        _ = try simulation.app(.secondary)
        try caller.deliver(simulation.message())
        var hasStopped = false
        simulation.simulator.stop { hasStopped = true }
        simulation.scheduler.advance(by: .seconds(4))
        #expect(!hasStopped)
        simulation.scheduler.advance(by: .seconds(2))
        #expect(hasStopped)
    }

    @Test func `SES-27, SES-90: each failure of the relay has code, name and text, and says if it may be retried`() {
        let failures: [RelayFailure] = [
            .notPaired, .notInstalled(on: .primary), .notInstalled(on: .secondary), .notReachable(.noLink),
            .tooLarge(actual: 2, limit: 1), .replyTooLarge(actual: 2, limit: 1), .duplicateIdentifier,
            .tooManyRequests, .slowConsumer, .unsupportedKind, .counterpartGone, .linkLost, .mismatchedAnswer,
        ]
        let errors = failures.map(\.error)
        #expect(
            errors.map(\.code.rawValue)
                == [7005, 7018, 7006, 7007, 7009, 7011, 7008, 7001, 7014, 7014, 7011, 7014, 7011])
        #expect(errors.allSatisfy { $0.name?.isEmpty == false && !$0.reason.isEmpty })
        let retried = errors.filter(\.isRetryable).map(\.name)
        #expect(retried == ["no-link", "too-many-requests", "slow-consumer", "counterpart-disconnected"])
    }
}
