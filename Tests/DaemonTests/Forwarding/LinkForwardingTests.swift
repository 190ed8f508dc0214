// Messages over two daemons and a link between them: the same bytes on both hops, and what callers get when the link
// goes.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@Suite struct LinkForwardingTests {
    let world = TwoDevices()

    /// A request that waits for its answer.
    private func openRequest() throws -> (caller: Client, counterpart: Client, request: Envelope) {
        let (caller, counterpart, _) = try world.linkedApps()
        let request = try world.message()
        try caller.deliver(request)
        return (caller, counterpart, request)
    }

    @Test(arguments: DeviceRole.allCases)
    func `FRM-12: over two daemons a message and its reply arrive as they were sent`(from role: DeviceRole) throws {
        try world.linkUp()
        let caller = try world.devices[role].app()
        let counterpart = try world.devices[role.counterpart].app()
        let request = try world.message()
        try caller.deliver(request)
        #expect(counterpart.frames.last == (try request.frame()))
        #expect(world.links?[role].sent.last == (try request.frame()))
        let reply = try request.answer("yes")
        try counterpart.deliver(reply)
        #expect(caller.frames.last == (try reply.frame()))
        #expect(world.devices.primary.relay.openRequestCount == 0)
        #expect(world.devices.secondary.relay.openRequestCount == 0)
    }

    @Test
    func `FRM-12: each of many apps gets its own messages over one link, also after others were removed`() throws {
        try world.linkUp()
        let names = (0..<40).map { "org.example.app\($0)" }
        let callers = try names.map { try world.devices.primary.app($0) }
        let counterparts = try names.map { try world.devices.secondary.app($0) }
        for index in stride(from: 0, to: names.count, by: 2) {
            world.devices.secondary.endpoint.remove(try ApplicationIdentifier(names[index]))
        }
        world.scheduler.run()
        for index in stride(from: 1, to: names.count, by: 2) {
            let request = try world.message(app: names[index])
            try callers[index].send(request)
            world.scheduler.run()
            #expect(counterparts[index].frames.last == (try request.frame()), "\(names[index])")
        }
    }

    @Test func `SES-13: without a link a message is 7007 no-link`() throws {
        let caller = try world.devices.primary.app()
        try caller.deliver(world.message())
        let error = try caller.onlyFailure()
        #expect(error.code == .notReachable && error.name == "no-link" && error.isRetryable)
    }

    @Test
    func
        `SES-13, SES-25, LIM-44: the sender's daemon knows what the other announced: 7006 once it is silent, then 7007`()
        throws
    {
        try world.linkUp()
        let caller = try world.devices.primary.app()
        try caller.deliver(world.message())
        let error = try caller.onlyFailure()
        #expect(error.code == .notReachable && error.isRetryable, "a new link has not said everything")
        world.scheduler.advance(by: Limits.introduction)
        try caller.deliver(world.message())
        #expect(caller.received(.failure).last?.code == SessionError.Code.watchAppNotInstalled.rawValue)
        try world.devices.secondary.app().disconnect()
        world.scheduler.run()
        try caller.deliver(world.message())
        #expect(caller.received(.failure).last?.name == "counterpart-absent")
        #expect(world.links?.primary.sent(.message).isEmpty == true)
    }

    @Test func `SES-92: an app that a slow line announces late is not called not installed meanwhile`() throws {
        try world.linkUp(isSlow: true)
        let caller = try world.devices.primary.app()
        world.scheduler.advance(by: Limits.introduction * 3)
        try caller.deliver(world.message())
        #expect(try caller.onlyFailure().name == "counterpart-absent", "its announcement may be on the way")
        world.links?.primary.answer()
        world.scheduler.run()
        try caller.deliver(world.message())
        #expect(caller.received(.failure).last?.code == SessionError.Code.watchAppNotInstalled.rawValue)
    }

    @Test func `SES-13: the receiver's daemon checks again what the sender's could not see yet`() throws {
        try world.linkUp()
        let link = try #require(world.links?.secondary)
        for (app, code) in [("app.never", 7006), ("app.gone", 7007)] {
            if app == "app.gone" { try world.devices.secondary.app(app).disconnect() }
            world.scheduler.run()
            let frame = try world.message(app: app).frame()
            #expect(try link.port?.receive(frame, Envelope(reading: frame)) == nil)
            #expect(link.sent(.failure).last?.code == code)
        }
    }

    @Test func `SES-11: when the link goes, 7014 for what was sent on it and 7007 for what was not`() throws {
        let (caller, _, link) = try world.linkedApps()
        let sent = try world.message("sent")
        try caller.deliver(sent)
        link.isStuck = true
        let unsent = try world.message("unsent")
        let unsentWithoutReply = try world.message("unsent", wantsReply: false)
        for message in [unsent, unsentWithoutReply] { try caller.send(message) }
        world.scheduler.run()
        world.linkDown()
        let failures = caller.received(.failure)
        #expect(failures.map(\.id) == [sent.id, unsent.id, unsentWithoutReply.id])
        #expect(failures.map(\.code) == [7014, 7007, 7007])
        #expect(failures.map(\.name) == ["link-lost", "no-link", "no-link"])
    }

    @Test func `SES-11: a frame of which only a part has left counts as not sent`() throws {
        let (caller, _, link) = try world.linkedApps()
        link.isStuck = true
        try caller.deliver(world.message())
        link.departedBytes = link.acceptedBytes - 1
        world.linkDown()
        #expect(try caller.onlyFailure().code == .notReachable)
    }

    @Test func `SES-11: a counterpart that disconnects fails its requests at the other device`() throws {
        let (counterpart, caller, _) = try world.linkedApps()
        try caller.deliver(world.message())
        counterpart.disconnect()
        world.scheduler.run()
        #expect(try caller.onlyFailure().code == .messageReplyFailed)
        #expect(world.devices.secondary.relay.openRequestCount == 0)
    }

    @Test func `SES-19: a new link replaces the older one, whose requests fail`() throws {
        let (caller, counterpart, _) = try world.linkedApps()
        try caller.deliver(world.message())
        try world.linkUp()
        #expect(try caller.onlyFailure().name == "link-lost")
        try caller.deliver(world.message())
        #expect(counterpart.received(.message).count == 2)
    }

    @Test func `FRM-13: a link may name its own pairing only`() throws {
        try world.linkUp()
        let link = try #require(world.links?.primary)
        for kind in [FrameKind.message, .reply, .failure] {
            let envelope = Envelope(
                kind, app: try ApplicationIdentifier("com.example.app"), pairing: .random(), id: .random(),
                code: kind == .failure ? 7001 : nil, body: [])
            #expect(try link.port?.receive(envelope.frame(), envelope) == .notYours)
        }
    }

    @Test func `an answer that names another app than the request is a failure, never delivered`() throws {
        let (caller, _, link) = try world.linkedApps("app.a")
        world.links?.secondary.isStuck = true
        let request = try world.message(app: "app.a")
        try caller.deliver(request)
        var answer = try request.answer("for somebody else")
        answer.app = try ApplicationIdentifier("app.b")
        #expect(try link.port?.receive(answer.frame(), answer) == nil)
        world.scheduler.run()
        #expect(try caller.onlyFailure().name == "mismatched-answer")
        #expect(caller.received(.reply).isEmpty)
    }

    @Test func `SES-68: what is padded on a link fails there, and does not reach the app`() throws {
        try world.linkUp()
        let counterpart = try world.devices.secondary.app()
        let link = try #require(world.links?.secondary)
        for size in [Limits.messageBody + Limits.envelope + 1, Limits.frame] {
            var message = try world.message()
            try message.pad(to: size)
            let frame = try message.frame()
            #expect(try link.port?.receive(frame, Envelope(reading: frame)) == nil)
            let failure = try #require(link.sent(.failure).last)
            #expect(failure.id == message.id && failure.code == 7009 && failure.name == "too-large")
        }
        world.scheduler.run()
        #expect(counterpart.received(.message).isEmpty)
    }

    @Test func `LIM-6: what does not fit a link's quota fails, and the link is told`() throws {
        let (caller, _, link) = try world.linkedApps()
        link.isStuck = true
        let size = 60_000
        let count = Limits.queuedBytes / size + 3
        for _ in 0..<count { try caller.send(world.message(wantsReply: false).asData(size)) }
        world.scheduler.run()
        let failed = caller.received(.failure)
        #expect(!failed.isEmpty && failed.allSatisfy { $0.code == 7014 && $0.name == "slow-consumer" })
        #expect(link.overflows == failed.count && link.queuedBytes <= Limits.queuedBytes)
    }

    @Test func `SES-67: what is for a congested link waits, and goes on when it has drained`() throws {
        let (caller, counterpart, link) = try world.linkedApps()
        link.isCongested = true
        for _ in 0..<3 {
            try caller.deliver(world.message())
        }
        #expect(counterpart.received(.message).isEmpty)
        link.isCongested = false
        link.port?.drained()
        world.scheduler.run()
        #expect(counterpart.received(.message).count == 3)
    }

    @Test func `SES-67, LIM-61: at a congested link apps take turns, and each one's messages keep their order`() throws
    {
        try world.linkUp()
        let names = ["app.a", "app.b"]
        let callers = try names.map { try world.devices.primary.app($0) }
        let counterparts = try names.map { try world.devices.secondary.app($0) }
        let link = try #require(world.links?.primary)
        link.isCongested = true
        let text = String(repeating: "x", count: 30_000)
        for number in 0..<4 { try callers[0].send(world.message("\(number)\(text)", app: names[0])) }
        try callers[1].send(world.message("quick", app: names[1]))
        world.scheduler.run()
        link.isCongested = false
        link.port?.drained()
        world.scheduler.run()
        let order = link.sent(.message)
        #expect(order.map(\.app?.description) == ["app.a", "app.b", "app.a", "app.a", "app.a"])
        #expect(counterparts.map { $0.received(.message).count } == [4, 1])
        #expect(
            order.filter { $0.app?.description == "app.a" }.map(\.id) == counterparts[0].received(.message).map(\.id))
    }

    @Test func `SES-67, SES-11: what waits for a link that goes has not left, a broadcast neither`() throws {
        let (caller, _, link) = try world.linkedApps()
        let sent = try world.message()
        try caller.deliver(sent)
        link.isCongested = true
        var broadcast = try world.message(wantsReply: false)
        (broadcast.pairing, broadcast.reply) = (.zero, nil)
        let request = try world.message()
        for message in [request, broadcast] { try caller.send(message) }
        world.scheduler.run()
        #expect(link.sent(.message).count == 1)
        world.linkDown()
        let codes = Dictionary(uniqueKeysWithValues: caller.received(.failure).map { ($0.id, $0.code) })
        #expect(codes == [sent.id: 7014, request.id: 7007, broadcast.id: 7007])
    }

    @Test func `SES-11, LIM-78: each of many messages that wait for a link fails when it goes, in order`() throws {
        let (caller, _, link) = try world.linkedApps()
        link.isCongested = true
        let messages = try (0..<1500).map { _ in try world.message(wantsReply: false) }
        for message in messages { try caller.send(message) }
        world.scheduler.advance(by: .milliseconds(1100))
        #expect(caller.stream.queuedBytes == 0 && caller.received(.failure).isEmpty, "LIM-62: all of them wait")
        world.linkDown()
        let failures = caller.received(.failure)
        #expect(failures.map(\.id) == messages.map(\.id))
        #expect(failures.allSatisfy { $0.code == 7007 && $0.name == "no-link" })
    }

    @Test func `SES-67: a request that has waited and left is 7014 when the link goes`() throws {
        let (caller, _, link) = try world.linkedApps()
        link.isCongested = true
        for _ in 0..<2 { try caller.send(world.message()) }
        world.scheduler.run()
        (link.isCongested, link.isStuck) = (false, true)
        link.port?.drained()
        let first = try #require(link.sent.last?.count)
        link.departedBytes = link.acceptedBytes - UInt64(first)
        world.linkDown()
        #expect(caller.received(.failure).map(\.code) == [7014, 7007])
    }

    @Test func `LIM-62: an app with much that waits is not read, and a link that stays full costs it 1 s`() throws {
        let (caller, _, link) = try world.linkedApps("app.a")
        let (other, counterpart) = (try world.devices.primary.app("app.b"), try world.devices.secondary.app("app.b"))
        link.isCongested = true
        var message = try world.message(app: "app.a", wantsReply: false).asData(60_000)
        for _ in 0..<40 {
            message.id = .random()
            try caller.send(message)
        }
        world.scheduler.run()
        #expect(caller.stream.queuedBytes > 2_000_000 && caller.received(.failure).isEmpty)
        world.scheduler.advance(by: .milliseconds(1100))
        #expect(caller.stream.queuedBytes == 0)
        let failures = caller.received(.failure)
        #expect(failures.count == 6 && failures.allSatisfy { $0.name == "slow-consumer" }, "half of LIM-6 (LIM-47)")
        try other.deliver(world.message(app: "app.b"))
        link.isCongested = false
        link.port?.drained()
        world.scheduler.run()
        #expect(counterpart.received(.message).count == 1 && link.sent(.messageData).count == 34)
    }

    @Test func `SES-18: answers that wait for their turn leave before a daemon stops`() throws {
        let (caller, counterpart, request) = try openRequest()
        let link = try #require(world.links?.secondary)
        link.isCongested = true
        try counterpart.deliver(request.answer("yes"))
        #expect(link.sent(.reply).isEmpty)
        world.devices.secondary.relay.stop {}
        world.scheduler.run()
        #expect(caller.received(.reply).count == 1)
    }

    @Test func `PAR-13: a removed pairing is 7005, and its link is no longer of use`() throws {
        let (caller, _, _) = try world.linkedApps()
        world.devices.primary.relay.removePairing(world.pairing, role: .primary)
        try caller.deliver(world.message())
        #expect(try caller.onlyFailure().code == .deviceNotPaired)
    }

    @Test func `SES-11, SES-67: each message that waits for a link is 7005 when the pairing ends, with a reply or not`()
        throws
    {
        let (caller, _, link) = try world.linkedApps()
        link.isStuck = true
        try caller.send(world.message("may still leave", wantsReply: false))
        world.scheduler.run()
        link.isCongested = true
        let waiting = try [true, false].map { try world.message(wantsReply: $0) }
        for message in waiting { try caller.send(message) }
        world.scheduler.run()
        world.devices.primary.relay.removePairing(world.pairing, role: .primary)
        world.scheduler.run()
        let failures = caller.received(.failure)
        #expect(failures.map(\.id) == waiting.map(\.id))
        #expect(failures.allSatisfy { $0.code == 7005 && $0.name == "not-paired" })
    }

    @Test func `SES-67, LIM-49: an answer for which the link has no room ends its request at once as 7014`() throws {
        let (caller, counterpart, request) = try openRequest()
        world.links?.secondary.room = 10_000
        try counterpart.deliver(request.answer(String(repeating: "long", count: 5000)))
        let error = try caller.onlyFailure()
        #expect(error.code == .deliveryFailed && !counterpart.isClosed)
    }
}
