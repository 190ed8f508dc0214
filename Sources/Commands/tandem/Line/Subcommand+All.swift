// Every subcommand, in the order in which help shows them.

extension Subcommand {
    static var all: [Subcommand] {
        [
            primary, secondary, simulate, status, health, ready, drain, trace, dump,
            deadLettersList, deadLettersRetry, deadLettersDrop,
            send, receive, contextSet, contextShow, transfersList, transfersCancel,
            pair, join, switchDevice, trustDevice, unpair, allowVersion,
            keysNew, keysShow, sign, verify, trustAdd, trustList, apply, identifierAccept,
            benchCodec, benchHostile, benchVerify,
        ]
    }
}
