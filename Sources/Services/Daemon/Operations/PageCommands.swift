// The control commands that ask a running app about its pages (CTL-58, CTL-59): one of this device, or through a
// primary one of a secondary, as far as the app has opened its pages.

import TandemOperations
import TandemPages
import TandemPropertyList
import TandemWire

/// `settings-press`: a person presses a button of an app's page.
struct SettingsPressCommand: ControlCommand {
    static var access: ControlAccess { .everyone }

    private let request: SettingsRequest
    private let key: String

    init(_ request: ControlRequest) throws(WireError) {
        self.request = try SettingsRequest(request)
        key = try request.fields.buttonKey()
    }

    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        if let answer = try await request.forward(.settingsPress, ["key": .string(key)], on: node) { return answer }
        try request.checkAllowed(on: node)
        return try await node.settings.press(key, of: request.app, by: request.editor)
    }
}

/// `settings-page`: what the running app decides about its pages at this moment.
struct SettingsPageCommand: ControlCommand {
    static var access: ControlAccess { .everyone }

    private let request: SettingsRequest

    init(_ request: ControlRequest) throws(WireError) { self.request = try SettingsRequest(request) }

    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        if let answer = try await request.forward(.settingsPage, [:], on: node) { return answer }
        try request.checkAllowed(on: node)
        let state: RunningState
        do throws(SettingsFailure) {
            state = try await node.settings.runningState(of: request.app, for: request.editor.payer)
        } catch { throw ControlFailure(error) }
        // The operator may have given the app to another user meanwhile.
        try request.checkAllowed(on: node)
        return state.body
    }
}
