// Bodies in which an app describes itself: `register` from the host app (SES-5), `registered` from its daemon (SES-6),
// `application` from one device to the other (SES-16). One type writes and reads each body, so both ends agree.

package import TandemBase
package import TandemPropertyList
package import TandemWire

/// The body of `register`.
package struct Registration: Sendable, Equatable {
    /// This connection takes the app's messages.
    package var receives: Bool
    /// PEM text of the app's compiled trust anchor.
    package var anchor: String?
    /// The custom identifier that this device's app declares.
    package let identifier: CustomIdentifier?
    package let allowsInvalidSignatures: Bool
    package let features: ApplicationFeatures
    /// SHA-256 of the document that describes the app's properties; nil if it has none.
    package let schema: [UInt8]?
    /// The kinds of questions about its pages that the app answers while it runs (SES-80).
    package let questions: ProvidedNames

    package init(
        receives: Bool = true, anchor: String? = nil, identifier: CustomIdentifier? = nil,
        allowsInvalidSignatures: Bool = false, features: ApplicationFeatures = ApplicationFeatures(),
        schema: [UInt8]? = nil, questions: ProvidedNames = .none
    ) {
        self.receives = receives
        self.anchor = anchor
        self.identifier = identifier
        self.allowsInvalidSignatures = allowsInvalidSignatures
        self.features = features
        self.schema = schema
        self.questions = questions
    }

    package var body: PropertyListDictionary {
        features.fields.merging(present: [
            "receives": .boolean(receives), "anchor": anchor.map { .data(Array($0.utf8)) },
            "identifier": identifier.map { .string($0.description) }, "schema": schema.map { .data($0) },
            "allowsInvalidSignatures": allowsInvalidSignatures ? true : nil, "questions": questions.value,
        ])
    }

    package init(body: PropertyListDictionary) throws(WireError) {
        let fields = BodyFields(body)
        receives = try fields.boolean("receives", absent: true)
        anchor = try fields.optionalPEM("anchor")
        identifier = try fields.optionalCustomIdentifier("identifier")
        allowsInvalidSignatures = try fields.boolean("allowsInvalidSignatures", absent: false)
        features = try ApplicationFeatures(fields)
        schema = try fields.optionalDigest("schema")
        questions = try ProvidedNames("questions", in: fields)
    }
}

/// The body of `registered`.
package struct RegistrationAnswer: Sendable, Equatable {
    /// This device's vendor identifier.
    package let device: UniqueIdentifier
    package let role: DeviceRole
    /// The app's own directory, if there is one.
    package let directory: String?
    /// The user that owns the app.
    package let uid: UInt64
    package let state: SessionState
    /// The daemon does not have the schema that the app has named.
    package let wantsSchema: Bool

    package init(
        device: UniqueIdentifier, role: DeviceRole, directory: String?, uid: UInt64, state: SessionState,
        wantsSchema: Bool = false
    ) {
        self.device = device
        self.role = role
        self.directory = directory
        self.uid = uid
        self.state = state
        self.wantsSchema = wantsSchema
    }

    package func body(now: MonotonicTime) -> PropertyListDictionary {
        state.body(now: now).merging(present: [
            "device": .data(device.bytes), "role": .string(role.rawValue), "directory": directory.map { .string($0) },
            "uid": .integer(Int64(clamping: uid)), "schema": wantsSchema ? true : nil,
        ])
    }

    package init(body: PropertyListDictionary, now: MonotonicTime) throws(WireError) {
        let fields = BodyFields(body)
        device = try fields.identifier("device")
        role = try fields.role("role")
        directory = try fields.optionalString("directory")
        uid = try fields.unsigned("uid")
        state = try SessionState(body: body, now: now)
        wantsSchema = try fields.boolean("schema", absent: false)
    }
}

/// The body of `application`: one installed app as its device announces it.
package struct ApplicationAnnouncement: Sendable, Equatable {
    package let isInstalled: Bool
    package private(set) var isConnected: Bool
    /// Sent by a primary only: the custom identifier that its app declares.
    package private(set) var identifier: CustomIdentifier?
    /// Sent by a primary only: its operator has taken the custom identifier back (PAR-21).
    package private(set) var isIdentifierCleared: Bool
    /// The key that is trusted for its configuration.
    package let trust: TrustMark
    package let features: ApplicationFeatures
    /// How far the announcing side's messages would come now, as it sees the other one.
    package private(set) var seen: ReachabilityLevel?
    /// Sent by a secondary only: SHA-256 of the schema that its primary may know; nil if there is none (SES-77).
    package private(set) var schema: [UInt8]?

    package init(
        isInstalled: Bool, isConnected: Bool, identifier: CustomIdentifier? = nil, isIdentifierCleared: Bool = false,
        trust: TrustMark, features: ApplicationFeatures = ApplicationFeatures(), seen: ReachabilityLevel? = nil,
        schema: [UInt8]? = nil
    ) {
        self.isInstalled = isInstalled
        self.isConnected = isConnected
        self.identifier = identifier
        self.isIdentifierCleared = isIdentifierCleared
        self.trust = trust
        self.features = features
        self.seen = seen
        self.schema = schema
    }

    /// As a device in this role tells it to another one.
    /// - Parameter seen: how far the device's messages to that one would come.
    package func told(by role: DeviceRole, seen: ReachabilityLevel?) -> Self {
        var told = self
        if role == .secondary { (told.identifier, told.isIdentifierCleared) = (nil, false) } else { told.schema = nil }
        told.seen = seen
        return told
    }

    /// The link is gone.
    mutating func linkDown() { (isConnected, seen) = (false, nil) }

    /// Whether the app may take a configuration that it could not take before, or has lost one (CFG-72).
    /// - Parameter before: the announcement before it; nil if there was none.
    package func concernsConfiguration(after before: ApplicationAnnouncement?) -> Bool {
        isInstalled && before?.isInstalled != true || trust != before?.trust ?? .noKey
    }

    /// Whether it says something of the identifier: an absent one is no declaration (PAR-18).
    package var declaresIdentifier: Bool { identifier != nil || isIdentifierCleared }

    package var body: PropertyListDictionary {
        let mark: UniqueIdentifier? = if case .key(let mark) = trust { mark } else { nil }
        return features.fields.merging(present: [
            "installed": .boolean(isInstalled), "connected": .boolean(isConnected),
            "anchored": .boolean(trust != .noKey), "trust": mark.map { .data($0.bytes) },
            "identifier": identifier.map { .string($0.description) }, "cleared": isIdentifierCleared ? true : nil,
            "seen": seen.map { .string($0.rawValue) }, "schema": schema.map { .data($0) },
        ])
    }

    package init(body: PropertyListDictionary) throws(WireError) {
        let fields = BodyFields(body)
        isInstalled = try fields.boolean("installed")
        isConnected = try fields.boolean("connected")
        identifier = try fields.optionalCustomIdentifier("identifier")
        isIdentifierCleared = try fields.boolean("cleared", absent: false)
        let mark = try fields.optionalIdentifier("trust")
        trust = try fields.boolean("anchored") ? mark.map { .key($0) } ?? .unnamed : .noKey
        features = try ApplicationFeatures(fields)
        seen = try fields.optionalChoice("seen", "a level")
        schema = try fields.optionalDigest("schema")
    }
}

/// The names of what an app provides; sorted, each once.
package struct ProvidedNames: Sendable, Equatable {
    package let names: [String]

    package static var none: ProvidedNames { ProvidedNames(valid: []) }

    private init(valid names: [String]) { self.names = names }

    /// Nil if they are more than 16, or one is not 1 to 64 bytes without NUL (LIM-32).
    package init?(_ names: some Sequence<String>) {
        let names = Array(names)
        // Lengths first: comparing long texts may take long.
        guard names.allSatisfy({ $0.isText(within: Limits.providedName) }) else { return nil }
        let sorted = Set(names).sorted()
        guard sorted.count <= Limits.providedNames else { return nil }
        self.init(valid: sorted)
    }

    /// The names in a body; nil if there are none.
    fileprivate var value: PropertyListValue? { names.isEmpty ? nil : .array(names.map { .string($0) }) }

    /// The names under a key of a body; none without it.
    fileprivate init(_ key: String, in fields: BodyFields) throws(WireError) {
        let names = try fields.optional(key, "at most 16 strings of 1-64 bytes without NUL") { value in
            value.list(\.stringValue).flatMap { ProvidedNames($0) }
        }
        self = names ?? .none
    }
}

/// The features that an app declares to its counterparts.
package struct ApplicationFeatures: Sendable, Equatable {
    package var provides: ProvidedNames
    /// It shows a complication: urgent items are worth their budget.
    package var hasComplication: Bool
    package var identity: ApplicationIdentity

    package init(
        provides: ProvidedNames = .none, hasComplication: Bool = false,
        identity: ApplicationIdentity = ApplicationIdentity()
    ) {
        self.provides = provides
        self.hasComplication = hasComplication
        self.identity = identity
    }

    /// Those that differ from nothing, by the keys of a body.
    var fields: PropertyListDictionary {
        PropertyListDictionary(present: [
            "complication": hasComplication ? true : nil, "provides": provides.value,
            "appName": identity.name.map { .string($0) }, "appVersion": identity.version.map { .string($0) },
            "appIcon": identity.icon.map { .string($0) },
        ])
    }

    init(_ fields: BodyFields) throws(WireError) {
        hasComplication = try fields.boolean("complication", absent: false)
        provides = try ProvidedNames("provides", in: fields)
        identity = try ApplicationIdentity(fields)
    }
}

/// The name, the version and the icon of an app as its app manifest has them (SET-84), for people.
package struct ApplicationIdentity: Sendable, Equatable {
    package let name: String?
    package let version: String?
    package let icon: String?

    package init(name: String? = nil, version: String? = nil, icon: String? = nil) {
        self.name = name
        self.version = version
        self.icon = icon
    }

    fileprivate init(_ fields: BodyFields) throws(WireError) {
        name = try Self.text("appName", within: Limits.applicationName, in: fields)
        version = try Self.text("appVersion", within: Limits.applicationVersion, in: fields)
        icon = try Self.text("appIcon", within: Limits.applicationIcon, in: fields)
    }

    private static func text(
        _ key: String, within limit: Int, in fields: BodyFields
    ) throws(WireError) -> String? {
        try fields.optional(key, "a short text without NUL") { value in
            value.stringValue.flatMap { $0.isText(within: limit) ? $0 : nil }
        }
    }
}
