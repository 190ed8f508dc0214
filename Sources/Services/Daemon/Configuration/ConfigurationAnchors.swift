// Which key verifies the configuration of which app here (CFG-17): the operator says so, or the app's first
// registration does. The first one stays; another one later is a conflict that an operator has to look at.

package import TandemBase
import TandemPropertyList
package import TandemSignedConfiguration
import TandemStore

/// The subject of a configuration: one app on one side.
package struct AnchorKey: Sendable, Hashable {
    package let application: ApplicationIdentifier
    package let role: DeviceRole

    package init(application: ApplicationIdentifier, role: DeviceRole) {
        self.application = application
        self.role = role
    }

    var bytes: [UInt8] { Array(application.description.utf8) + [0] + Array(role.rawValue.utf8) }
}

/// A trusted key as it was learned.
package struct KnownAnchor: Sendable, Equatable {
    package enum Source: String, Sendable {
        case `operator`
        case application
    }

    package let key: AnchorKey
    package let pem: String
    package let source: Source
    package let anchor: ConfigurationAnchor
}

/// The trusted keys of a device's apps.
package struct ConfigurationAnchors: Sendable, Equatable {
    package enum Learning: Sendable, Equatable {
        /// Known already.
        case same
        case new(KnownAnchor)
        /// Another key is trusted; it stays.
        case conflict
    }

    private var known: [AnchorKey: KnownAnchor] = [:]

    init() {}

    package subscript(key: AnchorKey) -> KnownAnchor? { known[key] }

    /// All of them, by application and role.
    package var all: [KnownAnchor] {
        known.values.sorted { ($0.key.application, $0.key.role.rawValue) < ($1.key.application, $1.key.role.rawValue) }
    }

    /// The anchor that verifies configuration of the app.
    func anchor(of key: AnchorKey) -> ConfigurationAnchor { known[key]?.anchor ?? .none }

    mutating func learn(_ pem: String, for key: AnchorKey, from source: KnownAnchor.Source) -> Learning {
        let anchor = ConfigurationAnchor(pem: pem)
        guard let before = known[key] else {
            let learned = KnownAnchor(key: key, pem: pem, source: source, anchor: anchor)
            known[key] = learned
            return .new(learned)
        }
        return before.anchor == anchor ? .same : .conflict
    }
}

extension KnownAnchor {
    var row: PropertyListDictionary {
        [
            "app": .string(key.application.description), "role": .string(key.role.rawValue), "pem": .string(pem),
            "source": .string(source.rawValue),
        ]
    }

    init?(row: PropertyListDictionary) {
        guard let app = row["app"]?.stringValue.flatMap({ try? ApplicationIdentifier($0) }),
            let role = row["role"]?.stringValue.flatMap({ DeviceRole(rawValue: $0) }),
            let pem = row["pem"]?.stringValue,
            let source = row["source"]?.stringValue.flatMap({ Source(rawValue: $0) })
        else { return nil }
        self.init(
            key: AnchorKey(application: app, role: role), pem: pem, source: source,
            anchor: ConfigurationAnchor(pem: pem))
    }
}

extension ConfigurationAnchors {
    mutating func restore(_ anchor: KnownAnchor) { known[anchor.key] = anchor }
}
