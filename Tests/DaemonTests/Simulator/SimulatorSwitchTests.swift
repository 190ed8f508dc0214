// CTL-8: an app that is developed beside the simulator sees a switch when somebody asks for one.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

@Suite struct SimulatorSwitchTests {
    let simulation = Simulation(secondaries: 3)

    @Test func `CTL-8: the primary's apps are told the new active pairing, once`() throws {
        let app = try simulation.app(.primary)
        let states = app.received(.state).count
        for changed in [true, false] {
            let result = try simulation.ask("switch", ["who": "secondary-3"])
            let body = try result.dictionaryBody()
            #expect(result.code == 0 && body["changed"] == .boolean(changed) && body["name"] == "secondary-3")
        }
        #expect(try simulation.state(of: app).active == simulation.simulator.pairings[2])
        #expect(app.received(.state).count == states + 1)
        let first = try simulation.ask("switch", ["pairing": .data(simulation.simulator.pairings[0].bytes)])
        let active = try simulation.state(of: app).active
        #expect(first.code == 0 && active == simulation.simulator.pairings[0])
    }

    @Test func `CTL-8: another secondary, another command, another role and a wrong type are refused by name`() throws {
        #expect(try simulation.ask("switch", ["who": "secondary-4"]).name == "not-found")
        #expect(try simulation.ask("switch").name == "not-found")
        #expect(try simulation.ask("switch", ["pairing": "x"]).name == "bad-request")
        #expect(try simulation.ask("pair").name == "unknown-command")
        #expect(try simulation.ask("switch", ["who": "secondary"], at: .secondary).name == "wrong-role")
    }
}
