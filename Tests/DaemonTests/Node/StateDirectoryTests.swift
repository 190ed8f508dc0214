// A daemon's state directory: whose store it holds, and who else can look into it.

import Glibc
import TandemBase
import TandemDaemon
import TandemPropertyList
import TandemTestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct StateDirectoryTests {
    private let nodes: TwoNodes

    init() throws { nodes = try TwoNodes() }

    @Test func `PAR-24: a store beside another device's key is refused by name, and starts beside its own`() throws {
        try nodes.pair()
        nodes.stop()
        let own = TemporaryDirectory.read(nodes.directory.path("primary-state/device.pem"))
        let other = TemporaryDirectory.read(nodes.directory.path("secondary-state/device.pem"))
        nodes.directory.write(try #require(other), to: "primary-state/device.pem")
        let error = #expect(throws: NodeError.self) { try nodes.make(nodes.options(.primary)) }
        #expect(error?.description.contains("belongs to the device of another key") == true, "\(error as Any)")
        nodes.directory.write(try #require(own), to: "primary-state/device.pem")
        try nodes.start(.primary)
        nodes.stop()
    }

    @Test func `PAR-24: a store that no other device knows of starts as the device of a new key`() throws {
        let before = try nodes.status(of: nodes.secondary)["device"]
        nodes.stop(.secondary)
        for name in ["device.pem", "report.pem"] {
            #expect(unlink(nodes.directory.path("secondary-state/\(name)")) == 0)
        }
        for _ in 0..<2 { try nodes.restart(.secondary) }
        #expect(try nodes.status(of: nodes.secondary)["device"] != before)
        nodes.stop()
    }

    @Test(arguments: [TwoNodes.Place.primary, .secondary])
    func `a state directory that other users can list is one warning at each start`(place: TwoNodes.Place) throws {
        let message = "other users can list the state directory: 'chmod go-r' ends that"
        #expect(!nodes.hasNoted(message))
        nodes.stop(place)
        let path = nodes.directory.path("\(place)-state")
        #expect(chmod(path, 0o711) == 0)
        try nodes.restart(place)
        #expect(!nodes.hasNoted(message))
        #expect(chmod(path, 0o750) == 0)
        try nodes.restart(place)
        #expect(nodes.hasNoted(message))
        nodes.stop()
    }
}
