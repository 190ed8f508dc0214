// The control commands that ask a running app about its pages (CTL-58, CTL-59). They are for apps of this device: an
// app opens properties to its paired device, and no buttons.

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
        key = try request.fields.required("key", "a key of 1-256 bytes") { value in
            value.stringValue.flatMap { (1...256).contains($0.utf8.count) ? $0 : nil }
        }
    }

    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        try request.checkHere(on: node)
        let answer: PressAnswer?
        do throws(PageQuestionFailure) {
            answer = try await node.settings.press(key, of: request.app, by: request.editor)
        } catch {
            throw ControlFailure(error)
        }
        switch answer {
        case .done(let text?): return [BodyKey.text: .string(text)]
        case .done(nil): return [:]
        case .refused(let text): throw ControlFailure(.refused, text.isEmpty ? "the app does not do it" : text)
        case nil: throw ControlFailure(PageQuestionFailure.wrongAnswer)
        }
    }
}

/// `settings-page`: what the running app decides about its pages at this moment.
struct SettingsPageCommand: ControlCommand {
    static var access: ControlAccess { .everyone }

    private let request: SettingsRequest

    init(_ request: ControlRequest) throws(WireError) { self.request = try SettingsRequest(request) }

    func run(on node: Node) async throws(ControlFailure) -> PropertyListDictionary {
        try request.checkHere(on: node)
        let state = await node.settings.runningState(of: request.app, for: request.editor.payer)
        // The operator may have given the app to another user meanwhile.
        try request.checkHere(on: node)
        return state.body
    }
}

extension ControlFailure {
    /// The failure of a question to a running app.
    init(_ failure: PageQuestionFailure) {
        switch failure {
        case .notRunning: self.init(.notRunning, failure.description)
        case .notAsked: self.init(.notFound, failure.description)
        case .busy: self.init(.full, failure.description)
        case .noAnswer, .wrongAnswer: self.init(.noAnswer, failure.description)
        }
    }
}
