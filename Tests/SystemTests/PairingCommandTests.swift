// Pairing from the command line beside the plain way: by fingerprint, with wrong links, on the wrong daemon.

import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct PairingCommandTests {
    private let devices: TwoDevices
    init() async throws { devices = try await TwoDevices() }

    private func fingerprint(of name: String) async throws -> String {
        let status = try await devices.status(of: name)
        return String(try #require(status.firstMatch(of: /"fingerprint":"([A-Z2-7-]+)"/)).1)
    }

    private func join(with input: String) async throws -> Program.Ending {
        try await tandem("join", "--device", devices.workspace["kiosk.sock"], in: devices.workspace, input: input)
    }

    @Test func fingerprintsPairOnlyWhenBothSidesTrustEachOther() async throws {
        let (hub, kiosk) = (try await fingerprint(of: "hub"), try await fingerprint(of: "kiosk"))
        let trusted = try await devices.run(
            "kiosk", "trust-device", "--role", "primary", "--address", devices.address, hub)
        #expect(trusted.status == 0, "\(trusted)")
        #expect(try await !devices.isLinked(within: .seconds(2)), "one side's trust was enough")
        #expect(try await devices.run("hub", "trust-device", "--role", "secondary", kiosk).status == 0)
        #expect(try await devices.isLinked(within: .seconds(60)))
    }

    @Test func aChangedSecretIsRefusedAndTheLinkStillWorks() async throws {
        let link = try await devices.run("hub", "pair", "--link-only").output
        let secret = try #require(link.firstMatch(of: /secret=([A-Za-z0-9_-]+)/)).1
        let wrong = link.replacingOccurrences(of: secret, with: String(repeating: "A", count: secret.count))
        let refused = try await join(with: wrong)
        #expect(refused.status == 1)
        #expect(refused.errors.contains("join-refused"), "\(refused)")
        #expect(try await join(with: link).status == 0)
    }

    @Test(arguments: ["tandem:join/1?", "tandem:join/2?at=x", "tandem:join/1?at=127.0.0.1:1&token=x", "hello", ""])
    func whatIsNoLinkIsRefused(text: String) async throws {
        let refused = try await join(with: text)
        #expect(refused.status == 1, "\(refused)")
        #expect(!refused.errors.isEmpty)
    }

    @Test func theWholeOutputOfPairWillDoAndHoldsNoColourInAPipe() async throws {
        let pair = try await devices.run("hub", "pair")
        #expect(pair.output.contains("expires 20"))
        #expect(pair.errors.contains("--advertise"), "the link names this machine: \(pair)")
        #expect(pair.output.contains("\u{2588}\u{2588}\u{2588}\u{2588}"), "no code was drawn")
        #expect(!pair.output.contains("\u{1B}"))
        #expect(try await join(with: pair.output).status == 0)
    }

    @Test("CTL-61: 'pair' and 'status' print one form of a link's token for programs, with which it is taken back")
    func aLinkIsTakenBackByTheTokenThatProgramsGet() async throws {
        let made = try await devices.run("hub", "pair", "--json")
        let token = String(try #require(made.output.firstMatch(of: /"token":"([0-9A-F-]{36})"/), "\(made)").1)
        #expect(try await devices.status(of: "hub").contains("\"token\":\"\(token)\""))
        let taken = try await devices.run("hub", "pair-cancel", token.lowercased())
        #expect(taken.status == 0 && taken.output == "taken back\n", "\(taken)")
        #expect(try await !devices.status(of: "hub").contains(token))
    }

    @Test("CTL-6: a secondary that does not run is joined in its state directory")
    func aSecondaryThatDoesNotRunIsJoinedInItsStateDirectory() async throws {
        try await devices.kiosk.end(by: SIGTERM)
        let link = try await devices.run("hub", "pair", "--link-only").output
        let state = ["--state", devices.workspace["kiosk"]]
        let join = try await tandem(["join"] + state, in: devices.workspace, input: link)
        #expect(join.status == 0, "\(join)")
        try await devices.restartKiosk()
        #expect(try await devices.isLinked())
        let taken = try await tandem(["join"] + state, in: devices.workspace, input: link)
        #expect(taken.status == 1 && taken.errors.contains("in use by process"), "\(taken)")
    }

    @Test("CTL-67: a join in a state directory that the primary refuses is one object for programs, as a daemon's is")
    func aRefusedJoinInAStateDirectoryIsOneObject() async throws {
        try await devices.kiosk.end(by: SIGTERM)
        let link = try await devices.run("hub", "pair", "--link-only").output
        let status = try await devices.status(of: "hub")
        let token = String(try #require(status.firstMatch(of: /"token":"([0-9A-F-]{36})"/), "\(status)").1)
        #expect(try await devices.run("hub", "pair-cancel", token).status == 0)
        let join = try await tandem(
            ["join", "--json", "--state", devices.workspace["kiosk"]], in: devices.workspace, input: link)
        #expect(join.status == 1 && join.output.hasPrefix("{\"error\":\"join-refused\","), "\(join)")
    }

    @Test func aDaemonThatAcceptsNoLinksMakesNone() async throws {
        let refused = try await devices.run("kiosk", "pair")
        #expect(refused.status == 1)
        #expect(refused.errors.contains("--listen"), "\(refused)")
    }

    @Test func aPairingEndsOnceAndIsMadeAgain() async throws {
        try await devices.pair()
        #expect(try await devices.run("hub", "unpair", "nobody").errors.contains("not-found"))
        #expect(try await devices.run("hub", "unpair", "kiosk", "--yes").status == 0)
        #expect(try await devices.run("hub", "unpair", "kiosk", "--yes").status == 1)
        try await devices.pair()
    }
}
