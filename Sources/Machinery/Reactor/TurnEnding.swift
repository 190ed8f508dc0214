// What is to be done at the end of a turn. A participant is kept as itself and not inside a closure, so that a stream
// that writes in every turn allocates nothing for it.

enum TurnEnding {
    case participant(any TurnParticipant)
    case action(() -> Void)

    func run() {
        switch self {
        case .participant(let participant): participant.turnDidEnd()
        case .action(let action): action()
        }
    }
}
