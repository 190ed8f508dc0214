// What a host app says of itself (`register`, SES-5), what its daemon answers (`registered`, SES-6), and what one
// device announces of an app to the other (`application`, SES-16). Written and read by the same type, so both ends
// agree.

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
    package var identifier: CustomIdentifier?
    package var allowsInvalidSignatures: Bool
    package var features: ApplicationFeatures

    package init(
        receives: Bool = true, anchor: String? = nil, identifier: CustomIdentifier? = nil,
        allowsInvalidSignatures: Bool = false, features: ApplicationFeatures = ApplicationFeatures()
    ) {
        self.receives = receives
        self.anchor = anchor
        self.identifier = identifier
        self.allowsInvalidSignatures = allowsInvalidSignatures
        self.features = features
    }

    package var body: PropertyListDictionary {
        var body: PropertyListDictionary = ["receives": .boolean(receives)]
        if let anchor { body["anchor"] = .data(Array(anchor.utf8)) }
        if let identifier { body["identifier"] = .string(identifier.description) }
        if allowsInvalidSignatures { body["allowsInvalidSignatures"] = .boolean(true) }
        features.write(to: &body)
        return body
    }

    package init(body: PropertyListDictionary) throws(WireError) {
        let fields = BodyFields(body)
        receives = try fields.boolean("receives", absent: true)
        anchor = try fields.optionalText("anchor")
        identifier = try fields.optionalCustomIdentifier("identifier")
        allowsInvalidSignatures = try fields.boolean("allowsInvalidSignatures", absent: false)
        features = try ApplicationFeatures(fields)
    }
}

/// The body of `registered`.
package struct RegistrationAnswer: Sendable, Equatable {
    /// This device's vendor identifier.
    package var device: UniqueIdentifier
    package var role: DeviceRole
    /// The app's own directory, if there is one.
    package var directory: String?
    /// The user that owns the app.
    package var uid: UInt64
    package var situation: Situation

    package init(
        device: UniqueIdentifier, role: DeviceRole, directory: String?, uid: UInt64, situation: Situation
    ) {
        self.device = device
        self.role = role
        self.directory = directory
        self.uid = uid
        self.situation = situation
    }

    package func body(now: MonotonicTime) -> PropertyListDictionary {
        var body = situation.body(now: now)
        body["device"] = .data(device.bytes)
        body["role"] = .string(role.rawValue)
        if let directory { body["directory"] = .string(directory) }
        body["uid"] = .integer(Int64(clamping: uid))
        return body
    }

    package init(body: PropertyListDictionary, now: MonotonicTime) throws(WireError) {
        let fields = BodyFields(body)
        device = try fields.identifier("device")
        role = try fields.role("role")
        directory = try fields.optionalString("directory")
        uid = try fields.unsigned("uid")
        situation = try Situation(body: body, now: now)
    }
}

/// The body of `application`: one installed app as its device announces it.
package struct ApplicationAnnouncement: Sendable, Equatable {
    package var isInstalled: Bool
    package var isConnected: Bool
    /// Sent by a primary only: the custom identifier that its app declares.
    package var identifier: CustomIdentifier?
    /// An anchor for the app is known there.
    package var isAnchored: Bool
    package var features: ApplicationFeatures
    /// How far the announcing side's messages would come now, as it sees the other one.
    package var seen: ReachabilityLevel?

    package init(
        isInstalled: Bool, isConnected: Bool, identifier: CustomIdentifier? = nil, isAnchored: Bool,
        features: ApplicationFeatures = ApplicationFeatures(), seen: ReachabilityLevel? = nil
    ) {
        self.isInstalled = isInstalled
        self.isConnected = isConnected
        self.identifier = identifier
        self.isAnchored = isAnchored
        self.features = features
        self.seen = seen
    }

    package var body: PropertyListDictionary {
        var body: PropertyListDictionary = [
            "installed": .boolean(isInstalled), "connected": .boolean(isConnected), "anchored": .boolean(isAnchored),
        ]
        if let identifier { body["identifier"] = .string(identifier.description) }
        if let seen { body["seen"] = .string(seen.rawValue) }
        features.write(to: &body)
        return body
    }

    package init(body: PropertyListDictionary) throws(WireError) {
        let fields = BodyFields(body)
        isInstalled = try fields.boolean("installed")
        isConnected = try fields.boolean("connected")
        identifier = try fields.optionalCustomIdentifier("identifier")
        isAnchored = try fields.boolean("anchored")
        features = try ApplicationFeatures(fields)
        seen = try fields.optional("seen", "a level") { $0.stringValue.flatMap { ReachabilityLevel(rawValue: $0) } }
    }
}
