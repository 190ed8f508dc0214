// One class for the apps of both sides, with a key for each: each side verifies with its own key and with no other.

import PairedConfiguration
import TandemCrypto
import TandemFiles
import TandemSignedConfiguration
import Testing

/// `@unchecked`: its property is a wrapper around state behind a mutex.
private final class SharedConfiguration: Configuration, @unchecked Sendable {
    @Slider("Alarm volume", in: 50...100) var volume = 75

    static let keys: [DeviceRole: ConfigurationPrivateKey] = [.primary: .generate(), .secondary: .generate()]

    override func publicKey(for role: DeviceRole) -> String? { Self.keys[role]?.publicKey.key.pem }
    override var allowsInvalidSignatures: Bool { false }
}

@Suite struct RoleKeyTests {
    private let fixture: Fixture

    init() throws { fixture = try Fixture() }

    private func load(_ role: DeviceRole, in directory: String? = nil) -> (SharedConfiguration, ConfigurationLoad) {
        let app = SharedConfiguration()
        let time = TestTime().time
        return (app, app.load(application: fixture.application, role: role, directory: directory, time: time))
    }

    private func envelope(
        for role: DeviceRole, signedFor signer: DeviceRole, version: UInt64 = 7
    ) throws -> [UInt8] {
        let key = try #require(SharedConfiguration.keys[signer])
        return try fixture.envelope(version: version, key: key) { $0.role = role }
    }

    @Test("CFG-111: a class may have a key for each role, and has the same one for both by default")
    func keysOfRoles() {
        let app = SharedConfiguration()
        for role in DeviceRole.allCases {
            #expect(app.publicKey(for: role) == SharedConfiguration.keys[role]?.publicKey.key.pem)
            #expect(AppConfiguration().publicKey(for: role) == AppConfiguration().publicKey)
            #expect(BareConfiguration().publicKey(for: role) == nil)
        }
    }

    @Test(
        "CFG-111: each side takes what its own key signed, and refuses what the other side's key signed",
        arguments: DeviceRole.allCases, DeviceRole.allCases)
    func offered(role: DeviceRole, other: DeviceRole) throws {
        let (app, _) = load(role)
        let envelope = try envelope(for: role, signedFor: other)
        let verdict = fixture.verdict(app, try fixture.message(envelope))
        #expect(verdict == (role == other ? "applied" : "threshold"))
        #expect(app.volume == (role == other ? 90 : 75))
        let next = try self.envelope(for: role, signedFor: role, version: 8)
        #expect(fixture.verdict(app, try fixture.message(next)) == "applied")
    }

    @Test(
        "CFG-111: what is stored is verified with the key of the side whose app it is", arguments: DeviceRole.allCases)
    func stored(role: DeviceRole) throws {
        for signer in DeviceRole.allCases {
            try Fixture.withDirectory { directory in
                let envelope = try envelope(for: role, signedFor: signer)
                let key = ConfigurationSlotKey(
                    application: fixture.application, role: role, target: fixture.target)
                let record = try ConfigurationRecord(key: key, device: fixture.device, envelope: envelope)
                let active = ActiveConfiguration(record, applied: Fixture.now, isWaived: false)
                try directory.write("configuration.plist", active.dictionary)
                let (app, result) = load(role, in: directory.path)
                #expect(app.volume == (role == signer ? 90 : 75))
                #expect(result.failures.map(\.rejection.name) == (role == signer ? [] : ["threshold"]))
            }
        }
    }
}
