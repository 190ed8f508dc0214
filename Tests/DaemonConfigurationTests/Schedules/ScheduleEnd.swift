// The end of a random schedule: every disturbance is over, time passes, and what then stands at both daemons and in the
// app's files must be what the model says.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSignedConfiguration
import TandemTestSupport

extension ScheduleWorld {
    /// Ends every disturbance and waits until nothing is due any more.
    func settle() throws {
        for place in full { try free(place) }
        nodes.network.isDown = false
        nodes.clock.setWallClock(nodes.clock.wallNow + (Duration.zero - offset))
        offset = .zero
        for place in secondaries { app(place).isHanging = false }
        for place in secondaries { startApp(at: place) }
        for _ in 0..<8 {
            // A new link: what is tried again only then is tried again (CFG-73).
            nodes.network.cut()
            pass(.seconds(40))
            for place in secondaries { startApp(at: place) }
        }
    }

    /// All that must hold then.
    func checkEnd() {
        check()
        checkRequests()
        checkPairings()
        checkKeys()
        for place in secondaries {
            let chosen = chosen(by: place)
            for primary in primaries {
                let held = held(at: place, for: primary)
                if primary == chosen { checkApp(at: place, held) }
                checkDesired(of: place, at: primary, held, isChosen: primary == chosen)
            }
        }
    }

    private func checkPairings() {
        for place in primaries + secondaries {
            guard let status = ask(place, "status")?.body else { continue }
            if status.rows("pairings").contains(where: { $0["level"] != "linked" }) {
                violate("\(place): no link at the end")
            }
            for queue in status.rows("queues") where (queue["waiting"]?.integerValue ?? 0) > 0 {
                violate("\(place): something waits in the queue of \(queue["channel"]?.stringValue ?? "?") at the end")
            }
        }
    }

    private func checkKeys() {
        let mine = keySet(of: .primary)
        for place in secondaries {
            let other = keySet(of: place)
            if mine?["version"] != other?["version"] || mine?["revokedKeys"] != other?["revokedKeys"] {
                violate("the \(place) has not followed the primary's keys (CFG-92)")
            }
        }
        if mine?["version"]?.unsignedValue != history.latest.version { violate("the primary lacks the last key set") }
    }

    private func checkApp(at place: TwoNodes.Place, _ held: PropertyListDictionary?) {
        let app = app(place)
        let state = held?["state"]?.stringValue ?? "none"
        if state.contains("app") && !state.hasPrefix("applied") {
            violate("the secondary still waits at the end: \(state)")
        }
        if app.hasStaged { violate("staged.plist is there at the end") }
        if app.hasTrial || held?["trial"] == true { violate("a trial lasts at the end") }
        if held?["applied"] == nil, app.loaded != nil { violate("the app has loaded what the secondary does not name") }
        if let digest = held?["digest"]?.dataValue, held?["applied"] != nil, app.loaded?.digest != digest {
            violate("the app has not loaded what the secondary names as active")
        }
        if let loaded = app.loaded, held?["waived"] != true, !history.latest.loads(loaded) {
            violate("the app has loaded bytes that no key covers which still counts (CFG-89)")
        }
        if nodes.hasNoted("an app's files were not as this daemon had written them, and are written again") {
            violate("the daemon says that somebody has changed its files (CFG-116)")
        }
    }

    private func checkDesired(
        of place: TwoNodes.Place, at primary: TwoNodes.Place, _ held: PropertyListDictionary?, isChosen: Bool
    ) {
        // The end of a lifetime is reported to nobody (CFG-34).
        guard !wasLocal, !character.lapses, let row = desired(of: place, at: primary) else { return }
        let active = held?["applied"] == nil ? nil : held?["version"]
        if row["noApp"] == true { violate("the primary says that the app is not installed") }
        if row["reported"] != active {
            violate("the primary has version \(word(row["reported"])) as reported, and \(word(active)) is active")
        }
        guard let digest = row["digest"]?.dataValue, let one = history.configuration(digest) else {
            return violate("the primary desires what nobody signed")
        }
        let isActive =
            held?["applied"] != nil
            && held?["digest"]?.dataValue.flatMap(history.configuration)?.statement == one.statement
        let verdict = row["verdict"]?.stringValue ?? row["ending"]?.stringValue ?? "nothing"
        if isActive {
            if row["stale"] != nil {
                violate("\(place) of \(primary): the desired configuration is active, and shown as stale")
            }
            if verdict != "applied" {
                violate("\(place) of \(primary): the desired configuration is active, and the verdict is \(verdict)")
            }
        } else if row["rollout"] != nil, row["verdict"] == nil || verdict == "withdrawn" {
            return
        } else if !isChosen, verdict == "waiting-for-app" {
            return
        } else if !explains(verdict, one, app(place)) {
            violate("\(place) of \(primary): the desired configuration is not active, and the verdict is \(verdict)")
        }
    }

    private func word(_ value: PropertyListValue?) -> String { value?.unsignedValue.map { "\($0)" } ?? "none" }

    /// Whether a final verdict on a configuration follows from the schedule.
    private func explains(_ verdict: String, _ one: SignedHistory.Configuration, _ app: ScheduledApp) -> Bool {
        let others = history.configurations.filter { $0.payload.target == one.payload.target }
        switch verdict {
        case "rollback":
            return others.contains {
                $0.version >= one.version && ($0.version > one.version || $0.statement == one.statement)
            }
        case "equivocation": return others.contains { $0.version == one.version && $0.statement != one.statement }
        case "schema": return one.nature == .unfit
        case "failed": return one.nature == .deadly || (app.sights[one.digest] ?? 0) >= 3
        case "expired": return one.payload.expires != nil
        case "threshold": return !history.latest.trusts(one)
        case "old-keyset": return one.payload.keySetVersion != history.latest.version
        default: return false
        }
    }
}
