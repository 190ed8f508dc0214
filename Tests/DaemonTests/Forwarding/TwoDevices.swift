// A primary and a secondary on one clock, each with its own relay and local endpoint, paired and linked by fake links.

import TandemBase
import TandemDaemon
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

final class TwoDevices {
    let scheduler = ManualScheduler()
    let pairing = UniqueIdentifier.random()
    let devices: PerRole<TestDevice>
    private(set) var links: PerRole<FakeLink>?

    init() {
        devices = PerRole(
            primary: TestDevice(.primary, scheduler: scheduler),
            secondary: TestDevice(.secondary, scheduler: scheduler))
        for role in DeviceRole.allCases {
            devices[role].relay.setPairing(
                RelayedPairing(
                    pairing: pairing, role: role, peer: devices[role.counterpart].endpoint.options.device,
                    name: role.counterpart.rawValue))
            devices[role].relay.setActive(pairing, role: role)
        }
    }

    func linkUp(capabilities: [Capability] = Capability.allCases, isSlow: Bool = false) throws {
        let links = PerRole(
            primary: FakeLink(devices.primary.relay), secondary: FakeLink(devices.secondary.relay))
        links.primary.other = links.secondary
        links.secondary.other = links.primary
        self.links = links
        for role in DeviceRole.allCases {
            links[role].isSlowToAnswer = isSlow
            let port = devices[role].relay.linkUp(
                links[role], pairing: pairing, role: role, capabilities: capabilities)
            #expect(port != nil)
            links[role].port = port
        }
        scheduler.run()
    }

    /// A ready link with an app at each end, and the primary's end of it.
    func linkedApps(
        _ name: String = "com.example.app"
    ) throws -> (primary: Client, secondary: Client, link: FakeLink) {
        try linkUp()
        let (primary, secondary) = (try devices.primary.app(name), try devices.secondary.app(name))
        return (primary, secondary, try #require(links?.primary))
    }

    /// Both ends lose the link.
    func linkDown(_ reason: ReachabilityReason = .noLink) {
        for role in DeviceRole.allCases { links?[role].lose(reason) }
        links = nil
        scheduler.run()
    }

    func message(
        _ text: String = "hello", app: String = "com.example.app", wantsReply: Bool = true
    ) throws -> Envelope {
        try Envelope(
            .message, app: ApplicationIdentifier(app), pairing: pairing, id: .random(), reply: wantsReply
        ).with(body: ["text": .string(text)])
    }
}
