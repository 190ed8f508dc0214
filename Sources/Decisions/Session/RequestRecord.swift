// A request with what the ledger needs to take it out again without searching.

struct RequestRecord: ChainedRecord {
    enum Links: Int {
        case asked, owed, deadline, unanswered
    }

    let request: OpenRequest
    /// The app that asked, in the ledger's parties.
    let asker: Int
    let askedHash: UInt32
    let owedHash: UInt32
    /// Its slot in the wheel of deadlines.
    let slot: Int
    var links = InlineArray<4, ChainLink>(repeating: ChainLink())
}
