// The control commands about apps' settings (CTL-39 to CTL-45): a user's edits, and the schema that judges them. The
// user of an app may use them for it, as may the operator.

import TandemBase
import TandemOperations
import TandemPairing
import TandemPropertyList
import TandemSettings
import TandemWire

/// The app of a request and the user that asks.
struct SettingsRequest {
    let app: ApplicationIdentifier
    private let caller: Caller
    private let secondary: PairingName

    init(_ request: ControlRequest) throws(WireError) {
        app = try request.fields.application("app")
        secondary = try PairingName(request.fields)
        caller = request.caller
    }

    var editor: SettingsEditor { .user(caller.user) }
    var isRemote: Bool { !secondary.isAbsent }

    /// Whether the caller may use the app's settings now.
    func isAllowed(on node: Node) -> Bool { caller.mayUse(appOf: node.local.registrations.owner(of: app)) }

    func checkAllowed(on node: Node) throws(ControlFailure) {
        guard isAllowed(on: node) else {
            throw ControlFailure(.notAllowed, "the app is another user's, or nobody's")
        }
    }

    /// Asks the secondary that the request is for, which the operator alone may do.
    /// - Returns: nil if the request is for an app of this device.
    func forward(
        _ command: ControlName, _ body: PropertyListDictionary, on node: Node
    ) async throws(ControlFailure) -> PropertyListDictionary? {
        guard isRemote else { return nil }
        guard caller.isOperator else {
            throw ControlFailure(.notAllowed, "only the daemon's own user and root may ask a secondary")
        }
        let record = try secondary.record(on: node)
        return try await node.remoteSettings.perform(command, body, of: app, at: record.pairing)
    }

    /// Runs the request for a user who may edit the app's settings; at a secondary for the operator alone.
    /// - Parameter remote: the command and the body for the secondary.
    func run(
        on node: Node, remote: (command: ControlName, body: PropertyListDictionary),
        _ body: (ApplicationSettings) async throws(SettingsFailure) -> PropertyListDictionary
    ) async throws(ControlFailure) -> PropertyListDictionary {
        if let answer = try await forward(remote.command, remote.body, on: node) { return answer }
        try checkAllowed(on: node)
        do throws(SettingsFailure) { return try await body(node.settings) } catch { throw ControlFailure(error) }
    }
}

/// `settings-get`: an app's properties with their values, at once or after a change.
struct SettingsGetCommand: ControlCommand {
    static var access: ControlAccess { .everyone }

    private let request: SettingsRequest
    private let after: UInt64?
    private let wait: Duration

    init(_ request: ControlRequest) throws(WireError) {
        self.request = try SettingsRequest(request)
        after = try request.fields.optionalUnsigned("after")
        wait = try request.fields.milliseconds("wait", absent: .zero)
    }

    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        let asked = PropertyListDictionary(present: [
            BodyKey.after: after.map { PropertyListValue($0) },
            "wait": wait > .zero ? .integer(wait.saturatingMilliseconds) : nil,
        ])
        return try await request.run(on: node, remote: (.settingsGet, asked)) { settings throws(SettingsFailure) in
            let (state, ordinal) = try await settings.state(
                of: request.app, after: after, atMost: wait, for: request.editor.payer,
                isStillAllowed: { request.isAllowed(on: node) })
            let rows = state.rows { node.pairings[$0]?.name }
            return [
                "settings": .array(rows.map { .dictionary($0) }), "digest": .data(state.digest),
                "ordinal": PropertyListValue(ordinal),
            ]
        }
    }
}

/// `settings-set`: edits properties, all of them or none.
struct SettingsSetCommand: ControlCommand {
    static var access: ControlAccess { .everyone }

    private let request: SettingsRequest
    private let change: SettingsChange
    /// The added values of editable lists, by key.
    private let choices: PropertyListDictionary

    init(_ request: ControlRequest) throws(WireError) {
        self.request = try SettingsRequest(request)
        change = try SettingsChange(request.fields)
        choices = try request.fields.optional("choices", "a dictionary", \.dictionaryValue) ?? [:]
    }

    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        guard choices.isEmpty || !request.isRemote else {
            throw ControlFailure(.badRequest, "'choices' are for this device's own apps")
        }
        let remote = (ControlName.settingsSet, change.body)
        return try await request.run(on: node, remote: remote) { settings throws(SettingsFailure) in
            try await settings.set(
                change, choices: choices, of: request.app, by: request.editor,
                isStillAllowed: { request.isAllowed(on: node) }
            ).body
        }
    }
}

/// `settings-reset`: takes edits back, so that the layers below show.
struct SettingsResetCommand: ControlCommand {
    static var access: ControlAccess { .everyone }

    private let request: SettingsRequest
    /// nil: all.
    private let keys: [String]?

    init(_ request: ControlRequest) throws(WireError) {
        self.request = try SettingsRequest(request)
        keys = try request.fields.optionalStrings("keys")
    }

    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        let body: PropertyListDictionary = keys.map { ["keys": .array($0.map { .string($0) })] } ?? [:]
        return try await request.run(on: node, remote: (.settingsReset, body)) { settings throws(SettingsFailure) in
            let keys = try await settings.reset(
                keys, of: request.app, by: request.editor, isStillAllowed: { request.isAllowed(on: node) })
            return ["keys": .array(keys.map { .string($0) })]
        }
    }
}

/// `settings-schema`: the document that the app has sent.
struct SettingsSchemaCommand: ControlCommand {
    static var access: ControlAccess { .everyone }

    private let request: SettingsRequest

    init(_ request: ControlRequest) throws(WireError) { self.request = try SettingsRequest(request) }

    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        try await request.run(on: node, remote: (.settingsSchema, [:])) { settings throws(SettingsFailure) in
            try await settings.state(of: request.app, for: request.editor.payer).schemaBody
        }
    }
}
