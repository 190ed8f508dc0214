// The memory in which the TLS connections of one thread work, one after the other: a session that is not being called
// holds no buffer, and a busy one allocates none. What a call leaves in it is taken before another session is called;
// that is checked, because bytes that left through the wrong connection could not be taken back.

import TandemBase

/// Shared by all sessions of one thread.
package final class TLSWorkspace {
    /// Largest plaintext of one TLS record.
    static let recordCount = 16384
    /// Room for a few full records at once.
    private static let blockCount = 64 * 1024

    /// Plaintext that waits to fill a record.
    var gathered: [UInt8] = []
    /// Filled with bytes for peers from the beginning again as soon as nobody holds a part of it.
    private var block = ByteBlock(capacity: 0)
    private var output: [ByteSlice] = []
    private var user: ObjectIdentifier?

    package init() {}

    /// Adds bytes for the peer of the session that works through this port.
    func append(_ bytes: UnsafeRawBufferPointer, for port: TLSPort) {
        precondition(output.isEmpty || user == ObjectIdentifier(port), "another session's output was not taken")
        user = ObjectIdentifier(port)
        makeRoom(bytes.count)
        let first = block.filled
        unsafe UnsafeMutableRawBufferPointer(rebasing: block.bytes.dropFirst(first)).copyMemory(from: bytes)
        add(block.take(bytes.count))
    }

    private func makeRoom(_ count: Int) {
        if output.isEmpty, isKnownUniquelyReferenced(&block) { block.rewind() }
        if block.room < count { block = ByteBlock(capacity: max(count, Self.blockCount)) }
    }

    private func add(_ slice: ByteSlice) {
        if output.isEmpty || !output[output.count - 1].join(slice) { output.append(slice) }
    }

    /// Gives out the bytes for the peer and forgets them.
    func takeOutput(of port: TLSPort, _ body: (ByteSlice) -> Void) {
        guard !output.isEmpty, user == ObjectIdentifier(port) else { return }
        for slice in output { body(slice) }
        output.removeAll(keepingCapacity: true)
    }

    /// Forgets what a session that is gone has left.
    func dropOutput(of port: TLSPort) {
        if user == ObjectIdentifier(port) { output.removeAll() }
    }
}
