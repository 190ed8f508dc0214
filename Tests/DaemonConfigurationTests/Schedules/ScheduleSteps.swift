// The deeds of each kind of step in the world of a random schedule.

import TandemBase
import TandemCrypto
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSignedConfiguration
import TandemTestSupport

extension ScheduleWorld {
    /// Does one step.
    func play(_ step: Step) throws {
        switch step.kind {
        case .apply, .applyOlder, .applySame, .applyOther, .applyAgainWrapped, .wrongTarget, .untimely, .unknownKey,
            .locally, .rollout:
            try apply(step)
        case .rotate, .revoke: try changeKeys(step)
        case .withdraw: begin(primary(step), "configuration-withdraw", nodes.body())
        case .clock: moveClock(step)
        case .linkDown: nodes.network.takeDown()
        case .linkUp: nodes.network.isDown = false
        case .restartPrimary: try restart(primary(step))
        case .restartSecondary: try restart(secondary(step))
        case .crashPrimary: try crash(primary(step), after: step.choose(6))
        case .crashSecondary: try crash(secondary(step), after: step.choose(6))
        case .appStarts: startApp(at: secondary(step))
        case .appLeaves: app(secondary(step)).end(inOrder: true)
        case .appCrashes: app(secondary(step)).end(inOrder: false)
        case .appHangs: app(secondary(step)).isHanging = step.draw % 2 == 0
        case .shortTime: pass(.milliseconds(Int64(step.choose(3000))))
        case .longTime: pass(.seconds(Int64(step.choose(70))))
        case .permission: try changePermission(step)
        case .pairAgain: try pairAgain(step)
        case .fullDisk: fill(step.draw % 2 == 0 ? .primary : .secondary)
        case .freeDisk: for place in full { try free(place) }
        case .switchPrimary: switchPrimary(step)
        }
        // Some steps meet the one before half done.
        switch step.choose(4, shifted: 20) {
        case 0: nodes.clock.run()
        case 1: pass(.milliseconds(Int64(step.choose(8, shifted: 24))))
        default: pass(.milliseconds(Int64(step.choose(900, shifted: 24))))
        }
    }

    private func primary(_ step: Step) -> TwoNodes.Place { primaries[step.choose(primaries.count, shifted: 34)] }
    private func secondary(_ step: Step) -> TwoNodes.Place { secondaries[step.choose(secondaries.count, shifted: 36)] }
    /// The identifier of the step's primary.
    private func target(_ step: Step) -> PairedIdentifier { vendors[primary(step)] ?? nodes.target }

    // MARK: configurations

    private func payload(_ version: UInt64, _ target: PairedIdentifier) -> ConfigurationPayload {
        ConfigurationPayload(
            application: nodes.app, role: .secondary, target: target, version: version,
            keySetVersion: history.latest.version, transaction: .random(), issued: now - 60,
            values: ["volume": .integer(Int64(history.configurations.count))])
    }

    /// Keys that meet the threshold in force, or almost.
    private func signers(_ step: Step) -> Set<Int> {
        let keys = history.latest
        let able = (keys.sets[keys.version]?.keys ?? []).subtracting(keys.revoked)
        let threshold = keys.sets[keys.version]?.threshold ?? 1
        if able.count < threshold { return able.isEmpty ? [3] : able }
        let count = threshold + step.choose(able.count - threshold + 1, shifted: 8)
        return Set(able.sorted().prefix(count))
    }

    private func next(_ target: PairedIdentifier) -> UInt64 {
        highest[target, default: 0] += 1
        return highest[target] ?? 1
    }

    private func configuration(_ step: Step) throws -> SignedHistory.Configuration? {
        let target = target(step)
        let known = history.configurations.filter { $0.payload.target == target }
        let one = known.isEmpty ? nil : known[step.choose(known.count, shifted: 4)]
        let last = highest[target] ?? 0
        switch step.kind {
        case .applyOlder:
            return try history.sign(
                payload(max(1, last - min(last, UInt64(step.choose(3) + 1))), target), with: signers(step))
        case .applySame: return step.draw % 2 == 0 ? known.last : one
        case .applyOther: return try history.sign(payload(max(1, last), target), with: signers(step))
        case .applyAgainWrapped:
            return try one.map { try history.sign(again: $0, with: $0.signers.union(signers(step))) }
        case .wrongTarget: return try history.sign(payload(last + 1, .vendor(.random())), with: signers(step))
        case .unknownKey: return try history.sign(payload(next(target), target), with: [])
        case .untimely:
            var payload = payload(next(target), target)
            if step.draw % 2 == 0 {
                payload.expires = now + UInt64(step.choose(90, shifted: 8)) + 1
            } else {
                payload.notBefore = now + 300 + UInt64(step.choose(90, shifted: 8))
            }
            return try history.sign(payload, with: signers(step))
        default:
            let nature: SignedHistory.Nature = [.good, .good, .good, .good, .unfit, .deadly][step.choose(6)]
            var payload = payload(next(target), target)
            if character.lapses, step.choose(3, shifted: 14) == 0 {
                payload.lifetime = UInt64(step.choose(120, shifted: 18)) + 1
            }
            return try history.sign(payload, with: signers(step), nature)
        }
    }

    private func apply(_ step: Step) throws {
        guard let one = try configuration(step) else { return }
        var body = nodes.application(of: one.bytes, wait: step.choose(2, shifted: 12) == 0 ? 0 : 5_000)
        if step.kind == .rollout { body["first"] = 1 }
        if step.kind == .locally { wasLocal = true }
        begin(step.kind == .locally ? secondary(step) : primary(step), "apply", body)
    }

    // MARK: keys

    private func changeKeys(_ step: Step) throws {
        let keys = history.latest
        let present = keys.sets[keys.version]?.keys ?? []
        if step.kind == .revoke {
            guard let key = present.subtracting(keys.revoked).min(), keys.revoked.count < 2 else { return }
            let bytes = try history.revoke(key, withdraws: step.draw % 3 == 0)
            return try takeStatement(bytes, step)
        }
        let free = Set(history.signers.indices).subtracting(keys.revoked)
        let wanted = Set(free.sorted().filter { step.draw >> UInt64($0) & 1 == 1 })
        let chosen = wanted.isEmpty ? free : wanted
        let threshold = min(chosen.count, step.choose(2, shifted: 10) + 1)
        try takeStatement(try history.rotate(to: chosen, threshold: threshold), step)
    }

    /// The operator gives it to the primary until that has taken it: the holders sign each step on the one before.
    private func takeStatement(_ bytes: [UInt8], _ step: Step) throws {
        for place in full { try free(place) }
        for place in primaries {
            var answer = ask(place, "apply", nodes.application(of: bytes, wait: 0))
            if answer?.name == "store" { answer = ask(place, "apply", nodes.application(of: bytes, wait: 0)) }
            if answer?.code != 0 {
                violate("the \(place) refuses a statement about keys: \(answer?.name ?? "no answer")")
            }
        }
    }

    // MARK: the world

    private func moveClock(_ step: Step) {
        let times: [Int64] = [-86_400 * 400, -7_200, -400, -100, 100, 400, 7_200, 86_400 * 3]
        let moved =
            step.draw % 3 == 0 ? Duration.zero - offset : Duration.seconds(times[step.choose(times.count, shifted: 4)])
        offset += moved
        nodes.clock.setWallClock(nodes.clock.wallNow + moved)
    }

    private func changePermission(_ step: Step) throws {
        nodes.allowsInvalidSignatures = step.draw % 2 == 0
        let place = secondary(step)
        if step.draw % 3 == 0 {
            app(place).waives.toggle()
            app(place).end(inOrder: false)
        }
        for place in secondaries { try restart(place) }
    }

    private func switchPrimary(_ step: Step) {
        guard character.shape == .twoPrimaries, let pairing = pairing(of: .secondary, with: primary(step)) else {
            return
        }
        app(.secondary).target = nil
        _ = ask(.secondary, "switch", ["pairing": pairing])
    }

    private func pairing(of place: TwoNodes.Place, with peer: TwoNodes.Place) -> PropertyListValue? {
        let name = PropertyListValue.string("the \(peer)")
        return ask(place, "status")?.body.rows("pairings").first { $0["name"] == name }?["pairing"]
    }

    private func pairAgain(_ step: Step) throws {
        guard !nodes.network.isDown, full.isEmpty else { return }
        let (primary, secondary) = (primary(step), secondary(step))
        app(secondary).target = nil
        switch step.choose(3) {
        case 0: unpair(primary, from: secondary)
        case 1: unpair(secondary, from: primary)
        default: break
        }
        guard let link = ask(primary, "pair")?.body["link"] else { return }
        var joined = ask(secondary, "join", ["link": link, "replace": .boolean(step.draw % 2 == 0)])
        if joined?.name == "would-replace" { joined = ask(secondary, "join", ["link": link, "replace": true]) }
        if let joined, joined.code != 0 {
            violate("joining again is refused: \(joined.name ?? "?")")
        }
    }

    private func unpair(_ place: TwoNodes.Place, from peer: TwoNodes.Place) {
        guard let pairing = pairing(of: place, with: peer) else { return }
        _ = ask(place, "unpair", ["pairing": pairing, "yes": true])
    }

    private func fill(_ place: TwoNodes.Place) {
        guard let disk = disks[place], full.insert(place).inserted else { return }
        disk.fill()
    }

    func free(_ place: TwoNodes.Place) throws {
        full.remove(place)
        try disks[place]?.free()
    }
}
