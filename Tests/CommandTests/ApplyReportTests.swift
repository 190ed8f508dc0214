// The judgement of 'tandem apply' on the daemon's answer: its exit code says whether every secondary applied it.

import TandemBase
import TandemControl
import TandemOperations
import TandemPropertyList
import TandemSignedConfiguration
import Testing

@testable import tandem

@Suite struct ApplyReportTests {
    private func refusal(_ answer: PropertyListDictionary) -> String? {
        do throws(CommandFailure) {
            try ApplyReport.check(answer)
            return nil
        } catch {
            return "\(error)"
        }
    }

    private func results(_ verdicts: String...) -> PropertyListValue {
        .array(verdicts.map { ["name": "kiosk", "verdict": .string($0)] })
    }

    @Test("CTL-25: a device that the configuration names and that is no secondary of its target is said")
    func absent() {
        let device = UniqueIdentifier.random()
        let line = ApplyReport.absenceWarning(in: ["absent": [.data(device.bytes)]])
        #expect(line?.hasSuffix("no secondaries of its target here: \(device)") == true)
        #expect(ApplyReport.absenceWarning(in: ["results": results("applied")]) == nil)
    }

    @Test("CTL-25, CFG-79: an interrupted rollout says that others get it later")
    func interruptedRollout() {
        let pending = [Fact(["name": "s1", "state": "queued"]), Fact(["name": "s2", "state": "held-back"])]
        let lines = ApplyFollower.interruption(pending, of: ["app": "org.example.lamp"])
        #expect(
            lines.first
                == "interrupted; the configuration stays desired, and is delivered to s1; once it works at the first, "
                + "also to s2")
    }

    @Test("CTL-25, CFG-79: a rollout says which first secondaries it waits for, and what ends the wait for the app")
    func rolloutThatWaits() {
        let gateway: PropertyListValue = ["name": "gateway", "state": "no-app", "awaited": true]
        let kiosk: PropertyListValue = ["name": "kiosk", "state": "queued", "awaited": true]
        let lamp: PropertyListValue = ["name": "lamp", "state": "held-back"]
        let line = ApplyReport.rolloutWarning(in: ["results": [gateway, kiosk, lamp]])
        #expect(line?.contains(": gateway (no-app), kiosk (queued); start the app where it is missing") == true)
        let without = ApplyReport.rolloutWarning(in: ["results": [kiosk, lamp]])
        #expect(without?.hasSuffix(": kiosk (queued)") == true)
        #expect(ApplyReport.rolloutWarning(in: ["results": [lamp]]) == nil)
    }

    @Test("CTL-25, CFG-79: a rollout in which nobody waits says so, and is said not to wait")
    func rolloutWithoutOthers() {
        func row(_ name: String, _ state: String, _ more: PropertyListDictionary = [:]) -> PropertyListValue {
            let row: PropertyListDictionary = ["name": .string(name), "pairing": .string(name), "version": 1]
            return .dictionary(row.merging(["state": .string(state)]).merging(more))
        }
        func warning(_ results: PropertyListValue..., request: PropertyListDictionary) -> String? {
            ApplyReport.stageWarning(in: ["results": .array(results)], to: request)
        }
        let (k1, k2) = (row("k1", "queued", ["awaited": true]), row("k2", "queued", ["awaited": true]))
        #expect(ApplyReport.rolloutWarning(in: ["results": [k1, k2]]) == nil)
        #expect(ApplyReport.rolloutWarning(in: ["results": [k1, row("k2", "no-app")]]) != nil)
        #expect(warning(k1, k2, request: ["first": 4]) == "warning: --first 4 includes every secondary: none waits")
        #expect(warning(k1, row("k2", "held-back"), request: ["first": 1]) == nil)
        #expect(warning(k1, row("k2", "held-back"), request: ["only": ["k1"]]) == nil)
        #expect(warning(k1, k2, request: [:]) == nil)
        let sent = row("k2", "reported", ["verdict": "applied"])
        #expect(
            warning(k1, sent, request: ["only": ["k1"]])
                == "warning: --only has no effect: version 1 has already been sent to k2")
        #expect(warning(k1, sent, request: ["first": 1])?.contains("--first has no effect") == true)
        #expect(warning(k1, sent, request: ["only": ["0123ABCD-0000-4000-8000-0123456789AB"]]) == nil)
    }

    @Test("CTL-25: a failure names the pairing of a device whose name another one has")
    func ambiguousNames() {
        let old: PropertyListValue = ["name": "kiosk", "pairing": "P1", "state": "queued"]
        let new: PropertyListValue = ["name": "kiosk", "pairing": "P2", "verdict": "expired"]
        #expect(refusal(["results": [old, new]])?.contains("kiosk P1: queued, kiosk P2: expired") == true)
    }

    @Test("CTL-25: an interruption before any answer claims nothing, and names the command that shows what is in force")
    func interruptedBeforeAnyAnswer() throws {
        let app = "org.example.lamp"
        let lines = ApplyFollower.interruption(nil, of: ["app": .string(app)])
        #expect(
            lines == [
                "interrupted before the daemon answered; 'tandem configuration show --app \(app)' shows what is desired, "
                    + "and 'tandem status' what the own app has"
            ])
        for type in [SignedPayloadType.keySet, .revocation] {
            let envelope = try SignedEnvelope.bytes([1], type: type, signedWith: [])
            let lines = ApplyFollower.interruption(nil, of: ["app": .string(app), "envelope": .data(envelope)])
            #expect(lines == ["interrupted before the daemon answered; 'tandem trust list' shows the keys in force"])
        }
    }

    @Test("CTL-63: results for which an answer has no room are not taken for applied ones")
    func leftOut() {
        #expect(refusal(["results": results("applied", "applied")]) == nil)
        let cut = refusal(["results": results("applied"), "leftOut": ["results": 1500]])
        #expect(cut?.contains("1500 more secondaries are not known") == true)
        #expect(refusal(["results": results("applied", "rollback")])?.contains(": rollback") == true)
        #expect(refusal(["results": results()])?.contains("no paired secondary") == true)
    }

    @Test("CTL-26: what a change of keys has ended is in the first answer, and kept for the last one")
    func ended() {
        let one: PropertyListValue = [
            "target": "vendor:1", "version": 42, "digest": .data([1]), "verdict": "threshold",
        ]
        let own: PropertyListValue = ["name": "hub", "verdict": "applied", "ended": [one], "endedMore": 3]
        let kiosk: PropertyListValue = ["name": "kiosk", "verdict": "applied"]
        let ended = ApplyReport.endedFields(in: ["results": [own, kiosk]])
        #expect(ended == ["ended": [one], "endedMore": 3])
        let last: PropertyListDictionary = ["ordinal": 2, "results": [["name": "hub", "verdict": "applied"], kiosk]]
        let answer = ApplyReport.keeping(ended, in: last)
        #expect(answer == ["ordinal": 2, "results": [own, kiosk]])
        let lines = ApplyReport.endedLines(of: Fact.list(answer["results"]))
        #expect(lines.first?.contains("version 42 for vendor:1 (threshold)") == true && lines.last == "and 3 more")
        #expect(ApplyReport.keeping([:], in: last) == last)
    }

    @Test("CTL-25: a secondary without the app is no failure, unless no secondary has the app")
    func withoutTheApp() {
        let gateway: PropertyListValue = ["name": "gateway", "state": "no-app", "verdict": "waiting-for-key"]
        let kiosk: PropertyListValue = ["name": "kiosk", "state": "reported", "verdict": "applied"]
        #expect(refusal(["results": [gateway, kiosk]]) == nil)
        #expect(refusal(["results": [gateway]])?.contains("no secondary has the app") == true)
        #expect(ApplyReport.lines(of: [Fact(["name": "gateway", "state": "no-app"])]).last?.contains("no-app") == true)
    }
}
