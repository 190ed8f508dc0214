// A daemon's state directory: other users who can look into it.

import Glibc
import TandemTestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct StateDirectoryTests {
    private let nodes: TwoNodes

    init() throws { nodes = try TwoNodes() }

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
