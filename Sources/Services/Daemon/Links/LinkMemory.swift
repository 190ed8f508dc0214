// The memory that device connections work in and none of them keeps: what a handshake or a read leaves there is taken
// out before the next connection's turn.

import TandemCrypto
import TandemReactor

/// The memory that the device connections of one loop share while they work; an idle connection has none of its own.
final class LinkMemory {
    let workspace = TLSWorkspace()
    /// Where plaintext goes: to what the loop's other reads use, so that whoever holds it for longer leaves it in time.
    let blocks: ReadBlocks

    init(_ scheduler: any Scheduler) { blocks = (scheduler as? EventLoop)?.readBlocks ?? ReadBlocks() }
}
