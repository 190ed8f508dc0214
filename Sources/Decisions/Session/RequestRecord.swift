// A request with what the ledger needs to take it out again without searching. Small numbers, so that a record fits two
// lines of the cache and is moved without a call.

struct RequestRecord: ChainedRecord {
    enum Links: Int {
        case asked, owed, deadline, unanswered
    }

    let request: OpenRequest
    private let askerNumber: Int32
    private let slotNumber: Int32
    let askedHash: UInt32
    let owedHash: UInt32
    var links = InlineArray<4, ChainLink>(repeating: ChainLink())

    init(request: OpenRequest, asker: Int, askedHash: UInt32, owedHash: UInt32, slot: Int) {
        self.request = request
        askerNumber = Int32(asker)
        slotNumber = Int32(slot)
        self.askedHash = askedHash
        self.owedHash = owedHash
    }

    /// The app that asked, in the ledger's parties.
    var asker: Int { Int(askerNumber) }
    /// Its slot in the wheel of deadlines.
    var slot: Int { Int(slotNumber) }
}
