// CTL-8: an app that is developed beside the simulator sees a switch when somebody asks for one.

import TandemBase
import TandemDaemon
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

@Suite struct SimulatorSwitchTests {
    let simulation = Simulation(secondaries: 3)

    private func ask(_ command: String, _ body: PropertyListDictionary, on client: Client) throws -> Envelope {
        try client.deliver(Envelope(.control, id: .random(), command: command).with(body: body))
        return try #require(client.received(.result).last)
    }

    @Test func `CTL-8: the primary's apps are told the new active pairing, once`() throws {
        let (app, control) = (try simulation.app(.primary), try simulation.greet(.primary))
        let states = app.received(.state).count
        for changed in [true, false] {
            let result = try ask("switch", ["who": "secondary-3"], on: control)
            let body = try result.dictionaryBody()
            #expect(result.code == 0 && body["changed"] == .boolean(changed) && body["name"] == "secondary-3")
        }
        #expect(try simulation.state(of: app).active == simulation.simulator.pairings[2])
        #expect(app.received(.state).count == states + 1)
        let first = try ask("switch", ["pairing": .data(simulation.simulator.pairings[0].bytes)], on: control)
        let active = try simulation.state(of: app).active
        #expect(first.code == 0 && active == simulation.simulator.pairings[0])
    }

    @Test func `CTL-8: another secondary, another command, another role and a wrong type are refused by name`() throws {
        let control = try simulation.greet(.primary)
        #expect(try ask("switch", ["who": "secondary-4"], on: control).name == "not-found")
        #expect(try ask("switch", [:], on: control).name == "not-found")
        #expect(try ask("switch", ["pairing": "x"], on: control).name == "bad-request")
        #expect(try ask("pair", [:], on: control).name == "unknown-command")
        #expect(try ask("switch", ["who": "secondary"], on: simulation.greet(.secondary)).name == "wrong-role")
    }
}
