// Keys that change while everything else goes on: messages and items both ways, configurations and their reports. No
// send fails, nothing is lost or comes twice, and only what was signed under a set before the one in force is refused.

import TandemBase
import TandemCrypto
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSession
import TandemSignedConfiguration
import TandemTestSupport
import TandemWire
import Testing

@Suite(.timeLimit(.minutes(10)), .serialized) struct KeysUnderLoadTests {
    private static let rotations = 20

    private let nodes: TwoNodes
    private let holders: KeyHolders

    init() throws {
        nodes = try TwoNodes(paired: true)
        holders = KeyHolders(of: nodes.app)
    }

    /// Two apps that send to each other all the time, and answer and handle what comes.
    private final class Traffic {
        let nodes: TwoNodes
        let pairing: UniqueIdentifier
        private(set) var apps: [Client] = []
        private var sent = 0

        init(_ nodes: TwoNodes, anchor: [UInt8]) throws {
            (self.nodes, pairing) = (nodes, try nodes.pairingIdentifier())
            apps = [try nodes.connect(to: .primary) { $0.onFrame = Self.take }]
            let registration = TandemSession.Registration(anchor: KeySetText.text(of: anchor))
            apps.append(
                try nodes.connect(to: .secondary, registration) { client in
                    client.onFrame = Self.take
                    client.judgeOffers(to: nodes.app, on: nodes.clock) { [weak nodes] in nodes?.followed(from: anchor) }
                })
            nodes.run(until: { [apps, nodes] in
                apps.allSatisfy {
                    let peer = (try? $0.states(now: nodes.clock.now))?.last?.pairings.first
                    return peer?.isInstalled == true && peer?.level == .immediate
                }
            })
        }

        private static func take(_ client: Client, _: Frame, _ envelope: Envelope) {
            switch envelope.kind {
            case .message: try? client.reply(to: envelope)
            case .delivery: try? client.send(envelope.verdict())
            default: break
            }
        }

        func send() throws {
            for app in apps {
                try app.send(try nodes.message(through: pairing))
                try app.send(
                    Envelope(.submit, app: nodes.app, pairing: pairing, id: .random(), channel: .userInfo)
                        .with(body: ["n": .integer(Int64(sent))]))
            }
            sent += 1
        }

        func expectAllArrived() throws {
            nodes.run(until: { [apps, sent] in
                apps.allSatisfy { $0.received(.reply).count == sent && $0.received(.finished).count == sent }
            })
            for app in apps {
                #expect(app.received(.failure).isEmpty && app.received(.message).count == sent)
                #expect(app.received(.finished).allSatisfy { $0.name == "handled" })
                let numbers = try app.received(.delivery).map { try $0.dictionaryBody()["n"]?.integerValue }
                #expect(numbers == (0..<Int64(sent)).map { $0 }, "in order, once")
            }
        }
    }

    /// The outcomes of configurations, by their versions.
    private final class Outcomes {
        var of: [UInt64: String] = [:]
        var keySets: [UInt64: UInt64] = [:]
        var changes: [[String?]] = []
        var pending = 0
    }

    private func results(_ answer: ControlAnswer) -> [String?] {
        guard answer.code == 0 else { return [answer.name] }
        return answer.body.rows("results").map { ($0["verdict"] ?? $0["state"])?.stringValue }
    }

    /// Applies without waiting.
    private func begin(_ envelope: [UInt8], in outcomes: Outcomes, _ take: @escaping ([String?]) -> Void) {
        outcomes.pending += 1
        nodes.begin(nodes.primary, "apply", nodes.application(of: envelope, wait: 30_000)) { answer in
            outcomes.pending -= 1
            take(results(answer))
        }
    }

    private func pass(_ milliseconds: Int) {
        let end = nodes.clock.now + .milliseconds(milliseconds)
        nodes.run(until: { nodes.clock.now >= end })
    }

    @Test("CFG-84, CFG-85, CFG-92, CFG-94: keys change under load, no send fails, and nothing is refused wrongly")
    func keysRotateUnderLoad() throws {
        var random = SeededGenerator(seed: 13)
        let signers = [nodes.signer] + (0..<Self.rotations).map { _ in ConfigurationPrivateKey.generate() }
        let anchor = try holders.set(1, [signers[0]])
        #expect(nodes.trust(anchor, at: nodes.primary).code == 0)
        let (traffic, outcomes) = (try Traffic(nodes, anchor: anchor), Outcomes())
        var version: UInt64 = 0
        func configure(under keySet: UInt64) throws {
            version += 1
            let (number, signer) = (version, signers[Int(keySet) - 1])
            outcomes.keySets[number] = keySet
            begin(try nodes.envelope(number, with: signer, under: keySet), in: outcomes) {
                outcomes.of[number] = $0.first ?? nil
            }
        }
        for keySet in 2...UInt64(signers.count) {
            try traffic.send()
            try configure(under: keySet - 1)
            pass(Int.random(in: 0...60, using: &random))
            begin(try holders.set(keySet, [signers[Int(keySet) - 1]]), in: outcomes) { outcomes.changes.append($0) }
            try traffic.send()
            nodes.run(until: { nodes.keySetVersion(of: nodes.primary) == keySet })
            try configure(under: keySet)
            if keySet.isMultiple(of: 6) {
                let revoked = try holders.revocation(of: signers[Int(keySet) - 1], under: keySet)
                begin(revoked, in: outcomes) { outcomes.changes.append($0) }
            }
            try traffic.send()
            pass(Int.random(in: 0...60, using: &random))
        }
        nodes.run(until: { outcomes.pending == 0 })
        try traffic.expectAllArrived()
        #expect(outcomes.changes == Array(repeating: ["applied", "applied"], count: Self.rotations + 3))
        expectNoneWronglyRefused(outcomes, last: UInt64(signers.count))
        #expect(outcomes.of[version] == "applied")
        #expect(try nodes.held()?["version"]?.unsignedValue == version)
        for note in ["report refused", "key statement refused"] { #expect(!nodes.hasNoted(note)) }
    }

    private func expectNoneWronglyRefused(_ outcomes: Outcomes, last: UInt64) {
        // A rotation or a higher version has ended these.
        let ended: Set<String> = ["threshold", "old-keyset", "withdrawn", "superseded"]
        for (version, outcome) in outcomes.of where outcome != "applied" {
            #expect(ended.contains(outcome), "version \(version): \(outcome)")
            #expect(outcomes.keySets[version].map { $0 < last } == true, "version \(version): \(outcome)")
        }
        #expect(outcomes.of.count == outcomes.keySets.count, "each has an end")
        #expect(outcomes.of.values.count { $0 == "applied" } > Self.rotations / 2)
    }
}

extension TwoNodes {
    /// The keys by the chain in the app's directory, as the library follows it (CFG-93).
    fileprivate func followed(from anchor: [UInt8]) -> KeySetHistory? {
        guard var keys = try? KeySetHistory(anchor: anchor) else { return nil }
        if let chain = try? writtenChain() { _ = keys.follow(Array(chain.dropFirst())) }
        return keys
    }
}
