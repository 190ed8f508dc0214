// A simulator on a clock that tests move, and clients that are registered in it: the shortest way to a pair of apps.

package import TandemBase
package import TandemDaemon
package import TandemFiles
package import TandemPropertyList
package import TandemSession
package import TandemTestSupport
package import TandemWire
import Testing

package final class Simulation {
    package static let user: UInt32 = 1000
    package let scheduler = ManualScheduler()
    package let counters = Counters()
    package let log = LogLines()
    package let simulator: Simulator

    package init(secondaries: Int = 1, files: OwnedDirectory? = nil) {
        simulator = Simulator(
            scheduler: scheduler, software: "simulator of a test", user: Self.user, secondaries: secondaries,
            files: files, counters: counters, log: log.append)
    }

    package var pairing: UniqueIdentifier { simulator.pairings[0] }

    /// A connection that has said nothing yet.
    /// - Parameter number: which secondary, from 1.
    package func connect(_ role: DeviceRole, _ number: Int = 1, user: UInt32 = Simulation.user) -> Client {
        Client(to: simulator.endpoint(role, number), on: scheduler, user: user)
    }

    /// A connection that has said hello.
    package func greet(_ role: DeviceRole, _ number: Int = 1, user: UInt32 = Simulation.user) throws -> Client {
        try simulator.endpoint(role, number).greet(on: scheduler, user: user)
    }

    /// A connection to the primary that has asked to register; it may be refused.
    package func register(_ app: String = "com.example.app", user: UInt32 = Simulation.user) throws -> Client {
        try simulator.primary.register(app, on: scheduler, user: user)
    }

    /// A registered app.
    package func app(
        _ role: DeviceRole, _ name: String = "com.example.app", number: Int = 1, receives: Bool = true,
        user: UInt32 = Simulation.user
    ) throws -> Client {
        try simulator.endpoint(role, number).app(name, .init(receives: receives), on: scheduler, user: user)
    }

    /// The queue of an app in this pairing.
    package func queue(of app: String = "com.example.app") throws -> QueueKey {
        QueueKey(pairing: pairing, app: try ApplicationIdentifier(app), channel: .userInfo)
    }

    /// The answer to a control command at a device's socket, after at most a second.
    package func ask(
        _ command: String, _ body: PropertyListDictionary = [:], at role: DeviceRole = .primary
    ) throws -> Envelope {
        let client = try greet(role)
        try client.ask(command, body)
        if client.received(.result).isEmpty { scheduler.advance(by: .seconds(1)) }
        return try #require(client.received(.result).last)
    }

    /// A message of an app in this pairing.
    package func message(
        _ text: String = "hello", app: String = "com.example.app", id: UniqueIdentifier = .random(),
        wantsReply: Bool = true, deadline: Duration? = nil
    ) throws -> Envelope {
        try Envelope(
            .message, app: ApplicationIdentifier(app), pairing: pairing, id: id, reply: wantsReply ? true : nil,
            deadline: deadline
        ).with(body: ["text": .string(text)])
    }

    /// The last state that an app of this side received.
    package func state(of client: Client) throws -> SessionState {
        try #require(client.states(now: scheduler.now).last)
    }

    package func counter(_ name: StaticString) -> UInt64 { counters.counter(name).value }
}

extension Simulator {
    /// - Parameter number: which secondary, from 1.
    package func endpoint(_ role: DeviceRole, _ number: Int = 1) -> LocalEndpoint {
        role == .primary ? primary : secondaries[number - 1]
    }
}

extension QueueKey {
    /// A question of the app about the queue.
    package func query(_ command: String) -> Envelope {
        Envelope(.query, app: app, pairing: pairing, id: .random(), channel: channel, command: command)
    }

    /// A question of the app about these items of the queue.
    package func query(_ command: String, for items: [UniqueIdentifier]) throws -> Envelope {
        try query(command).with(body: ["items": .array(items.map { .data($0.bytes) })])
    }
}

extension Envelope {
    /// The verdict on this delivery.
    package func verdict(_ name: String = "handled", code: Int? = nil) -> Envelope {
        Envelope(.verdict, app: app, pairing: pairing, id: id, channel: channel, code: code, name: name)
    }

    /// The acknowledgement of the end of this item.
    package var acknowledgement: Envelope {
        Envelope(.finishedAck, app: app, pairing: pairing, id: id, channel: channel)
    }

    /// This message as one of so many bytes of data.
    package func asData(_ count: Int, of byte: UInt8 = 7) -> Envelope {
        var message = self
        message.kind = .messageData
        message.body = [UInt8](repeating: byte, count: count)[...]
        return message
    }

    /// The reply to this request.
    package func answer(_ text: String) throws -> Envelope {
        try Envelope(.reply, app: app, pairing: pairing, id: id).with(body: ["text": .string(text)])
    }
}
