// Time zones by name, from the system's time zone database: only for the zone that an app names for dates as text.

import TandemBase
import TandemFiles
import TandemSettings

enum SystemTimeZones {
    private static var directory: String { "/usr/share/zoneinfo/" }
    /// The largest file in bytes; those of the database have under 4 KiB.
    private static var limit: Int { 65_536 }

    /// The rules of a zone such as `Europe/Berlin`; nil for a name that the system does not know.
    static func rules(_ name: String) -> SettingTimeZone.Rules? {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard name.utf8.count <= 64, parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(isAllowed) }),
            // Names are often links to the file of another name.
            let bytes = try? FileReading.read(
                path: directory + name, limit: limit, trust: .ownOrRootsAndUnwritable, followsLinks: true),
            let rules = TimeZoneRules(bytes)
        else { return nil }
        return { rules.offset(at: $0) }
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || "_+-".utf8.contains(byte)
    }
}
