// A daemon whose disk does not answer (CTL-77): the test holds the store's thread.

import TandemBase
import TandemDaemonTestSupport
import TandemFiles
import TandemOperations
import TandemPropertyList
import TandemStore
import TandemTestSupport
import Testing

@testable import TandemDaemon

@Suite(.timeLimit(.minutes(10))) struct StalledDiskTests {
    private let nodes: TwoNodes

    init() throws { nodes = try TwoNodes() }

    @Test func `CTL-12, CTL-77: a disk that does not answer is named in health and in one line, until it does`() throws
    {
        nodes.diskPatience = HealthLedger.gracePeriod
        try nodes.restart(.primary)
        nodes.run(until: { true })
        let (isHeld, goesOn) = (Semaphore(), Semaphore())
        defer { goesOn.signal() }
        nodes.primary.device.store.commit([], room: .ordinary) { _ in
            isHeld.signal()
            goesOn.wait()
        }
        isHeld.wait()
        var made: ControlAnswer?
        var health: ControlAnswer?
        nodes.begin(nodes.primary, "pair", [:]) { made = $0 }
        let since = nodes.clock.wallNow
        // The start's commits may have asked for a look, and the next ones are a second apart from it.
        nodes.clock.advance(by: .seconds(6))
        nodes.begin(nodes.primary, "health", [:]) { health = $0 }
        nodes.clock.run()
        let problem = health?.body.rows("problems").first { $0["name"] == "store" }
        let text = problem?["text"]?.stringValue ?? ""
        #expect(
            text.hasPrefix("the disk does not answer") && text.contains("\(since)"), "\(String(describing: health))")
        #expect(problem?["since"] == .integer(6000))
        let line = "the disk does not answer, and nothing new is stored until it does; look at it"
        #expect(nodes.lines(line).count == 1 && made == nil)
        goesOn.signal()
        nodes.run(until: { made != nil })
        #expect(made?.code == 0 && nodes.lines(line).count == 1 && nodes.lines("the disk answers again").count == 1)
        nodes.run(until: { nodes.ask(nodes.primary, "health").body["state"] == "healthy" })
    }
}
