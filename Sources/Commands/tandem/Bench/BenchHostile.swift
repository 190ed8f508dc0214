// What hostile payloads cost until they are read or refused: each on its own, because the worst one is what counts.
// Whoever made them knows what they are; this neither judges nor explains.

import TandemPropertyList

extension Subcommand {
    static let benchHostile = Subcommand(
        path: ["bench", "hostile"], summary: "measure what payloads cost that may be refused",
        options: [
            .valued("payloads", "FILE", "binary property lists, each after its length (4 bytes, big-endian)").required,
            .valued("rounds", "N", "readings of each payload (default 20)"), .json,
        ],
        notes: """
            One figure for each payload, in the order of the file: CPU nanoseconds until it is read and released again, or
            refused; the median of the rounds.
            """,
        examples: ["bench hostile --payloads hostile.payloads"]
    ) { arguments, console in
        let rounds = Rounds(count: try arguments.integer("rounds", in: 1...1_000_000) ?? 20)
        for payload in try PayloadFile(path: try arguments.required("payloads")).payloads {
            let isAccepted = (try? PropertyListReader.read(payload)) != nil
            let figure = try rounds.figure(isAccepted ? "read" : "refused", over: [payload]) {
                Sink.keep(try? PropertyListReader.read($0))
            }
            figure.print(on: console, as: arguments)
        }
    }
}
