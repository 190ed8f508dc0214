// A primary and a secondary on one clock, each with its own relay and local endpoint, paired and linked by fake links.

package import TandemBase
package import TandemDaemon
import TandemPropertyList
import TandemReactor
package import TandemSession
package import TandemTestSupport
package import TandemWire
import Testing

package final class TwoDevices {
    package let scheduler = ManualScheduler()
    package let pairing = UniqueIdentifier.random()
    package let devices: PerRole<TestDevice>
    package private(set) var links: PerRole<FakeLink>?

    package init() {
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

    package func linkUp(capabilities: [Capability] = Capability.allCases, isSlow: Bool = false) throws {
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
    package func linkedApps(
        _ name: String = "com.example.app"
    ) throws -> (primary: Client, secondary: Client, link: FakeLink) {
        try linkUp()
        let (primary, secondary) = (try devices.primary.app(name), try devices.secondary.app(name))
        return (primary, secondary, try #require(links?.primary))
    }

    /// Both ends lose the link.
    package func linkDown(_ reason: ReachabilityReason = .noLink) {
        for role in DeviceRole.allCases { links?[role].lose(reason) }
        links = nil
        scheduler.run()
    }

    package func message(
        _ text: String = "hello", app: String = "com.example.app", wantsReply: Bool = true
    ) throws -> Envelope {
        try Envelope(
            .message, app: ApplicationIdentifier(app), pairing: pairing, id: .random(), reply: wantsReply
        ).with(body: ["text": .string(text)])
    }
}
