// `config check` and `config keys`: the file of a daemon's options, judged as a daemon judges it, and the list of them.

import TandemControl
import TandemPropertyList

extension Subcommand {
    static let configCheck = Subcommand(
        path: ["config", "check"], summary: "find the mistakes in a daemon's file of options, without a daemon",
        operands: [.required("FILE")], options: [.json],
        notes: """
            FILE is a property list, XML or binary, as --config of 'tandem primary' and 'tandem secondary' takes it. Exit
            code 0: a daemon takes it. Otherwise each mistake is one line: the file, the key, what is wrong and what to do.
            """,
        examples: ["config check /etc/tandem/primary.plist", "config check primary.plist --json"]
    ) { arguments, console in
        let path = arguments.operands[0]
        let mistakes = DaemonSettings.mistakes(inFile: path)
        if arguments.has("json") {
            console.print(
                json: [
                    "file": .string(path), "valid": .boolean(mistakes.isEmpty),
                    "mistakes": .array(mistakes.map(\.json)),
                ])
        } else if mistakes.isEmpty {
            console.print("\(path): no mistakes")
        }
        if !mistakes.isEmpty { throw CommandFailure.no(mistakes.map(\.line)) }
    }

    static let configKeys = Subcommand(
        path: ["config", "keys"], summary: "list the options of the daemons: keys of the file, types, bounds, defaults",
        notes: """
            The key 'localGroup' is the option --local-group and the variable TANDEM_LOCAL_GROUP. ROLE is primary or
            secondary. An option that does not change at run time takes effect at the daemon's next start.
            """,
        examples: ["config keys"]
    ) { _, console in
        for line in DaemonOption.table { console.print(line) }
    }
}

extension OptionMistake {
    fileprivate var json: PropertyListValue {
        ["key": .string(key), "name": .string(name), "text": .string(text)]
    }
}
