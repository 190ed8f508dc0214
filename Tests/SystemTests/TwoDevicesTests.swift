// Two real daemons: pairing, messages, and what survives a stop, a kill and a lost partner.

import Foundation
import PairedSession
import Synchronization
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct TwoDevicesTests {
    @Test(arguments: [false, true]) func messagesGoBothWaysOverEachTransport(overUnixSocket: Bool) async throws {
        let devices = try await TwoDevices(overUnixSocket: overUnixSocket, paired: true)
        let onHub = try devices.receiver(on: "hub", reply: #"{"from":"hub"}"#)
        let onKiosk = try devices.receiver(on: "kiosk", reply: #"{"from":"kiosk"}"#)
        #expect(try await devices.isAnswered(from: "hub"))
        #expect(try await devices.isAnswered(from: "kiosk"))
        let reply = try await devices.run("kiosk", "send", "--app", TwoDevices.app, #"{"n":[1,2.5,true,"é"]}"#)
        #expect(reply.output == "{\"from\":\"hub\"}\n")
        #expect(onHub.output.contains(#"{"n":[1,2.5,true,"é"]}"#))
        #expect(onKiosk.isRunning)
    }

    @Test func `SES-53: a message with a topic is answered by the handler of that topic, with and without a reply`()
        async throws
    {
        let devices = try await TwoDevices(paired: true)
        let topics = Mutex<[String]>([])
        let apps = try DeviceApps(devices.workspace)
        apps.receiver.handleMessages(topic: "scene") { message in
            topics.withLock { $0.append(message.topic ?? "") }
            return ["topic": "scene"]
        }
        try await apps.activate()
        for option in ["--timeout=5s", "--no-reply", "--all"] {
            let sent = try await devices.run("hub", "send", "--app", TwoDevices.app, "--topic", "scene", option, "{}")
            #expect(sent.status == 0 && sent.output.contains("scene") == (option == "--timeout=5s"), "\(sent)")
        }
        #expect(try await holds(within: .seconds(10)) { topics.withLock { $0 } == ["scene", "scene", "scene"] })
        await apps.end()
    }

    @Test func sigtermDrainsAndEndsWithZero() async throws {
        let devices = try await TwoDevices(paired: true)
        for program in [devices.kiosk, devices.hub] {
            #expect(try await program.end(by: SIGTERM).status == 0, "\(program.errors)")
        }
        #expect(!FileManager.default.fileExists(atPath: devices.workspace["hub.sock"]))
    }

    @Test func aPairingSurvivesTheDeathOfEitherSide() async throws {
        let devices = try await TwoDevices(paired: true)
        devices.hub.signal(SIGKILL)
        devices.kiosk.signal(SIGKILL)
        _ = try await devices.hub.ending()
        _ = try await devices.kiosk.ending()
        try await devices.restartHub()
        try await devices.restartKiosk()
        #expect(try await devices.isLinked())
        let receiver = try devices.receiver(on: "kiosk")
        #expect(try await devices.isAnswered(from: "hub"))
        #expect(receiver.isRunning)
    }

    @Test func theSecondaryWorksWithoutItsPrimaryAndComesBack() async throws {
        let devices = try await TwoDevices(paired: true)
        #expect(try await devices.hub.end(by: SIGTERM).status == 0)
        let alone = try await devices.run("kiosk", "send", "--app", TwoDevices.app, "{}")
        #expect(alone.status == 1)
        #expect(alone.errors.contains("7007") || alone.errors.contains("7018"), "\(alone)")
        #expect(try await devices.run("kiosk", "status").status == 0)
        try await devices.restartHub()
        #expect(try await devices.isLinked(within: .seconds(40)))
    }

    @Test func aUsedLinkPairsNobodyElse() async throws {
        let devices = try await TwoDevices()
        let link = try await devices.run("hub", "pair", "--link-only").output
        let first = try await tandem(
            "join", "--device", devices.workspace["kiosk.sock"], in: devices.workspace, input: link)
        #expect(first.status == 0, "\(first)")
        let other = try await devices.startSecondary("other")
        let second = try await tandem(
            "join", "--device", devices.workspace["other.sock"], in: devices.workspace, input: link)
        #expect(second.status == 1 && other.isRunning)
        #expect(second.errors.contains("join-refused"), "\(second)")
        let secret = try #require(link.split(separator: "&").first { $0.hasPrefix("secret=") }?.dropFirst(7))
        #expect(!devices.hub.errors.contains(secret) && !devices.kiosk.errors.contains(secret), "a secret was logged")
    }

    @Test func aLinkFileOpenToOthersIsRefused() async throws {
        let devices = try await TwoDevices()
        let link = try await devices.run("hub", "pair", "--link-only").output
        try devices.workspace.write("link", link, mode: 0o644)
        let loose = try await devices.run("kiosk", "join", "--file", "link")
        #expect(loose.status == 1)
        #expect(loose.errors.contains("chmod 600"))
        try devices.workspace.write("link", link)
        #expect(try await devices.run("kiosk", "join", "--file", "link").status == 0)
    }

    @Test func unpairingEndsTheLinkOnBothSides() async throws {
        let devices = try await TwoDevices(paired: true)
        #expect(try await devices.run("hub", "unpair", "kiosk", "--yes").status == 0)
        let sent = try await devices.run("kiosk", "send", "--app", TwoDevices.app, "{}")
        #expect(sent.status == 1)
        #expect(try await !devices.status(of: "hub").contains("\"name\":\"kiosk\""))
    }
}
