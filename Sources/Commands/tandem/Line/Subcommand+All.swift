// Every subcommand, in the order in which help shows them.

extension Subcommand {
    static var all: [Subcommand] { [keysNew, keysShow] }
}
