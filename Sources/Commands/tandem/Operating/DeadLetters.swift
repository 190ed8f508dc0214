// `dead-letters`: items that a handler or the other device refused too often, until an operator decides.

import TandemBase
import TandemControl
import TandemOperations
import TandemPropertyList
import TandemWire

extension Subcommand {
    static let deadLettersList = Subcommand(
        path: ["dead-letters", "list"], summary: "show the items that failed too often, received and sent ones",
        options: [.device, .application, .json],
        notes: "What they carry is not shown. 'in' came from the other device and failed here; 'out' failed there.",
        examples: ["dead-letters list", "dead-letters list --app org.example.lamp --json"]
    ) { arguments, console in
        let letters = Fact.list(try arguments.ask(.deadLetters, try arguments.applicationIfNamed())["letters"])
        if arguments.has("json") {
            for letter in letters { console.print(json: letter) }
            return
        }
        for line in Table.deadLetters(letters).listing { console.print(line) }
    }

    static let deadLettersRetry = settling(
        "retry", command: .deadLetterRetry, summary: "deliver items that failed too often once more",
        done: "to be tried again")

    static let deadLettersDrop = settling(
        "drop", command: .deadLetterDrop, summary: "forget items that failed too often", done: "dropped")

    private static func settling(_ word: String, command: ControlName, summary: String, done: String) -> Subcommand {
        Subcommand(
            path: ["dead-letters", word], summary: summary, operands: [.optional("UUID")],
            options: [.device, .application, .flag("all", "all of them, or all of --app")],
            examples: ["dead-letters \(word) 0123ABCD-0000-4000-8000-0123456789AB", "dead-letters \(word) --all"]
        ) { arguments, console in
            let answer = Fact(try arguments.ask(command, try DeadLetterChoice.body(arguments)))
            for line in DeadLetterAnswer.lines(answer, done: done) { console.print(line) }
        }
    }
}

/// The daemon's answer to an operator's decision on dead letters, for people.
enum DeadLetterAnswer {
    static func lines(_ answer: Fact, done: String) -> [String] {
        let outdated = answer.text("outdated")
        return ["\(answer.text("count")) \(done)"]
            + (outdated.isEmpty ? [] : ["\(outdated) dropped instead: another context of the app applies"])
    }
}

/// The dead letters that the arguments name.
private enum DeadLetterChoice {
    static func body(_ arguments: Arguments) throws -> PropertyListDictionary {
        var body = try arguments.applicationIfNamed()
        switch (arguments.operands.first, arguments.has("all")) {
        case (let text?, false):
            let id = try UniqueIdentifier(argument: text, "is no UUID; 'tandem dead-letters list' shows them")
            body["id"] = .data(id.bytes)
        case (nil, true): body["all"] = true
        case (nil, false): throw CommandFailure.usage("UUID or --all is missing")
        case (_?, true): throw CommandFailure.usage("name one or say --all, not both")
        }
        return body
    }
}
