// Limits of what an app sends, as the app can read them, and as its calls check them.

import PairedSession
import PairedSessionFoundation
import TandemBase
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

struct SessionLimitsTests {
    @Test("LIM-2, LIM-7, LIM-8, LIM-14, LIM-30, LIM-37: an app reads the limits of what it sends, by either name")
    func limits() {
        for limits in [PairedSession.limits, WCSession.limits] {
            #expect(limits.message == 65_536 && limits.userInfo == 65_536 && limits.context == 262_144)
            #expect(limits.fileDescription == 65_536 && limits.fileName == 255 && limits.file == 1_099_511_627_776)
            #expect(limits.topic == 128 && limits.waitingItems == 10_000 && limits.waitingBytes == 67_108_864)
            #expect(limits.openMessages == 1_024)
            #expect(limits.timeout == Duration.milliseconds(1)...Duration.seconds(600))
        }
    }

    @Test("LIM-2: an app reads what its calls check: the limit passes, one byte more is 7009")
    func limitsAreChecked() throws {
        let app = try SendingApp()
        let limits = PairedSession.limits
        let cases: [(Channel, Int)] = [
            (.userInfo, limits.userInfo), (.urgent, limits.userInfo), (.context, limits.context),
            (.file, limits.fileDescription),
        ]
        for (channel, limit) in cases {
            // Large enough for a length of the same form.
            let sample: PropertyListDictionary = ["d": .data([UInt8](repeating: 0, count: limit - 100))]
            let overhead = try PropertyListWriter.write(sample).count - (limit - 100)
            let errors = [limit, limit + 1].map { size in
                let content = OutgoingContent(["d": .data([UInt8](repeating: 0, count: size - overhead))])
                return app.session.obstacle(to: Submission(channel, to: nil, content))
            }
            #expect(errors.map { $0?.code } == [nil, .payloadTooLarge], "\(channel)")
            #expect(errors.map { $0?.limit } == [nil, limit], "\(channel)")
        }
    }
}
