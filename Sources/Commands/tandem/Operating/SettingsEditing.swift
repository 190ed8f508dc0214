// `settings edit`: an app's pages as a form on a terminal, or from a script's standard input. The app's schema judges
// each line before the daemon sees it, and the page is shown again with the values of now.

import Glibc
import TandemControl
import TandemOperations
import TandemPages
import TandemPropertyList
import TandemWire

extension Subcommand {
    static let settingsEdit = Subcommand(
        path: ["settings", "edit"], summary: "edit an app's settings pages line by line",
        options: .ofPages("begin on this page (default: the first one)") + [.yes],
        notes:
            """
            Lines:
            \(PageEditor.help)
            Without a terminal the first line that is refused ends it, with exit code 1. On a terminal it asks before it
            deletes an item or resets a list, unless --yes is given.
            """,
        examples: [
            "settings edit --app org.example.lamp",
            "settings edit --app org.example.lamp --page Sound < lines",
        ]
    ) { arguments, console in
        let start = arguments.value("page") ?? PageTree.root
        let path = try arguments.settingsPath()
        guard var editor = PageEditor(try arguments.schema(at: path), page: start, arguments.pageRequest) else {
            throw CommandFailure.refused("the app has no such page")
        }
        let isTerminal = isatty(STDIN_FILENO) == 1
        var step = PageEditor.Step.show
        editing: while true {
            switch step {
            case .show:
                editor.follow(try arguments.runningState(at: path))
                let lines = editor.lines(try arguments.pageValues(at: path), width: Console.columns)
                for line in lines { console.print(Printable.text(line)) }
            case .say(let lines):
                for line in lines { console.print(Printable.text(line)) }
            case .refuse(let text, let offers):
                // Each by itself: a long text of the app must leave room for its offers.
                let lines = ([text] + offers).map { Printable.text($0) }.joined(separator: "\n")
                // The next lines of a script may be meant for another place.
                guard isTerminal else { throw CommandFailure.refused(lines) }
                console.warn(lines)
            case .set(let values, let empty, let tags):
                let body: PropertyListDictionary = [
                    "values": .dictionary(values), "nothing": .array(empty.map { .string($0) }),
                    "tags": .dictionary(tags),
                ]
                do {
                    step = try arguments.send(.settingsSet, body, at: path) { answer in
                        let warnings = EditReport(answer).warnings { editor.name(of: $0) }
                        for warning in warnings { console.warn(Printable.text(warning)) }
                        return .show
                    }
                } catch ControlError.unfit(let text, let checks) {
                    step = editor.refused(text, PageRefusal.all(in: checks), of: values)
                }
                if step == .show { editor.stored() }
                continue editing
            case .reset(let keys):
                step = try arguments.send(.settingsReset, ["keys": .array(keys.map { .string($0) })], at: path)
                continue editing
            case .ask(let consequence, let change):
                let isAgreed = arguments.agrees(to: consequence, console, prompt: "> ")
                step = isAgreed ? change : .say(["Nothing was changed."])
                continue editing
            case .press(let key):
                step = try arguments.send(.settingsPress, ["key": .string(key)], at: path) { answer in
                    .say([answer["text"]?.stringValue ?? "Done."])
                }
                continue editing
            case .end: break editing
            }
            if isTerminal { console.write("> ") }
            guard let line = readLine() else {
                if !isTerminal, editor.isDrafting {
                    throw CommandFailure.refused("the draft of an item ends with done or cancel; it is not stored")
                }
                break
            }
            // The app may have changed what it has set since the screen was shown.
            if editor.asks(line) { editor.follow(try arguments.runningState(at: path)) }
            step = editor.take(line, try arguments.pageValues(at: path))
        }
    }
}

extension Arguments {
    /// Sends a request; its refusal is a text for the person, except that of the app's own checks.
    /// - Parameter taken: makes the next step of the answer.
    fileprivate func send(
        _ command: ControlName, _ body: PropertyListDictionary, at path: String,
        taken: (PropertyListDictionary) -> PageEditor.Step = { _ in .show }
    ) throws -> PageEditor.Step {
        do {
            return taken(try ControlClient.answer(at: path, command, try settings(body)))
        } catch ControlError.refused(_, let text), ControlError.unsent(_, let text) {
            return .refuse(text)
        }
    }
}
