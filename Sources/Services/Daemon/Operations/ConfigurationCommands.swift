// The control commands about signed configuration: trusted keys and the application of an envelope.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSignedConfiguration
import TandemStore
import TandemWire

/// A device that takes signed configuration: a daemon, or a device of the simulator.
protocol ConfiguredDevice: AnyObject {
    var configuration: ConfigurationService { get }
}

extension Node: ConfiguredDevice {}

/// `trust-add`: trusts a key for the configuration of an app (CFG-17).
struct TrustKeyCommand<Device: ConfiguredDevice>: ControlCommand {
    private let anchor: KeySubject
    private let pem: String

    init(_ request: ControlRequest) throws(WireError) {
        anchor = KeySubject(application: try request.fields.application("app"), role: try request.fields.role("role"))
        pem = try request.fields.string("key")
    }

    func run(on device: Device) async throws(ControlFailure) -> PropertyListDictionary {
        let history = try KeySetHistory(pem, of: anchor)
        switch await device.configuration.trust(pem, for: anchor) {
        case .conflict?:
            throw ControlFailure(
                .anchorConflict,
                "another key is trusted for this app and role, and stays; 'tandem trust replace' puts this one in its "
                    + "place, 'tandem trust remove' ends the trust in it")
        case .refused?, nil:
            throw ControlFailure(.store, "the key could not be stored; 'tandem health' and the log say why")
        case .same?, .new?:
            let identifiers = history.current.configuration.keyIdentifiers.sorted()
            return [
                "keyid": .data(identifiers[0].bytes), "version": PropertyListValue(history.current.version),
                "keyids": .array(identifiers.map { .data($0.bytes) }),
            ]
        }
    }
}

extension KeySetHistory {
    /// The key set that a request names for an app and role.
    fileprivate init(_ pem: String, of anchor: KeySubject) throws(ControlFailure) {
        do throws(VerificationFailure) {
            self = try KeySetHistory(pem: pem)
            try check(anchor)
        } catch {
            throw ControlFailure(name: error.rejection.rawValue, text: "key: \(error.detail)")
        }
    }
}

/// `trust-list`: the trusted keys.
struct TrustListCommand<Device: ConfiguredDevice>: ControlCommand {
    init(_ request: ControlRequest) {}

    func run(on device: Device) -> PropertyListDictionary {
        ["anchors": .array(device.configuration.keyStatus.trusted.map { .dictionary($0) })]
    }
}

/// `trust-remove`: trusts no key for an app's configuration any longer (CTL-33).
struct TrustRemoveCommand<Device: ConfiguredDevice>: ControlCommand {
    private let anchor: KeySubject
    private let isAgreed: Bool

    init(_ request: ControlRequest) throws(WireError) {
        anchor = KeySubject(application: try request.fields.application("app"), role: try request.fields.role("role"))
        isAgreed = try request.fields.agreement()
    }

    func run(on device: Device) async throws(ControlFailure) -> PropertyListDictionary {
        guard device.configuration.isTrusted(anchor) else {
            throw ControlFailure(.notFound, "no key is trusted for this app and role; 'tandem trust list' shows all")
        }
        return try await device.change(anchor, to: nil, isAgreed: isAgreed)
    }
}

/// `trust-replace`: trusts another key for an app's configuration than before (CTL-33).
struct TrustReplaceCommand<Device: ConfiguredDevice>: ControlCommand {
    private let anchor: KeySubject
    private let pem: String
    private let isAgreed: Bool

    init(_ request: ControlRequest) throws(WireError) {
        anchor = KeySubject(application: try request.fields.application("app"), role: try request.fields.role("role"))
        pem = try request.fields.string("key")
        isAgreed = try request.fields.agreement()
    }

    func run(on device: Device) async throws(ControlFailure) -> PropertyListDictionary {
        let identifiers = try KeySetHistory(pem, of: anchor).current.configuration.keyIdentifiers.sorted()
        guard !device.configuration.isTrusted(anchor, onlyAs: pem) else {
            return ["done": false, "keyid": .data(identifiers[0].bytes), "configurations": 0]
        }
        var body = try await device.change(anchor, to: pem, isAgreed: isAgreed)
        body["keyid"] = .data(identifiers[0].bytes)
        return body
    }
}

extension ConfiguredDevice {
    /// Changes the trusted key if the operator has agreed; returns what that ends.
    fileprivate func change(
        _ anchor: KeySubject, to pem: String?, isAgreed: Bool
    ) async throws(ControlFailure) -> PropertyListDictionary {
        let contents = configuration.status.contents(of: anchor)
        let desired = configuration.status.desiredCount(of: anchor)
        if isAgreed {
            try await ControlFailure.storing(try await configuration.replaceKey(anchor, with: pem))
        }
        return PropertyListDictionary(present: [
            "done": .boolean(isAgreed), "configurations": .integer(Int64(contents.configurations)),
            "former": contents.anchor?.identifiers.first.map { .data($0.bytes) },
            "revoked": contents.anchor?.revoked.map { .integer(Int64($0)) },
            "desired": desired > 0 ? .integer(Int64(desired)) : nil,
        ]).merging(contents.refusal)
    }
}

/// `apply`: applies or forwards the exact bytes of an envelope.
struct ApplyCommand<Device: ConfiguredDevice>: ControlCommand {
    private let envelope: [UInt8]
    private let app: ApplicationIdentifier
    private let wait: Duration
    private let begins: Bool
    private let isFollowing: Bool
    private let after: UInt64?
    private let stage: RolloutStage?

    init(_ request: ControlRequest) throws(WireError) {
        wait = try request.fields.milliseconds("wait", absent: .seconds(30))
        begins = try request.fields.boolean("begin", absent: false)
        isFollowing = try request.fields.boolean("follow", absent: false)
        after = try request.fields.optionalUnsigned("after")
        let count = try request.fields.optional("first", "an integer from 1") { value in
            value.integerValue.flatMap { $0 > 0 ? Int(clamping: $0) : nil }
        }
        let names = try request.fields.optional("only", "a list of names") { value in
            value.list(\.stringValue).flatMap { $0.isEmpty ? nil : $0 }
        }
        stage = names.map { RolloutStage.names($0) } ?? count.map { RolloutStage.count($0) }
        envelope = try request.fields.data("envelope")
        app = try request.fields.application("app")
    }

    func run(on device: Device) async throws(ControlFailure) -> PropertyListDictionary {
        let configuration = device.configuration
        let outcome =
            isFollowing
            ? await configuration.follow(envelope, app: app, after: after, wait: wait)
            : await configuration.apply(envelope, app: app, wait: wait, begins: begins, stage: stage)
        switch outcome {
        case .failed(let failure): throw failure
        case .results(let results, let ordinal):
            let absent = configuration.absentDevices(envelope, app: app)
            return PropertyListDictionary(present: [
                "results": .array(results.map { .dictionary($0.body) }),
                "ordinal": ordinal.map { PropertyListValue($0) },
                "unchecked": configuration.isUnchecked(envelope, app: app) ? true : nil,
                "absent": absent.isEmpty ? nil : .array(absent.map { .data($0.bytes) }),
            ])
        }
    }
}

extension ApplyResult {
    /// The state in a word (CTL-25).
    private var state: String {
        if awaitsApplication { return "no-app" }
        if verdict != nil { return "reported" }
        return ending?.rawValue ?? hold?.rawValue ?? "queued"
    }

    fileprivate var body: PropertyListDictionary {
        let rows = ended.prefix(DesiredStatus.rowLimit)
        return PropertyListDictionary(present: [
            "name": .string(name), "state": .string(state), "version": PropertyListValue(version),
            "digest": .data(digest), "pairing": pairing.map { .data($0.bytes) }, "via": via.map { .string($0) },
            "verdict": verdict.map { .string($0) }, "text": text.flatMap { $0.isEmpty ? nil : .string($0) },
            "awaited": isAwaited ? true : nil,
            "ended": rows.isEmpty ? nil : .array(rows.map { .dictionary($0.body) }),
            "endedMore": rows.count < ended.count ? .integer(Int64(ended.count - rows.count)) : nil,
        ])
    }
}

extension EndedConfiguration {
    fileprivate var body: PropertyListDictionary {
        [
            "target": .string(target.text), "version": PropertyListValue(version), "digest": .data(digest),
            "verdict": .string(reason.rawValue),
        ]
    }
}
