// Apps of secondaries that do not load what is applied there, as the primary knows it from reports (CTL-75).

import TandemBase
import TandemPropertyList
import TandemSignedConfiguration
import Testing

@Suite final class UnloadedConfigurationTests {
    private var fleet: Fleet

    init() throws { fleet = try Fleet() }

    /// The apps of the secondary that do not load what is active.
    private var unloaded: [ApplicationIdentifier] { fleet.desired.unloaded(at: fleet.addressee(0)) }

    /// The secondary has applied an envelope and reports that the app does not load it; returns its item.
    private func reportFault() throws -> ConfigurationItem {
        let item = try fleet.delivered(try fleet.envelope(1))
        _ = try fleet.report(0, item, .applied, onTrial: false)
        #expect(fleet.desired.unloadedPairings.isEmpty && unloaded.isEmpty)
        _ = try fleet.report(0, item, .applied, onTrial: false, text: "not loaded")
        #expect(fleet.desired.unloadedPairings == [fleet.members[0].pairing])
        #expect(unloaded == [fleet.key.application])
        return item
    }

    @Test("CTL-75: the last report on an app's loading counts, whatever its link does, until another one ends it")
    func lastReport() throws {
        let item = try reportFault()
        _ = fleet.link(0)
        #expect(unloaded == [fleet.key.application])
        let next = try fleet.delivered(try fleet.envelope(2))
        _ = try fleet.report(0, next, .rejected(.schema), good: item)
        #expect(unloaded == [fleet.key.application], "the first one stays active, and is not loaded")
        _ = try fleet.report(0, item, .applied, onTrial: false)
        #expect(fleet.desired.unloadedPairings.isEmpty && unloaded.isEmpty)
    }

    @Test(
        "CTL-75: what an app does not load ends with another configuration, a withdrawal, a new epoch and the pairing",
        arguments: ["another configuration", "withdrawal", "epoch", "target", "pairing"])
    func end(_ event: String) throws {
        _ = try reportFault()
        switch event {
        case "another configuration":
            let next = try fleet.delivered(try fleet.envelope(2))
            _ = try fleet.report(0, next, .applied, onTrial: false)
        case "withdrawal": _ = fleet.desired.withdraw(fleet.key, versions: nil, at: fleet.now)
        case "epoch": fleet.beginEpoch(0)
        case "target": fleet.target = .vendor(.random())
        default: _ = fleet.desired.unpaired(fleet.members[0].pairing)
        }
        #expect(unloaded.isEmpty)
    }

    @Test("CTL-75: what an app does not load is known after a restart of the primary")
    func rows() throws {
        _ = try reportFault()
        let state = try #require(fleet.desired.state(of: fleet.key, at: fleet.members[0].pairing))
        var restored = DesiredConfigurations()
        restored.restore(try DesiredConfiguration(envelope: try fleet.envelope(1), accepted: fleet.now))
        restored.restore(
            try SecondaryState(try #require(state.dictionary)), of: fleet.key, at: fleet.members[0].pairing)
        #expect(restored.unloaded(at: fleet.addressee(0)) == [fleet.key.application])
    }
}
