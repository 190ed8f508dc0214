// Settings beyond a plain declaration: access, secrets, encrypted preferences, a stored type with versions, the log.

import PairedConfiguration
import PairedSession

// snippet.access
/// `@unchecked`: every property is a wrapper around state behind a lock, which the base class checks.
final class GatewayConfiguration: Configuration, @unchecked Sendable {
    @Toggle("Accept new devices", access: .signed) var acceptsDevices = false
    @Slider("Brightness in percent", in: 10...100, access: .counterpart) var brightness = 60
    @Edit("Address to listen at", restart: true) var address = "127.0.0.1"
}
// snippet.end

// snippet.secrets
/// `@unchecked`: every property is a wrapper around state behind a lock, which the base class checks.
final class GatewaySecrets: Configuration, @unchecked Sendable {
    @Preference("Token of the upstream server", secret: true, access: .signed) var token: String?

    override var preferenceStore: any PreferenceStore { ProtectedPreferences("/var/lib/gateway/secrets.plist") }
}
// snippet.end

// snippet.versions
struct Schedule: VersionedSetting {
    static let settingTag = "schedule"  // the type may be renamed
    static let settingVersion = 2

    var hours: [Int] = []
    var isPaused = false  // new in version 2

    init() {}

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        hours = try values.decode([Int].self, forKey: .hours)
        guard let version = decoder.userInfo[.settingVersion] as? Int, version > 1 else { return }
        isPaused = try values.decode(Bool.self, forKey: .isPaused)
    }
}

/// `@unchecked`: every property is a wrapper around state behind a lock, which the base class checks.
final class Planner: Configuration, @unchecked Sendable {
    @Preference var schedule = Schedule()
}
// snippet.end

// snippet.log
func log() {
    PairedLog.send(from: .info) { event in print(event) }
}
// snippet.end
