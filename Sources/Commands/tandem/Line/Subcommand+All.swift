// Every subcommand, in the order in which help shows them.

extension Subcommand {
    static var all: [Subcommand] {
        [
            simulate, status,
            pair, join, trustDevice, unpair, allowVersion,
            keysNew, keysShow, trustAdd, trustList, apply, identifierAccept,
        ]
    }
}
